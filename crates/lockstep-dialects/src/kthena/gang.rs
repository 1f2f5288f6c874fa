//! Who schedules the pods of a group together, if anybody is asked to.

use lockstep_api::GangScheduler;

use super::spec::{GangPolicy, Mode, Spec};
use crate::{Findings, Served};

const POLICY: &str = "spec.template.gangPolicy";

/// Who schedules gangs. Volcano where it is named and there; else Kubernetes itself where it can; else nobody.
pub(super) fn scheduler(spec: &Spec, served: Served) -> GangScheduler {
    let group = &spec.template;
    let volcano = spec.scheduler_name.as_deref() == Some("volcano") && served.volcano;
    match (&group.gang_policy, &group.network_topology) {
        (None, None) => GangScheduler::None,
        _ if volcano => GangScheduler::Volcano,
        (Some(_), _) if served.pod_groups => GangScheduler::PodGroup,
        _ => GangScheduler::None,
    }
}

/// What Volcano is told of the gangs besides, in the annotations it knows from pods.
pub(super) fn annotations(spec: &Spec, scheduler: GangScheduler) -> Vec<(&'static str, String)> {
    let near = spec.template.network_topology.as_ref().and_then(|it| it.group_policy.as_ref());
    let Some(near) = near.filter(|_| scheduler == GangScheduler::Volcano) else { return Vec::new() };
    let mode = near.mode.map(|mode| match mode {
        Mode::Hard => "hard",
        Mode::Soft => "soft",
    });
    let mode = mode.map(|mode| ("volcano.sh/network-topology-mode", mode.to_owned()));
    let tier = near.highest_tier_allowed;
    let tier = tier.map(|tier| ("volcano.sh/network-topology-highest-tier", tier.to_string()));
    mode.into_iter().chain(tier).collect()
}

/// How many replicas of a role a gang needs, if it is said.
pub(super) fn needed(spec: &Spec, role: &str) -> Option<u32> {
    minima(spec).find(|(name, _)| *name == role).map(|(_, least)| least)
}

/// What is said of roles; nothing said is nothing written.
fn minima(spec: &Spec) -> impl Iterator<Item = (&str, u32)> {
    let policy = spec.template.gang_policy.iter();
    let named = policy.filter_map(|GangPolicy { min_role_replicas }| min_role_replicas.as_ref()).flatten();
    named.filter_map(|(name, least)| Some((name.as_str(), (*least)?)))
}

/// What is wrong with the policy, and what becomes of it.
pub(super) fn check(spec: &Spec, scheduler: GangScheduler, found: &mut Findings<'_>) {
    let names: Vec<&str> = spec.template.roles.iter().map(|role| role.name.as_str()).collect();
    for (name, least) in minima(spec) {
        let at = format!("{POLICY}.minRoleReplicas[{name}]");
        match spec.template.roles.iter().find(|role| role.name == name) {
            None => found.error(at, format!("no such role; the roles are {}", names.join(", "))),
            Some(role) => {
                let replicas = role.replicas.unwrap_or(1);
                if least > replicas {
                    found.error(at, format!("more than the role's replicas; must be from 0 to {replicas}"));
                }
            }
        }
    }
    if spec.template.gang_policy.is_some() && scheduler == GangScheduler::None {
        found.warn(POLICY, "has no effect: nothing in this cluster schedules gangs");
    }
}
