//! RoleBasedGroups: pods belong to StatefulSets, Deployments or RoleInstances, some of which Kubernetes itself runs.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use lockstep_testkit::pods::is_ready;
use serde_json::{Value, json};

use crate::laid::{Laid, made, owner, pod};
use crate::watched::Watched;

const LLAMA: &str = "
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: llama}
spec:
  roles:
  - name: cache
    replicas: 2
    workload: {apiVersion: apps/v1, kind: StatefulSet}
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
  - name: decode
    replicas: 3
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
  - name: router
    replicas: 2
    workload: {apiVersion: apps/v1, kind: Deployment}
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
";

const V1ALPHA2: &str = "workloads.x-k8s.io/v1alpha2";

/// Kinds that nobody but the original knows.
const THEIRS: [(&str, &str); 2] = [(V1ALPHA2, "RoleInstanceSet"), (V1ALPHA2, "RoleInstance")];

fn labels(role: &str) -> Value {
    json!({"rbg.workloads.x-k8s.io/group-name": "llama", "rbg.workloads.x-k8s.io/role-name": role})
}

fn configured(mut spec: Value) -> Value {
    let items = json!([{"key": "config.yaml", "path": "config.yaml"}]);
    spec["volumes"] = json!([{"name": "rbg-cluster-config", "configMap": {"name": "llama", "items": items}}]);
    spec
}

fn mounted(mut pod: Value) -> Value {
    let mount = json!({"name": "rbg-cluster-config", "mountPath": "/etc/rbg", "readOnly": true});
    pod["spec"]["containers"][0]["volumeMounts"] = json!([mount]);
    pod
}

fn env() -> Value {
    json!([{"name": "RBG_GROUP_NAME", "value": "llama"}])
}

async fn lay(laid: &Laid) {
    let object = laid.apply(LLAMA).await;
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "llama", "ownerReferences": [owner(&object)]}, "data": {"config.yaml": "{}"},
    });
    laid.create(config).await;

    // Where Kubernetes runs StatefulSets it makes these pods itself; else they are laid out.
    let base = |role: &str, owner: &Value, name: &str, spec: Value, image: &str| {
        mounted(pod(name, owner, labels(role), configured(spec), image, env()))
    };
    let template = base("cache", &object, "x", json!({}), "vllm:1");
    let spec = json!({
        "replicas": 2, "serviceName": "s-llama-cache", "selector": {"matchLabels": labels("cache")},
        "podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"},
        "template": {"metadata": {"labels": labels("cache")}, "spec": template["spec"]},
    });
    // The embedded cluster has none at all.
    let (version, kind) = match laid.count("apps/v1", "StatefulSet").await {
        Some(_) => ("apps/v1", "StatefulSet"),
        None => (V1ALPHA2, "RoleInstanceSet"),
    };
    let cache = laid.create(made(version, kind, "llama-cache", &object, spec)).await;
    for k in 0..2 {
        let name = format!("llama-cache-{k}");
        let spec = json!({"hostname": name, "subdomain": "s-llama-cache"});
        laid.create(base("cache", &cache, &name, spec, "vllm:1")).await;
    }

    let set = made(V1ALPHA2, "RoleInstanceSet", "llama-decode", &object, json!({}));
    let set = laid.create(set).await;
    for i in 0..3 {
        let name = format!("llama-decode-{i}");
        let instance = made(V1ALPHA2, "RoleInstance", &name, &set, json!({}));
        let instance = laid.create(instance).await;
        let image = if i == 2 { "vllm:1" } else { "vllm:0" };
        let spec = json!({"hostname": name, "subdomain": "s-llama-decode"});
        laid.create(base("decode", &instance, &name, spec, image)).await;
    }

    let spec = json!({
        "replicas": 2, "selector": {"matchLabels": labels("router")},
        "template": {"metadata": {"labels": labels("router")}, "spec": {"containers": [{"name": "main", "image": "vllm:1", "env": env()}]}},
    });
    laid.create(made("apps/v1", "Deployment", "llama-router", &object, spec)).await;
    laid.until_ready(7).await;
}

fn role(pod: &Pod) -> Option<String> {
    Some(pod.labels().get("rbg.workloads.x-k8s.io/role-name")?.clone())
}

#[tokio::test]
async fn pods_outlive_what_made_them() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[0], &THEIRS).await else { return };
    lay(&laid).await;
    let before = laid.uids().await;
    let plan = laid.migrate(&[]).await;
    assert!(plan.out.contains("5 stay, 2 roll"), "{}\n{}", plan.out, plan.err);
    assert!(plan.out.contains("decode: at most 1 of 3 down"), "{}", plan.out);

    let watched = Watched::begin(&laid, role).await;
    let mut lines = 2;
    while laid.migrate_and_kill(lines).await {
        lines += 3;
    }
    laid.until_complete().await;
    laid.until("seven ready", async || {
        let pods = laid.pods().await;
        pods.len() == 7 && pods.values().all(is_ready)
    })
    .await;
    let after = laid.uids().await;
    for (name, uid) in &before {
        let rolled = ["llama-decode-0", "llama-decode-1"].contains(&name.as_str());
        assert_eq!(after.get(name) == Some(uid), !rolled, "{name} {after:?}");
    }
    assert_eq!((watched.least("cache"), watched.least("router")), (2, 2));
    assert!(watched.least("decode") >= 2, "never more than one down: {}", watched.least("decode"));
    for (version, kind) in [
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        (V1ALPHA2, "RoleInstance"),
        (V1ALPHA2, "RoleInstanceSet"),
    ] {
        assert_eq!(laid.count(version, kind).await.unwrap_or(0), 0, "{kind}");
    }
}
