//! ModelServing, as its users write it.
//!
//! The comments on the fields are what `kubectl explain` shows. Nothing has a default here that the user did not write.

use std::collections::BTreeMap;

use lockstep_api::crd::shapes;
use lockstep_core::number::IntOrPercent;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::rollout_spec::RolloutStrategy;

/// Far more than anybody runs, and far from the end of every counter.
const MOST: u32 = 100_000;

/// Groups of roles that serve a model together.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    /// How many ServingGroups. Default 1.
    #[schemars(range(max = MOST))]
    pub replicas: Option<u32>,
    /// The scheduler of every pod, whatever its template says. Without it, the one of the template, else the cluster's
    /// default.
    pub scheduler_name: Option<String>,
    /// What changes pods beyond their templates. Accepted; `headless-service` is what happens anyway.
    pub plugins: Option<Vec<Plugin>>,
    /// What a ServingGroup is made of.
    pub template: ServingGroup,
    /// How an update proceeds. Default: ServingGroupRollingUpdate, one group after the other.
    pub rollout_strategy: Option<RolloutStrategy>,
    /// What is replaced when a container of a pod restarts or a pod fails: the whole ServingGroup, the role replica
    /// the pod is in, or nothing. A pod that is deleted comes back in any case. Default RoleRecreate.
    pub recovery_policy: Option<RecoveryPolicy>,
    /// How many old revisions are kept to go back to. Default 10.
    #[schemars(range(max = 1000))]
    pub revision_history_limit: Option<u32>,
    /// How pods are spread over the cluster, in addition to what their templates say. One that selects nothing selects
    /// all pods of this ModelServing.
    #[serde(default)]
    #[schemars(schema_with = "open_list")]
    pub topology_spread_constraints: Option<Vec<Value>>,
}

/// What is replaced when a pod fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub(super) enum RecoveryPolicy {
    /// The whole ServingGroup.
    ServingGroupRecreate,
    /// The role replica: its entry pod and all its workers.
    #[default]
    RoleRecreate,
    /// Nothing; containers restart where they are.
    None,
}

/// What changes pods beyond their templates.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plugin {
    /// Which one.
    pub name: String,
    /// BuiltIn.
    #[serde(rename = "type")]
    #[allow(dead_code)] // There is only one.
    pub kind: Option<String>,
    /// For the plugin alone to read.
    #[serde(default)]
    #[schemars(schema_with = "open")]
    #[allow(dead_code)] // Stored for whoever reads it.
    pub config: Option<Value>,
    /// Which pods it is for. Default: all.
    #[allow(dead_code)] // Stored for whoever reads it.
    pub scope: Option<PluginScope>,
}

/// Which pods a plugin is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)] // Stored for whoever reads it.
pub(super) struct PluginScope {
    /// Pods of these roles. Default: all roles.
    pub roles: Option<Vec<String>>,
    /// All, Entry or Worker. Default All.
    pub target: Option<String>,
}

/// What a ServingGroup is made of.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServingGroup {
    /// How long a failed pod may take to be ready again by itself, in seconds; -1: as long as it takes. Default 0.
    #[schemars(range(min = -1, max = 31_536_000))]
    pub restart_grace_period_seconds: Option<i32>,
    /// Which pods are scheduled only together.
    pub gang_policy: Option<GangPolicy>,
    /// How near to each other pods must be in the network.
    pub network_topology: Option<NetworkTopology>,
    /// The roles, one to four.
    #[schemars(length(min = 1, max = 4))]
    pub roles: Vec<Role>,
}

/// Which pods are scheduled only together. Cannot be changed once it is set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GangPolicy {
    /// How many replicas of each role must find a place before any pod of the group starts. A role that is not named
    /// needs all of its replicas.
    #[serde(default)]
    #[schemars(schema_with = "of_roles")]
    pub min_role_replicas: Option<BTreeMap<String, Option<u32>>>,
}

/// How near to each other pods must be in the network.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkTopology {
    /// For all pods of a ServingGroup.
    pub group_policy: Option<Nearness>,
    /// For the pods of one role replica.
    pub role_policy: Option<Nearness>,
    /// How far apart ServingGroups are kept.
    #[serde(default)]
    #[schemars(schema_with = "open")]
    pub serving_group_anti_affinity: Option<Value>,
    /// Which roles are kept together.
    #[serde(default)]
    #[schemars(schema_with = "open")]
    pub role_affinity: Option<Value>,
    /// Which roles are kept apart.
    #[serde(default)]
    #[schemars(schema_with = "open")]
    pub role_anti_affinity: Option<Value>,
}

impl NetworkTopology {
    /// What it says beyond how near the pods of a ServingGroup are, by the number of a tier.
    pub fn not_handed_on(&self) -> impl Iterator<Item = &'static str> {
        let named = self.group_policy.as_ref().is_some_and(|near| near.highest_tier_name.is_some());
        let said = [
            ("groupPolicy.highestTierName", named),
            ("rolePolicy", self.role_policy.is_some()),
            ("servingGroupAntiAffinity", self.serving_group_anti_affinity.is_some()),
            ("roleAffinity", self.role_affinity.is_some()),
            ("roleAntiAffinity", self.role_anti_affinity.is_some()),
        ];
        said.into_iter().filter(|(_, said)| *said).map(|(field, _)| field)
    }
}

/// How near.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)] // Stored for the scheduler to read.
pub(super) struct Nearness {
    /// Whether it must be so (hard) or would be good (soft).
    pub mode: Option<Mode>,
    /// The highest tier of the network that pods may be apart.
    #[schemars(range(max = MOST))]
    pub highest_tier_allowed: Option<u32>,
    /// The same by the name of the tier.
    pub highest_tier_name: Option<String>,
}

/// Whether a wish must be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    /// It must.
    Hard,
    /// It would be good.
    Soft,
}

/// One kind of worker in a ServingGroup.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Role {
    /// The role's name, a part of its pods' names. Up to 12 characters.
    #[schemars(length(min = 1, max = 12))]
    pub name: String,
    /// How many replicas in each ServingGroup. Default 1.
    #[schemars(range(max = MOST))]
    pub replicas: Option<u32>,
    /// The pod template of a replica's first pod, which the others find at ENTRY_ADDRESS.
    #[schemars(schema_with = "shapes::pod_template")]
    pub entry_template: Value,
    /// How many pods a replica has besides. Default 0.
    #[schemars(range(max = MOST))]
    pub worker_replicas: Option<u32>,
    /// The pod template of those; needed if there are any.
    #[serde(default)]
    #[schemars(schema_with = "shapes::pod_template")]
    pub worker_template: Option<Value>,
    /// How many replicas of the role may be unavailable during an update, as a number or a percentage of `replicas`.
    /// For RoleRollingUpdate, and for roleUpgrade. Default 1.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How many replicas of the role may stand beyond `replicas` during an update, as a number or a percentage (rounded
    /// up). For RoleRollingUpdate, and for roleUpgrade. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<IntOrPercent>,
    /// How many replicas of the role stay at the old revision, counted from ordinal 0. For RoleRollingUpdate, and for
    /// roleUpgrade. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<IntOrPercent>,
    /// How near to each other the pods of a replica must be in the network.
    pub network_topology: Option<Nearness>,
}

impl Role {
    /// How many workers an instance has.
    pub fn workers(&self) -> u32 {
        self.worker_replicas.unwrap_or(0)
    }
}

fn of_roles(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {"type": "integer", "format": "int32", "minimum": 0, "maximum": MOST},
    })
}

fn open(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

fn open_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}
