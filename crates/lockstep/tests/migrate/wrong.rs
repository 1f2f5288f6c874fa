//! What is refused, before anything is changed.

use serde_json::{Value, json};

use crate::kthena::{LLAMA, lay};
use crate::laid::{Laid, pod};

fn controller(replicas: u32) -> Value {
    let labels = json!({"app": "kthena-controller-manager"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "kthena-controller-manager"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "kthena:1"}]}},
        },
    })
}

#[tokio::test]
async fn what_is_in_the_way_is_named_and_nothing_is_changed() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[1], &[]).await else { return };
    lay(&laid, ["vllm:1"; 3]).await;
    laid.create(controller(1)).await;
    laid.apply(
        &LLAMA
            .replace("name: llama,", "name: bad,")
            .replace("name: prefill", "name: a-role-with-a-long-name"),
    )
    .await;
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "kthena-validating"},
        "webhooks": [{
            "name": "modelserving.kthena.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{
                "apiGroups": ["workload.serving.volcano.sh"], "apiVersions": ["v1alpha1"],
                "resources": ["modelservings"], "operations": ["DELETE"],
            }],
        }],
    });
    let hooks: kube::Api<k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration> =
        kube::Api::all(laid.client.clone());
    let typed = serde_json::from_value(hook).expect("a configuration");
    hooks.create(&Default::default(), &typed).await.expect("created");

    let refused = laid.migrate(&["--yes"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    for expected in [
        "Kthena still runs: `kubectl scale deployment/kthena-controller-manager",
        "kubectl delete validatingwebhookconfiguration/kthena-validating",
        "/bad would be refused; mend it first:\n    spec.template.roles[0].name",
    ] {
        assert!(refused.out.contains(expected), "{expected}\n{}", refused.out);
    }
    assert!(refused.err.contains("nothing was changed: 3 things in the way"), "{}", refused.err);
    assert_eq!(laid.set().await, Value::Null);
}

#[tokio::test]
async fn a_pod_without_a_place_is_left_and_its_place_is_filled() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[1], &[]).await else { return };
    let object = lay(&laid, ["vllm:1"; 3]).await;
    let labels = json!({"modelserving.volcano.sh/name": "llama"});
    laid.create(pod("stray", &object, labels, json!({}), "vllm:1", json!([]))).await;
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> =
        kube::Api::namespaced(laid.client.clone(), &laid.namespace);
    pods.delete("llama-1-decode-0-0", &Default::default()).await.expect("deleted");
    laid.until("gone", async || !laid.pods().await.contains_key("llama-1-decode-0-0")).await;
    laid.until_ready(9).await;
    let before = laid.uids().await;
    let plan = laid.migrate(&[]).await;
    assert!(plan.out.contains("8 stay, 1 not touched, 1 created"), "{}", plan.out);
    assert!(
        plan.out.contains("stray: neither its name nor its labels say which place it has"),
        "{}",
        plan.out
    );
    let done = laid.migrate(&["--yes"]).await;
    assert_eq!(done.code, 0, "{}", done.err);
    laid.until_complete().await;
    laid.until_ready(10).await;
    let after = laid.uids().await;
    assert!(before.iter().all(|(name, uid)| after.get(name) == Some(uid)), "{before:?} {after:?}");
}
