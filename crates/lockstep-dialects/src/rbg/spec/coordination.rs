//! Rules over several roles: in the form of the proposal, in the structured form, and in a kind of their own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shapes;

/// A rule over several roles.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Coordination {
    /// Its name. In a CoordinatedPolicy it may be missing.
    #[serde(default)]
    pub name: Option<String>,
    /// RollingUpdate or AffinityScheduling; without it, what stands in `strategy` decides.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// The roles it spans.
    #[serde(default)]
    pub roles: Vec<String>,
    /// What it asks for.
    #[serde(default)]
    pub strategy: Option<Strategy>,
}

/// What a rule asks for. The numbers of a rolling update stand here, or under `rollingUpdate`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Strategy {
    /// How far the updated share of one role may be ahead of another's.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_skew: Option<Value>,
    /// How many instances of each role may be unavailable.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<Value>,
    /// Another spelling of `maxUnavailable`.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable_ratio: Option<Value>,
    /// How many instances of each role stay old.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<Value>,
    /// Updated shares of the roles stay close together.
    #[serde(default)]
    pub rolling_update: Option<RollingUpdate>,
    /// Instances of several roles are placed side by side.
    #[serde(default)]
    pub affinity_scheduling: Option<Affinity>,
    /// Roles that grow do so side by side.
    #[serde(default)]
    pub scaling: Option<Scaling>,
    /// Gangs, and where they are packed.
    #[serde(default)]
    pub scheduling: Option<Scheduling>,
    /// Accepted without effect.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open")]
    pub segment_scheduling: Option<Value>,
}

/// Updated shares of the roles stay close together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RollingUpdate {
    /// How far the updated share of one role may be ahead of another's. Default: any distance.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_skew: Option<Value>,
    /// How many instances of each role may be unavailable. Default: what the role says.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<Value>,
    /// Another spelling of `maxUnavailable`.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable_ratio: Option<Value>,
    /// How many instances of each role stay old. Default: what the role says.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<Value>,
}

/// Instances of several roles are placed side by side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Affinity {
    /// The node label whose value a batch shares. Default kubernetes.io/hostname.
    #[serde(default)]
    pub topology_key: Option<String>,
    /// How many instances of each role make a batch: `{prefill: 2, decode: 1}`.
    #[serde(default)]
    pub ratios: BTreeMap<String, i64>,
    /// Sequential or Parallel. Default Sequential.
    #[serde(default)]
    pub batch_mode: Option<String>,
}

/// Roles that grow do so side by side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scaling {
    /// How far the share of one role that is there may be ahead of another's. Default: any distance.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_skew: Option<Value>,
    /// OrderScheduled, OrderReady or Parallel. Default OrderScheduled.
    #[serde(default)]
    pub progression: Option<String>,
}

/// Gangs, and where they are packed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scheduling {
    /// The group is scheduled as a gang.
    #[serde(default)]
    pub gang: Option<GangStrategy>,
    /// Accepted without effect.
    #[serde(default)]
    #[schemars(schema_with = "shapes::open")]
    pub topology_constraint: Option<Value>,
}

/// A gang.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GangStrategy {
    /// How many instances of a role the gang needs at least. Default: all of them.
    #[serde(default)]
    pub min_replicas: Option<BTreeMap<String, u32>>,
}
