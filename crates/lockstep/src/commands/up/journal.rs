//! What happened, in the order in which it was seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::time::Time;
use lockstep_operator::report::{Note, notes};

use super::world::World;
use crate::input::live_set::LiveSet;
use crate::show::{pod_state, progress};
use crate::view::scene::Tone;

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
        let seen = self.sets.remove(&key(set)).unwrap_or_default();
        for note in notes(&seen.status, &set.status) {
            let text = with_name(&set.name, &note.message);
            self.tell(Kind::Note, tone(&note), text, now);
        }
        let line = progress::line(set, now);
        if line != seen.line {
            self.tell(Kind::Progress, Tone::Plain, line.clone(), now);
        }
        self.sets.insert(key(set), Seen { status: set.status.clone(), line });
    }

    fn look_at_node(&mut self, node: &Node, now: Time) {
        let (name, ready) = (node.name_any(), is_ready(node));
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

/// Whether a node is ready.
pub fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn key(set: &LiveSet) -> (String, String) {
    (set.namespace.clone(), set.name.clone())
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
