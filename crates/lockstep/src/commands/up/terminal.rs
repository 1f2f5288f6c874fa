//! The live view on a real terminal, which is given back as it was, however this ends.

use anyhow::{Context, Result, bail};
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt;
use lockstep_core::time::{Millis, Time};
use ratatui::DefaultTerminal;

use super::Press;
use super::deeds::Deed;
use super::face::Face;
use super::session::Session;
use crate::view::{self, theme::Theme};

/// Changes are drawn at most this often.
const FASTEST: Millis = Millis(50);
/// The clock is drawn this often.
const SLOWEST: Millis = Millis(500);

/// A terminal with a view on it.
pub struct Terminal {
    terminal: DefaultTerminal,
    keys: EventStream,
    theme: Theme,
    drawn: Option<Time>,
    /// Something has changed since.
    fresh: bool,
}

impl Terminal {
    /// Takes the terminal over. A panic gives it back, too.
    pub fn open(colour: bool) -> Result<Self> {
        let terminal = ratatui::try_init().context("cannot draw on this terminal; --plain prints lines")?;
        let keys = EventStream::new();
        Ok(Self { terminal, keys, theme: Theme { colour }, drawn: None, fresh: true })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Face for Terminal {
    fn show(&mut self, session: &Session, now: Time, fresh: bool) -> Result<()> {
        self.fresh |= fresh;
        let pause = if self.fresh { FASTEST } else { SLOWEST };
        if self.drawn.is_some_and(|drawn| now.since(drawn) < pause) {
            return Ok(());
        }
        let scene = session.scene(now);
        self.terminal.draw(|frame| view::draw(frame, &scene, self.theme))?;
        (self.drawn, self.fresh) = (Some(now), false);
        Ok(())
    }

    async fn press(&mut self) -> Result<Press> {
        loop {
            match self.keys.next().await {
                Some(Ok(Event::Key(key))) => {
                    if let Some(press) = meaning(key) {
                        return Ok(press);
                    }
                }
                // A terminal of another size is drawn at once.
                Some(Ok(Event::Resize(..))) => return Ok(Press::Redraw),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("the keyboard cannot be read"),
                None => bail!("the keyboard is gone"),
            }
        }
    }
}

fn meaning(key: KeyEvent) -> Option<Press> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Press::Quit);
    }
    Some(match key.code {
        KeyCode::Char('r') => Press::Do(Deed::Roll),
        KeyCode::Char('b') => Press::Do(Deed::RollBadly),
        KeyCode::Char('n') => Press::Do(Deed::Node),
        KeyCode::Char('p') => Press::Do(Deed::Pause),
        KeyCode::Char('P') => Press::Do(Deed::Promote),
        KeyCode::Char('u') => Press::Do(Deed::Undo),
        KeyCode::Char('a') => Press::Do(Deed::Abort),
        KeyCode::Char('t') => Press::Do(Deed::Retry),
        KeyCode::Char('s') => Press::Do(Deed::Grow),
        KeyCode::Char('S') => Press::Do(Deed::Shrink),
        KeyCode::Char('?') | KeyCode::Char('h') => Press::Help,
        KeyCode::Tab => Press::Next,
        KeyCode::Char('q') => Press::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_help_says() {
        let press = |code, modifiers| meaning(KeyEvent::new(code, modifiers));
        let key = |sign| press(KeyCode::Char(sign), KeyModifiers::NONE);
        assert_eq!(key('p'), Some(Press::Do(Deed::Pause)));
        assert_eq!(press(KeyCode::Char('P'), KeyModifiers::SHIFT), Some(Press::Do(Deed::Promote)));
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Press::Quit));
        assert_eq!(press(KeyCode::Char('r'), KeyModifiers::CONTROL), None, "Ctrl-R rolls nothing");
        assert_eq!(key('x'), None);
    }
}
