//! What is asked for besides keys: one rollout, and an end.

use lockstep_core::time::Time;

use super::args::Until;
use crate::exit::Exit;
use crate::input::live_set::LiveSet;
use crate::show::progress::{self, Ended};

/// What is asked for, and how far it is.
#[derive(Debug)]
pub struct Script {
    until: Option<Until>,
    rolled: Rolled,
}

/// How far the rollout is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rolled {
    /// It is to be written when all stand.
    Wanted,
    /// It is being written.
    Begun,
    /// It was refused.
    Refused,
    /// It is written, with this version of the spec of that set; or none is asked for.
    Written(Option<(String, i64)>),
}

impl Script {
    /// With `roll` the first set is rolled once when all stand.
    pub fn new(roll: bool, until: Option<Until>) -> Self {
        Self { until, rolled: if roll { Rolled::Wanted } else { Rolled::Written(None) } }
    }

    /// Whether to roll now. It says so once.
    pub fn rolls(&mut self, sets: &[LiveSet], now: Time) -> bool {
        let due = self.rolled == Rolled::Wanted && all(sets, now, is_good);
        if due {
            self.rolled = Rolled::Begun;
        }
        due
    }

    /// A set was rolled, or could not be.
    pub fn rolled(&mut self, set: &str, generation: Option<i64>) {
        if self.rolled == Rolled::Begun {
            self.rolled = match generation {
                Some(generation) => Rolled::Written(Some((set.to_owned(), generation))),
                None => Rolled::Refused,
            };
        }
    }

    /// How it ends, if it ends now. A set that is not seen as it was written last is at no end.
    pub fn end(&self, sets: &[LiveSet], now: Time) -> Option<Exit> {
        let seen = |(name, generation): &(String, i64)| {
            sets.iter().any(|set| set.name == *name && set.generation() >= *generation)
        };
        let still_to_come = match &self.rolled {
            Rolled::Refused => return Some(Exit::BadInput),
            Rolled::Begun => return None,
            Rolled::Wanted => true,
            Rolled::Written(Some(written)) if !seen(written) => return None,
            Rolled::Written(_) => false,
        };
        let ends = || sets.iter().filter_map(|set| progress::ended(set, now));
        let failed = ends().any(|ended| !is_good(ended));
        match self.until? {
            Until::Complete if failed => Some(Exit::Stalled),
            // What fails before it is rolled never is.
            _ if still_to_come && !failed => None,
            _ => all(sets, now, |_| true).then_some(Exit::Fine),
        }
    }
}

fn is_good(ended: Ended) -> bool {
    matches!(ended, Ended::Complete | Ended::PartitionReached)
}

/// Whether there are sets, and all of them are at an end like this.
fn all(sets: &[LiveSet], now: Time, like: impl Fn(Ended) -> bool) -> bool {
    !sets.is_empty() && sets.iter().all(|set| progress::ended(set, now).is_some_and(&like))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Time = Time(0);

    fn set(name: &str, generation: i64, phase: &str) -> LiveSet {
        let object = json!({
            "metadata": {"name": name, "namespace": "ml", "generation": generation}, "spec": {},
            "status": {"observedGeneration": generation, "rollout": {"phase": phase}},
        });
        LiveSet::of(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn it_ends_when_all_are_where_they_should_be() {
        let (good, bad, under_way) = (set("a", 1, "Complete"), set("b", 1, "Stalled"), set("c", 1, "Paused"));
        for (until, sets, exit) in [
            (None, vec![good.clone()], None),
            (Some(Until::Complete), vec![], None),
            (Some(Until::Complete), vec![good.clone()], Some(Exit::Fine)),
            (Some(Until::Complete), vec![good.clone(), under_way.clone()], None),
            (Some(Until::Complete), vec![good.clone(), bad.clone()], Some(Exit::Stalled)),
            (Some(Until::Ended), vec![good.clone(), bad.clone()], Some(Exit::Fine)),
            (Some(Until::Ended), vec![bad, under_way], None),
        ] {
            assert_eq!(Script::new(false, until).end(&sets, NOW), exit, "{until:?} {sets:?}");
        }
    }

    /// What was complete before the roll is not what is waited for.
    #[test]
    fn it_rolls_once_and_waits_for_that_rollout() {
        let mut script = Script::new(true, Some(Until::Complete));
        let before = [set("a", 1, "Complete")];
        assert_eq!(script.end(&before, NOW), None);
        assert!(!script.rolls(&[set("a", 1, "Progressing")], NOW));
        assert!(script.rolls(&before, NOW) && !script.rolls(&before, NOW));
        script.rolled("a", Some(2));
        assert_eq!(script.end(&before, NOW), None);
        assert_eq!(script.end(&[set("a", 2, "Complete")], NOW), Some(Exit::Fine));
    }

    #[test]
    fn a_roll_that_cannot_be_is_waited_for_by_nobody() {
        let mut script = Script::new(true, Some(Until::Complete));
        let stalled = [set("a", 1, "Stalled")];
        assert_eq!(script.end(&stalled, NOW), Some(Exit::Stalled), "it never stood");
        assert_eq!(Script::new(true, Some(Until::Ended)).end(&stalled, NOW), Some(Exit::Fine));
        let complete = [set("a", 1, "Complete")];
        assert!(script.rolls(&complete, NOW));
        script.rolled("a", None);
        assert_eq!(script.end(&complete, NOW), Some(Exit::BadInput));
        assert!(!script.rolls(&complete, NOW));
    }
}
