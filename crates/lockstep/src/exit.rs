//! What the shell is told at the end.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Fine,
    /// The input is wrong; everything that is wrong was said.
    BadInput,
    /// The rollout cannot finish.
    CannotFinish,
    /// A promise was broken: an error of Lockstep itself.
    PromiseBroken,
    /// A rollout in a cluster is stalled or went back.
    Stalled,
    /// A rollout in a cluster was not at its end in time.
    TimedOut,
    /// A drain would have to wait for something to come back.
    DrainWaits,
    /// A drain could never finish.
    NeverDrains,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::BadInput | Exit::DrainWaits => 1,
            Exit::CannotFinish | Exit::Stalled | Exit::NeverDrains => 2,
            Exit::PromiseBroken | Exit::TimedOut => 3,
        })
    }
}
