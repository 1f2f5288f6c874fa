//! The kinds, as their users write them: every field of v1alpha1 and of v1alpha2, today's and those of earlier days.
//!
//! Both versions are read by the same types. An object that says a thing in the words of the other version is
//! understood, and nothing gets lost where nobody converts. The comments on the fields are what `kubectl explain` shows.

pub(crate) mod coordination;
pub(crate) mod others;
pub(crate) mod pattern;
pub(crate) mod role;
pub(crate) mod shapes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::coordination::Coordination;
use self::role::RoleSpec;

/// What a group is made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupSpec {
    /// The roles of the group.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub roles: Vec<RoleSpec>,
    /// Pod templates that several roles share.
    #[serde(default)]
    pub role_templates: Option<Vec<RoleTemplate>>,
    /// Pods of the group are scheduled all together or not at all.
    #[serde(default)]
    pub pod_group_policy: Option<PodGroupPolicy>,
    /// Rules over several roles.
    #[serde(default)]
    pub coordination: Option<Vec<Coordination>>,
    /// Accepted without effect: where the group is to be packed.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open")]
    pub topology_constraint: Option<Value>,
}

/// A pod template that several roles share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleTemplate {
    /// The name by which roles refer to it.
    pub name: String,
    /// An ordinary pod template.
    #[schemars(schema_with = "shapes::template")]
    pub template: Value,
}

/// Pods of the group are scheduled all together or not at all.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodGroupPolicy {
    /// By the cluster's own scheduler.
    #[serde(default)]
    pub kube_scheduling: Option<KubeScheduling>,
    /// By Volcano.
    #[serde(default)]
    pub volcano_scheduling: Option<VolcanoScheduling>,
}

/// Gangs of the cluster's own scheduler.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeScheduling {
    /// Accepted without effect: Kubernetes' own gangs wait for as long as it takes.
    #[serde(default)]
    pub schedule_timeout_seconds: Option<i32>,
}

/// Gangs of Volcano.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolcanoScheduling {
    /// The queue that the gang is charged to.
    #[serde(default)]
    pub queue: Option<String>,
    /// The priority class of the gang's pods, where their template names none.
    #[serde(default)]
    pub priority_class_name: Option<String>,
}
