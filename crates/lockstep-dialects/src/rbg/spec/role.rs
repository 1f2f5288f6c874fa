//! A role.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pattern::{Component, CustomComponents, LeaderWorker, Standalone, TemplateRef};
use super::shapes;

/// One kind of worker in a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleSpec {
    /// The role's name, a part of its pods' names.
    pub name: String,
    /// How many instances. Default 1.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub replicas: Option<u32>,
    /// Labels of the role's pods.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the role's pods.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
    /// How instances move from one revision to the next.
    #[serde(default)]
    pub rollout_strategy: Option<RolloutStrategy>,
    /// What happens when a pod fails or restarts: None, RecreateRoleInstanceOnPodRestart or RecreateRBGOnPodRestart.
    #[serde(default)]
    #[schemars(schema_with = "shapes::word_or_object")]
    pub restart_policy: Option<Value>,
    /// Roles that must be ready, once, before this one starts.
    #[serde(default)]
    pub dependencies: Option<Vec<String>>,
    /// What the pods would be made by; here it decides how they are named.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// Instances of one pod.
    #[serde(default)]
    pub standalone_pattern: Option<Standalone>,
    /// Instances of a leader and its workers.
    #[serde(default)]
    pub leader_worker_pattern: Option<LeaderWorker>,
    /// Instances of several kinds of pods.
    #[serde(default)]
    pub custom_components_pattern: Option<CustomComponents>,
    /// v1alpha1: the pod template.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub template: Option<Value>,
    /// v1alpha1: one of `roleTemplates`, in place of a template.
    #[serde(default)]
    pub template_ref: Option<TemplateRef>,
    /// v1alpha1: what differs from the template referred to, as a strategic merge patch.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub template_patch: Option<Value>,
    /// v1alpha1: instances of a leader and its workers.
    #[serde(default)]
    pub leader_worker_set: Option<LeaderWorkerSet>,
    /// v1alpha1: instances of several kinds of pods.
    #[serde(default)]
    pub components: Option<Vec<Component>>,
    /// Ports of the role's service, and in `/etc/rbg/config.yaml`.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open_list")]
    pub service_ports: Option<Vec<Value>>,
    /// Profiles whose containers and volumes are put into the role's pods.
    #[serde(default)]
    pub engine_runtimes: Option<Vec<EngineRuntime>>,
    /// A handle by which an autoscaler holds the role.
    #[serde(default)]
    pub scaling_adapter: Option<ScalingAdapter>,
    /// How long an instance must be ready to count as available. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<u32>,
    /// Accepted without effect: Parallel or OrderedReady.
    #[serde(default)]
    pub pod_management_policy: Option<String>,
    /// Accepted without effect: where an instance is to be packed.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open")]
    pub instance_topology_constraint: Option<Value>,
    /// Accepted without effect: where the role is to be packed.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open")]
    pub topology_constraint: Option<Value>,
}

/// What the pods would be made by.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Workload {
    /// The kind's group and version.
    #[serde(default)]
    pub api_version: Option<String>,
    /// StatefulSet, Deployment, LeaderWorkerSet, InstanceSet or RoleInstanceSet.
    #[serde(default)]
    pub kind: Option<String>,
}

/// v1alpha1: a leader and its workers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeaderWorkerSet {
    /// How many pods, the leader among them. Default 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub size: Option<u32>,
    /// What differs for the leader.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub patch_leader_template: Option<Value>,
    /// What differs for the workers.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub patch_worker_template: Option<Value>,
}

impl LeaderWorkerSet {
    /// Whether nothing is in it.
    pub fn says_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// How instances move from one revision to the next.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RolloutStrategy {
    /// Always RollingUpdate.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// Its numbers.
    #[serde(default)]
    pub rolling_update: Option<RollingUpdate>,
}

/// The numbers of a rolling update.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RollingUpdate {
    /// Accepted without effect: whether pods are changed in place. They are replaced.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// How many instances stay old, counted from ordinal 0. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<Value>,
    /// How many instances may be unavailable. Default 1.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<Value>,
    /// How many instances may stand beyond `replicas`. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<Value>,
    /// Nothing of the role moves forward while this is true.
    #[serde(default)]
    pub paused: Option<bool>,
    /// Accepted without effect.
    #[serde(default)]
    pub in_place_update_strategy: Option<InPlaceUpdateStrategy>,
}

/// Accepted without effect.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InPlaceUpdateStrategy {
    /// How long a pod is out of service before its images change.
    #[serde(default)]
    pub grace_period_seconds: Option<i32>,
}

/// A profile whose containers and volumes are put into the role's pods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EngineRuntime {
    /// The ClusterEngineRuntimeProfile.
    pub profile_name: String,
    /// Only these containers of the profile. Default: all of them.
    #[serde(default)]
    pub inject_containers: Option<Vec<String>>,
    /// What differs from the profile's containers: env and args are added, a command takes the place of theirs.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open_list")]
    pub containers: Option<Vec<Value>>,
}

/// A handle by which an autoscaler holds the role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScalingAdapter {
    /// Whether there is one. Default false.
    #[serde(default)]
    pub enable: Option<bool>,
    /// Its labels.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Accepted without effect: Unrestricted or DeferDuringRollout.
    #[serde(default)]
    pub scale_down_policy: Option<String>,
}
