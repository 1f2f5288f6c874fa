//! What became of a scenario.

use std::fmt::{self, Write};

use lockstep_core::model::Spec;
use lockstep_core::promises::{Broken, Checker, Promise};
use lockstep_core::simulate::trace::{End, Event, What};

use super::Played;

/// What became of a scenario: the trace, and what it says about the promises.
#[derive(Debug)]
pub struct Verdict {
    /// The world it was played in.
    pub world: &'static str,
    /// Everything that happened.
    pub events: Vec<Event>,
    /// The promises that were broken.
    pub broken: Vec<Broken>,
    /// How it ended.
    pub end: End,
    /// Why the watch broke, if it did: what happened meanwhile is known only by its result.
    pub interruptions: Vec<String>,
    promises: &'static [Promise],
    expected: Vec<End>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (world, end, expected) = (self.world, self.end, &self.expected);
        write!(f, "{world}: ended {end:?}, expected one of {expected:?}\n{}", self.report())
    }
}

/// Holds a trace against promises.
pub fn judge(events: &[Event], promises: &[Promise]) -> Vec<Broken> {
    let mut checker = Checker::default();
    for event in events {
        checker.see(event);
    }
    checker.broken().iter().filter(|broken| promises.contains(&broken.promise)).cloned().collect()
}

impl Verdict {
    pub(super) fn new(played: Played, promises: &'static [Promise], expected: Vec<End>) -> Self {
        let Played { world, events, end, interruptions } = played;
        // Where it is expected not to come to a good end, that is no broken promise.
        let expected_so = |broken: &Broken| broken.promise == Promise::Convergence && expected.contains(&end);
        let mut broken = judge(&events, promises);
        broken.retain(|broken| !expected_so(broken));
        Self { world, events, broken, end, interruptions, promises, expected }
    }

    /// The same history, held against promises nobody made: `tighten` changes every wish in it.
    pub fn judged_against(&self, tighten: impl Fn(&mut Spec)) -> Vec<Broken> {
        let mut events = self.events.clone();
        for event in &mut events {
            if let What::Spec(wish) = &mut event.what {
                tighten(&mut wish.spec);
            }
        }
        judge(&events, self.promises)
    }

    /// Fails the test if a promise was broken, the end is not the one expected, or not everything was seen.
    ///
    /// # Panics
    /// With the broken promises and the last events.
    pub fn assert_kept(&self) {
        assert!(self.interruptions.is_empty(), "the watch was interrupted: {:?}", self.interruptions);
        assert!(self.is_kept(), "{self}");
    }

    /// Whether no promise was broken, the end is the one expected, and everything was seen.
    pub fn is_kept(&self) -> bool {
        self.interruptions.is_empty() && self.broken.is_empty() && self.expected.contains(&self.end)
    }

    /// The broken promises, and the events before the first of them or before the end, for people.
    fn report(&self) -> String {
        let mut text = String::new();
        for broken in &self.broken {
            let _ = writeln!(text, "{broken}");
        }
        let until = self.broken.first().map_or(u64::MAX, |broken| broken.t);
        let before = self.events.iter().take_while(|event| event.t <= until).count();
        let shown = &self.events[before.saturating_sub(40)..before];
        let _ = writeln!(text, "the last {} of {} events until then:", shown.len(), self.events.len());
        for line in shown.iter().filter_map(|event| serde_json::to_string(event).ok()) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// The trace as `simulate -o jsonl` writes it.
    pub fn jsonl(&self) -> String {
        let lines = self.events.iter().filter_map(|event| serde_json::to_string(event).ok());
        lines.map(|line| line + "\n").collect()
    }
}
