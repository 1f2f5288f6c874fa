//! How fast a set writes: slowly at first, so that what is refused once is not asked a thousand times.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use lockstep_core::names::RoleName;
use lockstep_core::plan::InstanceRef;
use lockstep_core::time::{Millis, Time};

/// Requests of one set that are under way at a time, at most. Each takes a connection, and an API server that answers
/// in ten milliseconds takes more than a thousand writes in a second this way.
const MOST: usize = 16;
/// Creates that wait for their turn, at most, give or take an instance.
const AHEAD: usize = 16 * MOST;
const FIRST_PAUSE: Millis = Millis(500);
const LONGEST_PAUSE: Millis = Millis::seconds(60);

/// What a write is about: what is refused for one instance may be accepted for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Pods of an instance are created.
    Create(InstanceRef),
    /// Pods of a role are created at all: quota, rights, an API server that does not answer.
    Creates(RoleName),
    /// A pod of this name is created.
    Name(String),
    /// Pods of an instance are deleted.
    Delete(InstanceRef),
    /// Pods are deleted at all.
    Deletes,
    /// Gates are lifted.
    Ungate,
    /// Something beside the pods is written.
    Upkeep,
    /// The status is written.
    Status,
    /// An event is sent, a doubt cleared, a revision marked.
    Aside,
}

impl Topic {
    /// What a failure is called in status and metrics.
    pub fn failure(&self) -> &'static str {
        match self {
            Self::Create(_) | Self::Creates(_) | Self::Name(_) => "CreateFailed",
            Self::Delete(_) | Self::Deletes => "DeleteFailed",
            Self::Ungate => "UngateFailed",
            Self::Upkeep | Self::Status | Self::Aside => "WriteFailed",
        }
    }

    /// The topic that a failure which says nothing of this instance in particular belongs to.
    pub fn at_large(&self) -> Self {
        match self {
            Self::Create(of) => Self::Creates(of.role.clone()),
            Self::Delete(_) => Self::Deletes,
            other => other.clone(),
        }
    }
}

/// A write under way.
pub type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A write that waits for its turn. It becomes a future only then: thousands may wait, and a request that has not
/// begun would take as much memory as one that is under way.
pub type Job<T> = Box<dyn FnOnce() -> Running<T> + Send>;

/// The queue of a set's writes. Each belongs to a topic, and what is refused for one topic says nothing of others.
pub struct Pace<T> {
    queue: VecDeque<(Topic, Job<T>)>,
    running: usize,
    limit: usize,
}

impl<T> Default for Pace<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), running: 0, limit: 1 }
    }
}

impl<T> Pace<T> {
    /// Puts a write in the queue.
    pub fn push(&mut self, topic: Topic, job: Job<T>) {
        self.queue.push_back((topic, job));
    }

    /// Whether enough waits already. A thousand pods that are to be created need not wait here, where they take
    /// memory and are not asked any more whether they are still wanted.
    pub fn is_full(&self) -> bool {
        self.queue.len() >= AHEAD
    }

    /// The next write, if it may start now.
    pub fn next(&mut self) -> Option<Running<T>> {
        if self.running >= self.limit {
            return None;
        }
        let (_, job) = self.queue.pop_front()?;
        if self.queue.is_empty() {
            self.queue.shrink_to_fit();
        }
        self.running += 1;
        Some(job())
    }

    /// A write ended.
    pub fn ended(&mut self, well: bool) {
        self.running = self.running.saturating_sub(1);
        self.limit = if well { (self.limit * 2).min(MOST) } else { 1 };
    }

    /// Drops what has not started of a topic. Each job puts the view right when it is dropped.
    pub fn drop_all(&mut self, topic: &Topic) {
        self.queue.retain(|(other, _)| other != topic && other.at_large() != *topic);
    }

    /// Drops all that has not started. Returns whether nothing is under way either.
    pub fn halt(&mut self) -> bool {
        self.queue = VecDeque::new();
        self.running == 0
    }
}

/// A pause after writes that failed; it doubles until one succeeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    tries: u32,
    until: Time,
}

impl Backoff {
    /// One failed.
    pub fn failed(&mut self, now: Time) {
        // Several writes of one batch fail together: they count once.
        if now >= self.until {
            self.until = now + FIRST_PAUSE.doubled(self.tries, LONGEST_PAUSE);
            self.tries = self.tries.saturating_add(1);
        }
    }

    /// Until when to wait, if that lies ahead.
    pub fn holds(&self, now: Time) -> Option<Time> {
        (self.until > now).then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_slowly_and_slows_down_at_a_refusal() {
        let mut pace: Pace<()> = Pace::default();
        for _ in 0..10 {
            pace.push(Topic::Deletes, Box::new(|| Box::pin(async {})));
        }
        let start = |pace: &mut Pace<()>| std::iter::from_fn(|| pace.next()).count();
        assert_eq!(start(&mut pace), 1);
        pace.ended(true);
        assert_eq!(start(&mut pace), 2);
        pace.ended(true);
        pace.ended(true);
        assert_eq!(start(&mut pace), 7);
        pace.ended(false);
        assert_eq!(start(&mut pace), 0);
    }

    #[test]
    fn a_refusal_drops_what_it_speaks_of_and_nothing_else() {
        let of = |role: &str, instance| InstanceRef { group: 0, role: role.into(), instance };
        let mut pace: Pace<()> = Pace::default();
        for (role, instance) in [("web", 0), ("web", 1), ("cache", 0)] {
            pace.push(Topic::Create(of(role, instance)), Box::new(|| Box::pin(async {})));
        }
        pace.drop_all(&Topic::Create(of("web", 0)));
        assert_eq!(pace.queue.len(), 2);
        pace.drop_all(&Topic::Creates("web".into()));
        assert_eq!(pace.queue.len(), 1);
    }

    #[test]
    fn halts_when_what_was_under_way_has_ended() {
        let mut pace: Pace<()> = Pace::default();
        for _ in 0..3 {
            pace.push(Topic::Deletes, Box::new(|| Box::pin(async {})));
        }
        assert!(pace.next().is_some());
        assert!(!pace.halt());
        pace.ended(true);
        assert!(pace.next().is_none(), "nothing that had not started does");
        assert!(pace.halt());
    }

    #[test]
    fn pauses_double_and_one_batch_counts_once() {
        let mut backoff = Backoff::default();
        backoff.failed(Time(0));
        backoff.failed(Time(10));
        assert_eq!(backoff.holds(Time(10)), Some(Time(500)));
        backoff.failed(Time(500));
        assert_eq!(backoff.holds(Time(500)), Some(Time(1500)));
        assert_eq!(backoff.holds(Time(1500)), None);
    }
}
