//! What was seen: pods, their roots, and how new the view is.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::snapshot::Uid;

/// One pod a budget covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// Which pod: names come back, UIDs do not.
    pub uid: Uid,
    /// Its name.
    pub name: String,
    /// The workload at the top of its owner references. An identity, not a mere name: a root deleted and
    /// made anew is another one. What follows an `@` is not shown to people. None for a pod nobody owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The value of the budget's group label, if the pod carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether it is Ready.
    pub ready: bool,
    /// Whether it is on its way out already.
    #[serde(default)]
    pub terminating: bool,
    /// Neither Succeeded nor Failed. Others are in no account, but a promise knows that they still exist.
    #[serde(default = "yes")]
    pub active: bool,
    /// Its direct controller is gone or terminating: nobody would hold on to it anyway.
    #[serde(default)]
    pub controller_gone: bool,
    /// Its owner asked not to protect it.
    #[serde(default)]
    pub opted_out: bool,
}

fn yes() -> bool {
    true
}

impl Pod {
    /// Ready and here to stay, as far as the pod itself shows.
    pub(super) fn stands_ready(&self) -> bool {
        self.active && self.ready && !self.terminating
    }

    /// The unit it belongs to. A group's name is unique within its root only: two LeaderWorkerSets both
    /// have a group 0.
    pub fn unit(&self, grouped: bool) -> UnitKey {
        match (&self.group, grouped) {
            (Some(value), true) => {
                UnitKey::Group { root: self.root.clone().unwrap_or_default(), value: value.clone() }
            }
            _ => UnitKey::Pod { name: self.name.clone(), uid: self.uid.clone() },
        }
    }
}

/// What a budget counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnitKey {
    /// The pods of one root with one value of the group label.
    Group {
        /// The root.
        root: String,
        /// The label's value.
        value: String,
    },
    /// A pod that is a unit by itself.
    Pod {
        /// Its name.
        name: String,
        /// Which pod of that name.
        uid: Uid,
    },
}

impl fmt::Display for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group { root, value } if root.is_empty() => write!(f, "group {value:?}"),
            Self::Group { root, value } => {
                let readable = root.split('@').next().unwrap_or_default();
                write!(f, "group {value:?} of {readable}")
            }
            Self::Pod { name, .. } => write!(f, "pod {name}"),
        }
    }
}

/// A workload at the top of covered pods, as seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Its resourceVersion. What a newer one has said before is not unlearned from an older one.
    #[serde(default)]
    pub version: Version,
    /// How many replicas its scale asks for, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Whether those replicas are the units of this budget (groups of a LeaderWorkerSet by its group index,
    /// plain pods of a Deployment without a group policy).
    #[serde(default)]
    pub counts_units: bool,
    /// Whether it says that it has acted on its newest scale: what stands is what was asked for.
    #[serde(default)]
    pub settled: bool,
    /// How many pods one replica has when complete, if known: 1 for a Deployment, the size of a
    /// LeaderWorkerSet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods_per_replica: Option<u32>,
}

impl Root {
    /// What is known after another look, from a cache that may be behind: then this stays, and whether it has
    /// acted on it is not known.
    pub(super) fn renewed_by(self, seen: Self) -> Self {
        if seen.version < self.version { Self { settled: false, ..self } } else { seen }
    }

    /// How many pods it has when complete, if known.
    pub(super) fn pods(self) -> Option<u32> {
        Some(self.replicas?.saturating_mul(self.pods_per_replica?))
    }
}

/// How new a view of pods is: the resourceVersion up to which it has seen everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub u64);

/// The pods a budget covers and their roots, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// Every covered pod.
    pub pods: Vec<Pod>,
    /// Every root that exists; one that is missing has been deleted.
    pub roots: BTreeMap<String, Root>,
    /// Since when its pods are as they are shown. What is decided from it rests on this: a quiet cache is as good
    /// as a busy one.
    #[serde(default)]
    pub since: Version,
    /// How new its pods are: nothing has changed between `since` and this. Roots carry their own version each: they come from as many caches as there are
    /// kinds.
    pub version: Version,
    /// Whether the pods were listed from the API server after the budget was read, rather than taken from
    /// a cache. Only then may a unit be called broken.
    #[serde(default)]
    pub live: bool,
}
