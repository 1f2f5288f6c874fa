//! Placement batches: instances of several roles that belong in one topology domain.

use crate::model::{Affinity, BatchMode, Rule, RuleKind, Spec};
use crate::names::RoleName;
use crate::observe::Seen;
use crate::plan::BatchRef;
use crate::snapshot::GroupMemory;
use crate::unit::Standing;

/// The placement rules of a set.
pub fn rules(spec: &Spec) -> impl Iterator<Item = (&Rule, &Affinity)> {
    spec.rules.iter().filter_map(|rule| match &rule.kind {
        RuleKind::AffinityScheduling(affinity) => Some((rule, affinity)),
        _ => None,
    })
}

/// How many batches are full: the least over the roles of replicas by ratio.
pub fn full(spec: &Spec, affinity: &Affinity) -> u32 {
    let of_role =
        |(role, ratio): (&RoleName, &u32)| spec.role(role).map_or(0, |role| role.replicas / (*ratio).max(1));
    affinity.ratios.iter().map(of_role).min().unwrap_or(0)
}

/// The batch of an ordinal; nothing for a role the rule does not name.
pub fn batch_of(affinity: &Affinity, role: &RoleName, ordinal: u32) -> Option<u32> {
    affinity.ratios.get(role).map(|ratio| ordinal / (*ratio).max(1))
}

/// The batches an instance belongs to.
pub fn batches(spec: &Spec, role: &RoleName, ordinal: u32) -> Vec<BatchRef> {
    let batch = |(rule, affinity): (&Rule, &Affinity)| {
        let batch = batch_of(affinity, role, ordinal)?;
        let required = batch < full(spec, affinity);
        let apart = required && affinity.batch_mode == BatchMode::Parallel;
        Some(BatchRef { rule: rule.name.clone(), batch, required, apart })
    };
    rules(spec).filter_map(batch).collect()
}

/// Whether an instance waits for an earlier batch, and by which rule.
pub fn waits<'a>(
    spec: &'a Spec,
    memory: &GroupMemory,
    role: &RoleName,
    ordinal: u32,
) -> Option<(&'a Rule, u32)> {
    rules(spec).find_map(|(rule, affinity)| {
        if affinity.batch_mode == BatchMode::Parallel {
            return None;
        }
        // Beyond the last full batch nothing is required, but the full ones go first.
        let needed = batch_of(affinity, role, ordinal)?.min(full(spec, affinity));
        let ready = memory.batches.get(&rule.name).copied().unwrap_or(0);
        (ready < needed).then(|| (rule, needed - 1))
    })
}

/// Remembers which batches were ready once. A pod beyond them that runs without a gate proves that they were.
pub fn remember(spec: &Spec, seen: &Seen<'_>, memory: &mut GroupMemory) {
    for (rule, affinity) in rules(spec).filter(|(_, a)| a.batch_mode == BatchMode::Sequential) {
        let full = full(spec, affinity);
        let known = memory.batches.get(&rule.name).copied().unwrap_or(0);
        let mut ready = known.max(proven(spec, affinity, seen).min(full));
        while ready < full && is_ready(spec, affinity, seen, ready) {
            ready += 1;
        }
        if ready > 0 {
            memory.batches.insert(rule.name.clone(), ready);
        }
    }
}

fn proven(spec: &Spec, affinity: &Affinity, seen: &Seen<'_>) -> u32 {
    let of_role = |(index, role): (usize, &crate::model::Role)| {
        let ungated = seen.roles[index]
            .instances
            .iter()
            .rev()
            .find(|instance| instance.pods.iter().any(|pod| !pod.terminating && !pod.gated))?;
        batch_of(affinity, &role.name, ungated.instance)
    };
    spec.roles.iter().enumerate().filter_map(of_role).max().unwrap_or(0)
}

/// Whether the whole batch is ready now.
pub fn is_ready(spec: &Spec, affinity: &Affinity, seen: &Seen<'_>, batch: u32) -> bool {
    affinity.ratios.iter().all(|(name, ratio)| {
        let Some(index) = spec.role_index(name) else { return true };
        let ratio = (*ratio).max(1);
        let ordinals = batch * ratio..(batch + 1) * ratio;
        let ready = |unit: &&crate::unit::Unit| {
            ordinals.contains(&unit.ordinal) && unit.ready && unit.standing == Standing::Present
        };
        seen.roles[index].units.iter().filter(ready).count() == ratio as usize
    })
}
