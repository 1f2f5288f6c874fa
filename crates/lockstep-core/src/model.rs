//! What the user wants: a set, its roles and the rules over them, in the engine's own words.
//!
//! These types carry no Kubernetes: a template is only its [`Revision`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{MemberName, RoleName, RuleName};
use crate::number::{self, IntOrPercent, Limits};
use crate::revision::Revision;
use crate::time::Millis;

/// A whole set, as wished for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The set's name.
    pub name: String,
    /// How many groups.
    pub replicas: u32,
    /// How groups move.
    pub strategy: SetStrategy,
    /// The roles, each with its desired revision.
    pub roles: Vec<Role>,
    /// The coordination rules, in the order they were written.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Gang scheduling.
    #[serde(default)]
    pub gang: Gang,
    /// What to do when the progress deadline has passed.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// How long the rollout may go without a new best state.
    pub progress_deadline: Millis,
    /// Nothing moves forward while this is set.
    #[serde(default)]
    pub paused: bool,
}

impl Spec {
    /// The revision of the set as a whole.
    pub fn revision(&self) -> Revision {
        Revision::of_roles(self.roles.iter().map(|role| (&role.name, role.revision)))
    }

    /// A role by its name.
    pub fn role(&self, name: &RoleName) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == *name)
    }

    /// The position of a role in [`Spec::roles`].
    pub fn role_index(&self, name: &RoleName) -> Option<usize> {
        self.roles.iter().position(|role| role.name == *name)
    }
}

/// How units of a level are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StrategyKind {
    /// Within the limits, instance by instance.
    #[default]
    RollingUpdate,
    /// A group is torn down and built anew as a whole; only at the level of the set.
    GroupRecreate,
    /// Nothing moves until somebody deletes it.
    OnDelete,
}

/// In which order eligible units move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Order {
    /// The highest ordinal first, so that a partition keeps the low ones.
    #[default]
    Descending,
    /// The lowest ordinal first.
    Ascending,
    /// The oldest first, ties by ascending ordinal.
    OldestFirst,
}

/// How groups move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetStrategy {
    /// The way of moving.
    pub kind: StrategyKind,
    /// How many groups may be unavailable.
    pub max_unavailable: IntOrPercent,
    /// How many groups may stand beyond the desired ones.
    pub max_surge: IntOrPercent,
    /// How many groups stay old.
    pub partition: IntOrPercent,
    /// Which group goes first.
    pub order: Order,
}

impl Default for SetStrategy {
    fn default() -> Self {
        Self {
            kind: StrategyKind::RollingUpdate,
            max_unavailable: IntOrPercent::Int(1),
            max_surge: IntOrPercent::Int(0),
            partition: IntOrPercent::Int(0),
            order: Order::Descending,
        }
    }
}

impl SetStrategy {
    /// The limits over `groups`.
    pub fn limits(&self, groups: u32) -> Limits {
        Limits::resolve(self.max_unavailable, self.max_surge, groups)
    }

    /// How many of the lowest groups stay old.
    pub fn kept(&self, groups: u32) -> u32 {
        number::partition(self.partition, groups)
    }
}

/// How instances of a role move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleStrategy {
    /// The way of moving; never `GroupRecreate`.
    pub kind: StrategyKind,
    /// How many instances may be unavailable.
    pub max_unavailable: IntOrPercent,
    /// How many instances may stand beyond the desired ones.
    pub max_surge: IntOrPercent,
    /// How many instances stay old.
    pub partition: IntOrPercent,
    /// Which instance goes first.
    pub order: Order,
}

impl Default for RoleStrategy {
    fn default() -> Self {
        let SetStrategy { kind, max_unavailable, max_surge, partition, order } = SetStrategy::default();
        Self { kind, max_unavailable, max_surge, partition, order }
    }
}

/// A role: instances made from one template, or from one per member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    /// Its name.
    pub name: RoleName,
    /// How many instances in each group.
    pub replicas: u32,
    /// The revision its instances should have.
    pub revision: Revision,
    /// How many available instances make the group available; all of them if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<IntOrPercent>,
    /// How long an instance must be ready to count as available.
    #[serde(default)]
    pub min_ready: Millis,
    /// The roles that must have started before this one, at the first start of a group.
    #[serde(default)]
    pub starts_after: Vec<RoleName>,
    /// The members of an instance that start after others of it, and after which. It is no part of a revision:
    /// pods of every revision follow it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub member_order: BTreeMap<MemberName, Vec<MemberName>>,
    /// How its instances move.
    #[serde(default)]
    pub strategy: RoleStrategy,
    /// What happens when a pod of an instance fails or restarts.
    #[serde(default)]
    pub restart: Restart,
    /// What an instance is made of; at least one member.
    pub members: Vec<Member>,
}

impl Role {
    /// How many instances must be available for the group to be.
    pub fn needed(&self) -> u32 {
        self.min_available.map_or(self.replicas, |n| n.ceil_of(self.replicas)).min(self.replicas)
    }

    /// The pods of one instance.
    pub fn pods(&self) -> u32 {
        self.members.iter().map(|member| member.count).fold(0, u32::saturating_add)
    }
}

/// One template and how many pods an instance has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name.
    pub name: MemberName,
    /// How many pods.
    pub count: u32,
    /// How many of them must be ready for the instance to be.
    pub min_available: u32,
}

/// What happens to an instance when one of its pods fails or restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restart {
    /// How much is replaced.
    pub kind: RestartKind,
    /// The delay before the second replacement; it doubles from there.
    pub base_delay: Millis,
    /// The longest delay.
    pub max_delay: Millis,
    /// How long an instance that failed may take to be ready again by itself before it is replaced.
    #[serde(default)]
    pub grace: Millis,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            kind: RestartKind::None,
            base_delay: Millis::seconds(30),
            max_delay: Millis::minutes(10),
            grace: Millis(0),
        }
    }
}

/// How much is replaced when a pod fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RestartKind {
    /// The kubelet's business; a pod that is gone still comes back.
    #[default]
    None,
    /// All pods of the instance together.
    Instance,
    /// All instances of the group.
    Group,
}

/// A rule over roles, applied in each group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Its name.
    pub name: RuleName,
    /// What it asks for.
    pub kind: RuleKind,
}

/// What a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleKind {
    /// Updated fractions stay close together.
    RollingUpdate(Skew),
    /// Roles are updated in order, each step ready before the next.
    Steps(Vec<Step>),
    /// Instances of several roles are placed together, batch by batch.
    AffinityScheduling(Affinity),
    /// Roles that grow do so side by side.
    Scaling(Scaling),
}

/// Updated fractions stay within `max_skew` of each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skew {
    /// The roles it spans.
    pub roles: Vec<RoleName>,
    /// The largest distance.
    pub max_skew: IntOrPercent,
    /// Overrides that of its roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
    /// Overrides that of its roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<IntOrPercent>,
}

/// One step of an ordered plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// So many instances of the role updated and ready, counted from the start.
    Update {
        /// The role.
        role: RoleName,
        /// The cumulative target.
        to: IntOrPercent,
    },
    /// Wait: for a length of time, or until somebody promotes.
    Pause {
        /// How long; without it, until promoted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Millis>,
    },
}

/// Instances of several roles placed in one topology domain, batch by batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// The node label that makes a domain.
    pub topology_key: String,
    /// How many instances of each role make a batch.
    pub ratios: BTreeMap<RoleName, u32>,
    /// Whether a batch waits for the one before.
    pub batch_mode: BatchMode,
}

/// Whether a batch waits for the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum BatchMode {
    /// A batch is held until the one before was ready.
    #[default]
    Sequential,
    /// All batches at once.
    Parallel,
}

/// Roles that grow stay within `max_skew` of each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scaling {
    /// The roles it spans.
    pub roles: Vec<RoleName>,
    /// The largest distance.
    pub max_skew: IntOrPercent,
    /// What counts as being there.
    pub progression: Progression,
}

/// What counts as being there when roles grow together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Progression {
    /// Scheduled instances.
    OrderScheduled,
    /// Ready instances.
    #[default]
    OrderReady,
}

/// Gang scheduling of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gang {
    /// Who schedules gangs.
    pub scheduler: GangScheduler,
    /// A group below its minimum for so long is built anew as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_delay: Option<Millis>,
}

/// Who schedules gangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum GangScheduler {
    /// Nobody: pods are scheduled one by one.
    #[default]
    None,
    /// Kubernetes' own PodGroups.
    PodGroup,
    /// Grove's PodGangs.
    PodGang,
    /// Volcano's PodGroups.
    Volcano,
}

/// What to do when the progress deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnFailure {
    /// Stay where it is and say why.
    #[default]
    Hold,
    /// Go back to the last revision that was stable.
    Rollback,
}
