//! What is there: groups, instances and pods as last observed, and the memory kept in status.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::Account;
use crate::model::Member;
pub use crate::names::Uid;
use crate::names::{GangKey, MemberName, RoleName, RuleName};
use crate::revision::Revision;
use crate::time::Time;

/// Everything one plan is made from, besides the spec and the time.
///
/// It must contain our own earlier writes: a create or delete that the cache has not shown yet is in it,
/// marked [`Pod::in_flight`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Snapshot {
    /// The groups that have pods.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// What an instance of each revision is made of, for revisions other than the desired one. An instance
    /// whose revision is not listed is judged by the pods it has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layouts: BTreeMap<RoleName, BTreeMap<Revision, Vec<Member>>>,
    /// What earlier plans asked to be remembered.
    #[serde(default)]
    pub memory: Memory,
    /// The unavailable budgets that cover pods of this set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Account>,
}

/// A group that has pods.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Group {
    /// Its ordinal.
    pub group: u32,
    /// The scheduler recorded that the base gang was placed once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub base_scheduled: bool,
    /// Its roles.
    #[serde(default)]
    pub roles: Vec<RoleInstances>,
}

/// The instances of one role in one group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleInstances {
    /// The role.
    pub role: RoleName,
    /// Its instances, by ordinal.
    #[serde(default)]
    pub instances: Vec<Instance>,
}

/// The pods of one instance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Instance {
    /// Its ordinal.
    pub instance: u32,
    /// Its pods.
    #[serde(default)]
    pub pods: Vec<Pod>,
}

/// A pod, as far as a rollout cares.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pod {
    /// The member it belongs to.
    #[serde(default)]
    pub member: MemberName,
    /// Its index within the member.
    #[serde(default)]
    pub index: u32,
    /// Its UID.
    #[serde(default)]
    pub uid: Uid,
    /// The role's revision it was built from.
    pub revision: Revision,
    /// The set's revision it was created under.
    #[serde(default)]
    pub set_revision: Revision,
    /// The incarnation of its group that it was created in.
    #[serde(default)]
    pub incarnation: u32,
    /// Created at.
    #[serde(default)]
    pub created: Time,
    /// Bound to a node since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Time>,
    /// Ready since; absent while it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Time>,
    /// Not ready since, after having been ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unready: Option<Time>,
    /// It ended (phase Failed or Succeeded) and will not run again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
    /// It is on its way out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub terminating: bool,
    /// A scheduling gate of ours holds it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gated: bool,
    /// The gang it was created in, within its group and incarnation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangKey>,
    /// We created it and have not seen it yet; or, if it is terminating, we asked for its end and nobody has
    /// answered.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_flight: bool,
    /// How often its containers restarted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
}

impl Pod {
    /// Ready now, and not on its way out.
    pub fn is_ready(&self) -> bool {
        self.ready.is_some() && !self.terminating && !self.failed && !self.in_flight
    }

    /// We asked for its end and nobody has answered: it may be on its way out, and it may yet stay.
    pub fn may_stay(&self) -> bool {
        self.terminating && self.in_flight
    }

    /// Whether it was ready at some time.
    pub fn was_ready(&self) -> bool {
        self.ready.is_some() || self.unready.is_some()
    }
}

fn is_false(b: &bool) -> bool {
    !b
}

fn is_never(time: &Time) -> bool {
    *time == Time::default()
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What a plan needs to know of the past. Small, kept in status; losing it may delay, never break a promise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Memory {
    /// Since when there is a memory: pods created later are known from birth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Per role: the stable revision.
    pub roles: BTreeMap<RoleName, RoleMemory>,
    /// The last revisions at which the whole set stood complete: where a rollback goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<CompleteSet>,
    /// The sets' revisions that pods carry, each with its roles' revisions: for routers, and for groups that
    /// are kept whole.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sets: BTreeMap<Revision, BTreeMap<RoleName, Revision>>,
    /// Per group.
    pub groups: BTreeMap<u32, GroupMemory>,
    /// Groups as units: how many were at the target at best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<Reached>,
    /// The best state of this rollout so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// Since when each block holds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub blocked: BTreeMap<String, Time>,
    /// Pauses somebody promoted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub promoted: BTreeSet<Promotion>,
    /// A target that stands in for the spec's: rollback or abort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Override>,
    /// Restarts, for back-off, by `group`, `group/role/instance`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub restarts: BTreeMap<String, RestartMemory>,
    /// Surge that was seen at the target, for back-off should somebody delete it: by `group/role`, and `groups`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub surges: BTreeMap<String, SurgeMemory>,
    /// Restart counts that are not to be taken as a new failure.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub baselines: BTreeMap<Uid, u32>,
}

/// What is remembered of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RoleMemory {
    /// The last revision at which all of its instances in all groups were updated and available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable: Option<Revision>,
    /// How many may be unavailable, in case the role is removed from the spec.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_unavailable: u32,
}

/// The revisions of a set that stood complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompleteSet {
    /// The set's revision.
    pub revision: Revision,
    /// Its roles' revisions.
    pub roles: BTreeMap<RoleName, Revision>,
}

/// A count that belongs to one target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reached {
    /// The revision it was counted under.
    pub target: Revision,
    /// The highest count.
    pub count: u32,
}

/// What is remembered of a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupMemory {
    /// Which life of the group this is; a label on its pods, stored before the first of them is created.
    pub incarnation: u32,
    /// No pod of this life has been seen yet.
    #[serde(skip_serializing_if = "is_false")]
    pub unborn: bool,
    /// Not available since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_since: Option<Time>,
    /// Below its minimum since, outside of updates: the clock of gang termination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_since: Option<Time>,
    /// It is built anew as a whole: nothing is created before its last pod is gone.
    #[serde(skip_serializing_if = "is_false")]
    pub rebuilding: bool,
    /// This incarnation was available once.
    #[serde(skip_serializing_if = "is_false")]
    pub was_available: bool,
    /// The base gang of this incarnation was scheduled once.
    #[serde(skip_serializing_if = "is_false")]
    pub base_scheduled: bool,
    /// Roles of this incarnation that had their minimum ready once.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub started: BTreeSet<RoleName>,
    /// How large each role was when this incarnation began.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub start_sizes: BTreeMap<RoleName, u32>,
    /// Per sequential batch rule: how many of the first batches were ready once.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub batches: BTreeMap<RuleName, u32>,
    /// The set's target under which it was opened, until it is finished: what is on its way in it was moved by us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<Revision>,
    /// Per role in update: how many were updated at best.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reached: BTreeMap<RoleName, Reached>,
    /// Per role under a scaling rule: how many ordinals have been filled once.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grown: BTreeMap<RoleName, u32>,
    /// Pauses entered under the present target, by `rule/step`: since when.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pauses: BTreeMap<String, Time>,
    /// Instances created before this are to be replaced (restart of the whole group).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_before: Option<Time>,
}

/// The best state of a rollout, so that readiness that comes and goes is not taken for progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Best {
    /// The set's target it belongs to.
    pub target: Revision,
    /// Updated and available instances among the eligible ones.
    pub updated: u32,
    /// Surge instances at the target that are available.
    pub surge: u32,
    /// Pauses passed.
    pub pauses: u32,
    /// How many instances there were to be updated.
    #[serde(default)]
    pub eligible: u32,
    /// When it was reached.
    pub since: Time,
    /// When this rollout began.
    pub started: Time,
    /// It waited on purpose (a pause, a partition reached) when last looked at: that time does not count.
    #[serde(default, skip_serializing_if = "is_false")]
    pub waiting: bool,
}

/// Somebody let a pause pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Promotion {
    /// The set's target it was said for.
    pub target: Revision,
    /// The rule.
    pub rule: RuleName,
    /// The step, counted from 0.
    pub step: u32,
    /// One group only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

/// A target that stands in for the spec's own until the spec's revision changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Override {
    /// The spec's revision it was set under.
    pub spec: Revision,
    /// Who set it.
    pub by: OverrideBy,
}

/// Who set an override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverrideBy {
    /// The progress deadline passed and `onFailure` is `Rollback`.
    Rollback,
    /// A person aborted the rollout.
    Abort,
}

/// Restarts of an instance or a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestartMemory {
    /// How many in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub count: u32,
    /// When the last one was.
    #[serde(default, skip_serializing_if = "is_never")]
    pub last: Time,
}

/// Surge of one role of a group, or of the set's groups.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SurgeMemory {
    /// The revision it was made at; what was lost under another counts for nothing.
    pub target: Revision,
    /// By ordinal: how often it was made anew after somebody had deleted it.
    pub tried: BTreeMap<u32, RestartMemory>,
}
