//! Who wrote what, how often.

use std::collections::BTreeMap;
use std::fmt;

use super::entry::Entry;
use crate::proxy::Verb;

/// A kind of write by somebody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deed {
    /// The first word of the user agent.
    pub user_agent: String,
    /// What was done.
    pub verb: Verb,
    /// To which API group; empty for the core.
    pub group: String,
    /// To which resource, with its subresource: `pods/eviction`.
    pub resource: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    all: usize,
    refused: usize,
}

/// How often each deed was done. As text, a table for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    deeds: BTreeMap<Deed, Times>,
}

impl Tally {
    pub(super) fn of<'a>(entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut deeds: BTreeMap<Deed, Times> = BTreeMap::new();
        for entry in entries {
            let request = &entry.request;
            let deed = Deed {
                user_agent: request.user_agent.split(' ').next().unwrap_or_default().to_owned(),
                verb: request.verb,
                group: request.group.clone(),
                resource: request.target(),
            };
            let times = deeds.entry(deed).or_default();
            times.all += 1;
            times.refused += usize::from(!entry.succeeded());
        }
        Self { deeds }
    }

    /// All writes.
    pub fn total(&self) -> usize {
        self.deeds.values().map(|times| times.all).sum()
    }

    /// How often a deed was done, also in vain.
    pub fn count(&self, deed: &Deed) -> usize {
        self.deeds.get(deed).map_or(0, |times| times.all)
    }

    /// All writes of clients whose user agent contains this.
    pub fn of_agent(&self, part: &str) -> usize {
        self.deeds().filter(|(deed, _)| deed.user_agent.contains(part)).map(|(_, times)| times).sum()
    }

    /// Each deed, and how often it was done.
    pub fn deeds(&self) -> impl Iterator<Item = (&Deed, usize)> {
        self.deeds.iter().map(|(deed, times)| (deed, times.all))
    }
}

impl Deed {
    /// Resource and group, as in `deployments.apps/scale`.
    fn what(&self) -> String {
        match (self.group.as_str(), self.resource.split_once('/')) {
            ("", _) => self.resource.clone(),
            (group, None) => format!("{}.{group}", self.resource),
            (group, Some((resource, subresource))) => format!("{resource}.{group}/{subresource}"),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.deeds.is_empty() {
            return writeln!(f, "nobody wrote anything");
        }
        let widest = |heading: &str, width: fn(&Deed) -> usize| {
            self.deeds.keys().map(width).max().unwrap_or(0).max(heading.len())
        };
        let who = widest("WHO", |deed| deed.user_agent.chars().count());
        let verb = widest("VERB", |deed| deed.verb.as_str().len());
        let what = widest("WHAT", |deed| deed.what().chars().count());
        writeln!(f, "{:who$}  {:verb$}  {:what$}  TIMES  REFUSED", "WHO", "VERB", "WHAT")?;
        for (deed, times) in &self.deeds {
            write!(f, "{:who$}  {:verb$}  {:what$}", deed.user_agent, deed.verb, deed.what())?;
            writeln!(f, "  {:5}  {:7}", times.all, times.refused)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_named_as_kubectl_names_them() {
        let table = [
            ("", "pods", "pods"),
            ("", "pods/eviction", "pods/eviction"),
            ("apps", "deployments", "deployments.apps"),
            ("apps", "deployments/scale", "deployments.apps/scale"),
        ];
        for (group, resource, expected) in table {
            let deed = Deed {
                user_agent: String::new(),
                verb: Verb::Patch,
                group: group.to_owned(),
                resource: resource.to_owned(),
            };
            assert_eq!(deed.what(), expected);
        }
    }
}
