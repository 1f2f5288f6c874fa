//! The kinds, and what an API server has to know of them.

use std::sync::LazyLock;

use lockstep_api::crd::structural;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::spec::Spec;
use crate::Kind;
use crate::definition::{Version, definition};

const GROUP: &str = "workload.serving.volcano.sh";
const V1: &str = "v1alpha1";

pub(super) const MODEL_SERVING: Kind = Kind {
    group: GROUP,
    versions: &[V1],
    kind: "ModelServing",
    plural: "modelservings",
    namespaced: true,
    becomes_set: true,
};

/// The number of replicas of one role, for autoscalers.
pub(super) const ROLE_REPLICA: Kind = Kind {
    group: GROUP,
    versions: &[V1],
    kind: "ModelServingRoleReplica",
    plural: "modelservingrolereplicas",
    namespaced: true,
    becomes_set: false,
};

pub(super) const ALL: [Kind; 2] = [MODEL_SERVING, ROLE_REPLICA];

/// The number of replicas of one role, in place of what its ModelServing says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)] // Read by name, where only some of it is wanted.
struct RoleReplicaSpec {
    /// The ModelServing.
    model_serving_ref: Reference,
    /// The role of it.
    role_name: String,
    /// How many replicas in each ServingGroup. Default: what the ModelServing says.
    #[schemars(range(max = 100_000))]
    replicas: Option<u32>,
}

/// A ModelServing of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[allow(dead_code)] // Read by name, where only some of it is wanted.
struct Reference {
    /// Its name.
    name: String,
}

/// The schema of a ModelServing as a whole, as far as its user writes it.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural::of::<Spec>(),
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    })
});

pub(super) fn definitions() -> Vec<Value> {
    let scale = Some([".spec.replicas", ".status.replicas", ".status.labelSelector"]);
    let serving = Version {
        name: V1,
        spec: structural::of::<Spec>(),
        status: None,
        columns: &[
            ("Replicas", "integer", ".status.replicas"),
            ("Available", "integer", ".status.availableReplicas"),
            ("Updated", "integer", ".status.updatedReplicas"),
            ("Age", "date", ".metadata.creationTimestamp"),
        ],
        scale,
    };
    let role = Version {
        name: V1,
        spec: structural::of::<RoleReplicaSpec>(),
        status: None,
        columns: &[
            ("ModelServing", "string", ".spec.modelServingRef.name"),
            ("Role", "string", ".spec.roleName"),
            ("Replicas", "integer", ".spec.replicas"),
            ("Age", "date", ".metadata.creationTimestamp"),
        ],
        scale,
    };
    vec![definition(&MODEL_SERVING, &[], &[serving]), definition(&ROLE_REPLICA, &[], &[role])]
}
