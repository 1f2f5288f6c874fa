//! The order in which roles start must have a beginning.
//!
//! Roles of one coordination start together and count as one node.

use std::collections::BTreeSet;

use super::{known, known_role, role_path};
use crate::findings::Findings;
use crate::lockstep_set::{LockstepSet, Role};
use crate::path::Path;

/// A longer circle is shown with a gap.
const MOST_WORDS: usize = 8;

pub(super) fn check(set: &LockstepSet, found: &mut Findings) {
    let nodes = nodes(set);
    let mut waits_for: Vec<Vec<usize>> = vec![Vec::new(); set.spec.roles.len()];
    for (i, role) in set.spec.roles.iter().enumerate() {
        for (j, name) in role.starts_after.iter().enumerate() {
            let at = role_path(i).field("startsAfter").index(j);
            if role.starts_after[..j].contains(name) && found.sound(&at) {
                found.error(&at, "listed twice");
                continue;
            }
            let Some(other) = known_role(set, name, &at, found) else { continue };
            if other == i {
                found.error(&at, "a role cannot start after itself");
            } else if nodes[other] == nodes[i] {
                found.warn(
                    &at,
                    format!("ignored: {} and {name} share a coordination and start together", role.name),
                );
            } else {
                waits_for[nodes[i]].push(nodes[other]);
            }
        }
    }
    if let Some(cycle) = cycle(&waits_for) {
        report(set, &nodes, &cycle, found);
    }
    for (i, role) in set.spec.roles.iter().enumerate() {
        members(role, &role_path(i).field("members"), found);
    }
}

/// The same inside the instances of a role.
fn members(role: &Role, at: &Path, found: &mut Findings) {
    let names: Vec<&str> = role.members.iter().map(|member| member.name.as_str()).collect();
    let mut waits_for: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    for (i, member) in role.members.iter().enumerate() {
        for (j, name) in member.starts_after.iter().enumerate() {
            let at = at.index(i).field("startsAfter").index(j);
            if member.starts_after[..j].contains(name) && found.sound(&at) {
                found.error(&at, "listed twice");
                continue;
            }
            let Some(other) = known("member", name, &names, &at, found) else { continue };
            if other == i {
                found.error(&at, "a member cannot start after itself");
            } else {
                waits_for[i].push(other);
            }
        }
    }
    if let Some(cycle) = cycle(&waits_for)
        && let Some(first) = cycle.first()
    {
        let words: Vec<String> = cycle.iter().chain([first]).map(|node| names[*node].to_owned()).collect();
        let message = format!("a circle that could never start: {}", shortened(words).join(" after "));
        found.error(&at.index(*first).field("startsAfter"), message);
    }
}

/// For each role the first role of its node.
pub(crate) fn nodes(set: &LockstepSet) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..set.spec.roles.len()).collect();
    for rule in &set.spec.coordination {
        let named = rule.all_roles();
        let touched: BTreeSet<usize> = set
            .spec
            .roles
            .iter()
            .zip(&nodes)
            .filter(|(role, _)| named.contains(role.name.as_str()))
            .map(|(_, node)| *node)
            .collect();
        let Some(first) = touched.first().copied() else { continue };
        for node in nodes.iter_mut().filter(|node| touched.contains(node)) {
            *node = first;
        }
    }
    nodes
}

/// Some circle of nodes, if there is one. Walks with its own stack: the input may be long.
fn cycle(waits_for: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut done = vec![false; waits_for.len()];
    let mut on_trail = vec![false; waits_for.len()];
    for start in 0..waits_for.len() {
        let mut trail: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((node, next)) = trail.last_mut() {
            let node = *node;
            if done[node] {
                trail.pop();
                continue;
            }
            on_trail[node] = true;
            let Some(other) = waits_for[node].get(*next).copied() else {
                done[node] = true;
                on_trail[node] = false;
                trail.pop();
                continue;
            };
            *next += 1;
            if on_trail[other] {
                let nodes = trail.iter().map(|(node, _)| *node);
                return Some(nodes.skip_while(|node| *node != other).collect());
            }
            if !done[other] {
                trail.push((other, 0));
            }
        }
    }
    None
}

fn report(set: &LockstepSet, nodes: &[usize], cycle: &[usize], found: &mut Findings) {
    let shown = |node: usize| {
        let roles = set.spec.roles.iter().zip(nodes).filter(|(_, n)| **n == node);
        roles.map(|(role, _)| role.name.as_str()).collect::<Vec<_>>().join("+")
    };
    let mut words: Vec<String> = cycle.iter().map(|node| shown(*node)).collect();
    words.extend(cycle.first().map(|node| shown(*node)));
    let words = shortened(words);
    let Some(i) = first_of(set, nodes, cycle) else { return };
    let merged = words.iter().any(|word| word.contains('+'));
    let note = if merged { " (roles of one coordination start together)" } else { "" };
    let message = format!("a circle that could never start: {}{note}", words.join(" after "));
    found.error(&role_path(i).field("startsAfter"), message);
}

fn shortened(mut words: Vec<String>) -> Vec<String> {
    if words.len() > MOST_WORDS {
        words.splice(MOST_WORDS - 2..words.len() - 1, ["…".to_owned()]);
    }
    words
}

/// The role by which the first node of a circle waits for the second.
fn first_of(set: &LockstepSet, nodes: &[usize], cycle: &[usize]) -> Option<usize> {
    let (first, second) = (cycle.first()?, cycle.get(1)?);
    let in_second = |name: &String| {
        let position = set.spec.roles.iter().position(|role| role.name == *name);
        position.is_some_and(|other| nodes[other] == *second)
    };
    let waits = |i: &usize| nodes[*i] == *first && set.spec.roles[*i].starts_after.iter().any(in_second);
    (0..nodes.len()).find(waits)
}
