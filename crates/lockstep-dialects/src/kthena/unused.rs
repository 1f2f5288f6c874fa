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
    let at = "spec.template.networkTopology";
    let message = match scheduler == GangScheduler::Volcano {
        true => {
            "has no effect: Volcano is handed mode and highestTierAllowed of the group's groupPolicy alone"
        }
        false => "has no effect: nothing in this cluster knows its network",
    };
    if let Some(topology) = &group.network_topology {
        match scheduler {
            GangScheduler::Volcano => {
                topology.not_handed_on().for_each(|field| found.warn(format!("{at}.{field}"), message));
            }
            _ => found.warn(at, message),
        }
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
