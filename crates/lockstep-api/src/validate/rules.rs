//! Coordination rules: that they name roles that exist, and ask for something that can be.

use std::collections::BTreeMap;

use lockstep_core::number::IntOrPercent;

use super::names::is_qualified;
use super::{known_role, role_path, rule_path};
use crate::coordination::{AffinityScheduling, Coordination, Step, UpdateStep};
use crate::findings::Findings;
use crate::lockstep_set::{LockstepSet, RoleUpdateType, UpdateType};
use crate::path::Path;

pub(super) fn check(set: &LockstepSet, found: &mut Findings) {
    let mut placed = BTreeMap::new();
    for (i, rule) in set.spec.coordination.iter().enumerate() {
        let path = rule_path(i);
        asks_for_something(rule, &path, found);
        roles(set, rule, &path, found);
        if let Some(steps) = &rule.steps {
            self::steps(set, rule, steps, &path.field("steps"), found);
        }
        if let Some(affinity) = &rule.affinity_scheduling {
            let at = found.spelled(&path, "affinityScheduling", "affinity");
            self::affinity(set, rule, affinity, &at, found);
            for role in affinity.ratios.keys() {
                placed_once(role, i, &at.field("ratios").key(role), &mut placed, found);
            }
        }
        without_effect(set, rule, &path, found);
    }
}

fn asks_for_something(rule: &Coordination, path: &Path, found: &mut Findings) {
    let none = rule.rolling_update.is_none()
        && rule.steps.is_none()
        && rule.affinity_scheduling.is_none()
        && rule.scaling.is_none();
    if none && found.sound(path) {
        found.error(path, "needs one or more of rollingUpdate, steps, affinityScheduling and scaling");
    }
}

fn roles(set: &LockstepSet, rule: &Coordination, path: &Path, found: &mut Findings) {
    let list = path.field("roles");
    let spans =
        if rule.rolling_update.is_some() { Some("rollingUpdate") } else { rule.scaling.map(|_| "scaling") };
    for (j, name) in rule.roles.iter().enumerate() {
        let at = list.index(j);
        if rule.roles[..j].contains(name) && found.sound(&at) {
            found.error(&at, "listed twice");
        } else if let Some(role) = known_role(set, name, &at, found)
            && rule.rolling_update.is_some()
        {
            may_move(set, role, &at, found);
        }
    }
    match (spans, rule.roles.len()) {
        (Some(kind), 0) if found.sound(&list) => {
            found.error(&list, format!("{kind} needs the roles it spans"));
        }
        (Some(kind), 1) => found.warn(&list, format!("{kind} over one role holds nothing back")),
        _ => {}
    }
}

/// An update that a rule waits for must be able to happen by itself.
fn may_move(set: &LockstepSet, role: usize, at: &Path, found: &mut Findings) {
    if set.spec.roles[role].strategy().kind == RoleUpdateType::OnDelete {
        let strategy = role_path(role).field("updateStrategy");
        found.error(at, format!("moves only when somebody deletes it ({strategy}.type is OnDelete)"));
    }
}

fn steps(set: &LockstepSet, rule: &Coordination, steps: &[Step], path: &Path, found: &mut Findings) {
    let mut reached: BTreeMap<&str, (u32, usize)> = BTreeMap::new();
    for (k, step) in steps.iter().enumerate() {
        let Step::Update(step) = step else { continue };
        let at = path.index(k);
        let Some(role) = known_role(set, &step.role, &at.field("role"), found) else { continue };
        may_move(set, role, &at.field("role"), found);
        if !rule.roles.is_empty() && !rule.roles.contains(&step.role) {
            found.error(&at.field("role"), "not among the rule's roles");
        }
        if !found.sound(&role_path(role).field("replicas")) {
            continue;
        }
        let replicas = set.spec.roles[role].replicas;
        if let Some(target) = target(step, replicas, &at.field("updateTo"), found) {
            never_back(step, target, k, &at.field("updateTo"), &mut reached, found);
        }
    }
}

/// The number of instances a step asks for.
fn target(step: &UpdateStep, replicas: u32, at: &Path, found: &mut Findings) -> Option<u32> {
    let accepted = match step.update_to {
        IntOrPercent::Int(n) => (1..=replicas).contains(&n),
        IntOrPercent::Percent(p) => (1..=100).contains(&p),
    };
    if !accepted {
        let role = &step.role;
        let message = match replicas {
            0 => format!("role {role} has no replicas; must be a percentage from 1% to 100%"),
            n => format!("must be from 1 to {n} (the replicas of {role}) or from 1% to 100%"),
        };
        found.error(at, message);
        return None;
    }
    Some(step.update_to.ceil_of(replicas))
}

/// Targets count from the start, so a later one of the same role is never smaller.
fn never_back<'a>(
    step: &'a UpdateStep,
    target: u32,
    k: usize,
    at: &Path,
    reached: &mut BTreeMap<&'a str, (u32, usize)>,
    found: &mut Findings,
) {
    match reached.get(step.role.as_str()) {
        Some((before, earlier)) if target < *before => {
            let role = &step.role;
            let resolved =
                if step.update_to.is_percent() { format!("{target} of {role}, ") } else { String::new() };
            let message = format!(
                "{resolved}less than the {before} that steps[{earlier}] asks for; targets count from the start"
            );
            found.error(at, message);
        }
        _ => {
            reached.insert(&step.role, (target, k));
        }
    }
}

fn affinity(
    set: &LockstepSet,
    rule: &Coordination,
    affinity: &AffinityScheduling,
    path: &Path,
    found: &mut Findings,
) {
    let key = path.field("topologyKey");
    if !is_qualified(&affinity.topology_key) && found.sound(&key) {
        found.error(&key, "must name a node label, such as kubernetes.io/hostname");
    }
    let ratios = path.field("ratios");
    if affinity.ratios.is_empty() && found.sound(&ratios) {
        found.error(&ratios, "at least one role is needed, such as {prefill: 2, decode: 1}");
    }
    for (name, ratio) in &affinity.ratios {
        let at = ratios.key(name);
        let Some(role) = known_role(set, name, &at, found) else { continue };
        if !rule.roles.is_empty() && !rule.roles.contains(name) {
            found.error(&at, format!("{name} is not among the rule's roles"));
        }
        let replicas = set.spec.roles[role].replicas;
        if *ratio > replicas && found.sound(&role_path(role).field("replicas")) {
            found.warn(&at, format!("no batch is ever full: {name} has {replicas} replicas"));
        }
    }
    for name in rule.roles.iter().filter(|name| !affinity.ratios.contains_key(*name)) {
        if found.sound(&ratios) && set.spec.roles.iter().any(|role| role.name == *name) {
            found.error(&ratios, format!("{name} is missing, one of the rule's roles"));
        }
    }
}

/// A pod can stand side by side with one batch only.
fn placed_once<'a>(
    role: &'a str,
    rule: usize,
    at: &Path,
    placed: &mut BTreeMap<&'a str, usize>,
    found: &mut Findings,
) {
    match placed.get(role) {
        Some(first) => found.error(at, format!("{} places {role} already", rule_path(*first))),
        None => {
            placed.insert(role, rule);
        }
    }
}

fn without_effect(set: &LockstepSet, rule: &Coordination, path: &Path, found: &mut Findings) {
    let strategy = match set.spec.update_strategy.kind {
        UpdateType::RollingUpdate => return,
        UpdateType::GroupRecreate => "GroupRecreate",
        UpdateType::OnDelete => "OnDelete",
    };
    let message = format!("has no effect under {strategy}: roles do not roll one by one");
    if rule.rolling_update.is_some() {
        let at = found.spelled(path, "rollingUpdate", "skew");
        found.warn(&at, message.as_str());
    }
    if rule.steps.as_ref().is_some_and(|steps| !steps.is_empty()) {
        found.warn(&path.field("steps"), message);
    }
}
