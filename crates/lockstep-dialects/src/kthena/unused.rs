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
    let volcano = scheduler == GangScheduler::Volcano;
    let message = match volcano {
        true => {
            "has no effect: of a networkTopology, mode and highestTierAllowed of groupPolicy are handed to Volcano"
        }
        false => "has no effect: nothing in this cluster knows its network",
    };
    if group.network_topology.as_ref().is_some_and(|it| !(volcano && it.is_of_group_alone())) {
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
