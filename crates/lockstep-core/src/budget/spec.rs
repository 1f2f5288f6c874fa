//! What a budget asks for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::number::IntOrPercent;

/// A way to take a pod away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The pod itself is deleted.
    Delete,
    /// The pod is evicted, as a node drain does.
    Evict,
    /// A container image is changed in place; the pod stays but will not be ready for a while.
    Update,
}

/// How pods make up groups. Which label says so is the caller's business: pods arrive here with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupPolicy {
    /// How many ready pods make a group available.
    #[serde(default = "one")]
    pub min_ready_replicas: u32,
}

fn one() -> u32 {
    1
}

/// The part of a budget's spec that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetSpec {
    /// At most so many units may be unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
    /// At least so many units must stay available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<IntOrPercent>,
    /// Set: units are groups. Not set: every pod is a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_group_policy: Option<GroupPolicy>,
    /// What the budget protects against.
    #[serde(default = "delete_and_evict")]
    pub operations: BTreeSet<Operation>,
    /// Stands for the expected count, whatever owners and memory say (`protect-total-replicas`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect_total_replicas: Option<u32>,
}

fn delete_and_evict() -> BTreeSet<Operation> {
    BTreeSet::from([Operation::Delete, Operation::Evict])
}

impl Default for BudgetSpec {
    fn default() -> Self {
        Self {
            max_unavailable: None,
            min_available: None,
            pod_group_policy: None,
            operations: delete_and_evict(),
            protect_total_replicas: None,
        }
    }
}

impl BudgetSpec {
    /// How many of `expected` units must stay available. Percentages round up on both sides, as in
    /// PodDisruptionBudget. A budget that states no limit at all lets nothing go: admission rejects it, and
    /// should one get through, refusing is the error that can be undone.
    pub fn desired(&self, expected: u32) -> u32 {
        let by_unavailable = self.max_unavailable.map(|max| expected.saturating_sub(max.ceil_of(expected)));
        let by_available = self.min_available.map(|min| min.ceil_of(expected));
        by_unavailable.into_iter().chain(by_available).max().unwrap_or(expected)
    }

    /// Whether `units` could go at one time if all `expected` ones were available: what admission asks
    /// about an instance whose pods are counted one by one.
    pub fn can_ever_spare(&self, expected: u32, units: u32) -> bool {
        units == 0 || self.desired(expected).saturating_add(units) <= expected
    }

    /// Whether the budget has a say in such a removal.
    pub fn protects(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// How many ready pods a group needs. Written as zero it still means one: a group of which nothing is
    /// ready serves nobody, and zero would make every removal free.
    pub(super) fn min_ready(&self) -> u32 {
        self.pod_group_policy.map_or(1, |policy| policy.min_ready_replicas.max(1))
    }
}
