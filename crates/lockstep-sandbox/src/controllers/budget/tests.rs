use serde_json::{Value, json};

use super::may_evict;
use crate::controllers::testing::{World, node, pod};
use crate::controllers::{key, read, replicaset};
use crate::store::Key;

fn world() -> World {
    World::with(&["disruption-controller"])
}

fn budget(world: &mut World, spec: Value) -> Key {
    let mut spec = spec;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    world.put(
        "poddisruptionbudgets.policy",
        json!({"metadata": {"name": "b", "namespace": "a"}, "spec": spec}),
    )
}

/// A set that wants so many, and pods of it: ready or not.
fn pods(world: &mut World, wanted: i64, ready: &[bool]) -> Vec<Key> {
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "s", "namespace": "a"}, "spec": {"replicas": wanted}});
    let set = world.put("replicasets.apps", set);
    let owner = replicaset::owner("apps/v1", "ReplicaSet", &world.get(&set));
    let made = ready.iter().enumerate().map(|(at, ready)| {
        let mut pod = pod(&format!("p{at}"), json!({}));
        pod["metadata"]["labels"] = json!({"app": "web"});
        pod["metadata"]["ownerReferences"] = json!([owner]);
        let ready = if *ready { "True" } else { "False" };
        pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]});
        world.put("pods", pod)
    });
    made.collect()
}

/// Healthy, desired, allowed, expected.
fn counts(world: &World, key: &Key) -> [i64; 4] {
    let status = &world.get(key)["status"];
    ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"]
        .map(|field| read::number(&status[field]))
}

#[test]
fn how_many_may_go() {
    for (spec, wanted, ready, expected) in [
        (json!({"minAvailable": 2}), 3, vec![true, true, true], [3, 2, 1, 3]),
        (json!({"minAvailable": 2}), 9, vec![true, true, true], [3, 2, 1, 3]),
        (json!({"minAvailable": 5}), 3, vec![true, true, true], [3, 5, 0, 3]),
        (json!({"minAvailable": "50%"}), 3, vec![true, true, true], [3, 2, 1, 3]),
        (json!({"minAvailable": "50%"}), 7, vec![true, true, true], [3, 4, 0, 7]),
        (json!({"maxUnavailable": 1}), 3, vec![true, false, true], [2, 2, 0, 3]),
        (json!({"maxUnavailable": "30%"}), 4, vec![true, true, true, true], [4, 2, 2, 4]),
        (json!({"maxUnavailable": 9}), 2, vec![true, true], [2, 0, 2, 2]),
        (json!({"maxUnavailable": 1}), 3, vec![], [0, 0, 0, 0]),
    ] {
        for forgetful in [false, true] {
            let mut world = world();
            world.forgetful = forgetful;
            let key = budget(&mut world, spec.clone());
            pods(&mut world, wanted, &ready);
            world.settle();
            assert_eq!(counts(&world, &key), expected, "{spec} {wanted} {ready:?}");
            let (status, reason) =
                if expected[2] > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
            let condition = &world.get(&key)["status"]["conditions"][0];
            assert_eq!((&condition["status"], &condition["reason"]), (&json!(status), &json!(reason)));
        }
    }
}

#[test]
fn a_deployment_counts_for_its_sets() {
    let mut world = World::with(&[
        "disruption-controller",
        "deployment-controller",
        "replicaset-controller",
        "kube-scheduler",
    ]);
    world.put("nodes", node("n0", "8", "0"));
    let key = budget(&mut world, json!({"maxUnavailable": "50%"}));
    world.put(
        "deployments.apps",
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "a"},
            "spec": {
                "replicas": 4, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
            },
        }),
    );
    world.settle();
    assert_eq!(counts(&world, &key), [4, 2, 2, 4]);
}

#[test]
fn whose_pods_nobody_knows() {
    let mut world = world();
    let key = budget(&mut world, json!({"maxUnavailable": 1}));
    let mut lost = pod("lost", json!({}));
    lost["metadata"]["labels"] = json!({"app": "web"});
    lost["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "x", "controller": true}]);
    world.put("pods", lost);
    world.settle();
    let condition = &world.get(&key)["status"]["conditions"][0];
    assert_eq!(condition["reason"], "SyncFailed");
    assert_eq!(condition["message"], "found no controllers for pod \"lost\"");
    let denial = evict(&mut world, "lost").expect_err("not allowed");
    assert_eq!(denial.0, 429);
}

#[test]
fn unmanaged_pods_are_told() {
    let mut world = world();
    let key = budget(&mut world, json!({"maxUnavailable": 1}));
    let mut bare = pod("bare", json!({}));
    bare["metadata"]["labels"] = json!({"app": "web"});
    bare["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    world.put("pods", bare);
    world.settle();
    assert_eq!(counts(&world, &key), [1, 0, 0, 0]);
    let said = world.events.iter().find(|event| event.reason == "UnmanagedPods").expect("an event");
    let start = "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{\
        app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result,";
    assert!(said.message.starts_with(start), "{}", said.message);
}

/// Evicts a pod as a server would, but does not delete it.
fn evict(world: &mut World, name: &str) -> Result<bool, (u16, String)> {
    let pod = world.get(&key("pods", "a", name));
    let permit = may_evict(&world.store, &pod, world.now)
        .map_err(|denial| (denial.code, denial.cause.unwrap_or(denial.message)))?;
    if let Some((key, patch)) = &permit.price {
        let budget = world.get(key);
        world.put("poddisruptionbudgets.policy", crate::patch::merge(&budget, patch));
    }
    Ok(permit.price.is_some())
}

#[test]
fn evictions_are_paid_for() {
    let mut world = world();
    let key = budget(&mut world, json!({"minAvailable": 2}));
    let pods = pods(&mut world, 3, &[true, true, true]);
    let early = evict(&mut world, "p0");
    assert_eq!(
        early,
        Err((429, "The disruption budget b is still being processed by the server.".to_owned()))
    );
    world.settle();
    assert_eq!(evict(&mut world, "p0"), Ok(true));
    assert_eq!(world.get(&key)["status"]["disruptedPods"], json!({"p0": "2026-01-01T00:00:00Z"}));
    let none = "The disruption budget b does not allow evicting pods currently".to_owned();
    assert_eq!(evict(&mut world, "p1"), Err((429, none)));
    // Once the controller has looked there is one healthy pod less.
    world.settle();
    assert_eq!(counts(&world, &key), [2, 2, 0, 3]);
    let few = "The disruption budget b needs 2 healthy pods and has 2 currently".to_owned();
    assert_eq!(evict(&mut world, "p1"), Err((429, few)));
    // It did not go after all.
    world.pass(121);
    assert_eq!(counts(&world, &key), [3, 2, 1, 3]);
    assert!(world.get(&key)["status"]["disruptedPods"].is_null());
    assert_eq!(world.reasons()["NotDeleted"], 1);
    // One that is gone is no longer noted.
    assert_eq!(evict(&mut world, "p0"), Ok(true));
    world.store.remove(&pods[0]);
    world.settle();
    assert_eq!(counts(&world, &key), [2, 2, 0, 2]);
    assert!(world.get(&key)["status"]["disruptedPods"].is_null());
}

#[test]
fn who_may_always_go() {
    type Change = fn(&mut Value);
    type Case = (&'static str, Value, &'static [bool], Change, Result<bool, u16>);
    let table: [Case; 6] = [
        ("ready", json!({"minAvailable": 2}), &[true, true], |_| {}, Err(429)),
        (
            "ended",
            json!({"minAvailable": 2}),
            &[true, true],
            |pod| pod["status"]["phase"] = json!("Failed"),
            Ok(false),
        ),
        (
            "pending",
            json!({"minAvailable": 2}),
            &[true, true],
            |pod| pod["status"]["phase"] = json!("Pending"),
            Ok(false),
        ),
        ("not ready, enough others", json!({"minAvailable": 1}), &[false, true], |_| {}, Ok(false)),
        ("not ready, too few others", json!({"minAvailable": 2}), &[false, true], |_| {}, Err(429)),
        (
            "not ready, always",
            json!({"minAvailable": 2, "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            &[false, true],
            |_| {},
            Ok(false),
        ),
    ];
    for (what, spec, ready, change, expected) in table {
        let mut world = world();
        budget(&mut world, spec);
        let pods = pods(&mut world, 2, ready);
        world.settle();
        world.edit(&pods[0], change);
        assert_eq!(evict(&mut world, "p0").map_err(|(code, _)| code), expected, "{what}");
    }
}

#[test]
fn two_budgets_are_too_many() {
    let mut world = world();
    budget(&mut world, json!({"minAvailable": 0}));
    let other =
        json!({"metadata": {"name": "c", "namespace": "a"}, "spec": {"minAvailable": 0, "selector": {}}});
    world.put("poddisruptionbudgets.policy", other);
    pods(&mut world, 1, &[true]);
    world.settle();
    assert_eq!(evict(&mut world, "p0").map_err(|(code, _)| code), Err(500));
}

#[test]
fn a_mark_that_came_to_nothing_is_taken_back() {
    let mut world = world();
    let pods = pods(&mut world, 1, &[true]);
    world.edit(&pods[0], |pod| {
        let marked = json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        pod["status"]["conditions"] = json!([marked]);
    });
    world.pass(119);
    assert_eq!(world.get(&pods[0])["status"]["conditions"][0]["status"], "True");
    world.pass(1);
    assert_eq!(world.get(&pods[0])["status"]["conditions"][0]["status"], "False");
}
