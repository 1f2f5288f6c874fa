//! The definition of PodUnavailableBudgets on a real API server and on the embedded one: both take what the reader
//! takes and refuse what it refuses, in the same words where a rule says them.

#![allow(clippy::expect_used)]

mod kubectl;

use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client, ResourceExt};
use kubectl::Server;
use lockstep_api::budget::{self, PodUnavailableBudget, definition};
use lockstep_api::json_to_yaml;
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::cluster::define;
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use serde_json::{Value, json};

fn named(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// Specs, and the words of whoever refuses them; without words a bound of the schema does, in its own.
fn rows() -> Vec<(Value, Option<&'static str>)> {
    let pods = json!({"matchLabels": {"app": "llm"}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let by = |expression: Value| json!({"selector": {"matchExpressions": [expression]}, "maxUnavailable": 1});
    let grouped = |policy: Value| json!({"selector": pods, "maxUnavailable": 1, "podGroupPolicy": policy});
    let only_one = "only one of them is accepted";
    vec![
        (json!({}), Some("needs one of selector, targetRef and targetReference: which pods it covers")),
        (json!({"maxUnavailable": 1}), Some("needs one of selector, targetRef and targetReference")),
        (json!({"selector": pods}), Some("needs maxUnavailable, minAvailable or both: how many may be gone")),
        (json!({"selector": pods, "targetRef": target, "maxUnavailable": 1}), Some(only_one)),
        (json!({"selector": pods, "targetReference": target, "maxUnavailable": 1}), Some(only_one)),
        (json!({"targetRef": target, "targetReference": target, "maxUnavailable": 1}), Some(only_one)),
        (by(json!({"key": "app", "operator": "In"})), Some("one value or more")),
        (by(json!({"key": "app", "operator": "Is", "values": ["a"]})), None),
        (by(json!({"operator": "Exists"})), None),
        (json!({"selector": pods, "maxUnavailable": "101%"}), None),
        (json!({"selector": pods, "minAvailable": "a few"}), None),
        (json!({"selector": pods, "minAvailable": -1}), None),
        (json!({"selector": pods, "maxUnavailable": 100_001}), None),
        (json!({"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment"}, "maxUnavailable": 1}), None),
        (json!({"targetRef": {"apiVersion": "", "kind": "D", "name": "x"}, "maxUnavailable": 1}), None),
        (grouped(json!({})), None),
        (grouped(json!({"groupLabelKey": "two words"})), None),
        (grouped(json!({"groupLabelKey": "shard", "minReadyReplicas": 0})), None),
        (grouped(json!({"groupLabelKey": "shard", "minReadyReplicas": "3"})), None),
        (json!({"selector": pods, "maxUnavailable": 1, "protectOperations": ["RESIZE"]}), None),
    ]
}

fn accepted() -> Vec<Value> {
    let pods = json!({"matchLabels": {"app": "llm"}});
    let policy = json!({"groupLabelKey": "leaderworkerset.sigs.k8s.io/group-index", "minReadyReplicas": 3});
    let target =
        json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "llm"});
    vec![
        json!({"selector": pods, "maxUnavailable": 1, "podGroupPolicy": policy}),
        json!({"selector": {}, "maxUnavailable": 0, "minAvailable": "100%"}),
        json!({"targetRef": target, "maxUnavailable": "05%", "protectOperations": ["DELETE", "EVICT", "UPDATE"]}),
        json!({"targetReference": target, "minAvailable": "3", "maxUnavailable": 100_000}),
        json!({"selector": {"matchExpressions": [
            {"key": "a", "operator": "NotIn", "values": ["x"]}, {"key": "b", "operator": "Exists"},
        ]}, "minAvailable": "50%"}),
    ]
}

async fn agrees_with_the_reader(client: Client) {
    let budgets: Api<DynamicObject> =
        Api::default_namespaced_with(client, &ApiResource::erase::<PodUnavailableBudget>(&()));
    let object = |name: &str, spec: &Value| -> DynamicObject {
        serde_json::from_value(named(name, spec)).expect("an object")
    };
    for (spec, words) in rows() {
        let refused = budgets.create(&PostParams::default(), &object("bad", &spec)).await;
        let said = refused.expect_err(&spec.to_string()).to_string();
        let problems = budget::check(&named("bad", &spec)).expect_err(&spec.to_string());
        let Some(words) = words else { continue };
        assert!(said.contains(words), "{words}: {said}");
        assert!(problems.iter().any(|problem| problem.message.contains(words)), "{words}: {problems:?}");
    }
    for (i, spec) in accepted().iter().enumerate() {
        budget::check(&named("good", spec)).expect("the reader takes it");
        let made = budgets.create(&PostParams::default(), &object(&format!("good-{i}"), spec)).await;
        let made = made.expect("the server takes it");
        assert_eq!(&made.data["spec"], spec, "{} comes back as it was", made.name_any());
    }
}

#[tokio::test]
async fn a_real_server_agrees_with_the_reader() {
    let Some(server) = Server::start().await else { return };
    server.ok(&["apply", "-f", "-"], &json_to_yaml(&definition::definition()));
    server.ok(&["wait", "--for=condition=Established", &format!("crd/{}", definition::NAME)], "");
    let text = server.get(&format!("crd/{}", definition::NAME)).to_string();
    assert!(!text.contains("\"NonStructuralSchema\""), "{text}");
    agrees_with_the_reader(server.cluster.client()).await;

    let status = json!({"status": {
        "totalReplicas": 3, "currentAvailable": 3, "desiredAvailable": 2, "unavailableAllowed": 1,
        "observedGeneration": 1, "unavailableReplicas": 0, "conditions": [],
        "disruptedPods": {"llm-0": "2026-01-01T00:00:00Z"}, "ledger": {"promises": {"u": {"any": ["thing"]}}},
    }});
    server
        .ok(&["patch", "pub/good-0", "--subresource=status", "--type=merge", "-p", &status.to_string()], "");
    let stored = server.get("pub/good-0");
    assert_eq!(stored["status"], status["status"]);
    let shown = server.ok(&["get", "pub", "good-0"], "");
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert_eq!(words[..6], ["NAME", "TOTAL", "AVAILABLE", "DESIRED", "ALLOWED", "AGE"]);
    assert_eq!(words[6..11], ["good-0", "3", "3", "2", "1"]);
    let explained = server.eventually_ok(&["explain", "pub.spec.podGroupPolicy"]);
    assert!(explained.contains("The label whose value tells groups apart"), "{explained}");
}

#[test]
fn the_embedded_server_agrees_with_the_reader() {
    in_virtual_time(async {
        let nodes = NodeGroup::new("node", 1);
        let embedded = Embedded::start(0, &nodes).await.expect("an embedded cluster");
        define(&embedded.client(), &definition::definition()).await.expect("defined");
        agrees_with_the_reader(embedded.client()).await;
    });
}
