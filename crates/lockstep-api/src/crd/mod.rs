//! The CustomResourceDefinitions: what an API server has to know of our kinds.
//!
//! Shape, descriptions, defaults and bounds come from the Rust types; what holds between fields is said in
//! [`rules`]. Nothing that is part of a role's revision has a default here, so that a set comes back from the
//! server as it was written.

mod aliases;
pub(crate) mod definition;
pub(crate) mod rules;
pub mod shapes;
pub mod structural;

use serde_json::{Value, json};

use self::definition::{Column, Definition};
use crate::lockstep_set::{API_VERSION, LockstepSetSpec};
use crate::role_scale::{RoleScaleSpec, RoleScaleStatus};
use crate::status::LockstepSetStatus;

/// The API group of our kinds.
pub const GROUP: &str = "lockstep.dev";

/// The label by which we know definitions of others' kinds as our own: one without it is somebody else's, and left to
/// them.
pub const MADE_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "lockstep");

/// All definitions, each with the name of its resource.
pub fn all() -> [(&'static str, Value); 2] {
    [("lockstepsets", lockstep_set()), ("rolescales", role_scale())]
}

/// The definition of LockstepSets.
pub fn lockstep_set() -> Value {
    let mut spec = structural::of::<LockstepSetSpec>();
    aliases::add(&mut spec);
    let mut schema = definition::schema(
        API_VERSION,
        "Groups of roles that are started, updated and restarted in step.",
        ("What should run, and how it changes.", spec),
        ("What runs, written by the operator.", structural::without_defaults::<LockstepSetStatus>()),
    );
    rules::add(&mut schema, &rules::of_lockstep_set());
    Definition {
        group: GROUP,
        kind: "LockstepSet",
        singular: "lockstepset",
        plural: "lockstepsets",
        short: "lss",
        columns: vec![
            Column::number("Groups", ".status.replicas", "Groups that are wished for."),
            Column::number("Ready", ".status.readyReplicas", "Groups that are available."),
            Column::number("Updated", ".status.updatedReplicas", "Groups wholly at the update revision."),
            Column::text("Phase", ".status.rollout.phase", "Where the rollout stands."),
            Column::text("Waiting For", ".status.rollout.waitingFor", "What the rollout waits for."),
            Column::text("Stable", ".status.revision.stable", "The last revision that stood complete.")
                .wide(),
            Column::text("Update", ".status.revision.update", "The revision that is wished for.").wide(),
            Column::age(),
        ],
        selectable: &[".status.rollout.phase"],
        scale: true,
        schema,
    }
    .to_json()
}

/// The definition of RoleScales.
pub fn role_scale() -> Value {
    let mut schema = definition::schema(
        API_VERSION,
        "The number of instances of one role of a LockstepSet, for autoscalers. Made by Lockstep, one for each \
         role.",
        ("Which role, and how many.", structural::of::<RoleScaleSpec>()),
        ("What runs, written by the operator.", structural::without_defaults::<RoleScaleStatus>()),
    );
    rules::add(&mut schema, &rules::of_role_scale());
    Definition {
        group: GROUP,
        kind: "RoleScale",
        singular: "rolescale",
        plural: "rolescales",
        short: "lrs",
        columns: vec![
            Column::text("Set", ".spec.set", "The LockstepSet."),
            Column::text("Role", ".spec.role", "The role of it."),
            Column::number("Replicas", ".spec.replicas", "Instances of the role in each group."),
            Column::age(),
        ],
        selectable: &[".spec.set", ".spec.role"],
        scale: true,
        schema,
    }
    .to_json()
}

/// The part of a definition that people and tests look for: the schema of the only version.
pub fn schema_of(definition: &Value) -> &Value {
    definition.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&Value::Null)
}

fn scale() -> Value {
    json!({
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    })
}
