//! Where timestamps come from.

use std::fmt;

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells what time it is. Waiting is always done with tokio's timers; this is what gets written down.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that goes with tokio's: paused and advanced with it, and so the same in every run of a test.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    origin: Timestamp,
    started: Instant,
}

impl TokioClock {
    /// A clock that shows `origin` now.
    pub fn starting_at(origin: Timestamp) -> Self {
        Self { origin, started: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        crate::time::later(self.origin, self.started.elapsed())
    }
}
