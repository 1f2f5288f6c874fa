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
    /// Whether the whole set ever stood complete at it.
    pub stood: Stood,
    /// What it is made of.
    pub set: StoredSet,
}

/// Whether the whole set ever stood complete at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stood {
    /// It did.
    Complete,
    /// It never did.
    Never,
    /// It was stored before this was written down.
    Unknown,
}

/// The stored revisions of a set, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Revisions(pub Vec<StoredRevision>);

impl Revisions {
    /// Reads what is stored. `stable` is what the set says of itself: there everything stood complete last.
    pub fn of(stored: Vec<ControllerRevision>, stable: Option<&str>) -> Result<Self> {
        let mut all = stored.into_iter().map(StoredRevision::read).collect::<Result<Vec<_>>>()?;
        all.sort_by_key(|revision| revision.number);
        if let Some(last) = all.iter_mut().find(|revision| Some(revision.hash.as_str()) == stable) {
            last.stood = Stood::Complete;
        }
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

    /// The one to go back to from what is wished for: the last other one at which everything stood complete. `stable`
    /// stood so last of all. Nobody is sent to one that never did.
    pub fn before(&self, wished: &str, stable: Option<&str>) -> Result<&StoredRevision> {
        let others: Vec<&StoredRevision> = self.0.iter().rev().filter(|it| it.hash != wished).collect();
        let last = others.iter().find(|it| Some(it.hash.as_str()) == stable);
        let that = |stood: Stood| others.iter().find(move |it| it.stood == stood);
        if let Some(found) = last.or_else(|| that(Stood::Complete)).or_else(|| that(Stood::Unknown)) {
            return Ok(found);
        }
        let newest = others.first().context("there is no earlier revision to go back to")?;
        bail!(
            "none of the other revisions ever stood complete, so none is safe to go back to; `lockstep history` \
             shows them, `--to-revision {}` takes the newest all the same",
            newest.number
        )
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
    /// What deserves a word before somebody goes to it.
    pub fn doubt(&self) -> Option<String> {
        let (number, hash) = (self.number, &self.hash);
        match self.stood {
            Stood::Complete => None,
            Stood::Never => Some(format!("revision {number} ({hash}) never stood complete")),
            Stood::Unknown => Some(format!(
                "whether revision {number} ({hash}) ever stood complete is not known: it was stored by an older operator"
            )),
        }
    }

    fn read(stored: ControllerRevision) -> Result<Self> {
        let name = stored.name_any();
        let stood = match stored.annotations().get(label::STOOD_COMPLETE).map(String::as_str) {
            Some("true") => Stood::Complete,
            Some("false") => Stood::Never,
            _ => Stood::Unknown,
        };
        let set: StoredSet = serde_json::from_value(stored.data.0.clone())
            .with_context(|| format!("controllerrevision {name} does not hold a set's revision"))?;
        let hash = stored.labels().get(label::SET_REVISION).cloned();
        Ok(Self {
            number: stored.revision.unwrap_or_default(),
            hash: hash.unwrap_or_else(|| set.revision().to_string()),
            created: stored.metadata.creation_timestamp.as_ref().map(|time| at(time.0)),
            stood,
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
        StoredRevision { number, hash: hash.to_owned(), created: None, stood: Stood::Unknown, set }
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
        assert_eq!(all.before("1234", None).unwrap().number, 2);
        assert_eq!(all.before("ab22", None).unwrap().number, 4, "went back to 2 already: back again");
        assert_eq!(all.predecessor(&all.0[2]).unwrap().number, 2);
        assert!(Revisions(vec![stored(1, "aa")]).before("aa", None).is_err());
    }

    #[test]
    fn the_way_back_leads_to_what_stood_complete() {
        use Stood::{Complete, Never, Unknown};
        let back = |stood: [Stood; 4], wished: &str, stable: Option<&str>| {
            let all = stood.iter().zip(["a1", "b2", "c3", "d4"]).zip(1..);
            let all = all.map(|((stood, hash), n)| StoredRevision { stood: *stood, ..stored(n, hash) });
            Revisions(all.collect()).before(wished, stable).map(|it| it.number).map_err(|e| e.to_string())
        };
        for (what, stood, wished, stable, to) in [
            ("a bad one before a good one", [Complete, Never, Complete, Complete], "d4", Some("d4"), 3),
            ("bad ones are passed over", [Complete, Never, Never, Complete], "d4", Some("d4"), 1),
            ("from a bad one", [Complete, Never, Complete, Never], "d4", Some("c3"), 3),
            (
                "what stood last comes before what was wished for last",
                [Complete, Complete, Never, Never],
                "d4",
                Some("a1"),
                1,
            ),
            ("nothing is known of old ones", [Unknown, Unknown, Never, Complete], "d4", Some("d4"), 2),
            ("what is known counts more", [Complete, Unknown, Unknown, Complete], "d4", Some("d4"), 1),
        ] {
            assert_eq!(back(stood, wished, stable), Ok(to), "{what}");
        }
        let refused = back([Never, Never, Never, Complete], "d4", Some("d4")).unwrap_err();
        assert!(refused.contains("ever stood complete") && refused.contains("--to-revision 3"), "{refused}");
    }

    #[test]
    fn what_stood_last_is_known_without_a_mark() {
        let object = |number: i64, hash: &str, mark: serde_json::Value| {
            serde_json::from_value(serde_json::json!({
                "metadata": {"name": hash, "labels": {label::SET_REVISION: hash}, "annotations": mark},
                "revision": number, "data": {"roles": {}},
            }))
            .unwrap()
        };
        let mark = |said: &str| serde_json::json!({label::STOOD_COMPLETE: said});
        let all = vec![
            object(3, "c3", serde_json::Value::Null),
            object(1, "a1", mark("true")),
            object(2, "b2", mark("false")),
            object(4, "d4", mark("false")),
        ];
        let stood: Vec<Stood> = Revisions::of(all, Some("d4")).unwrap().0.iter().map(|it| it.stood).collect();
        assert_eq!(stood, [Stood::Complete, Stood::Never, Stood::Unknown, Stood::Complete]);
    }
}
