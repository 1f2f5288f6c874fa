//! Who schedules the pods of a group together, if anybody is asked to.

use lockstep_api::GangScheduler;

use super::spec::{GangPolicy, Spec};
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

/// How many replicas of a role a gang needs, if it is said.
pub(super) fn needed(spec: &Spec, role: &str) -> Option<u32> {
    minima(spec)?.get(role).copied()
}

fn minima(spec: &Spec) -> Option<&std::collections::BTreeMap<String, u32>> {
    spec.template.gang_policy.as_ref().and_then(|GangPolicy { min_role_replicas }| min_role_replicas.as_ref())
}

/// What is wrong with the policy, and what becomes of it.
pub(super) fn check(spec: &Spec, scheduler: GangScheduler, found: &mut Findings<'_>) {
    let names: Vec<&str> = spec.template.roles.iter().map(|role| role.name.as_str()).collect();
    for (name, least) in minima(spec).into_iter().flatten() {
        let at = format!("{POLICY}.minRoleReplicas[{name}]");
        match spec.template.roles.iter().find(|role| role.name == *name) {
            None => found.error(at, format!("no such role; the roles are {}", names.join(", "))),
            Some(role) => {
                let replicas = role.replicas.unwrap_or(1);
                if *least > replicas {
                    found.error(at, format!("more than the role's replicas; must be from 0 to {replicas}"));
                }
            }
        }
    }
    if spec.template.gang_policy.is_some() && scheduler == GangScheduler::None {
        found.warn(POLICY, "has no effect: nothing in this cluster schedules gangs");
    }
}
