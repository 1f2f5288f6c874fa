//! Gangs as the schedulers know them.

use std::collections::BTreeMap;

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

/// What Volcano is told of a set's gangs besides their minimum. Its own annotations say so, as they do on pods whose
/// gangs it makes itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Volcano {
    queue: Option<String>,
    topology: Option<Value>,
}

impl Volcano {
    /// Reads the annotations of a set.
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        let said = |key: &str| annotations.get(key).filter(|text| !text.is_empty());
        let mode = said("volcano.sh/network-topology-mode").map(|mode| ("mode", json!(mode)));
        let tier = said("volcano.sh/network-topology-highest-tier").and_then(|tier| tier.parse::<u32>().ok());
        let tier = tier.map(|tier| ("highestTierAllowed", json!(tier)));
        let topology: Value = mode.into_iter().chain(tier).collect();
        Self {
            queue: said("scheduling.volcano.sh/queue-name").cloned(),
            topology: Some(topology).filter(|topology| *topology != json!({})),
        }
    }

    fn spec(&self, minimum: u32, resources: &BTreeMap<String, String>) -> Value {
        let mut spec = json!({"minMember": minimum});
        if !resources.is_empty() {
            spec["minResources"] = json!(resources);
        }
        if let Some(queue) = &self.queue {
            spec["queue"] = json!(queue);
        }
        if let Some(topology) = &self.topology {
            spec["networkTopology"] = topology.clone();
        }
        spec
    }
}

/// A gang as it must stand. `pods` are the names of its pods, which a PodGang lists; `resources` is what they need at
/// least, which Volcano is told.
pub fn gang_object(
    scheduler: GangScheduler,
    set: &SetRef,
    gang: &Gang,
    pods: &[String],
    resources: &BTreeMap<String, String>,
) -> Option<Value> {
    let resource = gang_resource(scheduler)?;
    let spec = match scheduler {
        GangScheduler::None => return None,
        GangScheduler::PodGroup => json!({"schedulingPolicy": {"gang": {"minCount": gang.minimum.max(1)}}}),
        GangScheduler::Volcano => set.volcano.spec(gang.minimum.max(1), resources),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volcano_is_told_what_its_annotations_say() {
        let rows: [(&[(&str, &str)], Value); 4] = [
            (&[], json!({"minMember": 3})),
            (&[("scheduling.volcano.sh/queue-name", "gold")], json!({"minMember": 3, "queue": "gold"})),
            (
                &[
                    ("volcano.sh/network-topology-mode", "hard"),
                    ("volcano.sh/network-topology-highest-tier", "2"),
                ],
                json!({"minMember": 3, "networkTopology": {"mode": "hard", "highestTierAllowed": 2}}),
            ),
            (&[("volcano.sh/network-topology-highest-tier", "rack")], json!({"minMember": 3})),
        ];
        for (annotations, spec) in rows {
            let annotations = annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(Volcano::read(&annotations).spec(3, &BTreeMap::new()), spec);
        }
    }
}
