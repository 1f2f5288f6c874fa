//! One queue for everything that waits for a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::Timestamp;

/// What is waiting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// The pod with this UID.
    Pod(String),
    /// The node of this name.
    Node(String),
}

/// Who is to be woken when. Entries that no longer hold are not taken out; whoever is woken looks for itself
/// whether there is anything to do.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Timestamp, Key)>>,
}

impl Timers {
    /// Wakes `key` at `at`.
    pub(crate) fn set(&mut self, at: Timestamp, key: Key) {
        self.heap.push(Reverse((at, key)));
    }

    /// When the next one is to be woken.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next one that is due.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Key> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, key))| key)
    }
}
