//! PodCliqueSets: pods belong to PodCliques and have random letters in their names.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::laid::{Laid, owner, pod};
use crate::watched::Watched;

const LLAMA: &str = "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: llama, finalizers: [grove.io/podcliqueset.grove.io]}
spec:
  replicas: 1
  template:
    cliques:
    - {name: router, spec: {roleName: router, replicas: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
    - {name: leader, spec: {roleName: leader, replicas: 1, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
    - {name: worker, spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
    podCliqueScalingGroups:
    - {name: pd, cliqueNames: [leader, worker], replicas: 3, minAvailable: 1}
";

fn child(kind: &str, name: &str, of: &Value, spec: Value) -> Value {
    let finalizer = format!("grove.io/{}.grove.io", kind.to_lowercase());
    let labels =
        json!({"app.kubernetes.io/part-of": "llama", "app.kubernetes.io/managed-by": "grove-operator"});
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": kind,
        "metadata": {"name": name, "labels": labels, "finalizers": [finalizer], "ownerReferences": [owner(of)]},
        "spec": spec,
    })
}

/// The pods of a clique, as Grove makes them.
async fn clique(laid: &Laid, clique: &Value, count: u32, scaled: Option<u32>, image: &str) {
    let name = clique["metadata"]["name"].as_str().expect("a name");
    for k in 0..count {
        let mut labels = json!({
            "app.kubernetes.io/part-of": "llama", "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/name": name,
            "grove.io/podclique": name, "grove.io/podcliqueset-replica-index": "0", "grove.io/podgang": "llama-0",
            "grove.io/podclique-pod-index": k.to_string(), "grove.io/pod-template-hash": "6f9d7c",
        });
        let index = json!({"fieldRef": {"fieldPath": "metadata.labels['grove.io/podclique-pod-index']"}});
        let service = format!("llama-0.{}.svc.cluster.local", laid.namespace);
        let mut env = vec![
            json!({"name": "GROVE_PCS_NAME", "value": "llama"}),
            json!({"name": "GROVE_PCS_INDEX", "value": "0"}),
            json!({"name": "GROVE_PCLQ_NAME", "value": name}),
            json!({"name": "GROVE_HEADLESS_SERVICE", "value": service}),
            json!({"name": "GROVE_PCLQ_POD_INDEX", "valueFrom": index}),
        ];
        if let Some(instance) = scaled {
            labels["grove.io/podcliquescalinggroup"] = json!("llama-0-pd");
            labels["grove.io/podcliquescalinggroup-replica-index"] = json!(instance.to_string());
            env.push(json!({"name": "GROVE_PCSG_NAME", "value": "llama-0-pd"}));
            env.push(json!({"name": "GROVE_PCSG_INDEX", "value": instance.to_string()}));
            env.push(json!({"name": "GROVE_PCSG_TEMPLATE_NUM_PODS", "value": "3"}));
        }
        let spec = json!({"hostname": format!("{name}-{k}"), "subdomain": "llama-0"});
        let random = format!("{name}-{k}-x{}k2p", scaled.unwrap_or(9));
        laid.create(pod(&random, clique, labels, spec, image, json!(env))).await;
    }
}

async fn lay(laid: &Laid) {
    let object = laid.apply(LLAMA).await;
    let podclique = |count: u32| json!({"roleName": "r", "replicas": count, "minAvailable": 1});
    let router = laid.create(child("PodClique", "llama-0-router", &object, podclique(2))).await;
    clique(laid, &router, 2, None, "vllm:1").await;
    let group = json!({"replicas": 3, "minAvailable": 1, "cliqueNames": ["leader", "worker"]});
    let group = laid.create(child("PodCliqueScalingGroup", "llama-0-pd", &object, group)).await;
    for instance in 0..3 {
        let image = if instance == 2 { "vllm:1" } else { "vllm:0" };
        for (name, count) in [("leader", 1), ("worker", 2)] {
            let name = format!("llama-0-pd-{instance}-{name}");
            let made = laid.create(child("PodClique", &name, &group, podclique(count))).await;
            clique(laid, &made, count, Some(instance), image).await;
        }
    }
    laid.until_ready(11).await;
}

fn part(pod: &Pod) -> Option<String> {
    let group = pod.labels().get("grove.io/podcliquescalinggroup");
    Some(group.map_or_else(|| "router".to_owned(), |_| "pd".to_owned()))
}

#[tokio::test]
async fn pods_stay_whatever_they_are_called_and_older_replicas_roll_in_turn() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[2], &[]).await else { return };
    lay(&laid).await;
    let before = laid.uids().await;
    let plan = laid.migrate(&[]).await;
    assert!(plan.out.contains("5 stay, 6 roll"), "{}\n{}", plan.out, plan.err);
    assert!(plan.out.contains("pd: at most 1 of 3 down in a group at any time"), "{}", plan.out);

    let watched = Watched::begin(&laid, part).await;
    let done = laid.migrate(&["--yes"]).await;
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    laid.until_complete().await;
    laid.until_ready(11).await;
    let after = laid.uids().await;
    for (name, uid) in &before {
        let stays = name.starts_with("llama-0-router") || name.starts_with("llama-0-pd-2");
        assert_eq!(after.get(name) == Some(uid), stays, "{name} {after:?}");
    }
    assert_eq!(watched.least("router"), 2);
    assert!(watched.least("pd") >= 6, "never more than one replica down: {}", watched.least("pd"));

    // What stood between is gone, handles that are needed have lost their finalizers, and all of it can go.
    let cliques = laid.api(&json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodClique"}));
    let left = cliques.list(&Default::default()).await.expect("cliques").items;
    let left: Vec<(String, usize)> = left.iter().map(|it| (it.name_any(), it.finalizers().len())).collect();
    assert_eq!(left, [("llama-0-router".to_owned(), 0)]);
    let sets = laid.api(&json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet"}));
    sets.delete("llama", &Default::default()).await.expect("deleted");
    laid.until("nothing", async || laid.pods().await.is_empty()).await;
}
