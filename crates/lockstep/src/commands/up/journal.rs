//! What happened, in the order in which it was seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::time::Time;
use lockstep_operator::report::{Note, notes};

use super::world::World;
use crate::input::live_set::LiveSet;
use crate::show::{node_state, pod_state, progress, words};
use crate::view::scene::{EventScene, Tone};

/// So much is remembered.
const MOST: usize = 500;

/// What pods go through without being in trouble.
const ORDINARY: [&str; 9] = [
    "Ready",
    "Running",
    "Held",
    "Gated",
    "Unscheduled",
    "Terminating",
    "Pending",
    "ContainerCreating",
    "PodInitializing",
];

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something changed for good, or needs an eye.
    Note,
    /// A rollout came a bit further.
    Progress,
    /// Somebody pressed a key.
    Deed,
    /// Somebody pressed a key in vain.
    Refusal,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entries are counted.
    pub number: u64,
    /// When it was seen.
    pub at: Time,
    /// What kind of thing it is.
    pub kind: Kind,
    /// How it is to be taken.
    pub tone: Tone,
    /// What.
    pub text: String,
}

/// What happened.
#[derive(Debug, Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
    count: u64,
    sets: BTreeMap<(String, String), Seen>,
    nodes: BTreeMap<String, bool>,
    /// The pods, by UID, whose trouble was told.
    troubled: BTreeSet<String>,
}

/// A set as it was seen last.
#[derive(Debug, Default)]
struct Seen {
    status: LockstepSetStatus,
    line: String,
}

impl Journal {
    /// Writes something down.
    pub fn tell(&mut self, kind: Kind, tone: Tone, text: String, at: Time) {
        self.entries.push_back(Entry { number: self.count, at, kind, tone, text });
        self.count += 1;
        if self.entries.len() > MOST {
            self.entries.pop_front();
        }
    }

    /// What is worth showing beside the picture, by the time since the beginning.
    pub fn events(&self, started: Time) -> Vec<EventScene> {
        let shown = self.from(0).filter(|entry| matches!(entry.kind, Kind::Note | Kind::Deed));
        let event = |entry: &Entry| EventScene {
            at: entry.at.since(started),
            tone: entry.tone,
            text: entry.text.clone(),
        };
        shown.map(event).collect()
    }

    /// What was written down from a number on.
    pub fn from(&self, number: u64) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.number >= number)
    }

    /// Compares what is there with what was seen before.
    pub fn look(&mut self, world: &World, now: Time) {
        let sets = world.sets();
        for set in &sets {
            self.look_at_set(set, now);
        }
        let there: BTreeSet<(String, String)> = sets.iter().map(key).collect();
        let gone: Vec<_> = self.sets.keys().filter(|key| !there.contains(key)).cloned().collect();
        for key in gone {
            self.tell(Kind::Note, Tone::Warn, format!("{}: deleted", key.1), now);
            self.sets.remove(&key);
        }
        for node in world.nodes.objects.values() {
            self.look_at_node(node, now);
        }
        for pod in world.pods.objects.values() {
            self.look_at_pod(pod, now);
        }
    }

    fn look_at_set(&mut self, set: &LiveSet, now: Time) {
        let known = self.sets.remove(&key(set));
        // One that is at its end when it is first seen has got there before.
        let old_news = known.is_none() && progress::ended(set, now).is_some();
        let seen = known.unwrap_or_default();
        let notes = if old_news { Vec::new() } else { notes(&seen.status, &set.status) };
        for note in put_together(notes) {
            let text = match phase_word(&note.reason) {
                Some(word) => format!("{}: {word}: {}", set.name, note.message),
                None => with_name(&set.name, &note.message),
            };
            self.tell(Kind::Note, tone(&note), text, now);
        }
        // That the operator has not seen a change yet is over in a moment, and nobody's progress.
        let overtaken = !set.is_seen() && !set.status.rollout.phase.is_empty();
        let line = if overtaken { seen.line.clone() } else { progress::line(set, now) };
        if line != seen.line {
            self.tell(Kind::Progress, Tone::Plain, line.clone(), now);
        }
        self.sets.insert(key(set), Seen { status: set.status.clone(), line });
    }

    fn look_at_node(&mut self, node: &Node, now: Time) {
        let (name, ready) = (node.name_any(), node_state::is_ready(node));
        let (tone, text) = match (self.nodes.insert(name.clone(), ready), ready) {
            (Some(true), false) => (Tone::Bad, format!("{name} is not ready")),
            (Some(false), true) => (Tone::Good, format!("{name} is ready")),
            _ => return,
        };
        self.tell(Kind::Note, tone, text, now);
    }

    fn look_at_pod(&mut self, pod: &Pod, now: Time) {
        let word = pod_state::word(pod);
        if ORDINARY.contains(&word.as_str()) || !self.troubled.insert(pod.uid().unwrap_or_default()) {
            return;
        }
        self.tell(Kind::Note, Tone::Warn, format!("{}: {word}", pod.name_any()), now);
    }
}

fn key(set: &LiveSet) -> (String, String) {
    (set.namespace.clone(), set.name.clone())
}

/// Notes that say the same of several things become one: `chat-1/decode-0 and chat-1/prefill-3: pause`.
fn put_together(notes: Vec<Note>) -> Vec<Note> {
    let mut whole: Vec<(Note, Vec<String>)> = Vec::new();
    let told = |reason: &str| notes.iter().any(|note| note.reason == reason);
    // What begins is on its way, and what goes back begins to: neither needs a second word.
    let doubled = match (told("RolloutStarted"), told("RollingBack")) {
        (true, true) => "RolloutStarted",
        (true, false) => "Progressing",
        _ => "",
    };
    for note in notes.into_iter().filter(|note| note.reason != doubled) {
        let (what, said) = match note.message.split_once(": ") {
            Some((what, said)) if what.contains('/') => (vec![what.to_owned()], said.to_owned()),
            _ => (Vec::new(), note.message.clone()),
        };
        let note = Note { message: said, ..note };
        match whole.iter_mut().find(|(known, about)| *known == note && !about.is_empty()) {
            Some((_, about)) => about.extend(what),
            None => whole.push((note, what)),
        }
    }
    let joined = |(note, about): (Note, Vec<String>)| match about.is_empty() {
        true => note,
        false => Note { message: format!("{}: {}", words::list(&about), note.message), ..note },
    };
    whole.into_iter().map(joined).collect()
}

/// A phase that its message does not name.
fn phase_word(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "Progressing" => "progressing",
        "Paused" => "paused",
        "Stalled" => "stalled",
        "RollingBack" => "rolling back",
        "RolledBack" => "rolled back",
        _ => return None,
    })
}

/// A message says which set it is about, once.
fn with_name(name: &str, message: &str) -> String {
    if message.starts_with(name) { message.to_owned() } else { format!("{name}: {message}") }
}

fn tone(note: &Note) -> Tone {
    match (note.reason.as_str(), note.warning) {
        ("Complete" | "PartitionReached", _) => Tone::Good,
        ("Stalled" | "RolledBack", _) => Tone::Bad,
        (_, true) => Tone::Warn,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(reason: &str, message: &str) -> Note {
        Note { warning: false, reason: reason.to_owned(), message: message.to_owned() }
    }

    #[test]
    fn what_is_said_of_several_is_said_once() {
        let told = put_together(vec![
            note("RolloutStarted", "rolls to a41d0"),
            note("Progressing", "on its way to a41d0"),
            note("GroupOpened", "group 1 is being updated"),
            note("PauseStep", "chat-1/decode-0: step 2/3: pause"),
            note("PauseStep", "chat-1/prefill-3: step 2/3: pause"),
            note("PauseStep", "chat-0/decode-0: step 1/3: pause"),
            note("Other", "chat-1/router-0: step 2/3: pause"),
        ]);
        let told: Vec<&str> = told.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "rolls to a41d0",
                "group 1 is being updated",
                "chat-1/decode-0 and chat-1/prefill-3: step 2/3: pause",
                "chat-0/decode-0: step 1/3: pause",
                "chat-1/router-0: step 2/3: pause",
            ]
        );
    }

    #[test]
    fn a_way_back_is_told_once() {
        let told = put_together(vec![
            note("RolloutStarted", "goes back to a41d0"),
            note("RollingBack", "goes back to a41d0"),
        ]);
        assert_eq!(told, [note("RollingBack", "goes back to a41d0")]);
    }

    #[test]
    fn what_was_over_before_is_no_news() {
        let mut journal = Journal::default();
        let mut look = |phase: &str| {
            let object = json!({
                "metadata": {"name": "a", "namespace": "ml", "generation": 1}, "spec": {},
                "status": {"observedGeneration": 1, "rollout": {"phase": phase}},
            });
            let set = LiveSet::of(serde_json::from_value(object).unwrap()).unwrap();
            let before = journal.count;
            journal.look_at_set(&set, Time(0));
            journal.from(before).map(|entry| entry.kind).collect::<Vec<_>>()
        };
        assert_eq!(look("Complete"), [Kind::Progress]);
        assert!(look("Stalled").contains(&Kind::Note));
    }

    #[test]
    fn entries_are_counted_and_the_oldest_forgotten() {
        let mut journal = Journal::default();
        for n in 0..(MOST as u64 + 2) {
            journal.tell(Kind::Note, Tone::Plain, n.to_string(), Time(n));
        }
        assert_eq!(journal.from(0).next().unwrap().number, 2);
        assert_eq!(
            journal.from(MOST as u64 + 1).map(|entry| entry.text.as_str()).collect::<Vec<_>>(),
            ["501"]
        );
    }
}
