//! What the operator says of a set.
//!
//! Bounded for any number of pods: groups in flight, roles, rules and blockers, never a list of pods.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crd::shapes;

/// Why nothing moves in a set whose spec is wrong: in conditions, in what is blocked, in events.
pub const INVALID_SPEC: &str = "InvalidSpec";

/// The condition, False, of whatever lacks something that belongs beside it; there is none while nothing is lacking.
pub const CHILDREN: &str = "ChildrenApplied";

/// Why something is lacking: somebody else's object has its name.
pub const NAME_TAKEN: &str = "NameTaken";

/// Why something is lacking: it could not be written, and is tried again.
pub const WRITE_FAILED: &str = "WriteFailed";

/// What runs, and where the rollout stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LockstepSetStatus {
    /// The generation of the spec that everything here speaks of.
    pub observed_generation: i64,
    /// Groups that are wished for.
    pub replicas: u32,
    /// Groups that are available.
    pub ready_replicas: u32,
    /// Groups that are wholly at the update revision.
    pub updated_replicas: u32,
    /// Groups as they are added up over several clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<GroupTally>,
    /// Selects the pods of the set, for autoscalers.
    pub selector: String,
    /// The revisions of the set as a whole.
    pub revision: RevisionStatus,
    /// Per role, over all groups.
    pub roles: Vec<RoleStatus>,
    /// The groups that are not as they are to be in the end, role by role; the first of them, if they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStatus>,
    /// Which roles' revisions belong to each of the set's revisions that pods carry, for routers.
    pub revisions: BTreeMap<String, BTreeMap<String, String>>,
    /// Where the rollout stands.
    pub rollout: RolloutStatus,
    /// Instances and groups that were restarted lately, the most often first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restarts: Vec<RestartStatus>,
    /// Ready, Reconciling and Stalled.
    #[schemars(schema_with = "shapes::conditions")]
    pub conditions: Vec<Condition>,
    /// What the engine has to remember. Not for people.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "shapes::memory")]
    pub memory: Value,
}

impl LockstepSetStatus {
    /// The spec is wrong, and nothing moves until it is mended.
    pub fn is_refused(&self) -> bool {
        self.rollout.blocked.iter().any(|block| block.reason == INVALID_SPEC)
    }
}

/// Groups as they are added up over several clusters; whatever is in doubt counts against the rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupTally {
    /// Groups of which a pod stays, surge included.
    pub standing: u32,
    /// Groups that are available and not on their way between revisions, surge included.
    pub reliable: u32,
    /// Wished-for groups of which something is at the revision of the spec, or will come back at it.
    pub begun: u32,
    /// Those of them that are wholly at it and reliable.
    pub done: u32,
    /// Wished-for groups on their way between revisions.
    pub under_way: u32,
    /// Whatever is created now is at the revision of the spec, partition or not.
    pub creates_updated: bool,
}

/// Two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RevisionStatus {
    /// The last at which everything stood complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable: Option<String>,
    /// The one that is wished for.
    pub update: String,
}

/// The counts of one role over all groups.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleStatus {
    /// The role.
    pub name: String,
    /// Instances wished for.
    pub replicas: u32,
    /// Instances that are ready.
    pub ready: u32,
    /// Instances that are available.
    pub available: u32,
    /// Instances at the update revision, surge not counted.
    pub updated: u32,
    /// Instances at the update revision that are ready, surge not counted.
    pub updated_ready: u32,
    /// How many are to be at the update revision in the end: all but those a partition keeps.
    pub target: u32,
    /// The role's revisions.
    pub revision: RevisionStatus,
}

/// The counts of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupStatus {
    /// The group.
    pub group: u32,
    /// Its roles.
    pub roles: Vec<GroupRoleStatus>,
}

/// The counts of one role in one group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupRoleStatus {
    /// The role.
    pub name: String,
    /// Instances of which every pod has a node.
    pub scheduled: u32,
    /// Instances that are ready.
    pub ready: u32,
    /// Instances that are available.
    pub available: u32,
    /// Instances at the update revision, surge not counted.
    pub updated: u32,
    /// Instances that wait for others before they are scheduled.
    pub gated: u32,
}

/// Where a rollout stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStatus {
    /// Complete, PartitionReached, Progressing, Paused, Stalled, RollingBack or RolledBack.
    pub phase: String,
    /// When this phase began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_since: Option<String>,
    /// When it began, while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it counts as stalled if nothing more is achieved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// What it waits for, in one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub waiting_for: String,
    /// Groups on their way between revisions; the first of them, if they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups_in_update: Vec<u32>,
    /// Where each rule stands in each group in update.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coordination: Vec<CoordinationStatus>,
    /// What waits, by which rule, since when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedStatus>,
}

/// Where one rule stands in one group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CoordinationStatus {
    /// The group.
    pub group: u32,
    /// The rule.
    pub rule: String,
    /// The current step or batch, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// How many steps or batches there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// In words.
    pub text: String,
}

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockedStatus {
    /// What waits: `llama-1/prefill-1`, `llama-1/prefill`, `llama-1` or `llama`.
    pub what: String,
    /// Why, in one word.
    pub reason: String,
    /// The field of the spec that says so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Since when.
    pub since: String,
    /// The whole sentence.
    pub message: String,
}

/// Restarts of an instance, or of a whole group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RestartStatus {
    /// What was restarted: `llama-1/prefill-1` or `llama-1`.
    pub what: String,
    /// How often in a row.
    pub count: u32,
    /// When last.
    pub last: String,
}
