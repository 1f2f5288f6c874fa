//! From objects of the cluster to what the engine counts: pods, and what their roots say of themselves.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lockstep_core::budget::{Pod, Root, Version};
use lockstep_core::snapshot::Uid;
use serde_json::Value;

use super::owners::{LWS_GROUP_INDEX, LWS_GROUP_KEY, Owner, Workload};
use super::{Counted, NO_PROTECT};
use crate::label;

impl Counted for core::Pod {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn version(&self) -> Version {
        version(&self.metadata)
    }

    fn alone(&self) -> Pod {
        let metadata = &self.metadata;
        let status = self.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
        let phase = status.and_then(|status| status.phase.as_deref());
        let annotation =
            metadata.annotations.as_ref().and_then(|all| all.get(NO_PROTECT)).map(String::as_str);
        Pod {
            uid: Uid::new(metadata.uid.as_deref().unwrap_or_default()),
            name: metadata.name.clone().unwrap_or_default(),
            root: None,
            group: None,
            ready: conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True"),
            terminating: metadata.deletion_timestamp.is_some(),
            active: !matches!(phase, Some("Succeeded" | "Failed")),
            controller_gone: false,
            opted_out: annotation == Some("true"),
        }
    }
}

/// How new an object is.
pub fn version(metadata: &ObjectMeta) -> Version {
    Version(metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default())
}

/// What a root says of itself to a budget with this group label, or with none. `object` is the object as JSON; only
/// its `spec` and `status` are looked at.
///
/// Only where an owner's scale is known to count this budget's units does it say how many are expected. Elsewhere
/// its number is good for one thing: to tell that it was scaled in. A kind nobody knows may well mean groups of
/// sixteen pods by it.
pub fn root(owner: &Owner, metadata: &ObjectMeta, object: &Value, group_label: Option<&str>) -> Root {
    let scale = match owner.workload() {
        Some(Workload::Replicated) => Scale { replicas: Some(spec_replicas(object, 1)), ..Scale::of_pods() },
        Some(Workload::PerNode) => Scale {
            replicas: number(object, "/status/desiredNumberScheduled"),
            stands: number(object, "/status/currentNumberScheduled"),
            ..Scale::of_pods()
        },
        Some(Workload::LeaderWorkerSet) => leader_worker_set(object),
        Some(Workload::LockstepSet) => lockstep_set(object),
        None => Scale { replicas: number(object, "/spec/replicas"), ..Scale::default() },
    };
    let stands = scale.stands.or_else(|| number(object, "/status/replicas"));
    let (replicas, pods_per_replica, counts_units) = match group_label {
        Some(label) => (scale.replicas, scale.pods, scale.group_labels.contains(&label)),
        // Pods are the units: their number is the scale, if the pods of a replica are known.
        None => match scale.pods {
            Some(pods) => (scale.replicas.map(|n| n.saturating_mul(pods)), Some(1), true),
            None => (scale.replicas, None, false),
        },
    };
    Root {
        version: version(metadata),
        replicas,
        counts_units: counts_units && replicas.is_some(),
        settled: observed(metadata, object) && stands.is_some() && stands == scale.replicas,
        pods_per_replica,
    }
}

/// What an owner's scale means.
#[derive(Default)]
struct Scale {
    /// What it asks for.
    replicas: Option<u32>,
    /// What it says there is, if not `status.replicas`.
    stands: Option<u32>,
    /// How many pods a replica has, if known.
    pods: Option<u32>,
    /// The labels of which each replica has a value of its own.
    group_labels: &'static [&'static str],
}

impl Scale {
    fn of_pods() -> Self {
        Self { pods: Some(1), ..Self::default() }
    }
}

fn leader_worker_set(object: &Value) -> Scale {
    Scale {
        replicas: Some(spec_replicas(object, 1)),
        stands: Some(number(object, "/status/replicas").unwrap_or(0)),
        pods: Some(number(object, "/spec/leaderWorkerTemplate/size").unwrap_or(1)),
        group_labels: &[LWS_GROUP_INDEX, LWS_GROUP_KEY],
    }
}

fn lockstep_set(object: &Value) -> Scale {
    let roles = object.pointer("/spec/roles").and_then(Value::as_array).into_iter().flatten();
    let pods = roles.map(|role| instances(object, role).saturating_mul(pods_of_an_instance(role)));
    Scale {
        replicas: Some(spec_replicas(object, 1)),
        stands: None,
        pods: Some(pods.fold(0, u32::saturating_add)),
        group_labels: &[label::GROUP],
    }
}

/// How many instances of a role a group is to have: what the operator says it is to have, since an autoscaler may
/// have asked for another number than the set does. Just after a change that is the number of before; to expect too
/// many delays, and never breaks.
fn instances(set: &Value, role: &Value) -> u32 {
    let groups = number(set, "/status/replicas").filter(|groups| *groups > 0);
    let said = set.pointer("/status/roles").and_then(Value::as_array).into_iter().flatten();
    let said = said.filter(|said| said["name"] == role["name"]).find_map(|said| number(said, "/replicas"));
    match (said, groups) {
        (Some(all), Some(groups)) => all.div_ceil(groups),
        _ => number(role, "/replicas").unwrap_or(1),
    }
}

fn pods_of_an_instance(role: &Value) -> u32 {
    match role["members"].as_array() {
        Some(members) if !members.is_empty() => {
            members.iter().fold(0, |sum, it| sum.saturating_add(number(it, "/count").unwrap_or(1)))
        }
        _ => 1,
    }
}

fn spec_replicas(object: &Value, default: u32) -> u32 {
    number(object, "/spec/replicas").unwrap_or(default)
}

/// Whether the status speaks of the newest spec; one that does not say so is believed.
fn observed(metadata: &ObjectMeta, object: &Value) -> bool {
    let observed = object.pointer("/status/observedGeneration").and_then(Value::as_i64);
    observed.is_none_or(|observed| observed >= metadata.generation.unwrap_or_default())
}

fn number(object: &Value, place: &str) -> Option<u32> {
    object.pointer(place).and_then(Value::as_u64).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(api_version: &str, kind: &str) -> Owner {
        Owner { api_version: api_version.into(), kind: kind.into(), name: "x".into(), uid: "u".into() }
    }

    /// Replicas, pods of each, whether they are the units, and whether it has settled.
    fn said(owner: &Owner, object: &Value, label: Option<&str>) -> (Option<u32>, Option<u32>, bool, bool) {
        let metadata = ObjectMeta {
            generation: Some(3),
            resource_version: Some("17".to_owned()),
            ..ObjectMeta::default()
        };
        let root = root(owner, &metadata, object, label);
        assert_eq!(root.version, Version(17));
        (root.replicas, root.pods_per_replica, root.counts_units, root.settled)
    }

    #[test]
    fn what_owners_say() {
        let deployment = owner("apps/v1", "Deployment");
        let lws = owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet");
        let set = owner("lockstep.dev/v1alpha1", "LockstepSet");
        let daemons = owner("apps/v1", "DaemonSet");
        let other = owner("workload.serving.volcano.sh/v1alpha1", "ModelServing");

        let ten = json!({"spec": {"replicas": 10}, "status": {"replicas": 10, "observedGeneration": 3}});
        let surging = json!({"spec": {"replicas": 10}, "status": {"replicas": 12, "observedGeneration": 3}});
        let unseen = json!({"spec": {"replicas": 10}, "status": {"replicas": 10, "observedGeneration": 2}});
        let groups =
            json!({"spec": {"replicas": 3, "leaderWorkerTemplate": {"size": 4}}, "status": {"replicas": 3}});
        let on_nodes =
            json!({"spec": {}, "status": {"desiredNumberScheduled": 5, "currentNumberScheduled": 5}});
        let roles = json!({
            "spec": {"replicas": 2, "roles": [
                {"name": "prefill", "replicas": 3, "template": {}},
                {"name": "decode", "members": [{"name": "leader"}, {"name": "worker", "count": 3}]},
            ]},
            "status": {"observedGeneration": 3, "replicas": 2},
        });
        let mut scaled = roles.clone();
        scaled["status"]["roles"] = json!([{"name": "prefill", "replicas": 10}]);

        for (owner, object, label, want) in [
            (&deployment, &ten, None, (Some(10), Some(1), true, true)),
            (&deployment, &surging, None, (Some(10), Some(1), true, false)),
            (&deployment, &unseen, None, (Some(10), Some(1), true, false)),
            (&deployment, &json!({}), None, (Some(1), Some(1), true, false)),
            (&deployment, &ten, Some("shard"), (Some(10), Some(1), false, true)),
            (&daemons, &on_nodes, None, (Some(5), Some(1), true, true)),
            (&lws, &groups, Some(LWS_GROUP_INDEX), (Some(3), Some(4), true, true)),
            (&lws, &groups, Some("shard"), (Some(3), Some(4), false, true)),
            (&lws, &groups, None, (Some(12), Some(1), true, true)),
            (&lws, &json!({"spec": {"replicas": 0}}), None, (Some(0), Some(1), true, true)),
            (&set, &roles, Some(label::GROUP), (Some(2), Some(7), true, true)),
            (&set, &roles, Some(label::ROLE), (Some(2), Some(7), false, true)),
            (&set, &roles, None, (Some(14), Some(1), true, true)),
            (&set, &scaled, None, (Some(18), Some(1), true, true)),
            (&other, &ten, None, (Some(10), None, false, true)),
            (&other, &ten, Some("shard"), (Some(10), None, false, true)),
            (&other, &json!({"spec": {"replicas": 2}}), None, (Some(2), None, false, false)),
            (&other, &json!({}), None, (None, None, false, false)),
        ] {
            assert_eq!(said(owner, object, label), want, "{owner} by {label:?}: {object}");
        }
    }

    #[test]
    fn a_pod_as_it_counts() {
        let object: core::Pod = serde_json::from_value(json!({
            "metadata": {
                "name": "a", "uid": "u", "annotations": {NO_PROTECT: "true"},
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap();
        let seen = object.alone();
        assert_eq!((seen.name.as_str(), seen.ready, seen.active), ("a", true, true));
        assert_eq!((seen.opted_out, seen.terminating, seen.controller_gone), (true, false, false));
        let done: core::Pod =
            serde_json::from_value(json!({"metadata": {"name": "a"}, "status": {"phase": "Failed"}}))
                .unwrap();
        assert!(!done.alone().active);
    }
}
