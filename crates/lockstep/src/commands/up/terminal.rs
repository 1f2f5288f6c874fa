//! The live view on a real terminal, which is given back as it was, however this ends.

use std::fs::File;
use std::io::{self, BufWriter, stdout};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use crossterm::cursor::Show;
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use futures::StreamExt;
use lockstep_core::time::{Millis, Time};
use ratatui::backend::CrosstermBackend;

use super::Press;
use super::deeds::Deed;
use super::face::{Face, Shown};
use crate::view::{self, theme::Theme};

/// Changes are drawn at most this often.
const FASTEST: Millis = Millis(50);
/// The clock is drawn this often.
const SLOWEST: Millis = Millis(500);

/// The terminal is ours. It is given back once, by whoever comes first: the end, or a panic anywhere.
static OURS: AtomicBool = AtomicBool::new(false);

/// What is drawn goes past the lock of stdout, which is held by the command: a panic elsewhere must get through.
type Out = BufWriter<File>;

fn out() -> io::Result<Out> {
    Ok(BufWriter::new(File::from(stdout().as_fd().try_clone_to_owned()?)))
}

/// Takes the terminal over: a screen of its own, and every key as it is pressed.
fn take() -> io::Result<ratatui::Terminal<CrosstermBackend<Out>>> {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
    }));
    OURS.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    let mut out = out()?;
    execute!(out, EnterAlternateScreen)?;
    ratatui::Terminal::new(CrosstermBackend::new(out))
}

/// Gives the terminal back as it was. Whether this succeeds or not, nothing more can be done.
fn give_back() {
    if OURS.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = out().and_then(|mut out| execute!(out, LeaveAlternateScreen, Show));
    }
}

/// A terminal with a view on it.
pub struct Terminal {
    terminal: ratatui::Terminal<CrosstermBackend<Out>>,
    keys: EventStream,
    theme: Theme,
    drawn: Option<Time>,
    /// Something has changed since.
    fresh: bool,
}

impl Terminal {
    /// Takes the terminal over. A panic gives it back, too.
    pub fn open(colour: bool) -> Result<Self> {
        let terminal = take().inspect_err(|_| give_back());
        let terminal = terminal.context("cannot draw on this terminal; --plain prints lines")?;
        let keys = EventStream::new();
        Ok(Self { terminal, keys, theme: Theme { colour }, drawn: None, fresh: true })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

impl Face for Terminal {
    fn show(&mut self, session: &impl Shown, now: Time, fresh: bool) -> Result<Duration> {
        if !OURS.load(Ordering::SeqCst) {
            bail!("a part of the program has panicked");
        }
        self.fresh |= fresh;
        let pause = if self.fresh { FASTEST } else { SLOWEST };
        let waited = self.drawn.map_or(pause, |drawn| now.since(drawn));
        if waited < pause {
            return Ok(Duration::from_millis(pause.0 - waited.0));
        }
        let scene = session.scene(now);
        self.terminal.draw(|frame| view::draw(frame, &scene, self.theme))?;
        (self.drawn, self.fresh) = (Some(now), false);
        Ok(Duration::from_millis(SLOWEST.0))
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
