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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::BadInput => 1,
            Exit::CannotFinish => 2,
            Exit::PromiseBroken => 3,
        })
    }
}
