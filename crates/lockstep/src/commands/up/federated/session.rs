//! What is known, what was said, and when it ends.

use lockstep_core::time::{Millis, Time};

use super::demo::NAME;
use super::scene::{Sight, UNSEEN};
use crate::commands::up::args::Until;
use crate::commands::up::face::Shown;
use crate::commands::up::journal::{Journal, Kind};
use crate::exit::Exit;
use crate::view::scene::{EventScene, Said, Scene, Tone};

/// After so long what was said takes less room.
const SAID_LONG_AGO: Millis = Millis::seconds(20);

/// What is waited for no longer is not worth a line.
const WAITED: Millis = Millis::seconds(2);

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
    /// A rollout is to be begun once everything stands.
    roll: bool,
    /// It is being begun.
    rolling: bool,
    /// It could not be begun.
    refused: bool,
    until: Option<Until>,
    /// The generation that was written last.
    written: Option<i64>,
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
            roll,
            rolling: false,
            refused: false,
            until,
            written: None,
        }
    }

    /// Takes in what stands, and tells what changed.
    pub fn see(&mut self, sight: Sight) {
        let now = sight.at;
        let phase = sight.phase();
        let is_told = phase == UNSEEN || self.sight.as_ref().map(Sight::phase) == Some(phase);
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
        (self.lines, self.sight) = (lines, Some(sight));
    }

    /// Time has passed: what is still waited for is told.
    pub fn wait(&mut self, now: Time) {
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
        self.refused |= std::mem::take(&mut self.rolling) && generation.is_none();
        self.said = Some((said, now));
    }

    /// Shows or hides the help.
    pub fn toggle_help(&mut self) {
        self.help = !self.help;
    }

    /// Whether to roll now. It says so once.
    pub fn rolls(&mut self) -> bool {
        let due = self.roll && self.ended() == Some(Exit::Fine);
        self.roll &= !due;
        self.rolling |= due;
        due
    }

    /// How it ends, if it ends now.
    pub fn end(&self) -> Option<Exit> {
        let until = self.until?;
        if self.refused {
            return Some(Exit::Stalled);
        }
        let ended = self.ended()?;
        match until {
            // What fails before it is rolled never is.
            _ if self.roll && ended == Exit::Fine => None,
            Until::Complete => Some(ended),
            Until::Ended => Some(Exit::Fine),
        }
    }

    /// How the template that was written last ended, if it did.
    fn ended(&self) -> Option<Exit> {
        let sight = self.sight.as_ref().filter(|it| it.generation() >= self.written)?;
        sight.ended()
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
        let events = self.journal.from(0).filter(|entry| matches!(entry.kind, Kind::Note | Kind::Deed));
        let event = |entry: &crate::commands::up::journal::Entry| EventScene {
            at: entry.at.since(self.started),
            tone: entry.tone,
            text: entry.text.clone(),
        };
        let said = self.said.clone().map(|(said, at)| Said { is_old: now.since(at) > SAID_LONG_AGO, ..said });
        Scene {
            elapsed: now.since(self.started),
            set: self.sight.as_ref().map(Sight::scene),
            events: events.map(event).collect(),
            said,
            access: self.access.clone(),
            help: self.help,
            ..Scene::default()
        }
    }
}
