//! How the world of a rollout over clusters behaves, and what may go wrong in it, as data.

use std::collections::BTreeMap;

use super::workload::Template;
use crate::simulate::faults::Span;
use crate::time::Millis;

/// How a world behaves when nothing goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nature {
    /// How long a pod takes to become available, by cluster.
    pub start_up: BTreeMap<String, Span>,
    /// The same for clusters not named.
    pub start_up_default: Span,
    /// How long a pod takes to terminate. Only where one waits for the other to be gone does it matter.
    pub termination: Span,
    /// How long everything takes that goes between the clusters, each by itself, so that one may overtake
    /// another; and how long a controller takes to act.
    pub lag: Span,
}

impl Default for Nature {
    fn default() -> Self {
        Self {
            start_up: BTreeMap::new(),
            start_up_default: Span::fixed(Millis::minutes(1)),
            termination: Span::fixed(Millis::seconds(1)),
            lag: Span::default(),
        }
    }
}

impl Nature {
    /// How long a pod of a cluster takes to become available.
    pub fn start_up_of(&self, cluster: &str) -> Span {
        self.start_up.get(cluster).copied().unwrap_or(self.start_up_default)
    }
}

/// What goes wrong, each thing about every so often, until the faults stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// Pods of these templates never become available.
    pub never_ready: Vec<Template>,
    /// A pod crashes and starts again.
    pub crash: Option<Millis>,
    /// A pod ends for good.
    pub fail: Option<Millis>,
    /// A pod is evicted.
    pub eviction: Option<Millis>,
    /// A pod is not ready for a moment.
    pub blink: Option<Millis>,
    /// A cluster cannot be reached, and can be again.
    pub outage: Option<Millis>,
    /// Whoever aligns is killed in the middle of its writes.
    pub controller_crash: Option<Millis>,
    /// What happens to one pod of a cluster at a time of its own.
    pub strikes: Vec<Strike>,
    /// When a cluster cannot be reached, and for how long.
    pub outages: Vec<Outage>,
    /// When all this stops, counted from the change. A template that never works stays what it is.
    pub until: Millis,
}

/// Something that happens to one pod at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    /// When, counted from the first change.
    pub after: Millis,
    /// In which cluster.
    pub cluster: String,
    /// What.
    pub by: Blow,
}

/// A time in which a cluster cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// When it begins, counted from the first change.
    pub after: Millis,
    /// Which cluster.
    pub cluster: String,
    /// How long it lasts.
    pub length: Millis,
}

/// What can happen to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// It crashes and starts again.
    Crash,
    /// It is gone for good.
    Evict,
    /// It does not serve for a moment.
    Blink,
}
