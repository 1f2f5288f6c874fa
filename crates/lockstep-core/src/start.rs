//! Start order: at the first start of a group a role waits until those it names have started.

use std::collections::BTreeSet;

use crate::model::{Role, RuleKind, Spec};
use crate::names::RoleName;
use crate::observe::{Seen, count};
use crate::snapshot::GroupMemory;

/// Whether two roles stand in one rule: such roles do not wait for each other.
pub fn coordinated(spec: &Spec, one: &RoleName, other: &RoleName) -> bool {
    spec.rules.iter().any(|rule| {
        let names: Vec<&RoleName> = match &rule.kind {
            RuleKind::RollingUpdate(skew) => skew.roles.iter().collect(),
            RuleKind::Scaling(scaling) => scaling.roles.iter().collect(),
            RuleKind::AffinityScheduling(affinity) => affinity.ratios.keys().collect(),
            RuleKind::Steps(steps) => steps
                .iter()
                .filter_map(|step| match step {
                    crate::model::Step::Update { role, .. } => Some(role),
                    crate::model::Step::Pause { .. } => None,
                })
                .collect(),
        };
        names.contains(&one) && names.contains(&other)
    })
}

/// The roles this one really waits for.
pub fn dependencies<'a>(spec: &'a Spec, role: &'a Role) -> impl Iterator<Item = &'a Role> {
    let waits = |name: &&RoleName| **name != role.name && !coordinated(spec, &role.name, name);
    role.starts_after.iter().filter(waits).filter_map(|name| spec.role(name))
}

/// The role this one still waits for.
pub fn waits<'a>(spec: &'a Spec, memory: &GroupMemory, role: &'a Role) -> Option<&'a Role> {
    dependencies(spec, role).find(|other| !memory.started.contains(&other.name))
}

/// How many roles stand before this one: pods that wait for each other are never in one gang.
pub fn stage(spec: &Spec, role: &Role) -> u32 {
    fn depth(spec: &Spec, role: &Role, left: usize) -> u32 {
        // Cycles are refused at admission; a spec that has one all the same must not hang the planner.
        let Some(left) = left.checked_sub(1) else { return 0 };
        dependencies(spec, role).map(|other| depth(spec, other, left) + 1).max().unwrap_or(0)
    }
    depth(spec, role, spec.roles.len())
}

/// Remembers which roles had their minimum ready once. A pod that runs without a gate proves that those it
/// would wait for have started.
pub fn remember(spec: &Spec, seen: &Seen<'_>, memory: &mut GroupMemory) {
    let named: BTreeSet<&RoleName> = spec.roles.iter().flat_map(|role| &role.starts_after).collect();
    if named.is_empty() {
        return;
    }
    for (index, role) in spec.roles.iter().enumerate() {
        if named.contains(&role.name) && !memory.started.contains(&role.name) {
            let size =
                memory.start_sizes.get(&role.name).copied().unwrap_or(role.replicas).min(role.replicas);
            let needed = role.min_available.map_or(size, |n| n.ceil_of(size)).min(size);
            let ready = count(&seen.roles[index].units, |unit| unit.ready);
            if ready >= needed {
                memory.started.insert(role.name.clone());
            }
        }
        let runs =
            seen.roles[index].instances.iter().any(|i| i.pods.iter().any(|p| !p.terminating && !p.gated));
        if runs {
            memory.started.extend(dependencies(spec, role).map(|other| other.name.clone()));
        }
    }
}
