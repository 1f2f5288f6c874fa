//! The kinds beside RoleBasedGroup.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::coordination::Coordination;
use super::{GroupSpec, shapes};

/// Several groups of one form.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupSetSpec {
    /// How many groups. Default 1.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub replicas: Option<u32>,
    /// What each group is.
    #[serde(default)]
    pub group_template: Option<GroupTemplate>,
    /// v1alpha1: what each group is made of.
    #[serde(default)]
    pub template: Option<GroupSpec>,
    /// How groups move. Default: one at a time, each by the strategies of its roles.
    #[serde(default)]
    pub rollout_strategy: Option<GroupRollout>,
    /// Another spelling of `rolloutStrategy`.
    #[serde(default)]
    pub update_strategy: Option<GroupRollout>,
}

/// What each group is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupTemplate {
    /// Labels of a group.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of a group.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Labels and annotations of a group, in their usual place.
    #[serde(default)]
    pub metadata: Option<GroupMetadata>,
    /// What a group is made of.
    #[serde(default)]
    pub spec: GroupSpec,
}

/// Labels and annotations of a group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupMetadata {
    /// Accepted without effect.
    #[serde(default)]
    pub name: Option<String>,
    /// Accepted without effect.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Labels of a group.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of a group.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// How groups move.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupRollout {
    /// InPlaceUpdate: by the strategies of its roles. Recreate: as a whole. Default InPlaceUpdate.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// How many groups stay old, counted from ordinal 0. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<Value>,
    /// How many groups may be unavailable. Default 1.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<Value>,
    /// How many groups may stand beyond `replicas`. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<Value>,
    /// The same numbers, one level deeper.
    #[serde(default)]
    pub rolling_update: Option<GroupNumbers>,
}

/// The numbers by which groups move.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupNumbers {
    /// How many groups stay old, counted from ordinal 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<Value>,
    /// How many groups may be unavailable.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<Value>,
    /// How many groups may stand beyond `replicas`.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<Value>,
}

/// Rules over the roles of the RoleBasedGroup of the same name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicySpec {
    /// The rules.
    #[serde(default)]
    pub policies: Vec<Coordination>,
}

/// The number of instances of one role, for autoscalers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdapterSpec {
    /// How many instances. Autoscalers write this.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub replicas: Option<u32>,
    /// Which role of which group.
    pub scale_target_ref: ScaleTarget,
}

/// Which role of which group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScaleTarget {
    /// The RoleBasedGroup.
    pub name: String,
    /// The role of it.
    pub role: String,
}

/// Containers and volumes that are put into the pods of roles that name the profile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileSpec {
    /// Containers that run before the others.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open_list")]
    pub init_containers: Option<Vec<Value>>,
    /// Containers that run beside the others.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open_list")]
    pub containers: Option<Vec<Value>>,
    /// Volumes of theirs.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open_list")]
    pub volumes: Option<Vec<Value>>,
    /// NoUpdate or RollingUpdate: whether a changed profile rolls the pods that have it. Default NoUpdate; a changed
    /// profile always rolls them.
    #[serde(default)]
    pub update_strategy: Option<String>,
}
