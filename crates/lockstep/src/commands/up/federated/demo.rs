//! What is spread: a Deployment that asks for its own numbers over all clusters.

use serde_json::{Value, json};

/// What it is called.
pub const NAME: &str = "web";
/// Where it is.
pub const NAMESPACE: &str = "default";
/// Its image, up to the version.
pub const IMAGE: &str = "registry.example/web:v";

/// How many pods each cluster has.
const EACH: u32 = 4;

/// The Deployment, and the policy that spreads it evenly. Pods start and end so many times faster.
pub fn objects(clusters: &[String], speed: u32) -> Vec<Value> {
    let time = |millis: u32| format!("{}ms", millis / speed.max(1));
    let labels = json!({"app": NAME});
    let weights: Vec<Value> =
        clusters.iter().map(|name| json!({"targetCluster": {"clusterNames": [name]}, "weight": 1})).collect();
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME}],
            "placement": {
                "clusterAffinity": {"clusterNames": clusters},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights},
                },
            },
        },
    });
    let replicas = EACH * u32::try_from(clusters.len()).unwrap_or_default();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": NAME, "namespace": NAMESPACE, "labels": labels,
            "annotations": {"federation.lockstep.dev/rollout": "aligned"},
        },
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "strategy": {"rollingUpdate": {"maxUnavailable": 2, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels, "annotations": {
                    "kubelet.lockstep.dev/ready-after": time(1500),
                    "kubelet.lockstep.dev/terminates-after": time(500),
                }},
                "spec": {"containers": [{"name": "main", "image": format!("{IMAGE}1")}]},
            },
        },
    });
    vec![policy, deployment]
}
