//! What a LockstepSet made of a PodCliqueSet could not tell: rules of the original's own, and what has no effect.

use super::form::{Form, Part};
use super::spec::{AutoScaling, Limits, SetStrategyType};
use crate::findings::Findings;

/// Pods are named after the set, the scaling group and the clique together.
const LONGEST_TOGETHER: usize = 45;

/// Annotations that ask for ComputeDomains, in all versions.
const COMPUTE_DOMAINS: [&str; 2] = ["grove.io/mnnvl-group", "grove.io/auto-mnnvl"];

/// Everything that is wrong with a form, and everything in it without effect.
pub(super) fn check(form: &Form<'_>, found: &mut Findings<'_>) {
    names_once(form, found);
    names_fit(form, found);
    for part in &form.parts {
        numbers(part, found);
        if let Some((scaling, at)) = &part.scaling {
            autoscaler(part, scaling, at, found);
        }
    }
    members(form, found);
    strategies(form, found);
    former_fields(form, found);
    annotations(form, found);
}

/// Also where two cliques of one name are in different parts.
fn names_once(form: &Form<'_>, found: &mut Findings<'_>) {
    let cliques = &form.spec.template.cliques;
    for (i, clique) in cliques.iter().enumerate() {
        if let Some(first) = cliques[..i].iter().position(|it| it.name == clique.name) {
            let at = format!("spec.template.cliques[{i}].name");
            found.error(at, format!("already the name of spec.template.cliques[{first}]"));
        }
    }
}

fn names_fit(form: &Form<'_>, found: &mut Findings<'_>) {
    for (part, clique) in form.cliques() {
        let group = part.group.map_or("", |group| group.name.as_str());
        let name = &clique.template.name;
        let total = form.name.len() + group.len() + name.len();
        if total > LONGEST_TOGETHER {
            let with = if group.is_empty() { String::new() } else { format!(", scaling group {group}") };
            let message = format!(
                "{total} characters together with the set {}{with}; up to {LONGEST_TOGETHER} are accepted",
                form.name
            );
            found.error(format!("{}.name", clique.at), message);
        }
    }
}

fn numbers(part: &Part<'_>, found: &mut Findings<'_>) {
    for clique in &part.cliques {
        minimum(&clique.min_available, clique.replicas.value, found);
    }
    if part.group.is_some() {
        minimum(&part.min_available, part.replicas.value, found);
    }
}

/// Nothing wished for is idle, whatever the minimum.
fn minimum(least: &super::form::Number, replicas: u32, found: &mut Findings<'_>) {
    if least.value == 0 && replicas > 0 {
        found.error(least.at.clone(), "must be at least 1");
    } else if least.value > replicas && replicas > 0 {
        found.error(least.at.clone(), format!("must not be more than replicas, which is {replicas}"));
    }
}

fn autoscaler(part: &Part<'_>, scaling: &AutoScaling, at: &str, found: &mut Findings<'_>) {
    if scaling.min_replicas == Some(0) {
        found.warn(format!("{at}.minReplicas"), "counts as 1: to nothing it goes by hand");
    }
    let least = scaling.min_replicas.unwrap_or(part.replicas.value);
    let minimum = part.min_available.value;
    if least < minimum && least > 0 {
        found.error(
            format!("{at}.minReplicas"),
            format!("must not be less than minAvailable, which is {minimum}"),
        );
    }
    if scaling.max_replicas < least {
        found.error(
            format!("{at}.maxReplicas"),
            format!("must not be less than minReplicas, which is {least}"),
        );
    } else if scaling.max_replicas < part.replicas.value {
        let replicas = part.replicas.value;
        found.error(
            format!("{at}.maxReplicas"),
            format!("must not be less than replicas, which is {replicas}"),
        );
    }
}

/// Cliques of a scaling group are scaled and updated with it.
fn members(form: &Form<'_>, found: &mut Findings<'_>) {
    for part in &form.parts {
        let Some(group) = part.group else { continue };
        for clique in &part.cliques {
            if clique.template.spec.auto_scaling_config.is_some() {
                found.error(
                    format!("{}.spec.autoScalingConfig", clique.at),
                    format!("not in a scaling group; put scaleConfig on {}", group.name),
                );
            }
            let limits = clique.limits(found);
            if limits.is_some() {
                let message =
                    format!("has no effect: the clique is updated with its scaling group {}", group.name);
                found.warn(limits.at, message);
            }
            if clique.replicas.value == 0 {
                found.warn(clique.replicas.at.clone(), "idle: replicas of its scaling group do without it");
            }
        }
    }
}

/// Strategies that nobody asks.
fn strategies(form: &Form<'_>, found: &mut Findings<'_>) {
    let strategy = form.strategy();
    let set_level = form.spec.update_strategy.as_ref().and_then(|it| it.rolling_update.as_ref());
    let said = set_level.is_some_and(|limits| *limits != Limits::default());
    let at = "spec.updateStrategy.rollingUpdate";
    match strategy {
        SetStrategyType::ReplicaRecreate => {}
        SetStrategyType::OnDelete if said => {
            found.warn(at, "has no effect under OnDelete, where nothing moves by itself")
        }
        _ if said => {
            found.warn(at, format!("has no effect under {strategy:?}, which moves one replica at a time"))
        }
        _ => {}
    }
    let why = match strategy {
        SetStrategyType::ReplicaRecreate => {
            "has no effect under ReplicaRecreate, which moves a replica as a whole"
        }
        SetStrategyType::OnDelete => "has no effect under OnDelete, where nothing moves by itself",
        SetStrategyType::Coherent => {
            found.warn(
                "spec.updateStrategy.type",
                "rolls like RollingUpdate, where two revisions meet in a replica; ReplicaRecreate keeps them apart",
            );
            return;
        }
        _ => return,
    };
    for part in form.parts.iter().filter(|part| part.limits.is_some()) {
        found.warn(part.limits.at.clone(), why);
    }
}

/// Annotations by which the original makes ComputeDomains.
fn annotations(form: &Form<'_>, found: &mut Findings<'_>) {
    let groups = form.parts.iter().filter_map(|part| Some((part.at.as_str(), &part.group?.annotations)));
    let cliques = form.cliques().map(|(_, clique)| (clique.at.as_str(), &clique.template.annotations));
    let below = groups.chain(cliques).flat_map(|(at, given)| given.keys().map(move |key| (at, key.as_str())));
    let own = form.annotations.iter().flat_map(|given| given.keys()).map(|key| ("metadata", key.as_str()));
    for (at, key) in own.chain(below).filter(|(_, key)| COMPUTE_DOMAINS.contains(key)) {
        found.warn(format!("{at}.annotations[{key}]"), "has no effect: no ComputeDomains are made");
    }
}

fn former_fields(form: &Form<'_>, found: &mut Findings<'_>) {
    let former = "of a former version; has no effect";
    if form.spec.replica_spread_constraints.is_some() {
        found.warn(
            "spec.replicaSpreadConstraints",
            format!("{former}; use topologySpreadConstraints of podSpec"),
        );
    }
    if form.spec.template.scheduling_policy_config.is_some() {
        found.warn("spec.template.schedulingPolicyConfig", format!("{former}; use topologyConstraint"));
    }
}
