//! What may go wrong in a model world, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rng::Rng;
use super::trace::Subject;
use crate::names::RoleName;
use crate::revision::Revision;
use crate::time::Millis;

/// A length of time, fixed or between two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Span {
    /// The shortest.
    pub min: Millis,
    /// The longest.
    pub max: Millis,
}

impl Span {
    /// Always the same.
    pub const fn fixed(length: Millis) -> Self {
        Self { min: length, max: length }
    }

    /// One length of it.
    pub fn draw(&self, rng: &mut Rng) -> Millis {
        Millis(rng.between(self.min.0, self.max.0.max(self.min.0)))
    }
}

/// How a world behaves when nothing goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Nature {
    /// How long a pod of each role takes from its node to ready.
    pub start_up: BTreeMap<RoleName, Span>,
    /// The same for roles not named.
    pub start_up_default: Span,
    /// How long a pod takes to terminate.
    pub termination: Span,
    /// Nodes, each with room for so many pods; none: one without end.
    pub nodes: Vec<u32>,
    /// How far the shell's view lags behind the world.
    pub lag: Span,
    /// Pauses that wait for somebody are promoted at once.
    pub promote: bool,
}

impl Default for Nature {
    fn default() -> Self {
        Self {
            start_up: BTreeMap::new(),
            start_up_default: Span::fixed(Millis::minutes(1)),
            termination: Span::fixed(Millis::seconds(1)),
            nodes: Vec::new(),
            lag: Span::default(),
            promote: true,
        }
    }
}

/// What goes wrong, each thing about every so often, until the faults stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Faults {
    /// Pods of these revisions never become ready.
    pub never_ready: Vec<Revision>,
    /// Pods of these revisions end as soon as they would be ready.
    pub failing: Vec<Revision>,
    /// Pods of these revisions are ready and unready in turn.
    pub flapping: Vec<Revision>,
    /// A ready pod crashes and restarts.
    pub crash: Option<Millis>,
    /// A pod ends for good.
    pub fail: Option<Millis>,
    /// A pod is evicted.
    pub eviction: Option<Millis>,
    /// A ready pod blinks: unready for a moment.
    pub blink: Option<Millis>,
    /// A node is lost and comes back.
    pub node_loss: Option<Millis>,
    /// The controller is killed in the middle of its writes.
    pub controller_crash: Option<Millis>,
    /// The memory in status is lost.
    pub memory_loss: Option<Millis>,
    /// What happens to an instance that is named, at a time of its own.
    pub strikes: Vec<Strike>,
    /// When all this stops, counted from the change; flapping and bad revisions stay what they are.
    pub until: Millis,
}

/// Something that happens to one instance at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Strike {
    /// When, counted from the first change.
    pub after: Millis,
    /// To whom.
    pub of: Subject,
    /// What.
    pub by: Blow,
}

/// What can happen to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Blow {
    /// Its pods are evicted.
    Evict,
    /// Its containers crash and start again.
    Crash,
    /// Its pods end for good.
    Fail,
}
