//! Gangs: which pods are scheduled together, and which wait for the base of their group.

use serde::Serialize;

use crate::model::{BatchMode, GangScheduler, Role, Spec};
use crate::names::{RoleName, RuleName};
use crate::observe::Seen;
use crate::snapshot::GroupMemory;
use crate::unit::Standing;
use crate::{batch, start};

/// The gang of a pod, within its group and incarnation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GangRef {
    /// Which gang.
    #[serde(flatten)]
    pub kind: GangKind,
    /// How many of its pods must find a place together.
    pub minimum: u32,
}

/// Which gang.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", tag = "gang")]
pub enum GangKind {
    /// The first instances of every role: what the group needs to be available.
    Base {
        /// Roles that wait for others start in a later stage, with a gang of its own.
        stage: u32,
    },
    /// A placement batch.
    Batch {
        /// The rule.
        rule: RuleName,
        /// The batch.
        batch: u32,
    },
    /// One instance of several pods.
    Instance {
        /// The role.
        role: RoleName,
        /// The instance.
        instance: u32,
    },
}

fn minimum_of_instance(role: &Role) -> u32 {
    role.members.iter().map(|member| member.min_available).sum()
}

/// The placement batch that is a gang of its own.
fn batch_gang(spec: &Spec, role: &Role, ordinal: u32) -> Option<GangRef> {
    batch::rules(spec).find_map(|(rule, affinity)| {
        let batch = batch::batch_of(affinity, &role.name, ordinal)?;
        if affinity.batch_mode != BatchMode::Sequential || batch >= batch::full(spec, affinity) {
            return None;
        }
        let pods = |(name, ratio): (&RoleName, &u32)| {
            spec.role(name).map_or(0, |role| ratio.saturating_mul(minimum_of_instance(role)))
        };
        let minimum = affinity.ratios.iter().map(pods).sum();
        Some(GangRef { kind: GangKind::Batch { rule: rule.name.clone(), batch }, minimum })
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

/// The base gang of a role's stage.
fn base_gang(spec: &Spec, role: &Role) -> GangRef {
    let stage = start::stage(spec, role);
    let of_role = |other: &&Role| start::stage(spec, other) == stage;
    let pods = |other: &Role| {
        other.needed().saturating_sub(batched(spec, other)).saturating_mul(minimum_of_instance(other))
    };
    let minimum = spec.roles.iter().filter(of_role).map(pods).fold(0, u32::saturating_add);
    GangRef { kind: GangKind::Base { stage }, minimum }
}

/// The gang an instance is created in. By index, so a surge instance is never in the base.
pub fn gang_of(spec: &Spec, memory: &GroupMemory, role: &Role, ordinal: u32) -> Option<GangRef> {
    let scheduler = spec.gang.scheduler;
    if scheduler == GangScheduler::None {
        return None;
    }
    let single = role.pods() <= 1;
    let own = || GangRef {
        kind: GangKind::Instance { role: role.name.clone(), instance: ordinal },
        minimum: minimum_of_instance(role),
    };
    if scheduler != GangScheduler::PodGang && memory.base_scheduled {
        // Kubernetes' minimum binds every later pod too, so nothing joins the base any more.
        return (!single).then(own);
    }
    if let Some(gang) = batch_gang(spec, role, ordinal) {
        return Some(gang);
    }
    if ordinal < role.needed() {
        return Some(base_gang(spec, role));
    }
    match (single, scheduler) {
        (false, _) => Some(own()),
        (true, GangScheduler::PodGang) => Some(base_gang(spec, role)),
        (true, _) => None,
    }
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
    memory.base_scheduled = seen.base_scheduled || is_bound(spec, seen) || scaled_runs(spec, seen);
}

fn is_bound(spec: &Spec, seen: &Seen<'_>) -> bool {
    spec.roles.iter().zip(&seen.roles).all(|(role, seen)| {
        (batched(spec, role)..role.needed()).all(|ordinal| {
            seen.units
                .binary_search_by_key(&ordinal, |unit| unit.ordinal)
                .is_ok_and(|i| seen.units[i].standing == Standing::Present && !seen.units[i].unscheduled)
        })
    })
}

fn scaled_runs(spec: &Spec, seen: &Seen<'_>) -> bool {
    spec.roles.iter().zip(&seen.roles).any(|(role, seen)| {
        let runs = |instance: &&&crate::snapshot::Instance| {
            is_scaled(spec, role, instance.instance)
                && instance.pods.iter().any(|pod| !pod.terminating && !pod.gated)
        };
        seen.instances.iter().find(runs).is_some()
    })
}
