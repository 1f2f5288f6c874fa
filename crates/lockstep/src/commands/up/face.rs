//! What a session is shown by.

use anyhow::Result;
use lockstep_core::time::Time;

use super::Press;
use super::session::Session;

/// Shows a session, and takes keys.
pub trait Face {
    /// Shows it; with `fresh` something has changed.
    fn show(&mut self, session: &Session, now: Time, fresh: bool) -> Result<()>;

    /// The next key that means something. May be dropped and asked again at any time.
    async fn press(&mut self) -> Result<Press>;
}
