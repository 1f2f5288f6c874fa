use serde_json::{Value, json};

use crate::controllers::key;
use crate::controllers::testing::{World, node, pod};
use crate::store::Key;

fn world(nodes: &[Value]) -> World {
    let mut world = World::with(&["kube-scheduler"]);
    world.put("namespaces", json!({"metadata": {"name": "a", "labels": {"team": "a"}}}));
    for node in nodes {
        world.put("nodes", node.clone());
    }
    world
}

/// Where a pod is, or why it is nowhere.
fn fate(world: &World, key: &Key) -> String {
    let pod = world.get(key);
    match pod["spec"]["nodeName"].as_str() {
        Some(node) => node.to_owned(),
        None => {
            let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let said = conditions.iter().find(|condition| condition["type"] == "PodScheduled");
            said.map_or("-", |said| said["message"].as_str().unwrap_or_default()).to_owned()
        }
    }
}

/// Three nodes: one with a label, one with a taint, one in another zone.
fn three() -> Vec<Value> {
    let mut nodes = [node("n0", "4", "2"), node("n1", "4", "2"), node("n2", "8", "2")];
    for (node, zone) in nodes.iter_mut().zip(["x", "x", "y"]) {
        node["metadata"]["labels"]["zone"] = json!(zone);
    }
    nodes[0]["metadata"]["labels"]["disk"] = json!("fast");
    nodes[1]["spec"]["taints"] = json!([{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]);
    nodes.to_vec()
}

fn with(spec: Value) -> Value {
    let mut pod = pod("p", json!({"cpu": "1"}));
    for (key, value) in spec.as_object().expect("a map") {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn node_affinity(term: Value) -> Value {
    let required = json!({"nodeSelectorTerms": [term]});
    with(json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}))
}

const NO_HELP: &str = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";

#[test]
fn where_pods_go() {
    let unhelpful = |reasons: &str| format!("0/3 nodes are available: {reasons}. {NO_HELP}");
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "disk", "operator": operator, "values": values}]});
    let table = [
        // Most room, relative to what there is.
        (with(json!({})), "n2".to_owned()),
        (with(json!({"nodeSelector": {"disk": "fast"}})), "n0".to_owned()),
        (
            with(json!({"nodeSelector": {"disk": "slow"}})),
            unhelpful(
                "1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector",
            ),
        ),
        (node_affinity(expression("In", json!(["fast"]))), "n0".to_owned()),
        (node_affinity(expression("NotIn", json!(["fast"]))), "n2".to_owned()),
        (
            node_affinity(
                json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}),
            ),
            "n0".to_owned(),
        ),
        (
            node_affinity(
                json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]}),
            ),
            unhelpful("3 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
        ),
        (
            node_affinity(json!({})),
            unhelpful(
                "1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector",
            ),
        ),
        (
            with(
                json!({"nodeSelector": {"kubernetes.io/hostname": "n1"}, "tolerations": [{"key": "dedicated", "operator": "Exists"}]}),
            ),
            "n1".to_owned(),
        ),
        (
            with(
                json!({"containers": [{"resources": {"requests": {"cpu": "5"}}}], "tolerations": [{"operator": "Exists"}]}),
            ),
            "n2".to_owned(),
        ),
        (
            with(json!({"containers": [{"resources": {"limits": {"cpu": "9", "nvidia.com/gpu": 3}}}]})),
            unhelpful(
                "1 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient nvidia.com/gpu",
            ),
        ),
        (
            with(json!({
                "topologySpreadConstraints": [{
                    "maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"a": "b"}},
                }],
            })),
            unhelpful(
                "1 node(s) had untolerated taint(s), 2 node(s) didn't match pod topology spread constraints (missing required label)",
            ),
        ),
        (with(json!({"schedulerName": "another"})), "-".to_owned()),
        (with(json!({"schedulingGates": [{"name": "x/y"}]})), "-".to_owned()),
        (
            with(json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
            ]}}})),
            "n0".to_owned(),
        ),
    ];
    for (pod, expected) in table {
        let mut world = world(&three());
        let key = world.put("pods", pod.clone());
        world.settle();
        assert_eq!(fate(&world, &key), expected, "{}", pod["spec"]);
    }
}

#[test]
fn one_of_every_name_takes_pods_that_ask_for_another() {
    let mut world = World::with_one_scheduler();
    world.put("nodes", node("n0", "4", "2"));
    let key = world.put("pods", with(json!({"schedulerName": "another"})));
    world.settle();
    assert_eq!(fate(&world, &key), "n0");
}

#[test]
fn no_nodes_at_all() {
    let mut world = world(&[]);
    let key = world.put("pods", pod("p", json!({})));
    world.settle();
    assert_eq!(fate(&world, &key), "no nodes available to schedule pods");
    assert_eq!(world.events.len(), 1);
    let event = world.events[0].object(world.now, 1);
    assert_eq!(event["reason"], "FailedScheduling");
    assert_eq!(event["action"], "Scheduling");
    world.put("nodes", node("n0", "1", "0"));
    world.settle();
    assert_eq!(fate(&world, &key), "n0");
}

#[test]
fn a_node_is_filled_and_freed() {
    for forgetful in [false, true] {
        let mut world = world(&[node("n0", "2", "0")]);
        world.forgetful = forgetful;
        let keys: Vec<Key> =
            ["p0", "p1", "p2"].map(|name| world.put("pods", pod(name, json!({"cpu": "1"})))).to_vec();
        world.settle();
        let full = "0/1 nodes are available: 1 Insufficient cpu. \
            preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";
        assert_eq!(keys.iter().map(|key| fate(&world, key)).collect::<Vec<_>>(), ["n0", "n0", full]);
        // It is said once.
        let said = world.reasons();
        assert_eq!((said["Scheduled"], said["FailedScheduling"]), (2, 1));
        // What has ended takes no room.
        world.edit(&keys[0], |pod| pod["status"]["phase"] = json!("Succeeded"));
        world.settle();
        assert_eq!(fate(&world, &keys[2]), "n0");
    }
}

#[test]
fn who_is_more_important_is_first() {
    let mut world = world(&[node("n0", "1", "0")]);
    let low = world.put("pods", pod("a-low", json!({"cpu": "1"})));
    let mut important = pod("z-high", json!({"cpu": "1"}));
    important["spec"]["priority"] = json!(10);
    let high = world.put("pods", important);
    world.settle();
    assert_eq!(fate(&world, &high), "n0");
    assert_ne!(fate(&world, &low), "n0");
}

fn near(kind: &str, topology: &str, labels: Value) -> Value {
    let term = json!({"labelSelector": {"matchLabels": labels}, "topologyKey": topology});
    let mut pod = with(json!({"tolerations": [{"operator": "Exists"}]}));
    pod["spec"]["affinity"] = json!({kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    pod
}

#[test]
fn near_and_apart() {
    let web = json!({"app": "web"});
    for (pod, expected) in [
        (near("podAffinity", "zone", web.clone()), "n0"),
        (near("podAffinity", "kubernetes.io/hostname", web.clone()), "n1"),
        (near("podAntiAffinity", "zone", web.clone()), "n2"),
        (
            near("podAffinity", "zone", json!({"app": "nobody"})),
            &format!("0/3 nodes are available: 3 node(s) didn't match pod affinity rules. {NO_HELP}"),
        ),
    ] {
        let mut world = world(&three());
        let mut there = pod.clone();
        there["metadata"] = json!({"name": "there", "namespace": "a", "labels": {"app": "web"}});
        there["spec"] = json!({"nodeName": "n1", "containers": []});
        world.put("pods", there);
        let key = world.put("pods", pod.clone());
        world.settle();
        assert_eq!(fate(&world, &key), expected, "{}", pod["spec"]["affinity"]);
    }
}

#[test]
fn the_first_of_those_who_want_each_other_near() {
    let mut world = world(&three());
    for name in ["p0", "p1"] {
        let mut pod = near("podAffinity", "zone", json!({"app": "web"}));
        pod["metadata"] = json!({"name": name, "namespace": "a", "labels": {"app": "web"}});
        world.put("pods", pod);
    }
    world.settle();
    let fates = ["p0", "p1"].map(|name| fate(&world, &key("pods", "a", name)));
    assert_eq!(fates, ["n2", "n2"]);
}

#[test]
fn one_for_each_node() {
    let mut world = world(&three());
    for name in ["p0", "p1", "p2", "p3"] {
        let mut pod = near("podAntiAffinity", "kubernetes.io/hostname", json!({"app": "web"}));
        pod["metadata"] = json!({"name": name, "namespace": "a", "labels": {"app": "web"}});
        world.put("pods", pod);
    }
    // This one does not mind the others, but they mind it.
    let mut other = pod("p4", json!({}));
    other["metadata"]["labels"] = json!({"app": "web"});
    other["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    world.put("pods", other);
    world.settle();
    let fates: Vec<String> = (0..5).map(|at| fate(&world, &key("pods", "a", &format!("p{at}")))).collect();
    let victims = "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.";
    let apart = format!("0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. {victims}");
    let others = format!(
        "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules. {victims}"
    );
    assert_eq!(fates, ["n2", "n0", "n1", &apart, &others]);
}

#[test]
fn spread_over_zones() {
    let mut world = world(&three());
    for at in 0..4 {
        let mut pod = pod(&format!("p{at}"), json!({"cpu": "1"}));
        pod["metadata"]["labels"] = json!({"app": "web"});
        pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        pod["spec"]["topologySpreadConstraints"] = json!([{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }]);
        world.put("pods", pod);
    }
    world.settle();
    let zone = |at: i32| if fate(&world, &key("pods", "a", &format!("p{at}"))) == "n2" { "y" } else { "x" };
    let zones: Vec<&str> = (0..4).map(zone).collect();
    assert_eq!(zones.iter().filter(|zone| **zone == "y").count(), 2, "{zones:?}");
}

fn gang(world: &mut World, least: i64, gpus: &[i64]) -> (Key, Vec<Key>) {
    let group = world.put(
        "podgroups.scheduling.k8s.io",
        json!({
            "metadata": {"name": "g", "namespace": "a"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
        }),
    );
    let keys = gpus.iter().enumerate().map(|(at, gpus)| member(world, at, *gpus)).collect();
    (group, keys)
}

fn member(world: &mut World, at: usize, gpus: i64) -> Key {
    let mut pod = pod(&format!("p{at}"), json!({"nvidia.com/gpu": gpus}));
    pod["spec"]["schedulingGroup"] = json!({"podGroupName": "g"});
    world.put("pods", pod)
}

const NOBODY: &str = "pod group preemption: No preemption victims found for incoming preemptor";

#[test]
fn a_gang_waits_until_there_are_enough() {
    let mut world = world(&[node("n0", "8", "8"), node("n1", "8", "8")]);
    let (group, mut keys) = gang(&mut world, 3, &[1, 1]);
    world.settle();
    assert_eq!(keys.iter().map(|key| fate(&world, key)).collect::<Vec<_>>(), ["-", "-"]);
    assert!(world.get(&group)["status"].is_null());
    keys.push(member(&mut world, 2, 1));
    assert_eq!(world.controllers.turn(&world.store, world.now)[0].1.wishes.len(), 7);
    world.start_controllers();
    world.settle();
    assert!(keys.iter().all(|key| fate(&world, key).starts_with('n')));
    let said = &world.get(&group)["status"]["conditions"][0];
    assert_eq!(
        (&said["status"], &said["reason"], &said["message"]),
        (&json!("True"), &json!("Scheduled"), &json!(""))
    );
    // More may join one by one, and one for which there is no room changes nothing.
    let joined = member(&mut world, 3, 1);
    let too_big = member(&mut world, 4, 9);
    world.settle();
    assert!(fate(&world, &joined).starts_with('n'));
    assert_eq!(fate(&world, &too_big), "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.");
    assert_eq!(world.get(&group)["status"]["conditions"][0]["status"], "True");
}

#[test]
fn a_gang_gets_all_or_nothing() {
    let cannot = "minCount (3) cannot be satisfied";
    for (gpus, fates, said) in [
        (
            vec![1, 1, 9],
            vec![
                format!("pod group is unschedulable, {cannot}: 2 scheduled, 0 remaining, {NOBODY}"),
                format!("pod group is unschedulable, {cannot}: 2 scheduled, 0 remaining, {NOBODY}"),
                "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.".to_owned(),
            ],
            format!("{cannot}: 2 scheduled, 0 remaining, {NOBODY}"),
        ),
        (
            vec![9, 1, 1],
            vec![
                "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.".to_owned(),
                format!("{cannot}: 0 scheduled, 2 remaining"),
                format!("{cannot}: 0 scheduled, 2 remaining"),
            ],
            format!("{cannot}: 0 scheduled, 2 remaining, {NOBODY}"),
        ),
    ] {
        for forgetful in [false, true] {
            let mut world = world(&[node("n0", "8", "8")]);
            world.forgetful = forgetful;
            let (group, keys) = gang(&mut world, 3, &gpus);
            world.settle();
            assert_eq!(keys.iter().map(|key| fate(&world, key)).collect::<Vec<_>>(), fates);
            let condition = &world.get(&group)["status"]["conditions"][0];
            assert_eq!((&condition["status"], &condition["message"]), (&json!("False"), &json!(said)));
            // What the gang did not get is there for others.
            let single = world.put("pods", pod("single", json!({"nvidia.com/gpu": 8})));
            world.settle();
            assert_eq!(fate(&world, &single), "n0");
        }
    }
}

#[test]
fn a_gang_goes_when_enough_fit() {
    let mut world = world(&[node("n0", "8", "8")]);
    let (group, keys) = gang(&mut world, 2, &[9, 1, 1]);
    world.settle();
    let fates: Vec<String> = keys.iter().map(|key| fate(&world, key)).collect();
    assert_eq!(fates, ["0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", "n0", "n0"]);
    assert_eq!(world.get(&group)["status"]["conditions"][0]["status"], "True");
}

#[test]
fn gates_of_one_hold_the_gang() {
    type Lift = fn(&mut World, &Key);
    let lifts: [Lift; 2] = [
        |world, gated| world.edit(gated, |pod| pod["spec"]["schedulingGates"] = json!([])),
        |world, gated| drop(world.store.remove(gated)),
    ];
    for forgetful in [false, true] {
        for lift in lifts {
            let mut world = world(&[node("n0", "8", "8")]);
            world.forgetful = forgetful;
            // There would be enough without it.
            let (_, keys) = gang(&mut world, 2, &[1, 1, 1]);
            world.edit(&keys[2], |pod| pod["spec"]["schedulingGates"] = json!([{"name": "x/y"}]));
            world.settle();
            assert_eq!([fate(&world, &keys[0]), fate(&world, &keys[1])], ["-", "-"]);
            lift(&mut world, &keys[2]);
            world.settle();
            assert_eq!([fate(&world, &keys[0]), fate(&world, &keys[1])], ["n0", "n0"]);
        }
    }
}

#[test]
fn gates_hold_those_who_join_too() {
    let mut world = world(&[node("n0", "8", "8")]);
    let (_, keys) = gang(&mut world, 2, &[1, 1]);
    world.settle();
    assert_eq!(fate(&world, &keys[0]), "n0");
    let gated = member(&mut world, 2, 1);
    world.edit(&gated, |pod| pod["spec"]["schedulingGates"] = json!([{"name": "x/y"}]));
    let joins = member(&mut world, 3, 1);
    world.settle();
    assert_eq!(fate(&world, &joins), "-");
    world.edit(&gated, |pod| pod["spec"]["schedulingGates"] = json!([]));
    world.settle();
    assert_eq!([fate(&world, &gated), fate(&world, &joins)], ["n0", "n0"]);
}

#[test]
fn a_binding_that_is_refused_is_wished_again() {
    let mut world = world(&[node("n0", "1", "0")]);
    let key = world.put("pods", pod("p", json!({"cpu": "1"})));
    let first = world.controllers.turn(&world.store, world.now);
    assert_eq!(world.controllers.turn(&world.store, world.now), first);
    world.settle();
    assert_eq!(fate(&world, &key), "n0");
}
