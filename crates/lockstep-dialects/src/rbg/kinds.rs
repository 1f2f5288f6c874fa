//! The kinds, and what an API server has to know of them.

use std::sync::LazyLock;

use lockstep_api::crd::structural::without_defaults;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::spec::GroupSpec;
use super::spec::others::{AdapterSpec, GroupSetSpec, PolicySpec, ProfileSpec};
use crate::Kind;
use crate::definition::{Version, definition};

const GROUP_NAME: &str = "workloads.x-k8s.io";
/// The stored version comes first.
const BOTH: &[&str] = &["v1alpha2", "v1alpha1"];

/// RoleBasedGroup.
pub(crate) const GROUP: Kind = Kind {
    group: GROUP_NAME,
    versions: BOTH,
    kind: "RoleBasedGroup",
    plural: "rolebasedgroups",
    namespaced: true,
    becomes_set: true,
};

/// RoleBasedGroupSet.
pub(crate) const GROUP_SET: Kind = Kind { kind: "RoleBasedGroupSet", plural: "rolebasedgroupsets", ..GROUP };

/// CoordinatedPolicy.
pub(crate) const POLICY: Kind = Kind {
    kind: "CoordinatedPolicy",
    plural: "coordinatedpolicies",
    versions: &["v1alpha2"],
    becomes_set: false,
    ..GROUP
};

/// RoleBasedGroupScalingAdapter.
pub(crate) const ADAPTER: Kind = Kind {
    kind: "RoleBasedGroupScalingAdapter",
    plural: "rolebasedgroupscalingadapters",
    becomes_set: false,
    ..GROUP
};

/// ClusterEngineRuntimeProfile.
pub(crate) const PROFILE: Kind = Kind {
    kind: "ClusterEngineRuntimeProfile",
    plural: "clusterengineruntimeprofiles",
    namespaced: false,
    becomes_set: false,
    ..GROUP
};

/// All of them, those that become sets first.
pub(crate) const ALL: [Kind; 5] = [GROUP, GROUP_SET, POLICY, ADAPTER, PROFILE];

const AGE: (&str, &str, &str) = ("Age", "date", ".metadata.creationTimestamp");

/// The schema of a RoleBasedGroup's spec.
pub(crate) fn group_spec() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = without_defaults::<GroupSpec>();
        named(&mut schema);
        schema
    });
    SCHEMA.clone()
}

/// The schema of a RoleBasedGroupSet's spec.
pub(crate) fn group_set_spec() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = without_defaults::<GroupSetSpec>();
        for place in ["/properties/template", "/properties/groupTemplate/properties/spec"] {
            schema.pointer_mut(place).into_iter().for_each(named);
        }
        schema
    });
    SCHEMA.clone()
}

/// Roles and templates are known by their names, also to those who write one of them only.
fn named(group: &mut Value) {
    for list in ["/properties/roles", "/properties/roleTemplates"] {
        if let Some(schema) = group.pointer_mut(list) {
            schema["x-kubernetes-list-type"] = json!("map");
            schema["x-kubernetes-list-map-keys"] = json!(["name"]);
        }
    }
}

/// The schema of a CoordinatedPolicy's spec.
pub(crate) fn policy_spec() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(without_defaults::<PolicySpec>);
    SCHEMA.clone()
}

/// The definitions of all kinds.
pub(crate) fn definitions() -> Vec<Value> {
    vec![
        of(
            &GROUP,
            "rbg",
            group_spec(),
            &[("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"), AGE],
            None,
        ),
        of(
            &GROUP_SET,
            "rbgs",
            group_set_spec(),
            &[("Desired", "string", ".status.replicas"), ("Ready", "string", ".status.readyReplicas"), AGE],
            Some([".spec.replicas", ".status.replicas", ".status.selector"]),
        ),
        of(&POLICY, "cpolicy", policy_spec(), &[AGE], None),
        of(
            &ADAPTER,
            "rbgsa",
            schema::<AdapterSpec>(),
            &[
                ("Phase", "string", ".status.phase"),
                ("Replicas", "integer", ".status.replicas"),
                ("Ready_Replicas", "integer", ".status.readyReplicas"),
                AGE,
            ],
            Some([".spec.replicas", ".status.replicas", ".status.selector"]),
        ),
        of(&PROFILE, "cerp", schema::<ProfileSpec>(), &[AGE], None),
    ]
}

fn schema<T: JsonSchema>() -> Value {
    without_defaults::<T>()
}

fn of(
    kind: &Kind,
    short: &str,
    spec: Value,
    columns: &'static [(&'static str, &'static str, &'static str)],
    scale: Option<[&'static str; 3]>,
) -> Value {
    let version = |name: &&'static str| Version { name, spec: spec.clone(), status: None, columns, scale };
    let versions: Vec<Version> = kind.versions.iter().map(version).collect();
    definition(kind, &[short], &versions)
}
