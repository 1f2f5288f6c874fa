//! How fast a set writes: slowly at first, so that what is refused once is not asked a thousand times.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use lockstep_core::time::{Millis, Time};

/// Requests of one set that are under way at a time, at most.
const MOST: usize = 64;
const FIRST_PAUSE: Millis = Millis(500);
const LONGEST_PAUSE: Millis = Millis::seconds(60);

/// A write that waits for its turn.
pub type Job<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The queue of a set's writes.
pub struct Pace<T> {
    queue: VecDeque<Job<T>>,
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
    pub fn push(&mut self, job: Job<T>) {
        self.queue.push_back(job);
    }

    /// The next write, if it may start now.
    pub fn next(&mut self) -> Option<Job<T>> {
        if self.running >= self.limit {
            return None;
        }
        let job = self.queue.pop_front()?;
        self.running += 1;
        Some(job)
    }

    /// A write ended.
    pub fn ended(&mut self, well: bool) {
        self.running = self.running.saturating_sub(1);
        self.limit = if well { (self.limit * 2).min(MOST) } else { 1 };
    }

    /// Drops what has not started. Each job puts the view right when it is dropped.
    pub fn clear(&mut self) {
        self.queue.clear();
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

    /// One succeeded.
    pub fn succeeded(&mut self) {
        *self = Self::default();
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
    fn starts_slowly_and_stops_at_a_refusal() {
        let mut pace: Pace<()> = Pace::default();
        for _ in 0..10 {
            pace.push(Box::pin(async {}));
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
    fn pauses_double_and_one_batch_counts_once() {
        let mut backoff = Backoff::default();
        backoff.failed(Time(0));
        backoff.failed(Time(10));
        assert_eq!(backoff.holds(Time(10)), Some(Time(500)));
        backoff.failed(Time(500));
        assert_eq!(backoff.holds(Time(500)), Some(Time(1500)));
        backoff.succeeded();
        assert_eq!(backoff.holds(Time(500)), None);
    }
}
