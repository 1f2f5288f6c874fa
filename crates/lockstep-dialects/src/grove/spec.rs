//! The PodCliqueSet, as its users write it.
//!
//! The comments on the fields are what `kubectl explain` shows.

use std::collections::BTreeMap;

use lockstep_api::crd::shapes;
use lockstep_core::number::IntOrPercent;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::sharing::{ClaimTemplate, Sharing};

/// The largest count accepted anywhere, as in a LockstepSet.
pub(super) const MOST: u32 = 100_000;

/// Replicas of a group of cliques, and how they change.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodCliqueSetSpec {
    /// How many replicas of the template. Default 0.
    #[serde(default)]
    #[schemars(range(max = MOST))]
    pub replicas: u32,
    /// How replicas move from one revision of the template to the next.
    pub update_strategy: Option<SetStrategy>,
    /// What a replica is made of.
    pub template: SetTemplate,
    /// Of former versions: accepted without effect.
    #[serde(default)]
    #[schemars(schema_with = "list")]
    pub replica_spread_constraints: Option<Vec<Value>>,
}

/// How replicas of the set move.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetStrategy {
    /// RollingUpdate (or RollingRecreate) opens one replica at a time and lets its cliques and scaling groups roll
    /// inside. ReplicaRecreate takes a replica down as a whole and starts it anew. OnDelete waits for somebody to
    /// delete pods. Default RollingRecreate.
    #[serde(rename = "type")]
    pub kind: Option<SetStrategyType>,
    /// How many replicas at a time, under ReplicaRecreate.
    pub rolling_update: Option<Limits>,
}

/// How replicas of the set move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub(super) enum SetStrategyType {
    /// One replica at a time, inside it pod by pod and scaling group by scaling group.
    #[default]
    RollingRecreate,
    /// The same.
    RollingUpdate,
    /// A replica is taken down as a whole.
    ReplicaRecreate,
    /// Nothing moves until somebody deletes it.
    OnDelete,
    /// Announced, not there: rolls like RollingRecreate.
    Coherent,
}

/// How many at a time.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Limits {
    /// How many may be unavailable, as a number or a percentage. Default 1.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How many may stand beyond those wished for, as a number or a percentage. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<IntOrPercent>,
}

/// The same under another name, with a deadline.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RollingUpdate {
    /// How many may be unavailable, as a number or a percentage. Default 1.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How many may stand beyond those wished for, as a number or a percentage. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<IntOrPercent>,
    /// How long the update may go without progress before it counts as stalled: `10m`.
    pub progress_deadline: Option<String>,
}

/// What a replica is made of.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetTemplate {
    /// The cliques: pods of one template each. At least one.
    #[schemars(length(min = 1))]
    pub cliques: Vec<CliqueTemplate>,
    /// In which order cliques start. Default CliqueStartupTypeAnyOrder.
    pub clique_startup_type: Option<StartupType>,
    /// Cliques that are scaled, updated and placed together.
    #[serde(default)]
    pub pod_clique_scaling_groups: Vec<ScalingGroup>,
    /// Where the pods of a replica are placed.
    pub topology_constraint: Option<TopologyConstraint>,
    /// A replica that has been below its minimum for this long is taken down and started anew. Default `4h`.
    pub termination_delay: Option<String>,
    /// The priority class of all pods that name none themselves.
    pub priority_class_name: Option<String>,
    /// The headless service of each replica.
    pub headless_service_config: Option<HeadlessService>,
    /// Templates of resource claims, by name.
    #[serde(default)]
    pub resource_claim_templates: Vec<ClaimTemplate>,
    /// Resource claims that pods of all cliques share.
    #[serde(default)]
    pub resource_sharing: Vec<Sharing>,
    /// Of former versions: accepted without effect.
    #[serde(default)]
    #[schemars(schema_with = "shapes::pod_template")]
    pub scheduling_policy_config: Option<Value>,
}

/// In which order cliques start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub(super) enum StartupType {
    /// In any order.
    #[default]
    #[serde(rename = "CliqueStartupTypeAnyOrder")]
    AnyOrder,
    /// As they are listed.
    #[serde(rename = "CliqueStartupTypeInOrder")]
    InOrder,
    /// As `startsAfter` of the cliques says.
    #[serde(rename = "CliqueStartupTypeExplicit")]
    Explicit,
}

/// Pods of one template.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CliqueTemplate {
    /// The clique's name, a part of its pods' names.
    pub name: String,
    /// Labels of its pods.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of its pods.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Where its pods are placed.
    pub topology_constraint: Option<TopologyConstraint>,
    /// Resource claims that its pods share.
    #[serde(default)]
    pub resource_sharing: Vec<Sharing>,
    /// How many pods; may as well stand in `spec`. Default 1.
    #[schemars(range(max = MOST))]
    pub replicas: Option<u32>,
    /// How its pods are updated, if it is in no scaling group; may as well stand in `spec`.
    pub update_strategy: Option<Limits>,
    /// The same under another name.
    pub rolling_update: Option<RollingUpdate>,
    /// What its pods are.
    pub spec: CliqueSpec,
}

/// What the pods of a clique are.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CliqueSpec {
    /// The role of the clique, for people.
    pub role_name: Option<String>,
    /// An ordinary pod spec.
    #[schemars(schema_with = "shapes::pod_template")]
    pub pod_spec: Value,
    /// How many pods. 0: idle. Default 1.
    #[schemars(range(max = MOST))]
    pub replicas: Option<u32>,
    /// How many of them must be ready for the replica to be available, and are scheduled together. Default: all.
    #[schemars(range(max = MOST))]
    pub min_available: Option<u32>,
    /// Cliques that must have their `minAvailable` ready before this one starts, under CliqueStartupTypeExplicit.
    #[serde(default)]
    pub starts_after: Vec<String>,
    /// An autoscaler for the clique, if it is in no scaling group.
    pub auto_scaling_config: Option<AutoScaling>,
    /// How its pods are updated, if it is in no scaling group.
    pub update_strategy: Option<Limits>,
}

/// An autoscaler.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AutoScaling {
    /// How few. Default: `replicas`.
    #[schemars(range(max = MOST))]
    pub min_replicas: Option<u32>,
    /// How many.
    #[schemars(range(max = MOST))]
    pub max_replicas: u32,
    /// What is measured, as in a HorizontalPodAutoscaler.
    #[serde(default)]
    #[schemars(schema_with = "list")]
    pub metrics: Vec<Value>,
}

/// Cliques that are scaled, updated and placed together.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScalingGroup {
    /// The scaling group's name, a part of its pods' names.
    pub name: String,
    /// Its cliques. Default: the clique of the same name, or those whose names start with it and a `-`.
    pub clique_names: Option<Vec<String>>,
    /// Annotations of the PodCliqueScalingGroup that is made for it.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// How many replicas of the group. Default 1.
    #[schemars(range(max = MOST))]
    pub replicas: Option<u32>,
    /// How many of them must be available for the set's replica to be, and are scheduled together. Default 1.
    #[schemars(range(max = MOST))]
    pub min_available: Option<u32>,
    /// An autoscaler for the group.
    pub scale_config: Option<AutoScaling>,
    /// Where the pods of one replica of the group are placed.
    pub topology_constraint: Option<TopologyConstraint>,
    /// Resource claims that pods of the group share.
    #[serde(default)]
    pub resource_sharing: Vec<Sharing>,
    /// How its replicas are updated.
    pub update_strategy: Option<Limits>,
    /// The same under another name.
    pub rolling_update: Option<RollingUpdate>,
}

/// The headless service of each replica.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeadlessService {
    /// Whether pods have a name in DNS before they are ready. Default true.
    pub publish_not_ready_addresses: Option<bool>,
}

/// Where pods are placed: all in one domain of a topology.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TopologyConstraint {
    /// The ClusterTopologyBinding that says which node label stands for which domain. Default: that of the level above.
    pub topology_name: Option<String>,
    /// The domain that pods share.
    pub pack: Option<Pack>,
    /// The former name of `pack.required`.
    pub pack_domain: Option<String>,
}

/// The domain that pods share.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct Pack {
    /// They share it, or wait.
    pub required: Option<String>,
    /// They share it if they can.
    pub preferred: Option<String>,
}

/// Which node label stands for which domain of a cluster's topology.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TopologySpec {
    /// The domains, the widest first.
    pub levels: Vec<TopologyLevel>,
    /// For other schedulers: accepted without effect.
    #[serde(default)]
    #[schemars(schema_with = "list")]
    pub scheduler_topology_bindings: Option<Vec<Value>>,
}

/// A domain and its node label.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct TopologyLevel {
    /// The domain: `rack`.
    pub domain: String,
    /// The node label whose value tells its places apart.
    #[schemars(schema_with = "shapes::topology_key")]
    pub key: String,
}

/// Objects that Kubernetes knows better than we do.
pub(super) fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
}
