//! What a session is shown by.

use std::time::Duration;

use anyhow::Result;
use lockstep_core::time::Time;

use super::Press;
use super::session::Session;

/// Shows a session, and takes keys.
pub trait Face {
    /// Shows it; with `fresh` something has changed. Returns when to show it again though nothing changes: lengths of time
    /// grow, and a change may have come too soon after the last.
    fn show(&mut self, session: &Session, now: Time, fresh: bool) -> Result<Duration>;

    /// The next key that means something. May be dropped and asked again at any time.
    async fn press(&mut self) -> Result<Press>;
}
