//! What is known, what was said, and when it ends.

use lockstep_core::time::{Millis, Time};

use super::demo::NAME;
use super::scene::{Sight, UNSEEN};
use crate::commands::up::args::Until;
use crate::commands::up::face::Shown;
use crate::commands::up::journal::{Journal, Kind};
use crate::exit::Exit;
use crate::view::scene::{Said, Scene, Tone};

/// What is waited for no longer is not worth a line.
const WAITED: Millis = Millis::seconds(2);
/// A cluster that does not answer for a moment may only be busy.
const STALLED: Millis = Millis::seconds(10);

/// The rollout that the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// There is none, or it was begun.
    Nothing,
    /// It is to be begun once everything stands.
    Waits,
    /// It is being begun.
    Begins,
    /// It could not be begun.
    Refused,
}

/// One run of the program.
pub struct Session {
    started: Time,
    access: String,
    journal: Journal,
    said: Option<(Said, Time)>,
    /// The commands that do what was done.
    pub commands: Vec<String>,
    /// What stands everywhere.
    pub sight: Option<Sight>,
    lines: Vec<String>,
    /// What is waited for, since when, and whether that was told.
    waiting: (String, Time, bool),
    help: bool,
    asked: Asked,
    until: Option<Until>,
    /// The generation that was written last.
    written: Option<i64>,
    /// Since when only a person could mend it.
    stalled: Option<Time>,
    now: Time,
}

impl Session {
    /// Begins.
    pub fn new(access: String, roll: bool, until: Option<Until>, started: Time) -> Self {
        Self {
            started,
            access,
            journal: Journal::default(),
            said: None,
            commands: Vec::new(),
            sight: None,
            lines: Vec::new(),
            waiting: (String::new(), started, false),
            help: false,
            asked: if roll { Asked::Waits } else { Asked::Nothing },
            until,
            written: None,
            stalled: None,
            now: started,
        }
    }

    /// Takes in what stands, and tells what changed.
    pub fn see(&mut self, sight: Sight) {
        let now = sight.at;
        let phase = sight.phase();
        let what = |sight: &Sight| (sight.phase().to_owned(), sight.image().to_owned());
        let is_told = phase == UNSEEN || self.sight.as_ref().map(what) == Some(what(&sight));
        if !is_told {
            let tone = if phase == "Complete" { Tone::Good } else { Tone::Plain };
            let text = format!("{NAME}: {} with {}", phase.to_lowercase(), sight.image());
            self.journal.tell(Kind::Note, tone, text, now);
        }
        let lines: Vec<String> = sight.members.iter().filter_map(|member| sight.line(member)).collect();
        for line in lines.iter().filter(|line| !self.lines.contains(line)) {
            self.journal.tell(Kind::Progress, Tone::Plain, line.clone(), now);
        }
        if self.waiting.0 != sight.waiting_for() {
            self.waiting = (sight.waiting_for().to_owned(), now, false);
        }
        let stalls = sight.ended() == Some(Exit::Stalled);
        self.stalled = stalls.then(|| self.stalled.unwrap_or(now));
        (self.lines, self.sight) = (lines, Some(sight));
    }

    /// Time has passed: what is still waited for is told.
    pub fn wait(&mut self, now: Time) {
        self.now = now;
        let (waiting, since, told) = &mut self.waiting;
        if !waiting.is_empty() && now.since(*since) >= WAITED && !std::mem::replace(told, true) {
            self.journal.tell(Kind::Note, Tone::Plain, format!("{NAME} waits: {waiting}"), now);
        }
    }

    /// Remembers what came of a key.
    pub fn done(&mut self, said: Said, generation: Option<i64>, now: Time) {
        self.commands.extend(said.command.clone().filter(|_| said.tone == Tone::Good));
        let kind = if said.tone == Tone::Good { Kind::Deed } else { Kind::Refusal };
        self.journal.tell(kind, said.tone, said.text.clone(), now);
        self.written = self.written.max(generation);
        if self.asked == Asked::Begins {
            self.asked = if generation.is_some() { Asked::Nothing } else { Asked::Refused };
        }
        self.said = Some((said, now));
    }

    /// Shows or hides the help.
    pub fn toggle_help(&mut self) {
        self.help = !self.help;
    }

    /// Whether to roll now. It says so once.
    pub fn rolls(&mut self) -> bool {
        let due = self.asked == Asked::Waits && self.ended() == Some(Exit::Fine);
        if due {
            self.asked = Asked::Begins;
        }
        due
    }

    /// How it ends, if it ends now.
    pub fn end(&self) -> Option<Exit> {
        let until = self.until?;
        if self.asked == Asked::Refused {
            return Some(Exit::Stalled);
        }
        let ended = self.ended()?;
        match until {
            // What fails before it is rolled never is.
            _ if self.asked == Asked::Waits && ended == Exit::Fine => None,
            Until::Complete => Some(ended),
            Until::Ended => Some(Exit::Fine),
        }
    }

    /// How the template that was written last ended, if it did.
    fn ended(&self) -> Option<Exit> {
        let sight = self.sight.as_ref().filter(|it| it.generation() >= self.written)?;
        let lasts = self.stalled.is_some_and(|since| self.now.since(since) >= STALLED);
        sight.ended().filter(|ended| *ended != Exit::Stalled || lasts)
    }
}

impl Shown for Session {
    fn started(&self) -> Time {
        self.started
    }

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn said(&self) -> Option<&Said> {
        self.said.as_ref().map(|(said, _)| said)
    }

    fn scene(&self, now: Time) -> Scene {
        Scene {
            elapsed: now.since(self.started),
            set: self.sight.as_ref().map(Sight::scene),
            events: self.journal.events(self.started),
            said: self.said.clone().map(|(said, at)| said.after(now.since(at))),
            access: self.access.clone(),
            help: self.help,
            ..Scene::default()
        }
    }
}
