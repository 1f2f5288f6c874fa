//! Gangs: which pods are scheduled together, and which wait for the base of their group.

mod count;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::{BatchMode, GangScheduler, Role, Spec};
use crate::names::{GangKey, RoleName, RuleName};
use crate::observe::Seen;
use crate::snapshot::{GroupMemory, Instance, Pod};
use crate::stages::Stages;
use crate::unit::Standing;
use crate::{batch, start};

/// A gang of one group and incarnation, and how many of its pods must find a place together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gang {
    /// The group.
    pub group: u32,
    /// The incarnation.
    pub incarnation: u32,
    /// Which gang.
    pub name: GangName,
    /// How many pods.
    pub minimum: u32,
}

/// Which gang, within its group and incarnation: `base-0`, `batch-<rule>-2`, `instance-<role>-3`,
/// `stage-<role>-3-1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GangName {
    /// The first instances of every role: what the group needs to be available. Roles that wait for others
    /// start in a later stage, with a gang of its own.
    Base(u32),
    /// A placement batch.
    Batch(RuleName, u32),
    /// One instance of several pods.
    Instance(RoleName, u32),
    /// The members of one instance that start after others of it, by stage, from 1.
    Stage(RoleName, u32, u32),
}

impl fmt::Display for GangName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(stage) => write!(f, "base-{stage}"),
            Self::Batch(rule, batch) => write!(f, "batch-{rule}-{batch}"),
            Self::Instance(role, instance) => write!(f, "instance-{role}-{instance}"),
            Self::Stage(role, instance, stage) => write!(f, "stage-{role}-{instance}-{stage}"),
        }
    }
}

impl Serialize for GangName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The placement batch that is a gang of its own.
fn batch_gang(spec: &Spec, role: &Role, ordinal: u32) -> Option<GangName> {
    batch::rules(spec).find_map(|(rule, affinity)| {
        let batch = batch::batch_of(affinity, &role.name, ordinal)?;
        let own = affinity.batch_mode == BatchMode::Sequential && batch < batch::full(spec, affinity);
        own.then(|| GangName::Batch(rule.name.clone(), batch))
    })
}

/// How many of a role's first instances are in batches that are gangs of their own.
fn batched(spec: &Spec, role: &Role) -> u32 {
    let of_rule = |(_, affinity): (&crate::model::Rule, &crate::model::Affinity)| {
        let ratio = affinity.ratios.get(&role.name).filter(|_| affinity.batch_mode == BatchMode::Sequential);
        ratio.map_or(0, |ratio| batch::full(spec, affinity).saturating_mul((*ratio).max(1)))
    };
    batch::rules(spec).map(of_rule).max().unwrap_or(0)
}

/// The gang pods of an instance are created in. By index, so a surge instance is never in the base. What starts after
/// others of its instance is in a gang of its own: those others must find a place without it.
pub fn gang_of(
    spec: &Spec,
    memory: &GroupMemory,
    role: &Role,
    (ordinal, stage): (u32, u32),
    refill: bool,
) -> Option<GangName> {
    let scheduler = spec.gang.scheduler;
    if scheduler == GangScheduler::None {
        return None;
    }
    if stage > 0 {
        let joins = scheduler == GangScheduler::PodGang || !refill;
        return joins.then(|| GangName::Stage(role.name.clone(), ordinal, stage));
    }
    let single = role.pods() <= 1;
    let own = || GangName::Instance(role.name.clone(), ordinal);
    let base = || GangName::Base(start::stage(spec, role));
    // Kubernetes' minimum binds every later pod too, so nothing joins a gang that was placed once.
    let elastic = scheduler == GangScheduler::PodGang;
    if let Some(gang) = batch_gang(spec, role, ordinal) {
        let GangName::Batch(rule, batch) = &gang else { return None };
        let placed_once = memory.batches.get(rule).is_some_and(|ready| batch < ready);
        return if elastic || !placed_once { Some(gang) } else { (!single && !refill).then(own) };
    }
    if !elastic && memory.base_scheduled {
        return (!single && !refill).then(own);
    }
    if ordinal < role.needed() {
        return Some(base());
    }
    match (single, scheduler) {
        (false, _) => Some(own()),
        (true, GangScheduler::PodGang) => Some(base()),
        (true, _) => None,
    }
}

/// The gang of pods of one stage that are refilled into a standing instance: that of the pods they belong to, whatever
/// numbers have changed since those were created. Once they have a place, Kubernetes' own names none.
pub fn gang_of_refill(
    spec: &Spec,
    memory: &GroupMemory,
    role: &Role,
    instance: &Instance,
    (stages, stage): (&Stages<'_>, u32),
) -> Option<GangName> {
    if spec.gang.scheduler == GangScheduler::None {
        return None;
    }
    let standing =
        || instance.pods.iter().filter(|pod| !pod.terminating && stages.stage(&pod.member) == stage);
    // A later stage of which nothing stands comes as a whole.
    let refill = stage == 0 || standing().next().is_some();
    let own = gang_of(spec, memory, role, (instance.instance, stage), refill);
    let named = standing().find_map(|pod| parse(pod.gang.as_ref()?, role, instance.instance));
    let placed = standing().any(|pod| pod.bound.is_some());
    named.filter(|_| own.is_some() || !placed).or(own)
}

/// Reads back the gang a pod of this instance names; nothing for a name that is not ours.
pub fn parse(key: &GangKey, role: &Role, instance: u32) -> Option<GangName> {
    let text = key.as_str();
    if let Some(stage) = text.strip_prefix("base-") {
        return stage.parse().ok().map(GangName::Base);
    }
    if let Some((rule, batch)) = text.strip_prefix("batch-").and_then(|rest| rest.rsplit_once('-')) {
        return batch.parse().ok().map(|batch| GangName::Batch(RuleName::new(rule), batch));
    }
    let own = match text.strip_prefix("stage-").and_then(|rest| rest.rsplit_once('-')) {
        Some((_, stage)) => GangName::Stage(role.name.clone(), instance, stage.parse().ok()?),
        None => GangName::Instance(role.name.clone(), instance),
    };
    (own.to_string() == text).then_some(own)
}

/// An instance of several pods beyond the base, which waits until the base was scheduled once.
fn is_scaled(spec: &Spec, role: &Role, ordinal: u32) -> bool {
    role.pods() > 1 && ordinal >= role.needed() && ordinal >= batched(spec, role)
}

/// Whether an instance waits for the base of its group.
pub fn waits(spec: &Spec, memory: &GroupMemory, role: &Role, ordinal: u32) -> bool {
    spec.gang.scheduler != GangScheduler::None && !memory.base_scheduled && is_scaled(spec, role, ordinal)
}

/// Remembers that the base was scheduled once: bound, not ready, else a leader that waits for its workers
/// would wait for ever. A scaled pod that runs without a gate proves it too.
pub fn remember(spec: &Spec, seen: &Seen<'_>, memory: &mut GroupMemory) {
    if spec.gang.scheduler == GangScheduler::None || memory.base_scheduled {
        return;
    }
    // A scheduler speaks of the first stage of each instance only.
    let told = seen.base_scheduled && !awaits_a_stage(spec, seen);
    memory.base_scheduled = told || is_bound(spec, seen) || scaled_runs(spec, seen);
}

/// Pods of the base still wait for others of their instance.
fn awaits_a_stage(spec: &Spec, seen: &Seen<'_>) -> bool {
    spec.roles.iter().zip(&seen.roles).any(|(role, seen)| {
        let in_base = |ordinal| (batched(spec, role)..role.needed()).contains(&ordinal);
        seen.units.iter().any(|unit| in_base(unit.ordinal) && unit.staged)
    })
}

fn is_bound(spec: &Spec, seen: &Seen<'_>) -> bool {
    spec.roles.iter().zip(&seen.roles).all(|(role, seen)| {
        (batched(spec, role)..role.needed()).all(|ordinal| {
            seen.units.binary_search_by_key(&ordinal, |unit| unit.ordinal).is_ok_and(|i| {
                let unit = seen.units[i];
                unit.standing == Standing::Present
                    && !unit.unscheduled
                    && !unit.staged
                    && !seen.notes[i].incomplete
            })
        })
    })
}

/// A pod that was created in the base is no witness, though its role may have shrunk since; nor is one that started
/// after it.
fn is_of_base(pod: &Pod) -> bool {
    let of_base = |gang: &GangKey| ["base-", "stage-"].iter().any(|it| gang.as_str().starts_with(it));
    pod.gang.as_ref().is_some_and(of_base)
}

fn scaled_runs(spec: &Spec, seen: &Seen<'_>) -> bool {
    spec.roles.iter().zip(&seen.roles).any(|(role, seen)| {
        let runs = |instance: &&&Instance| {
            is_scaled(spec, role, instance.instance)
                && instance.pods.iter().any(|pod| !pod.terminating && !pod.gated && !is_of_base(pod))
        };
        seen.instances.iter().find(runs).is_some()
    })
}
