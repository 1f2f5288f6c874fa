//! The LockstepSet kind, as a user writes it.
//!
//! The comments on the fields are what `kubectl explain` shows.

use std::collections::BTreeMap;

use lockstep_core::number::IntOrPercent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounds::{A_YEAR, LONGEST_LIST, LONGEST_NAME, MOST, MOST_HISTORY};
use crate::coordination::Coordination;
use crate::crd::shapes;
use crate::duration::Duration;
use crate::identity::Identity;

/// The API group and version of the kind.
pub const API_VERSION: &str = "lockstep.dev/v1alpha1";
/// The name of the kind.
pub const KIND: &str = "LockstepSet";

/// Groups of roles that are started, updated and restarted in step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockstepSet {
    /// Always `lockstep.dev/v1alpha1`.
    pub api_version: String,
    /// Always `LockstepSet`.
    pub kind: String,
    /// Name, namespace, labels and annotations of the set.
    pub metadata: Metadata,
    /// What should run, and how it changes.
    pub spec: LockstepSetSpec,
    /// What runs, written by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
}

/// The part of an object's metadata that Lockstep reads. The rest is kept as it came.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The set's name. Every pod's name starts with it.
    pub name: String,
    /// The namespace it lives in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels of the set itself; pods take theirs from the templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the set itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What Kubernetes keeps there besides: uid, generation, managedFields and so on.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What should run, and how it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockstepSetSpec {
    /// How many groups. Each group has every role. Default 1.
    #[serde(default = "one")]
    #[schemars(range(max = MOST))]
    pub replicas: u32,
    /// How groups move from one revision to the next.
    #[serde(default)]
    pub update_strategy: UpdateStrategy,
    /// Rules over several roles, applied inside each group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST))]
    pub coordination: Vec<Coordination>,
    /// What a group is made of; at least one role.
    #[schemars(length(min = 1, max = LONGEST_LIST))]
    pub roles: Vec<Role>,
    /// Scheduling of pods that are of use only together.
    #[serde(default)]
    pub gang: Gang,
    /// What to do when a rollout has made no progress for `progressDeadlineSeconds`. Default Hold.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// How long a rollout may go without progress before it counts as stalled. More than the longest
    /// `minReadySeconds`. Default 600.
    #[serde(default = "six_hundred")]
    #[schemars(range(min = 1, max = A_YEAR))]
    pub progress_deadline_seconds: u32,
    /// How many old revisions are kept to go back to. Default 10.
    #[serde(default = "ten")]
    #[schemars(range(max = MOST_HISTORY))]
    pub revision_history_limit: u32,
    /// Nothing moves forward while this is true; lost pods still come back as they were.
    #[serde(default)]
    pub paused: bool,
    /// Names, labels and environment of pods, as templates. Part of every role's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// How groups move from one revision to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// RollingUpdate opens a group and lets its roles roll inside. GroupRecreate takes a group down as a whole
    /// and starts it anew, so that two revisions never meet in one group. OnDelete waits for somebody to
    /// delete pods. Default RollingUpdate.
    #[serde(rename = "type", default)]
    pub kind: UpdateType,
    /// How many groups may be unavailable, as a number or a percentage of `replicas` (rounded down). Default 1.
    #[serde(default = "int_one")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: IntOrPercent,
    /// How many groups may stand beyond `replicas`, as a number or a percentage (rounded up). Default 0.
    #[serde(default = "int_zero")]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: IntOrPercent,
    /// How many groups stay at the old revision, counted from ordinal 0. Default 0.
    #[serde(default = "int_zero")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: IntOrPercent,
    /// Which group goes first. Default Descending, so that a partition keeps the low ordinals.
    #[serde(default)]
    pub order: Order,
}

impl Default for UpdateStrategy {
    fn default() -> Self {
        Self {
            kind: UpdateType::default(),
            max_unavailable: int_one(),
            max_surge: int_zero(),
            partition: int_zero(),
            order: Order::default(),
        }
    }
}

/// How groups move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum UpdateType {
    /// Group by group, and inside a group by the strategies of its roles.
    #[default]
    RollingUpdate,
    /// A group is taken down as a whole and started anew.
    GroupRecreate,
    /// Nothing moves until somebody deletes it.
    OnDelete,
}

/// Which unit goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Order {
    /// The highest ordinal first.
    #[default]
    Descending,
    /// The lowest ordinal first.
    Ascending,
    /// The one that has run longest first.
    OldestFirst,
}

/// One kind of worker in a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    /// The role's name, a part of its pods' names.
    #[schemars(length(max = LONGEST_NAME), regex(pattern = shapes::LABEL))]
    pub name: String,
    /// How many instances in each group. Default 1.
    #[serde(default = "one")]
    #[schemars(range(max = MOST))]
    pub replicas: u32,
    /// The group is available with this many available instances of the role, as a number or a percentage
    /// (rounded up). Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub min_available: Option<IntOrPercent>,
    /// How long an instance must be ready to count as available. Default 0.
    #[serde(default)]
    #[schemars(range(max = A_YEAR))]
    pub min_ready_seconds: u32,
    /// Roles that must have their `minAvailable` ready, once, before this one starts in a new group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST), inner(length(max = LONGEST_NAME)))]
    pub starts_after: Vec<String>,
    /// How instances move from one revision to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<RoleUpdateStrategy>,
    /// What happens when a pod of an instance fails or restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartPolicy>,
    /// The pod template: short for one member of one pod, named like the role. Either this or `members`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::pod_template")]
    pub template: Option<Value>,
    /// What an instance is made of, when it has several pods: say, a leader and three workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST))]
    pub members: Vec<Member>,
    /// What differs for this role from the identity of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

impl Role {
    /// The members of an instance; a `template` is one member of one pod with the role's name.
    pub fn parts(&self) -> Vec<Member> {
        match &self.template {
            Some(template) => vec![Member {
                name: self.name.clone(),
                count: 1,
                min_available: None,
                starts_after: Vec::new(),
                template: template.clone(),
                identity: None,
            }],
            None => self.members.clone(),
        }
    }

    /// How many pods an instance has.
    pub fn pods(&self) -> u64 {
        match self.template {
            Some(_) => 1,
            None => self.members.iter().map(|member| u64::from(member.count)).sum(),
        }
    }

    /// The strategy, defaults filled in.
    pub fn strategy(&self) -> RoleUpdateStrategy {
        self.update_strategy.unwrap_or_default()
    }

    /// How much is replaced when a pod fails: what was asked for; else the instance if it has several pods,
    /// else nothing.
    pub fn restart_type(&self) -> RestartType {
        let asked = self.restart_policy.and_then(|policy| policy.kind);
        asked.unwrap_or(if self.pods() > 1 { RestartType::Instance } else { RestartType::None })
    }
}

/// How instances of a role move from one revision to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleUpdateStrategy {
    /// RollingUpdate or OnDelete. Default RollingUpdate.
    #[serde(rename = "type", default)]
    pub kind: RoleUpdateType,
    /// How many instances may be unavailable, as a number or a percentage of `replicas` (rounded down).
    /// Default 1.
    #[serde(default = "int_one")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub max_unavailable: IntOrPercent,
    /// How many instances may stand beyond `replicas`, as a number or a percentage (rounded up, never more
    /// than `replicas`). Default 0.
    #[serde(default = "int_zero")]
    #[schemars(schema_with = "shapes::any_number")]
    pub max_surge: IntOrPercent,
    /// How many instances stay at the old revision, counted from ordinal 0. Default 0.
    #[serde(default = "int_zero")]
    #[schemars(schema_with = "shapes::up_to_all")]
    pub partition: IntOrPercent,
    /// Which instance goes first. Default Descending.
    #[serde(default)]
    pub order: Order,
}

impl Default for RoleUpdateStrategy {
    fn default() -> Self {
        let UpdateStrategy { max_unavailable, max_surge, partition, order, .. } = UpdateStrategy::default();
        Self { kind: RoleUpdateType::default(), max_unavailable, max_surge, partition, order }
    }
}

/// How instances of a role move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum RoleUpdateType {
    /// Within the limits, instance by instance.
    #[default]
    RollingUpdate,
    /// Nothing moves until somebody deletes it.
    OnDelete,
}

/// What happens when a pod of an instance fails or restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartPolicy {
    /// None leaves it to the kubelet, Instance replaces all pods of the instance, Group all instances of the
    /// group. Default: Instance for instances of several pods, None for those of one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RestartType>,
    /// The delay before the second restart; it doubles from there. The first is at once. Default 30.
    #[serde(default = "thirty")]
    #[schemars(range(max = A_YEAR))]
    pub base_delay_seconds: u32,
    /// The longest delay. Default 600.
    #[serde(default = "six_hundred")]
    #[schemars(range(max = A_YEAR))]
    pub max_delay_seconds: u32,
    /// How long an instance that failed may take to be ready again by itself before it is replaced. Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = A_YEAR))]
    pub grace_period_seconds: u32,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            kind: None,
            base_delay_seconds: thirty(),
            max_delay_seconds: six_hundred(),
            grace_period_seconds: 0,
        }
    }
}

// Serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// How much is replaced when a pod fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RestartType {
    /// Nothing; the kubelet restarts containers, and a pod that is gone comes back.
    None,
    /// All pods of the instance.
    Instance,
    /// All instances of the group.
    Group,
}

/// Pods of one template inside an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The member's name, a part of its pods' names.
    #[schemars(length(max = LONGEST_NAME), regex(pattern = shapes::LABEL))]
    pub name: String,
    /// How many pods. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MOST))]
    pub count: u32,
    /// How many of them must be ready for the instance to be. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST))]
    pub min_available: Option<u32>,
    /// Members of the instance that must have their `minAvailable` ready before pods of this one start in it. Not part
    /// of a revision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST), inner(length(max = LONGEST_NAME)))]
    pub starts_after: Vec<String>,
    /// An ordinary pod template.
    #[schemars(schema_with = "shapes::pod_template")]
    pub template: Value,
    /// What differs for these pods from the identity of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Scheduling of pods that are of use only together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gang {
    /// Who schedules gangs: None, PodGroup (Kubernetes' own), PodGang (Grove) or Volcano. Default None.
    #[serde(default)]
    pub scheduler: GangScheduler,
    /// A group that has been below its minimum for this long is taken down and started anew: `4h`. Without
    /// it, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_delay: Option<Duration>,
}

/// Who schedules gangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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

/// What to do when a rollout is stalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum OnFailure {
    /// Stay where it is and say why.
    #[default]
    Hold,
    /// Go back to the last revision that was stable, under the same rules.
    Rollback,
}

const fn one() -> u32 {
    1
}
const fn ten() -> u32 {
    10
}
const fn thirty() -> u32 {
    30
}
const fn six_hundred() -> u32 {
    600
}
const fn int_zero() -> IntOrPercent {
    IntOrPercent::Int(0)
}
const fn int_one() -> IntOrPercent {
    IntOrPercent::Int(1)
}
