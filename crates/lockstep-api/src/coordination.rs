//! Rules over several roles, as a user writes them.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_core::number::IntOrPercent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::{LONGEST_LIST, LONGEST_NAME};
use crate::crd::shapes;
use crate::duration::Duration;

/// A rule over several roles, applied inside each group. It has one or more of `rollingUpdate`, `steps`,
/// `affinityScheduling` and `scaling`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coordination {
    /// The rule's name, shown wherever it holds something back.
    #[schemars(length(max = LONGEST_NAME), regex(pattern = shapes::LABEL))]
    pub name: String,
    /// The roles it spans. `steps` and `affinityScheduling` name theirs themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST), inner(length(max = LONGEST_NAME)))]
    pub roles: Vec<String>,
    /// Updated shares of the roles stay close together. May also be written `skew`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "skew")]
    pub rolling_update: Option<RollingUpdate>,
    /// Roles are updated in this order, each step ready before the next. What no step names follows at the
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_LIST))]
    pub steps: Option<Vec<Step>>,
    /// Instances of several roles are placed side by side. May also be written `affinity`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "affinity")]
    pub affinity_scheduling: Option<AffinityScheduling>,
    /// Roles that grow do so side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
}

impl Coordination {
    /// Every role the rule names, anywhere.
    pub fn all_roles(&self) -> BTreeSet<&str> {
        let listed = self.roles.iter().map(String::as_str);
        let stepped = self.steps.iter().flatten().filter_map(|step| match step {
            Step::Update(update) => Some(update.role.as_str()),
            Step::Pause(_) => None,
        });
        let placed = self.affinity_scheduling.iter().flat_map(|a| a.ratios.keys().map(String::as_str));
        listed.chain(stepped).chain(placed).collect()
    }
}

/// Updated shares of the roles stay close together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How far the updated and ready share of one role may be ahead of another's: a percentage, or a number of
    /// instances of the smallest role.
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_skew: IntOrPercent,
    /// Takes the place of the roles' own `maxUnavailable`; over several rules the strictest holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: Option<IntOrPercent>,
    /// Takes the place of the roles' own `partition`; over several rules the strictest holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: Option<IntOrPercent>,
}

/// One step: update a role up to a target, or pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Step {
    /// Update a role up to a target.
    Update(UpdateStep),
    /// Wait.
    Pause(PauseStep),
}

/// Update a role up to a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStep {
    /// The role that moves.
    #[schemars(length(max = LONGEST_NAME))]
    pub role: String,
    /// How many of its instances are updated and ready when the step is done, counted from the start of the
    /// rollout: a number, or a percentage of `replicas` (rounded up).
    #[schemars(schema_with = "shapes::up_to_all")]
    pub update_to: IntOrPercent,
}

/// Wait for a while, or for somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseStep {
    /// `{duration: 5m}` waits that long, `{}` until somebody promotes the rollout.
    pub pause: Pause,
}

/// How long a pause lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// How long; without it, until promoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

/// Instances of several roles are placed side by side, batch by batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffinityScheduling {
    /// The node label whose value a batch shares: `kubernetes.io/hostname` for one node.
    #[schemars(schema_with = "shapes::topology_key")]
    pub topology_key: String,
    /// How many instances of each role make a batch: `{prefill: 2, decode: 1}`.
    #[schemars(schema_with = "shapes::ratios")]
    pub ratios: BTreeMap<String, u32>,
    /// Sequential holds a batch until the one before was ready; Parallel starts all at once. Default
    /// Sequential.
    #[serde(default)]
    pub batch_mode: BatchMode,
}

/// Whether a batch waits for the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum BatchMode {
    /// A batch is held until the one before was ready.
    #[default]
    Sequential,
    /// All batches start at once.
    Parallel,
}

/// Roles that grow do so side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scaling {
    /// How far the share of one role that is there may be ahead of another's.
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_skew: IntOrPercent,
    /// What counts as being there: OrderScheduled or OrderReady. Default OrderReady.
    #[serde(default)]
    pub progression: Progression,
}

/// What counts as being there when roles grow together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Progression {
    /// Instances that are scheduled.
    OrderScheduled,
    /// Instances that are ready.
    #[default]
    OrderReady,
}
