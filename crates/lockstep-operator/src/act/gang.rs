//! Gangs as the schedulers know them.

use kube::api::{ApiResource, GroupVersionKind};
use lockstep_api::label;
use lockstep_core::gang::{Gang, GangName};
use lockstep_core::model::GangScheduler;
use serde_json::{Value, json};

use super::build::SetRef;

/// The name of a gang's object. A group that is built anew gets new gangs: the minimum of an old one binds for ever.
pub fn gang_name(set: &str, group: u32, incarnation: u32, gang: &GangName) -> String {
    format!("{set}-{group}-{incarnation}-{gang}")
}

/// The resource gangs are kept in; nothing without gangs.
pub fn gang_resource(scheduler: GangScheduler) -> Option<ApiResource> {
    let (group, version, kind, plural) = match scheduler {
        GangScheduler::None => return None,
        GangScheduler::PodGroup => ("scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups"),
        GangScheduler::PodGang => ("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs"),
        GangScheduler::Volcano => ("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
    };
    Some(ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural))
}

/// A gang as it must stand. `pods` are the names of its pods, which a PodGang lists.
pub fn gang_object(scheduler: GangScheduler, set: &SetRef, gang: &Gang, pods: &[String]) -> Option<Value> {
    let resource = gang_resource(scheduler)?;
    let spec = match scheduler {
        GangScheduler::None => return None,
        GangScheduler::PodGroup => json!({"schedulingPolicy": {"gang": {"minCount": gang.minimum.max(1)}}}),
        GangScheduler::Volcano => json!({"minMember": gang.minimum.max(1)}),
        GangScheduler::PodGang => {
            let references = pods.iter().map(|name| json!({"namespace": set.namespace, "name": name}));
            json!({"podgroups": [{
                "name": gang.name.to_string(),
                "minReplicas": gang.minimum,
                "podReferences": references.collect::<Vec<_>>(),
            }]})
        }
    };
    Some(json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": gang_name(&set.name, gang.group, gang.incarnation, &gang.name),
            "namespace": set.namespace,
            "labels": {
                label::SET: set.name,
                label::GROUP: gang.group.to_string(),
                label::INCARNATION: gang.incarnation.to_string(),
                label::GANG: gang.name.to_string(),
            },
            "ownerReferences": [set.owner_reference()],
        },
        "spec": spec,
    }))
}
