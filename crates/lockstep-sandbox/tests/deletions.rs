//! What is deleted more than once.

#![allow(clippy::expect_used)]

mod client;

use std::time::Duration;

use http::Method;
use lockstep_sandbox::cluster::{Cluster, Setup};
use serde_json::{Value, json};

use crate::client::{JSON, ask, create};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// A cluster in which nobody but the test writes.
fn cluster() -> Cluster {
    let mut setup = Setup::at("2026-01-01T00:00:00Z".parse().expect("a time"));
    setup.without = ["garbage-collector-controller", "pod-garbage-collector-controller", "kube-scheduler"]
        .map(str::to_owned)
        .to_vec();
    Cluster::start(setup)
}

async fn pod(cluster: &Cluster, node: Option<&str>, finalizers: &[&str]) {
    let spec = json!({"nodeName": node, "containers": [{"name": "a", "image": "b"}]});
    let pod = json!({"metadata": {"name": "x", "finalizers": finalizers}, "spec": spec});
    let (code, said) = create(cluster, PODS, pod).await;
    assert_eq!(code, 201, "{said}");
}

/// Deletes the pod; whether that wrote anything, and the pod, if it is there.
async fn delete(cluster: &Cluster, options: Value) -> (bool, Option<Value>) {
    let path = format!("{PODS}/x");
    let (_, before) = ask(cluster, Method::GET, &path, None).await;
    let (code, said) = ask(cluster, Method::DELETE, &path, Some((JSON, options))).await;
    assert_eq!(code, 200, "{said}");
    let (code, after) = ask(cluster, Method::GET, &path, None).await;
    let wrote = before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"];
    (wrote, (code == 200).then_some(after))
}

#[tokio::test(start_paused = true)]
async fn a_pod_without_time_is_held_by_its_finalizers_alone() {
    let cluster = cluster();
    pod(&cluster, None, &["example.com/hold"]).await;
    let hold = "example.com/hold";
    let rows = [
        (json!({}), true, vec![hold]),
        (json!({}), false, vec![hold]),
        (json!({"propagationPolicy": "Foreground"}), true, vec![hold, "foregroundDeletion"]),
        (json!({"propagationPolicy": "Foreground"}), false, vec![hold, "foregroundDeletion"]),
        (json!({"propagationPolicy": "Orphan"}), true, vec![hold, "orphan"]),
        (json!({"gracePeriodSeconds": 5}), false, vec![hold, "orphan"]),
        (json!({"propagationPolicy": "Background"}), true, vec![hold]),
    ];
    for (options, writes, finalizers) in rows {
        let (wrote, pod) = delete(&cluster, options.clone()).await;
        let metadata = &pod.expect("it is held")["metadata"];
        assert_eq!((wrote, &metadata["finalizers"]), (writes, &json!(finalizers)), "{options}");
        assert_eq!(metadata["deletionGracePeriodSeconds"], 0, "{options}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_a_policy_holds_goes_with_another() {
    let cluster = cluster();
    pod(&cluster, None, &[]).await;
    let (_, held) = delete(&cluster, json!({"propagationPolicy": "Orphan"})).await;
    assert!(held.is_some());
    let (_, held) = delete(&cluster, json!({"propagationPolicy": "Background"})).await;
    assert_eq!(held, None);
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_time_left_can_only_be_hurried() {
    let cluster = cluster();
    pod(&cluster, Some("nowhere"), &[]).await;
    // After so many seconds, and then: whether it is written, how many it has, and when it is due.
    let rows = [
        (0, json!({}), true, 30, "00:00:30"),
        (1, json!({}), false, 30, "00:00:30"),
        (0, json!({"propagationPolicy": "Foreground"}), false, 30, "00:00:30"),
        (0, json!({"gracePeriodSeconds": 40}), false, 30, "00:00:30"),
        (1, json!({"gracePeriodSeconds": 10}), true, 10, "00:00:10"),
        (6, json!({"gracePeriodSeconds": 5}), true, 1, "00:00:08"),
        (0, json!({"gracePeriodSeconds": -1}), false, 1, "00:00:08"),
    ];
    for (after, options, writes, seconds, due) in rows {
        tokio::time::sleep(Duration::from_secs(after)).await;
        let (wrote, pod) = delete(&cluster, options.clone()).await;
        let metadata = &pod.expect("it has time")["metadata"];
        assert_eq!((wrote, &metadata["deletionGracePeriodSeconds"]), (writes, &json!(seconds)), "{options}");
        assert_eq!(metadata["deletionTimestamp"], format!("2026-01-01T{due}Z"), "{options}");
        assert_eq!(metadata.get("finalizers"), None, "{options}");
    }
    let (_, pod) = delete(&cluster, json!({"gracePeriodSeconds": 0})).await;
    assert_eq!(pod, None);
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_namespace_has_a_full_name() {
    let cluster = cluster();
    let (_, namespace) = create(&cluster, "/api/v1/namespaces", json!({"metadata": {"name": "kept"}})).await;
    let said = "Namespace \"kept\" is invalid: spec.finalizers[0]: Invalid value: \"foo\": name is neither a standard \
                finalizer name nor is it fully qualified";
    for (finalizer, code, message) in [("foo", 422, json!(said)), ("example.io/f", 200, Value::Null)] {
        let mut object = namespace.clone();
        object["spec"]["finalizers"] = json!([finalizer]);
        object["status"]["phase"] = json!("Terminating");
        let path = "/api/v1/namespaces/kept/finalize";
        let answer = ask(&cluster, Method::PUT, path, Some((JSON, object))).await;
        assert_eq!((answer.0, &answer.1["message"]), (code, &message), "{}", answer.1);
        assert!(code != 200 || answer.1["status"]["phase"] == "Active", "{}", answer.1);
    }
}
