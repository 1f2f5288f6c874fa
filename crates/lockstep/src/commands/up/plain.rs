//! A line for each change, for files, pipes and those who like it so.

use std::future::pending;
use std::time::Duration;

use anyhow::Result;
use lockstep_core::time::{Millis, Time};

use super::Press;
use super::face::{Face, Shown};
use super::journal::Kind;
use crate::screen::Screen;

/// Nothing here grows with time, but the end may be a matter of it.
const AGAIN: Duration = Duration::from_secs(1);

/// The lines.
pub struct Plain<'a, 'b> {
    screen: &'a mut Screen<'b>,
    /// The entry of the journal that comes next.
    next: u64,
}

impl<'a, 'b> Plain<'a, 'b> {
    /// Writes to a screen.
    pub fn new(screen: &'a mut Screen<'b>) -> Self {
        Self { screen, next: 0 }
    }
}

impl Face for Plain<'_, '_> {
    fn show(&mut self, session: &impl Shown, _: Time, _: bool) -> Result<Duration> {
        for entry in session.journal().from(self.next) {
            let time = since(entry.at.since(session.started()));
            writeln!(self.screen.out, "{time}  {}", entry.text)?;
            if let Some(command) = session.said().and_then(|said| said.command.as_ref())
                && matches!(entry.kind, Kind::Deed | Kind::Refusal)
            {
                writeln!(self.screen.out, "{time}    $ {command}")?;
            }
            self.next = entry.number + 1;
        }
        self.screen.out.flush()?;
        Ok(AGAIN)
    }

    async fn press(&mut self) -> Result<Press> {
        pending().await
    }
}

/// `12.3s`, in columns of the same width.
fn since(length: Millis) -> String {
    format!("{:>5}.{}s", length.0 / 1000, length.0 / 100 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_below_each_other() {
        assert_eq!(since(Millis(0)), "    0.0s");
        assert_eq!(since(Millis(12_345)), "   12.3s");
    }
}
