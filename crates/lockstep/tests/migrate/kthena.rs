//! ModelServings: pods belong to the object itself and have the names we would give them.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::laid::{Laid, owner, pod};
use crate::watched::Watched;

pub const LLAMA: &str = "
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: llama, finalizers: [modelserving.volcano.sh/cleanup]}
spec:
  replicas: 3
  template:
    roles:
    - name: prefill
      replicas: 1
      workerReplicas: 1
      entryTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
      workerTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
    - name: decode
      replicas: 1
      entryTemplate: {metadata: {labels: {tier: back}}, spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

/// Lays out a ModelServing as Kthena does; `older` says the image of each group.
pub async fn lay(laid: &Laid, images: [&str; 3]) -> Value {
    let object = laid.apply(LLAMA).await;
    for (group, image) in images.iter().enumerate() {
        for (role, k) in [("prefill", 0), ("prefill", 1), ("decode", 0)] {
            let size = if role == "prefill" { "2" } else { "1" };
            let mut labels = json!({
                "modelserving.volcano.sh/name": "llama",
                "modelserving.volcano.sh/group-name": format!("llama-{group}"),
                "modelserving.volcano.sh/role": role,
                "modelserving.volcano.sh/role-id": format!("{role}-0"),
                "modelserving.volcano.sh/revision": "7d9c5b8f66",
                "modelserving.volcano.sh/role-template-hash": "5c9f7d8b44",
            });
            if k == 0 {
                labels["modelserving.volcano.sh/entry"] = json!("true");
            }
            let env = json!([
                {"name": "GROUP_SIZE", "value": size},
                {"name": "ENTRY_ADDRESS", "value": format!("llama-{group}-{role}-0-0.{}", laid.namespace)},
                {"name": "WORKER_INDEX", "value": k.to_string()},
            ]);
            let name = format!("llama-{group}-{role}-0-{k}");
            laid.create(pod(&name, &object, labels, json!({}), image, env)).await;
        }
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": format!("llama-{group}-prefill-0-0"), "ownerReferences": [owner(&object)]},
            "spec": {"clusterIP": "None", "selector": {"modelserving.volcano.sh/group-name": format!("llama-{group}")}},
        });
        laid.create(service).await;
    }
    laid.until_ready(9).await;
    object
}

fn group(pod: &Pod) -> Option<String> {
    Some(pod.labels().get("modelserving.volcano.sh/group-name")?.clone())
}

#[tokio::test]
async fn what_is_as_it_would_be_built_stays_and_older_groups_roll_one_at_a_time() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[1], &[]).await else { return };
    lay(&laid, ["vllm:1", "vllm:0", "vllm:0"]).await;
    let before = laid.uids().await;

    let plan = laid.migrate(&["-o", "json"]).await;
    assert_eq!(plan.code, 0, "{}", plan.err);
    let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
    let pods = plan["objects"][0]["pods"].as_array().expect("pods").clone();
    let of = |fate: &str| -> Vec<&str> {
        pods.iter().filter(|pod| pod["fate"] == fate).filter_map(|pod| pod["name"].as_str()).collect()
    };
    assert_eq!(of("stays"), ["llama-0-decode-0-0", "llama-0-prefill-0-0", "llama-0-prefill-0-1"]);
    assert_eq!(of("rolls").len(), 6);
    let limits = plan["objects"][0]["limits"][0].as_str().unwrap_or_default();
    assert!(limits.starts_with("whole groups, at most 1 of 3 groups down"), "{limits}");
    assert_eq!(
        (laid.uids().await, laid.set().await),
        (before.clone(), Value::Null),
        "a plan changes nothing"
    );

    let watched = Watched::begin(&laid, group).await;
    let done = laid.migrate(&["--yes"]).await;
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    laid.until_complete().await;
    laid.until_ready(9).await;
    let after = laid.pods().await;
    for (name, uid) in &before {
        let stays = name.starts_with("llama-0-");
        assert_eq!(after[name].uid().as_ref() == Some(uid), stays, "{name}");
        assert_eq!(after[name].owner_references()[0].kind, "LockstepSet", "{name}");
        let image = after[name].spec.as_ref().expect("a spec").containers[0].image.clone();
        assert_eq!(image.as_deref(), Some("vllm:1"), "{name}");
    }
    assert_eq!(watched.least("llama-0"), 3, "what stays is ready all the time");
    let labels = after["llama-0-decode-0-0"].labels();
    assert_eq!(labels.get("tier").map(String::as_str), Some("back"));
    assert_ne!(labels["modelserving.volcano.sh/revision"], "7d9c5b8f66");

    // It is a ModelServing like any other now: it goes when it is told to, and its pods with it.
    let again = laid.migrate(&["--yes"]).await;
    assert!(again.code == 0 && again.out.contains("Nothing is left to do"), "{again:?}");
    let api =
        laid.api(&json!({"apiVersion": "workload.serving.volcano.sh/v1alpha1", "kind": "ModelServing"}));
    api.delete("llama", &Default::default()).await.expect("deleted");
    laid.until("nothing", async || laid.pods().await.is_empty()).await;
}

#[tokio::test]
async fn killed_anywhere_and_run_again_it_goes_on() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[1], &[]).await else { return };
    lay(&laid, ["vllm:1"; 3]).await;
    let before = laid.uids().await;
    let watched = Watched::begin(&laid, group).await;
    let mut lines = 1;
    while laid.migrate_and_kill(lines).await {
        lines += 1;
    }
    assert!(lines > 3, "it was killed {lines} times");
    laid.until_complete().await;
    assert_eq!(laid.uids().await, before, "no pod was restarted");
    for group in 0..3 {
        assert_eq!(watched.least(&format!("llama-{group}")), 3);
    }
}
