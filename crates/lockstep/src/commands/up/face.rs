//! What a session is shown by.

use std::time::Duration;

use anyhow::Result;
use lockstep_core::time::Time;

use super::Press;
use super::journal::Journal;
use crate::view::scene::{Said, Scene};

/// What is shown.
pub trait Shown {
    /// When it began.
    fn started(&self) -> Time;

    /// What happened.
    fn journal(&self) -> &Journal;

    /// What the last key did.
    fn said(&self) -> Option<&Said>;

    /// What is on the screen.
    fn scene(&self, now: Time) -> Scene;
}

/// Shows a session, and takes keys.
pub trait Face {
    /// Shows it; with `fresh` something has changed. Returns when to show it again though nothing changes: lengths of time
    /// grow, and a change may have come too soon after the last.
    fn show(&mut self, session: &impl Shown, now: Time, fresh: bool) -> Result<Duration>;

    /// The next key that means something. May be dropped and asked again at any time.
    async fn press(&mut self) -> Result<Press>;
}
