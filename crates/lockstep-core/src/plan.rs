//! The one entry of the engine: spec and snapshot in, plan out.

use serde::Serialize;

use crate::blocked::Blocked;
use crate::gang::{Gang, GangName};
use crate::model::{Role, Spec};
use crate::names::{MemberName, RoleName, RuleName, Uid};
use crate::observe::{Aims, observe};
use crate::revision::Revision;
use crate::snapshot::{Memory, Snapshot};
use crate::status::Status;
use crate::time::Time;
use crate::unit::Wake;

/// What to do now, what to say, and what to remember.
///
/// The memory is stored before the actions are carried out: an incarnation is written down before the first
/// pod that carries it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// The gangs of pods that are created or have no node yet, as they must stand before the actions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<Gang>,
    /// What waits, and why.
    pub blocked: Vec<Blocked>,
    /// The counts and the phase.
    pub status: Status,
    /// What to remember.
    pub memory: Memory,
    /// When to plan again even if nothing happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<Time>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "action")]
pub enum Action {
    /// Create pods of an instance: all of them, or those that are missing.
    Create(Create),
    /// Delete pods of an instance, in this order; the rest only if the first succeed.
    Delete(Delete),
    /// Lift our gate from pods of an instance.
    Ungate(Ungate),
}

/// Which instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRef {
    /// The group.
    pub group: u32,
    /// The role.
    pub role: RoleName,
    /// The instance.
    pub instance: u32,
}

/// Pods to be created.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Create {
    /// Whose pods.
    #[serde(flatten)]
    pub of: InstanceRef,
    /// The role's revision to build them from.
    pub revision: Revision,
    /// The set's revision they belong to.
    pub set_revision: Revision,
    /// The incarnation of the group.
    pub incarnation: u32,
    /// Which pods.
    pub pods: Vec<PodSlot>,
    /// Only some pods of a standing instance.
    pub refill: bool,
    /// They carry our gate.
    pub gated: bool,
    /// The gang they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangName>,
    /// The placement batches they belong to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<BatchRef>,
    /// Why.
    pub why: CreateWhy,
}

/// Why pods are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CreateWhy {
    /// The ordinal is wished for and has no pod.
    Recover,
    /// It stands in for others during the rollout.
    Surge,
    /// Pods of a standing instance are missing.
    Refill,
}

/// A pod's place in its instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSlot {
    /// The member.
    pub member: MemberName,
    /// The index within the member.
    pub index: u32,
}

/// A placement batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRef {
    /// The rule.
    pub rule: RuleName,
    /// The batch, counted from 0.
    pub batch: u32,
    /// Placement is required, not only preferred.
    pub required: bool,
    /// Other batches find their places at the same time: where each begins in a domain of its own, none takes
    /// the room that another needs to be whole.
    pub apart: bool,
}

/// Pods to be deleted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    /// Whose pods.
    #[serde(flatten)]
    pub of: InstanceRef,
    /// Which pods, by the UID that was seen; those that are not ready first.
    pub uids: Vec<Uid>,
    /// It was available and is paid from a budget. If not, the delete carries the resourceVersion too: the
    /// pod may have become ready meanwhile.
    pub paid: bool,
    /// Why.
    pub why: DeleteWhy,
}

/// Why pods are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum DeleteWhy {
    /// It moves to the target.
    Update,
    /// It moves to the target, or back to the stable revision; it did not work anyway.
    Repair,
    /// Its pods do not agree on a revision.
    Mixed,
    /// It is beyond what is wished for.
    Excess,
    /// The surge is no longer needed.
    SurgeDone,
    /// The surge has a revision that is no longer wished for.
    SurgeOutdated,
    /// The whole group moves to the target.
    Recreate,
    /// The whole group is beyond what is wished for, or stood in for others.
    GroupRemoved,
    /// A pod ended and will not run again.
    FailedPod,
    /// A pod of it failed or restarted.
    Restart,
    /// The group was below its minimum for too long.
    GangTermination,
    /// The spec no longer has the role.
    RoleRemoved,
}

/// Pods whose gate is lifted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ungate {
    /// Whose pods.
    #[serde(flatten)]
    pub of: InstanceRef,
    /// Which pods.
    pub uids: Vec<Uid>,
}

/// Decides everything. Total and deterministic: any snapshot, however odd, has exactly one plan.
pub fn plan(spec: &Spec, snapshot: &Snapshot, now: Time) -> Plan {
    let mut memory = snapshot.memory.clone();
    memory.since.get_or_insert(now);
    if memory.overridden.as_ref().is_some_and(|o| o.spec != spec.revision()) {
        memory.overridden = None;
    }
    recall_stable(spec, snapshot, &mut memory);
    let mut wake = Wake::default();
    let aims = Aims::of(spec, &memory);
    let seen = observe(spec, snapshot, &aims, now, &mut wake);
    let mut draft = crate::draft::Draft::new(spec, snapshot, &aims, memory, now, wake);
    draft.decide(&seen);
    draft.finish(&seen)
}

/// A role nothing is remembered of, though it has pods of another revision: the memory was lost, and those
/// pods are the best witnesses of what was stable. The lowest ordinals are the last to move.
fn recall_stable(spec: &Spec, snapshot: &Snapshot, memory: &mut Memory) {
    for role in &spec.roles {
        if memory.roles.contains_key(&role.name) {
            continue;
        }
        let of_role = snapshot.groups.iter().flat_map(|group| {
            let roles = group.roles.iter().filter(|seen| seen.role == role.name);
            roles.flat_map(|seen| &seen.instances).map(move |instance| (group.group, instance))
        });
        let outdated = of_role.filter_map(|(group, instance)| {
            let pod = instance.pods.iter().find(|pod| !pod.terminating && pod.revision != role.revision)?;
            Some((group, instance.instance, pod.revision))
        });
        let witness = outdated.min().map(|(_, _, revision)| revision);
        if let Some(revision) = witness.or_else(|| only_other(snapshot, role)) {
            memory.roles.entry(role.name.clone()).or_default().stable = Some(revision);
        }
    }
}

/// The one stored revision besides the desired one, where pods are left to be responsible for.
fn only_other(snapshot: &Snapshot, role: &Role) -> Option<Revision> {
    let stored = snapshot.layouts.get(&role.name)?;
    let mut others = stored.keys().filter(|revision| **revision != role.revision);
    let only = others.next().copied().filter(|_| others.next().is_none())?;
    snapshot.groups.iter().any(|group| !group.roles.is_empty()).then_some(only)
}
