//! What could not be created, and when it is tried again.

use jiff::{SignedDuration, Timestamp};

/// Something could not be created.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// Why.
    pub(super) why: String,
    /// People were told.
    pub(super) told: bool,
    /// When it is tried again.
    pub(super) again: Timestamp,
    /// How much there was when somebody first looked after it failed.
    had: Option<usize>,
    times: u32,
}

impl Failure {
    /// Whether there is more than when it failed.
    pub(super) fn is_over(&mut self, there: usize) -> bool {
        there > *self.had.get_or_insert(there)
    }

    /// It failed once more: each time it rests twice as long.
    pub(super) fn note(&mut self, why: String, now: Timestamp) {
        self.why = why;
        self.told = false;
        self.had = None;
        self.times = (self.times + 1).min(10);
        let wait = SignedDuration::from_secs(1 << (self.times - 1));
        self.again = now.checked_add(wait).unwrap_or(now);
    }
}
