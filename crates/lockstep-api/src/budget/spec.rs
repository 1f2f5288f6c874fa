//! What a budget asks for.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use lockstep_core::number::IntOrPercent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::MOST;
use crate::crd::shapes;

/// Which pods, how they make up units, and how many of those may be gone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodUnavailableBudgetSpec {
    /// The pods, by their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::label_selector")]
    pub selector: Option<LabelSelector>,
    /// The pods, by the workload they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// The same as targetRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_reference: Option<TargetRef>,
    /// At most so many units may be unavailable. Percentages are of the units expected and are rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<IntOrPercent>,
    /// At least so many units must stay available. Percentages are of the units expected and are rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub min_available: Option<IntOrPercent>,
    /// Set: pods with the same value of a label are one unit. Not set: every pod is a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_group_policy: Option<PodGroupPolicy>,
    /// What is protected against; DELETE and EVICT if nothing is said here or in the annotation
    /// kruise.io/pub-protect-operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect_operations: Option<Vec<Protected>>,
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    /// Its group and version.
    #[schemars(length(min = 1, max = 253))]
    pub api_version: String,
    /// Its kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its name, in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// How pods make up groups.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodGroupPolicy {
    /// The label whose value tells groups apart: `leaderworkerset.sigs.k8s.io/group-index`. Groups of different
    /// workloads are different ones, also with the same value.
    #[schemars(schema_with = "shapes::topology_key")]
    pub group_label_key: String,
    /// How many pods of a group must be ready for it to be available; 1 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST))]
    pub min_ready_replicas: Option<u32>,
}

/// A way to take a pod away, in Kruise's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protected {
    /// The pod is deleted.
    Delete,
    /// The pod is evicted.
    Evict,
    /// A container's image is changed in place.
    Update,
}
