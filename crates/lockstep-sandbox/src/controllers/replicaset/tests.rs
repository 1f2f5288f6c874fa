use serde_json::{Value, json};

use crate::controllers::testing::{World, node};
use crate::store::Key;

fn set(replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "a"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}},
        },
    })
}

fn world() -> World {
    let mut world = World::with(&["replicaset-controller", "kube-scheduler"]);
    world.put("nodes", node("n0", "8", "0"));
    world.put("nodes", node("n1", "8", "0"));
    world
}

fn status(world: &World, set: &Key) -> Value {
    world.get(set)["status"].clone()
}

#[test]
fn as_many_pods_as_are_asked_for() {
    for forgetful in [false, true] {
        let mut world = world();
        world.forgetful = forgetful;
        let key = world.put("replicasets.apps", set(3));
        world.settle();
        let pods = world.list("pods");
        assert_eq!(pods.len(), 3);
        let metadata = &pods[0]["metadata"];
        assert_eq!(metadata["generateName"], "web-");
        assert_eq!(metadata["ownerReferences"][0]["controller"], true);
        assert_eq!(metadata["labels"], json!({"app": "web"}));
        let full = json!({
            "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "terminatingReplicas": 0, "observedGeneration": 1,
        });
        assert_eq!(status(&world, &key), full);
        world.edit(&key, |set| set["spec"]["replicas"] = json!(1));
        world.settle();
        assert_eq!((world.list("pods").len(), &status(&world, &key)["replicas"]), (1, &json!(1)));
        let reasons = world.reasons();
        assert_eq!((reasons["SuccessfulCreate"], reasons["SuccessfulDelete"]), (3, 2));
        world.edit(&key, |set| set["spec"]["replicas"] = json!(0));
        world.settle();
        let none = json!({"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 3});
        assert_eq!(status(&world, &key), none);
    }
}

#[test]
fn names_are_never_used_again() {
    let mut world = world();
    let key = world.put("replicasets.apps", set(1));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        world.settle();
        let name = world.names("pods").remove(0);
        assert!(name.starts_with("web-") && name.len() == 9, "{name}");
        assert!(seen.insert(name.clone()), "{name}");
        let pod = crate::controllers::key("pods", "a", &name);
        world.delete(&pod, crate::controllers::Propagation::Background);
    }
    assert_eq!(status(&world, &key)["replicas"], 1);
}

#[test]
fn who_goes_first() {
    // The last of each is the one that stays.
    type Change = fn(&mut Value);
    let table: [(&str, Change); 6] = [
        ("no node", |pod| {
            pod["spec"].as_object_mut().expect("a map").remove("nodeName");
        }),
        ("pending", |pod| pod["status"]["phase"] = json!("Pending")),
        ("not ready", |pod| pod["status"]["conditions"][0]["status"] = json!("False")),
        ("cheap", |pod| {
            pod["metadata"]["annotations"] = json!({"controller.kubernetes.io/pod-deletion-cost": "-1"});
        }),
        ("ready for less long", |pod| {
            pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-01-01T00:59:00Z");
        }),
        ("restarted", |pod| pod["status"]["containerStatuses"] = json!([{"restartCount": 3}])),
    ];
    for (what, change) in table {
        let mut world = World::with(&["replicaset-controller"]);
        let key = world.put("replicasets.apps", set(0));
        for name in ["a", "b", "c"] {
            let mut pod = json!({
                "metadata": {
                    "name": name, "namespace": "a", "labels": {"app": "web"},
                    "ownerReferences": [super::owner("apps/v1", "ReplicaSet", &world.get(&key))],
                },
                "spec": {"nodeName": format!("node-{name}")},
                "status": {
                    "phase": "Running",
                    "conditions": [
                        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                    ],
                },
            });
            if name == "b" {
                change(&mut pod);
            }
            world.put("pods", pod);
        }
        world.now = "2026-01-01T01:00:00Z".parse().expect("a time");
        world.edit(&key, |set| set["spec"]["replicas"] = json!(2));
        world.pods_run = false;
        world.settle();
        assert_eq!(world.names("pods"), ["a", "c"], "{what}");
    }
}

#[test]
fn doubled_up_goes_first() {
    let mut world = world();
    let key = world.put("replicasets.apps", set(2));
    world.settle();
    world.edit(&key, |set| set["spec"]["replicas"] = json!(3));
    world.settle();
    world.edit(&key, |set| set["spec"]["replicas"] = json!(2));
    world.settle();
    let nodes: std::collections::BTreeSet<String> =
        world.list("pods").iter().map(|pod| pod["spec"]["nodeName"].to_string()).collect();
    assert_eq!(nodes.len(), 2);
}

#[test]
fn available_after_a_while() {
    let mut world = world();
    let mut slow = set(2);
    slow["spec"]["minReadySeconds"] = json!(10);
    let key = world.put("replicasets.apps", slow);
    world.settle();
    assert_eq!(
        (&status(&world, &key)["readyReplicas"], &status(&world, &key)["availableReplicas"]),
        (&json!(2), &Value::Null)
    );
    world.pass(9);
    assert!(status(&world, &key)["availableReplicas"].is_null());
    world.pass(1);
    assert_eq!(status(&world, &key)["availableReplicas"], 2);
}

#[test]
fn orphans_are_adopted_and_strangers_let_go() {
    let mut world = world();
    let orphan =
        json!({"metadata": {"name": "orphan", "namespace": "a", "labels": {"app": "web"}}, "spec": {}});
    let orphan = world.put("pods", orphan);
    let key = world.put("replicasets.apps", set(1));
    world.settle();
    assert_eq!(world.names("pods"), ["orphan"]);
    assert_eq!(
        world.get(&orphan)["metadata"]["ownerReferences"][0]["uid"],
        world.get(&key)["metadata"]["uid"]
    );
    world.edit(&orphan, |pod| pod["metadata"]["labels"]["app"] = json!("else"));
    world.settle();
    assert!(world.get(&orphan)["metadata"]["ownerReferences"].is_null());
    assert_eq!(world.names("pods").len(), 2);
}

#[test]
fn pods_that_end_slowly_are_replaced_and_counted() {
    let mut world = world();
    world.pods_end = false;
    let key = world.put("replicasets.apps", set(2));
    world.settle();
    let pod = crate::controllers::key("pods", "a", &world.names("pods")[0]);
    world.delete(&pod, crate::controllers::Propagation::Background);
    world.settle();
    assert_eq!(world.list("pods").len(), 3);
    assert_eq!(
        (&status(&world, &key)["replicas"], &status(&world, &key)["terminatingReplicas"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn what_cannot_be_created_is_told() {
    let mut world = world();
    world.refuse = Some("pods");
    let key = world.put("replicasets.apps", set(5));
    world.settle();
    let condition = &status(&world, &key)["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("ReplicaFailure"), &json!("FailedCreate"))
    );
    assert_eq!(condition["message"], "refused by the test");
    assert_eq!(world.reasons(), [("FailedCreate", 1)].into());
    world.pass(1);
    assert_eq!(world.reasons()["FailedCreate"], 2);
    world.refuse = None;
    world.pass(2);
    assert_eq!(world.list("pods").len(), 5);
    assert!(status(&world, &key)["conditions"].is_null());
}
