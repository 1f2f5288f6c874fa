//! The stored revisions of a set: which there are, and which one somebody means.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::ResourceExt;
use lockstep_api::label;
use lockstep_api::stored::StoredSet;
use lockstep_core::time::Time;

use crate::input::live_set::at;

/// A stored revision.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRevision {
    /// Its number: the highest is the one wished for last.
    pub number: i64,
    /// Its name.
    pub hash: String,
    /// When it was stored.
    pub created: Option<Time>,
    /// What it is made of.
    pub set: StoredSet,
}

/// The stored revisions of a set, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Revisions(pub Vec<StoredRevision>);

impl Revisions {
    /// Reads what is stored.
    pub fn of(stored: Vec<ControllerRevision>) -> Result<Self> {
        let mut all = stored.into_iter().map(StoredRevision::read).collect::<Result<Vec<_>>>()?;
        all.sort_by_key(|revision| revision.number);
        Ok(Self(all))
    }

    /// The one that somebody means by a number, a hash, or the beginning of one.
    pub fn find(&self, text: &str) -> Result<&StoredRevision> {
        let by_number = text.parse().ok().and_then(|n: i64| self.0.iter().find(|r| r.number == n));
        if let Some(found) = by_number {
            return Ok(found);
        }
        let begins: Vec<&StoredRevision> = self.0.iter().filter(|r| r.hash.starts_with(text)).collect();
        match begins[..] {
            [only] => Ok(only),
            [] if self.0.is_empty() => bail!("no revision is stored yet"),
            [] => bail!("no revision {text:?}; there is {}", self.names(&self.0.iter().collect::<Vec<_>>())),
            _ => bail!("revision {text:?} could be {}", self.names(&begins)),
        }
    }

    /// The last one besides the one that is wished for now.
    pub fn before(&self, wished: &str) -> Result<&StoredRevision> {
        let earlier = self.0.iter().rev().find(|revision| revision.hash != wished);
        earlier.context("there is no earlier revision to go back to")
    }

    /// The one stored before another.
    pub fn predecessor(&self, of: &StoredRevision) -> Option<&StoredRevision> {
        self.0.iter().rev().find(|revision| revision.number < of.number)
    }

    fn names(&self, all: &[&StoredRevision]) -> String {
        let names: BTreeSet<String> = all.iter().map(|r| format!("{} ({})", r.number, r.hash)).collect();
        let names: Vec<String> = names.into_iter().collect();
        crate::show::words::list(&names).replace(" and ", " or ")
    }
}

impl StoredRevision {
    fn read(stored: ControllerRevision) -> Result<Self> {
        let name = stored.name_any();
        let set: StoredSet = serde_json::from_value(stored.data.0.clone())
            .with_context(|| format!("controllerrevision {name} does not hold a set's revision"))?;
        let hash = stored.labels().get(label::SET_REVISION).cloned();
        Ok(Self {
            number: stored.revision.unwrap_or_default(),
            hash: hash.unwrap_or_else(|| set.revision().to_string()),
            created: stored.metadata.creation_timestamp.as_ref().map(|time| at(time.0)),
            set,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn stored(number: i64, hash: &str) -> StoredRevision {
        let set = StoredSet { roles: BTreeMap::new() };
        StoredRevision { number, hash: hash.to_owned(), created: None, set }
    }

    fn three() -> Revisions {
        Revisions(vec![stored(1, "aa11"), stored(2, "ab22"), stored(4, "1234")])
    }

    #[test]
    fn by_number_by_hash_or_by_its_beginning() {
        let all = three();
        for (text, number) in [("2", 2), ("aa11", 1), ("ab", 2), ("123", 4), ("1", 1)] {
            assert_eq!(all.find(text).unwrap().number, number, "{text}");
        }
        let error = |text: &str| all.find(text).unwrap_err().to_string();
        assert_eq!(error("a"), "revision \"a\" could be 1 (aa11) or 2 (ab22)");
        assert_eq!(error("9"), "no revision \"9\"; there is 1 (aa11), 2 (ab22) or 4 (1234)");
        assert_eq!(Revisions::default().find("1").unwrap_err().to_string(), "no revision is stored yet");
    }

    #[test]
    fn the_one_before_is_not_the_one_wished_for() {
        let all = three();
        assert_eq!(all.before("1234").unwrap().number, 2);
        assert_eq!(all.before("ab22").unwrap().number, 4, "went back to 2 already: back again");
        assert_eq!(all.predecessor(&all.0[2]).unwrap().number, 2);
        assert!(Revisions(vec![stored(1, "aa")]).before("aa").is_err());
    }
}
