//! Counting what was done.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a stand-in has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pods whose containers came up for the first time.
    pub started: u64,
    /// Deletions finished.
    pub finished: u64,
    /// Changes of a pod's status written.
    pub patches: u64,
    /// Writes that met a pod that was gone or another one of the same name.
    pub conflicts: u64,
    /// Writes that failed otherwise and were put off.
    pub retries: u64,
    /// Events about annotations that could not be read.
    pub complaints: u64,
}

/// The counters while they run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub started: AtomicU64,
    pub finished: AtomicU64,
    pub patches: AtomicU64,
    pub conflicts: AtomicU64,
    pub retries: AtomicU64,
    pub complaints: AtomicU64,
}

impl Tally {
    pub(crate) fn read(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            started: read(&self.started),
            finished: read(&self.finished),
            patches: read(&self.patches),
            conflicts: read(&self.conflicts),
            retries: read(&self.retries),
            complaints: read(&self.complaints),
        }
    }
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
