//! One budget's account: its units, what it counts, and what it reports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::memory::{Memory, count};
use super::observe::{Pod, UnitKey, Version, View};
use super::promise::{Budget, Promise};
use super::spec::BudgetSpec;
use crate::snapshot::Uid;
use crate::time::Time;

/// Why nothing can be decided right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum NotYet {
    /// The status rests on something newer; read again, not older than this.
    #[error("the view is older than what the budget rests on")]
    ViewTooOld {
        /// What to read at least.
        need: Version,
    },
    /// The spec has changed and the status does not reflect it yet.
    #[error("the budget has changed and has not been counted since")]
    GenerationLags,
    /// The unit looks broken in a view that may be old; list the pods after reading the budget.
    #[error("the unit looks broken in a view that was not read live")]
    NeedsLiveView,
    /// The pod is newer than the view.
    #[error("the pod is not in the view")]
    PodUnknown,
}

/// One unit as counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    /// Which unit.
    pub key: UnitKey,
    /// How many ready pods it needs.
    pub min_ready: u32,
    /// Pods ready, not terminating, not promised: what will be left when all promises are kept.
    pub lo: u32,
    /// The same with promised ones: what is there now.
    pub all: u32,
    /// All of its pods.
    pub pods: u32,
    /// Those of its pods that are promised.
    pub(super) promised: Vec<Uid>,
}

impl Unit {
    /// Whether it serves, and still will when all promises are kept.
    pub fn is_available(&self) -> bool {
        self.lo >= self.min_ready
    }
}

/// A covered pod in the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) unit: usize,
    pub(super) pod: Pod,
    pub(super) promise: Option<Promise>,
}

impl Entry {
    fn in_lo(&self) -> bool {
        self.pod.stands_ready() && self.promise.is_none()
    }
}

/// The figures of a budget's status, in groups where a policy is set, in pods otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Units available.
    pub current_available: u32,
    /// Units that must stay available.
    pub desired_available: u32,
    /// Units that may be taken away now.
    pub unavailable_allowed: u32,
    /// Units expected.
    pub total_replicas: u32,
    /// Expected units that are not available, those gone whole included.
    pub unavailable_replicas: u32,
}

/// Something a person should know about a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Condition {
    /// Pods without the group label; each counts as a unit by itself.
    #[serde(rename = "PodsMissingGroupLabel")]
    PodsMissingGroupLabel {
        /// How many.
        pods: u32,
    },
    /// Groups that can never be available, because they have fewer pods than must be ready.
    #[serde(rename = "MinReadyReplicasImpossible")]
    MinReadyReplicasImpossible {
        /// How many groups.
        groups: u32,
        /// How many pods the largest of them has.
        largest: u32,
    },
    /// As many units must stay as are expected: a drain would wait for ever.
    #[serde(rename = "DrainCanNeverFinish")]
    DrainCanNeverFinish {
        /// Units that must stay.
        desired: u32,
        /// Units expected.
        expected: u32,
    },
}

/// One budget, counted. Building it costs one pass over the pods; asking and spending costs the pods asked
/// about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    budget: String,
    spec: BudgetSpec,
    pub(super) units: Vec<Unit>,
    pub(super) pods: BTreeMap<Uid, Entry>,
    /// Promises held, also of pods that are in no account any more.
    pub(super) promises: usize,
    pub(super) available: u32,
    expected: u32,
    desired: u32,
    conditions: Vec<Condition>,
    memory: Memory,
    since: Version,
    version: Version,
    pub(super) at: Time,
    pub(super) live: bool,
    pub(super) not_yet: Option<NotYet>,
}

/// Counts a budget in a view. `now` is the moment the planner's questions are asked at; [`super::decide`]
/// brings its own.
///
/// It never fails: an account that must not be decided from (the view is too old, the spec has changed)
/// still has figures, and refuses every removal.
pub fn account(budget: &Budget, view: &View, now: Time) -> Account {
    let grouped = budget.spec.pod_group_policy.is_some();
    let memory = budget.state.memory.observe(view, grouped);
    let expected = budget.spec.protect_total_replicas.unwrap_or_else(|| memory.expected(view, grouped));
    let (units, pods) = tally(budget, view, grouped);
    let desired = budget.spec.desired(expected);
    let mut account = Account {
        budget: budget.name.clone(),
        spec: budget.spec.clone(),
        available: count(units.iter().filter(|unit| unit.is_available()).count()),
        units,
        pods,
        promises: budget.state.promises.len(),
        expected,
        desired,
        conditions: Vec::new(),
        memory,
        since: view.since,
        version: view.version,
        at: now,
        live: view.live,
        not_yet: not_yet(budget, view),
    };
    account.conditions = account.conditions_in(view, grouped);
    account
}

fn not_yet(budget: &Budget, view: &View) -> Option<NotYet> {
    let need = budget.state.rests_on;
    if budget.observed_generation < budget.generation {
        Some(NotYet::GenerationLags)
    } else if view.version < need {
        Some(NotYet::ViewTooOld { need })
    } else {
        None
    }
}

fn tally(budget: &Budget, view: &View, grouped: bool) -> (Vec<Unit>, BTreeMap<Uid, Entry>) {
    let mut units: Vec<Unit> = Vec::new();
    let mut groups: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    let mut pods: BTreeMap<Uid, Entry> = BTreeMap::new();
    for pod in view.pods.iter().filter(|pod| pod.active) {
        if pods.contains_key(&pod.uid) {
            continue;
        }
        let mut open = |min_ready| {
            let key = pod.unit(grouped);
            units.push(Unit { key, min_ready, lo: 0, all: 0, pods: 0, promised: Vec::new() });
            units.len() - 1
        };
        let unit = match &pod.group {
            Some(value) if grouped => *groups
                .entry((pod.root.as_deref(), value.as_str()))
                .or_insert_with(|| open(budget.spec.min_ready())),
            _ => open(1),
        };
        let entry = Entry { unit, pod: pod.clone(), promise: budget.state.promises.get(&pod.uid).cloned() };
        if let Some(counted) = units.get_mut(unit) {
            counted.pods += 1;
            counted.lo += u32::from(entry.in_lo());
            counted.all += u32::from(entry.pod.stands_ready());
            if entry.promise.is_some() {
                counted.promised.push(pod.uid.clone());
            }
        }
        pods.insert(pod.uid.clone(), entry);
    }
    (units, pods)
}

impl Account {
    /// The budget's name.
    pub fn budget(&self) -> &str {
        &self.budget
    }

    /// What the budget asks for.
    pub fn spec(&self) -> &BudgetSpec {
        &self.spec
    }

    /// The units that have pods, in the order first seen.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Whether the pod is in this account; others cost nothing here.
    pub fn covers(&self, pod: &Uid) -> bool {
        self.pods.contains_key(pod)
    }

    /// A covered pod as it was counted.
    pub fn counted(&self, pod: &Uid) -> Option<&Pod> {
        self.pods.get(pod).map(|entry| &entry.pod)
    }

    /// Units available.
    pub fn available(&self) -> u32 {
        self.available
    }

    /// Units expected.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Units that must stay available.
    pub fn desired(&self) -> u32 {
        self.desired
    }

    /// Units that may be taken away now.
    pub fn allowed(&self) -> u32 {
        self.available.saturating_sub(self.desired)
    }

    /// Why nothing may be decided from this account, if so.
    pub fn not_yet(&self) -> Option<NotYet> {
        self.not_yet
    }

    /// The figures of status.
    pub fn figures(&self) -> Figures {
        Figures {
            current_available: self.available,
            desired_available: self.desired,
            unavailable_allowed: self.allowed(),
            total_replicas: self.expected,
            unavailable_replicas: self.expected.saturating_sub(self.available),
        }
    }

    /// What a person should know.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The units to remember from here on.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What a decision from it rests on.
    pub fn since(&self) -> Version {
        self.since
    }

    /// Puts in what a single read showed of one pod; `version` is that pod's own resourceVersion. An admission
    /// request knows its pod better than an older list does, and worse than a newer one: a pod it read as not
    /// ready may have become ready, and been counted on, before it decides. Of two that disagree the one that
    /// shows the pod ready is believed then, since a newer list may still be an old one.
    ///
    /// False if the list has never shown the pod: then it is too old to count with, since another pod may have
    /// stood in this one's place.
    pub fn refresh(&mut self, pod: &Pod, version: u64) -> bool {
        let Some(entry) = self.pods.get_mut(&pod.uid) else { return false };
        let Some(unit) = self.units.get_mut(entry.unit) else { return false };
        let was_available = unit.is_available();
        unit.lo -= u32::from(entry.in_lo()).min(unit.lo);
        unit.all -= u32::from(entry.pod.stands_ready()).min(unit.all);
        if Version(version) > self.version {
            entry.pod = pod.clone();
        } else {
            entry.pod.ready |= pod.ready;
        }
        unit.lo += u32::from(entry.in_lo());
        unit.all += u32::from(entry.pod.stands_ready());
        self.available -= u32::from(was_available).min(self.available);
        self.available += u32::from(unit.is_available());
        self.since = self.since.max(Version(version));
        true
    }

    fn conditions_in(&self, view: &View, grouped: bool) -> Vec<Condition> {
        let mut conditions = Vec::new();
        let unlabelled = view.pods.iter().filter(|pod| pod.active && pod.group.is_none()).count();
        if grouped && unlabelled > 0 {
            conditions.push(Condition::PodsMissingGroupLabel { pods: count(unlabelled) });
        }
        conditions.extend(self.impossible_groups());
        if self.expected > 0 && self.desired >= self.expected {
            conditions
                .push(Condition::DrainCanNeverFinish { desired: self.desired, expected: self.expected });
        }
        conditions
    }

    /// Groups too small ever to be available. Where the root's replicas are the groups, its own word on
    /// their size counts; elsewhere the largest group of the root stands for all, so that one that is just
    /// being rebuilt raises no alarm.
    fn impossible_groups(&self) -> Option<Condition> {
        let mut by_root: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for unit in &self.units {
            if let UnitKey::Group { root, .. } = &unit.key {
                let (groups, largest) = by_root.entry(root).or_default();
                *groups += 1;
                *largest = unit.pods.max(*largest);
            }
        }
        let needed = self.spec.min_ready();
        let short: Vec<(u32, u32)> = by_root
            .into_iter()
            .map(|(root, (groups, largest))| {
                let told = self.memory.0.get(root).map(|root| root.known).filter(|root| root.counts_units);
                (groups, told.and_then(|root| root.pods_per_replica).unwrap_or(largest))
            })
            .filter(|(_, size)| *size < needed)
            .collect();
        let groups = short.iter().fold(0u32, |sum, (groups, _)| sum.saturating_add(*groups));
        let largest = short.iter().map(|(_, size)| *size).max()?;
        Some(Condition::MinReadyReplicasImpossible { groups, largest })
    }
}
