//! How an update of a ModelServing proceeds, as its users write it.

use std::collections::BTreeMap;

use lockstep_api::crd::shapes;
use lockstep_core::number::IntOrPercent;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// How an update proceeds.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RolloutStrategy {
    /// ServingGroupRollingUpdate takes a group down as a whole and starts it anew, or with `roleUpgrade` updates its
    /// roles in that order. RoleRollingUpdate updates role replicas one by one. Default ServingGroupRollingUpdate.
    #[serde(rename = "type")]
    pub kind: Option<RolloutType>,
    /// How ServingGroups follow each other.
    pub rolling_update_configuration: Option<RollingUpdateConfiguration>,
    /// Updated shares of the roles stay close together. For RoleRollingUpdate.
    pub role_coordination: Option<RoleCoordination>,
    /// What may be evicted from nodes at the same time. Accepted without effect.
    pub eviction_strategy: Option<EvictionStrategy>,
}

/// How an update proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub(super) enum RolloutType {
    /// Group by group.
    #[default]
    ServingGroupRollingUpdate,
    /// Replica by replica of each role.
    RoleRollingUpdate,
}

/// How ServingGroups follow each other.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RollingUpdateConfiguration {
    /// How many groups may be unavailable, as a number or a percentage of `replicas` (rounded down). Default 1.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How many groups may stand beyond `replicas`, as a number or a percentage (rounded up). Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: Option<IntOrPercent>,
    /// How many groups stay at the old revision, counted from ordinal 0. Default 0.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<IntOrPercent>,
    /// The order in which the roles of a group are updated.
    pub role_upgrade: Option<RoleUpgrade>,
}

/// The order in which the roles of a group are updated.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoleUpgrade {
    /// Done one after the other in each group. What no step names follows at the end. Without any, there is no order.
    #[schemars(length(max = 1000))]
    pub steps: Option<Vec<Step>>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    /// The role that is updated.
    pub role: String,
    /// How many of its replicas are updated and ready when the step is done, counted from the start of the update: a
    /// number up to its `replicas`, or a percentage (rounded up).
    #[schemars(schema_with = "shapes::up_to_all")]
    pub update_to: IntOrPercent,
}

/// Updated shares of the roles stay close together.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoleCoordination {
    /// The roles it spans. Default: all of them.
    pub roles: Option<Vec<String>>,
    /// How far the updated and ready share of one role may be ahead of another's: a percentage.
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_skew: IntOrPercent,
    /// Roles that are updated only after one replica of another is.
    pub dependencies: Option<Vec<Dependency>>,
}

/// A role whose update waits for others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dependency {
    /// The role that waits.
    pub role: String,
    /// The roles of which one replica must be updated and ready first.
    pub depends_on: Vec<String>,
}

/// What may be evicted from nodes at the same time.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)] // Stored for whoever reads it.
pub(super) struct EvictionStrategy {
    /// ServingGroup or Role.
    pub protection_level: Option<String>,
    /// How many groups stay available.
    #[serde(default)]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub min_available: Option<IntOrPercent>,
    /// How many replicas of each role stay available.
    #[serde(default)]
    #[schemars(schema_with = "of_roles")]
    pub role_min_available: Option<BTreeMap<String, Option<IntOrPercent>>>,
}

fn of_roles(generator: &mut SchemaGenerator) -> Schema {
    let number = shapes::up_to_all(generator);
    json_schema!({"type": "object", "additionalProperties": number})
}
