//! The kinds of the dialect.

use serde_json::{Value, json};

use super::spec::{PodCliqueSetSpec, TopologySpec};
use super::spec_of_children::{PodCliqueSpec, ScalingGroupSpec};
use crate::definition::{Version, definition};
use crate::kind::Kind;

const fn kind(kind: &'static str, plural: &'static str, namespaced: bool) -> Kind {
    Kind { group: "grove.io", versions: &["v1alpha1"], kind, plural, namespaced, becomes_set: false }
}

/// Becomes a set.
pub(super) const SET: Kind = Kind { becomes_set: true, ..kind("PodCliqueSet", "podcliquesets", true) };
/// Stands for a standalone clique of one group.
pub(super) const CLIQUE: Kind = kind("PodClique", "podcliques", true);
/// Stands for a scaling group of one group.
pub(super) const SCALING_GROUP: Kind = kind("PodCliqueScalingGroup", "podcliquescalinggroups", true);
/// Which node label stands for which domain.
pub(super) const TOPOLOGY: Kind = kind("ClusterTopologyBinding", "clustertopologybindings", false);
/// The same, under its former name.
pub(super) const FORMER_TOPOLOGY: Kind = kind("ClusterTopology", "clustertopologies", false);

/// All of them.
pub(super) const ALL: [Kind; 5] = [SET, CLIQUE, SCALING_GROUP, TOPOLOGY, FORMER_TOPOLOGY];

type Columns = &'static [(&'static str, &'static str, &'static str)];

const SET_COLUMNS: Columns = &[
    ("Replicas", "integer", ".spec.replicas"),
    ("Available", "integer", ".status.availableReplicas"),
    ("Updated", "integer", ".status.updatedReplicas"),
    ("Update", "string", ".status.conditions[?(@.type==\"UpdateInProgress\")].reason"),
    ("Age", "date", ".metadata.creationTimestamp"),
];
const CLIQUE_COLUMNS: Columns = &[
    ("MinAvail", "integer", ".spec.minAvailable"),
    ("Replicas", "integer", ".spec.replicas"),
    ("Ready", "integer", ".status.readyReplicas"),
    ("Scheduled", "integer", ".status.scheduledReplicas"),
    ("Updated", "integer", ".status.updatedReplicas"),
    ("Age", "date", ".metadata.creationTimestamp"),
];
const GROUP_COLUMNS: Columns = &[
    ("MinAvail", "integer", ".spec.minAvailable"),
    ("Replicas", "integer", ".spec.replicas"),
    ("Available", "integer", ".status.availableReplicas"),
    ("Updated", "integer", ".status.updatedReplicas"),
    ("Age", "date", ".metadata.creationTimestamp"),
];
const TOPOLOGY_COLUMNS: Columns =
    &[("Domains", "string", ".spec.levels[*].domain"), ("Age", "date", ".metadata.creationTimestamp")];

/// The definitions of all kinds.
pub(super) fn definitions() -> Vec<Value> {
    let scale = |selector| Some([".spec.replicas", ".status.replicas", selector]);
    let version =
        |spec: Value, columns, scale| Version { name: "v1alpha1", spec, status: None, columns, scale };
    let schema = lockstep_api::crd::structural::without_defaults::<TopologySpec>;
    let versions = [
        (SET, Some("pcs"), version(schema_of_set(), SET_COLUMNS, scale(".status.hpaPodSelector"))),
        (CLIQUE, Some("pclq"), version(schema_of_clique(), CLIQUE_COLUMNS, scale(".status.hpaPodSelector"))),
        (SCALING_GROUP, Some("pcsg"), version(schema_of_group(), GROUP_COLUMNS, scale(".status.selector"))),
        (TOPOLOGY, Some("ct"), version(schema(), TOPOLOGY_COLUMNS, None)),
        (FORMER_TOPOLOGY, None, version(schema(), TOPOLOGY_COLUMNS, None)),
    ];
    versions
        .into_iter()
        .map(|(kind, short, version)| definition(&kind, short.as_slice(), &[version]))
        .collect()
}

/// The schema of a PodCliqueSet's spec. What is not written is not filled in: the reader knows the defaults.
pub(super) fn schema_of_set() -> Value {
    let mut schema = lockstep_api::crd::structural::without_defaults::<PodCliqueSetSpec>();
    // Cliques are known by their names, also to those who write one of them only.
    if let Some(cliques) = schema.pointer_mut("/properties/template/properties/cliques") {
        cliques["x-kubernetes-list-type"] = json!("map");
        cliques["x-kubernetes-list-map-keys"] = json!(["name"]);
    }
    schema
}

fn schema_of_clique() -> Value {
    lockstep_api::crd::structural::without_defaults::<PodCliqueSpec>()
}

fn schema_of_group() -> Value {
    lockstep_api::crd::structural::without_defaults::<ScalingGroupSpec>()
}
