//! What time it is, for everybody in the operator.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use lockstep_core::time::Time;

/// Tells the time of day. Waiting is done with tokio's timers; this is what is written down and planned with.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that shows what this says.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// The present moment, as the engine counts.
    pub fn time(&self) -> Time {
        Time(u64::try_from(self.now().as_millisecond()).unwrap_or_default())
    }
}

/// The clock of the machine.
impl Default for Clock {
    fn default() -> Self {
        Self::new(Timestamp::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
