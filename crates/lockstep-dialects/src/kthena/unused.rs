//! What is stored but changes nothing, said in a sentence each.

use lockstep_api::GangScheduler;

use super::spec::Spec;
use crate::Findings;

/// What every replica with workers has anyway.
const BUILT_IN: &str = "headless-service";

pub(super) fn check(spec: &Spec, scheduler: GangScheduler, found: &mut Findings<'_>) {
    for (i, plugin) in spec.plugins.iter().flatten().enumerate().filter(|(_, it)| it.name != BUILT_IN) {
        let message = format!("has no effect: there is no plugin {}", plugin.name);
        found.warn(format!("spec.plugins[{i}]"), message);
    }
    let group = &spec.template;
    if group.restart_grace_period_seconds.is_some_and(|seconds| seconds > 0) {
        let message = "has no effect: the first restart is at once, later ones wait 30 s, 60 s and so on";
        found.warn("spec.template.restartGracePeriodSeconds", message);
    }
    let message = match scheduler {
        GangScheduler::Volcano => "has no effect yet: it is not handed on to Volcano",
        _ => "has no effect: nothing in this cluster knows its network",
    };
    if group.network_topology.is_some() {
        found.warn("spec.template.networkTopology", message);
    }
    for (i, role) in group.roles.iter().enumerate() {
        let at = format!("spec.template.roles[{i}]");
        if role.network_topology.is_some() {
            found.warn(format!("{at}.networkTopology"), message);
        }
        let templates = [
            ("entryTemplate", Some(&role.entry_template)),
            ("workerTemplate", role.worker_template.as_ref()),
        ];
        for (field, template) in templates {
            let subdomain = template.and_then(|it| it.pointer("/spec/subdomain"));
            if role.worker_template.is_some() && subdomain.is_some_and(|it| !it.is_null()) {
                let message = "has no effect: a replica with workers has the name of its entry pod there";
                found.warn(format!("{at}.{field}.spec.subdomain"), message);
            }
        }
    }
}
