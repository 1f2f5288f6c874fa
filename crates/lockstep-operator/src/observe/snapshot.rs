//! From what is known to what the engine reads.

use std::collections::BTreeSet;

use lockstep_core::names::RoleName;
use lockstep_core::snapshot::{Group, Instance, Memory, Pod, RoleInstances, Snapshot};

use super::pod::Place;
use super::stored::History;

/// What a snapshot is made of besides the pods.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The stored revisions.
    pub history: &'a History,
    /// What earlier plans asked to be remembered.
    pub memory: &'a Memory,
    /// Groups whose base gang the scheduler says it has placed, by group and incarnation.
    pub placed: &'a BTreeSet<(u32, u32)>,
}

/// Puts pods, ordered by their place, into a snapshot.
pub fn snapshot<'a>(pods: impl Iterator<Item = (&'a Place, &'a Pod)>, sources: Sources<'_>) -> Snapshot {
    let mut groups: Vec<Group> = Vec::new();
    for (place, pod) in pods {
        if groups.last().is_none_or(|group| group.group != place.group) {
            let incarnation = sources.memory.groups.get(&place.group).map_or(0, |known| known.incarnation);
            let base_scheduled = sources.placed.contains(&(place.group, incarnation));
            groups.push(Group { group: place.group, base_scheduled, roles: Vec::new() });
        }
        if let Some(group) = groups.last_mut() {
            instance(group, &place.role, place.instance).pods.push(pod.clone());
        }
    }
    let layouts = sources.history.layouts();
    Snapshot { groups, layouts, memory: sources.memory.clone(), budgets: Vec::new() }
}

fn instance<'a>(group: &'a mut Group, role: &RoleName, ordinal: u32) -> &'a mut Instance {
    if group.roles.last().is_none_or(|last| last.role != *role) {
        group.roles.push(RoleInstances { role: role.clone(), instances: Vec::new() });
    }
    let last = group.roles.len() - 1;
    let instances = &mut group.roles[last].instances;
    if instances.last().is_none_or(|last| last.instance != ordinal) {
        // Most instances are single pods, and a vector that grows by itself begins with room for four.
        instances.push(Instance { instance: ordinal, pods: Vec::with_capacity(1) });
    }
    let last = instances.len() - 1;
    &mut instances[last]
}
