//! What has to be looked at, and when.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::store::Key;

/// The objects a controller has to look at: now, or later.
#[derive(Debug, Default)]
pub(super) struct Due {
    now: BTreeSet<Key>,
    later: BTreeMap<Key, Timestamp>,
}

impl Due {
    pub(super) fn add(&mut self, key: Key) {
        self.now.insert(key);
    }

    /// At this time, or earlier if that is already planned.
    pub(super) fn add_at(&mut self, key: Key, time: Timestamp) {
        let planned = self.later.entry(key).or_insert(time);
        *planned = (*planned).min(time);
    }

    /// Those whose time has come, in order.
    pub(super) fn take(&mut self, now: Timestamp) -> BTreeSet<Key> {
        let mut due = std::mem::take(&mut self.now);
        let ripe = self.later.iter().filter(|(_, time)| **time <= now).map(|(key, _)| key.clone());
        due.extend(ripe.collect::<Vec<_>>());
        self.later.retain(|key, _| !due.contains(key));
        due
    }

    /// When the next one is due, of those that are not already.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.later.values().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::key;

    #[test]
    fn the_earlier_time_counts() {
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let mut due = Due::default();
        due.add_at(key("pods", "a", "x"), at(10));
        due.add_at(key("pods", "a", "x"), at(5));
        due.add_at(key("pods", "a", "y"), at(7));
        assert_eq!((due.take(at(4)).len(), due.next()), (0, Some(at(5))));
        assert_eq!((due.take(at(5)).len(), due.next()), (1, Some(at(7))));
        due.add(key("pods", "a", "y"));
        assert_eq!((due.take(at(6)).len(), due.next()), (1, None));
    }
}
