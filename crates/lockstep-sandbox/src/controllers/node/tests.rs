use serde_json::{Value, json};

use crate::controllers::testing::{World, node, pod};
use crate::controllers::{Propagation, key, read};
use crate::store::Key;

const ALL: [&str; 3] =
    ["node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller"];

/// A world with nodes that are ready as of now.
fn world(nodes: usize) -> World {
    let mut world = World::with(&ALL);
    for at in 0..nodes {
        let mut node = node(&format!("n{at}"), "8", "0");
        let now = read::stamp(world.now);
        node["status"]["conditions"] =
            json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}]);
        world.put("nodes", node);
    }
    world
}

fn node_key(at: usize) -> Key {
    key("nodes", "", &format!("n{at}"))
}

/// The taints of a node, as `key:effect`, without the prefix all share.
fn taints(world: &World, at: usize) -> Vec<String> {
    let node = world.get(&node_key(at));
    let taints = read::list(&node["spec"]["taints"]).iter();
    let shown = taints.map(|taint| {
        let key = read::text(&taint["key"]);
        format!("{}:{}", key.trim_start_matches("node.kubernetes.io/"), read::text(&taint["effect"]))
    });
    shown.collect()
}

fn renew(world: &mut World, at: usize) {
    let lease = json!({
        "metadata": {"name": format!("n{at}"), "namespace": "kube-node-lease"},
        "spec": {"renewTime": read::precise(world.now)},
    });
    world.put("leases.coordination.k8s.io", lease);
}

/// Time passes, and these nodes live.
fn live(world: &mut World, seconds: i64, alive: &[usize]) {
    for _ in 0..seconds {
        alive.iter().for_each(|at| renew(world, *at));
        world.pass(1);
    }
}

/// A pod on a node, ready, with these tolerations.
fn on(world: &mut World, name: &str, node: &str, tolerations: Value) -> Key {
    let mut pod = pod(name, json!({}));
    pod["spec"]["nodeName"] = json!(node);
    pod["spec"]["tolerations"] = tolerations;
    pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    world.put("pods", pod)
}

fn for_seconds(seconds: i64) -> Value {
    json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}])
}

#[test]
fn a_node_that_falls_silent() {
    for forgetful in [false, true] {
        let mut world = world(3);
        world.forgetful = forgetful;
        let stays = on(&mut world, "stays", "n0", json!([{"operator": "Exists"}]));
        let goes = on(&mut world, "goes", "n0", for_seconds(30));
        live(&mut world, 39, &[1, 2]);
        assert!(taints(&world, 0).is_empty());
        live(&mut world, 1, &[1, 2]);
        assert_eq!(taints(&world, 0), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
        assert!(taints(&world, 1).is_empty());
        let silent = world.get(&node_key(0));
        let ready = read::condition(&silent, "Ready").expect("a condition");
        assert_eq!((&ready["status"], &ready["reason"]), (&json!("Unknown"), &json!("NodeStatusUnknown")));
        let pressure = read::condition(&silent, "MemoryPressure").expect("a condition");
        assert_eq!(pressure["reason"], "NodeStatusNeverUpdated");
        assert_eq!(read::condition_status(&world.get(&stays), "Ready"), "False");
        // Once for the node, and once for each of its pods.
        assert_eq!(world.reasons(), [("NodeNotReady", 3), ("RegisteredNode", 3)].into());
        live(&mut world, 29, &[1, 2]);
        assert!(!world.get(&goes).is_null());
        live(&mut world, 1, &[1, 2]);
        assert!(world.get(&goes).is_null());
        assert!(!world.get(&stays).is_null());
        assert_eq!(world.reasons()["TaintManagerEviction"], 1);
        // It is heard of again: the kubelet says so.
        renew(&mut world, 0);
        world.edit(&node_key(0), |node| node["status"]["conditions"][0]["status"] = json!("True"));
        world.settle();
        assert!(taints(&world, 0).is_empty());
    }
}

#[test]
fn one_that_comes_back_in_time_keeps_its_pods() {
    let mut world = world(2);
    let pod = on(&mut world, "p", "n0", for_seconds(300));
    live(&mut world, 100, &[1]);
    renew(&mut world, 0);
    world.edit(&node_key(0), |node| node["status"]["conditions"][0]["status"] = json!("True"));
    live(&mut world, 300, &[0, 1]);
    assert!(!world.get(&pod).is_null());
    let cancelled =
        world.events.iter().find(|event| event.reason == "TaintManagerEviction").expect("an event");
    assert_eq!(cancelled.message, "Cancelling deletion of Pod a/p");
}

#[test]
fn what_conditions_and_cordons_call_for() {
    type Change = fn(&mut Value);
    let table: [(Change, &[&str]); 4] = [
        (|node| node["spec"]["unschedulable"] = json!(true), &["unschedulable:NoSchedule"]),
        (
            |node| node["status"]["conditions"][0]["status"] = json!("False"),
            &["not-ready:NoSchedule", "not-ready:NoExecute"],
        ),
        (
            |node| {
                let pressure = json!({"type": "DiskPressure", "status": "True"});
                node["status"]["conditions"].as_array_mut().expect("a list").push(pressure);
            },
            &["disk-pressure:NoSchedule"],
        ),
        (
            |node| {
                node["spec"]["taints"] = json!([
                    {"key": "mine", "effect": "NoSchedule"},
                    {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                ])
            },
            &["mine:NoSchedule"],
        ),
    ];
    for (change, expected) in table {
        let mut world = world(2);
        world.edit(&node_key(0), change);
        world.settle();
        assert_eq!(taints(&world, 0), expected);
    }
}

#[test]
fn a_new_node_is_given_time() {
    let mut world = World::with(&ALL);
    world.put("nodes", json!({"metadata": {"name": "n0"}, "spec": {}}));
    world.pass(59);
    assert!(taints(&world, 0).is_empty());
    world.pass(1);
    assert_eq!(taints(&world, 0), ["unreachable:NoSchedule"]);
}

#[test]
fn nobody_is_sent_away_when_all_nodes_are_silent() {
    let mut world = world(2);
    let pod = on(&mut world, "p", "n0", for_seconds(1));
    world.pass(60);
    assert_eq!(
        (taints(&world, 0), taints(&world, 1)),
        (vec!["unreachable:NoSchedule".to_owned()], vec!["unreachable:NoSchedule".to_owned()])
    );
    assert!(!world.get(&pod).is_null());
}

#[test]
fn one_node_at_a_time() {
    let mut world = world(6);
    live(&mut world, 40, &[2, 3, 4, 5]);
    let sends_away =
        |world: &World, at: usize| taints(world, at).contains(&"unreachable:NoExecute".to_owned());
    assert_eq!((sends_away(&world, 0), sends_away(&world, 1)), (true, false));
    live(&mut world, 9, &[2, 3, 4, 5]);
    assert!(!sends_away(&world, 1));
    live(&mut world, 1, &[2, 3, 4, 5]);
    assert!(sends_away(&world, 1));
}

#[test]
fn who_does_not_tolerate_a_taint_goes_at_once() {
    let mut world = world(2);
    let goes = on(&mut world, "goes", "n0", json!([]));
    let stays = on(&mut world, "stays", "n0", json!([{"key": "boom", "operator": "Exists"}]));
    let later =
        on(&mut world, "later", "n0", json!([{"key": "boom", "operator": "Exists", "tolerationSeconds": 5}]));
    world.edit(&node_key(0), |node| node["spec"]["taints"] = json!([{"key": "boom", "effect": "NoExecute"}]));
    world.pods_end = false;
    world.settle();
    let going = world.get(&goes);
    assert!(read::is_deleting(&going));
    let marked = read::condition(&going, "DisruptionTarget").expect("a condition");
    assert_eq!(marked["reason"], "DeletionByTaintManager");
    live(&mut world, 4, &[0, 1]);
    assert!(!read::is_deleting(&world.get(&later)));
    live(&mut world, 1, &[0, 1]);
    assert!(read::is_deleting(&world.get(&later)));
    assert!(!read::is_deleting(&world.get(&stays)));
}

#[test]
fn pods_of_nodes_that_are_gone() {
    let mut world = world(2);
    let pod = on(&mut world, "p", "n0", json!([]));
    world.settle();
    world.delete(&node_key(0), Propagation::Background);
    world.settle();
    live(&mut world, 39, &[1]);
    assert!(!world.get(&pod).is_null());
    live(&mut world, 1, &[1]);
    assert!(world.get(&pod).is_null());
}

#[test]
fn a_node_that_comes_back_keeps_its_pods() {
    let mut world = world(2);
    let pod = on(&mut world, "p", "n0", json!([]));
    world.settle();
    let node = world.get(&node_key(0));
    world.delete(&node_key(0), Propagation::Background);
    live(&mut world, 20, &[1]);
    world.put("nodes", node);
    live(&mut world, 60, &[0, 1]);
    assert!(!world.get(&pod).is_null());
}
