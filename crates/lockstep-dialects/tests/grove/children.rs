//! What stands beside a set: handles, autoscalers, services; and who scales what.

use lockstep_core::number::IntOrPercent::Int;
use lockstep_dialects::World;
use serde_json::{Value, json};

use crate::support::{lower, lower_in, object, yaml};

fn names(beside: &[Value], kind: &str) -> Vec<String> {
    let of_kind = beside.iter().filter(|it| it["kind"] == kind);
    of_kind.map(|it| it["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_handle_for_each_part_of_each_replica() {
    let (set, _) =
        include_str!("../manifests/grove/everything.yaml").split_once("\n---\n").expect("two documents");
    let lowered = lower(&yaml(set));
    let beside = &lowered.beside;
    assert_eq!(names(beside, "PodClique"), ["all-0-router", "all-1-router", "all-0-idle", "all-1-idle"]);
    assert_eq!(names(beside, "PodCliqueScalingGroup"), ["all-0-prefill", "all-1-prefill"]);
    assert_eq!(names(beside, "HorizontalPodAutoscaler"), ["all-0-router", "all-0-prefill"]);
    assert_eq!(names(beside, "Service"), ["all-0", "all-1"]);
    let of = |kind: &str, name: &str| {
        beside.iter().find(|it| it["kind"] == kind && it["metadata"]["name"] == name).expect(name)
    };
    assert_eq!(
        of("PodCliqueScalingGroup", "all-0-prefill"),
        &json!({
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueScalingGroup",
            "metadata": {
                "name": "all-0-prefill",
                "namespace": "ml",
                "labels": {
                    "app.kubernetes.io/managed-by": "grove-operator",
                    "app.kubernetes.io/part-of": "all",
                    "app.kubernetes.io/name": "all-0-prefill",
                    "app.kubernetes.io/component": "pcs-podcliquescalinggroup",
                    "grove.io/podcliqueset-replica-index": "0",
                },
                "annotations": {"note": "group", "lockstep.dev/replicas-of-template": "2", "lockstep.dev/replicas-of-spec": "2"},
            },
            "spec": {"replicas": 2, "minAvailable": 1, "cliqueNames": ["pleader", "pworker"]},
        })
    );
    assert_eq!(
        of("HorizontalPodAutoscaler", "all-0-router")["spec"],
        json!({
            "scaleTargetRef": {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "all-0-router"},
            "minReplicas": 2,
            "maxReplicas": 6,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}],
        })
    );
    let scaler = &of("HorizontalPodAutoscaler", "all-0-prefill")["spec"];
    assert_eq!((&scaler["minReplicas"], &scaler["maxReplicas"]), (&json!(2), &json!(4)));
    let service = &of("Service", "all-1")["spec"];
    assert_eq!(service["publishNotReadyAddresses"], false);
    assert_eq!(service["selector"]["grove.io/podcliqueset-replica-index"], "1");
}

fn set(replicas: u32) -> Value {
    object(&format!(
        "replicas: 2\ntemplate:\n  cliques: [{{name: a, replicas: {replicas}, spec: {{minAvailable: 1, podSpec: $P}}}}]"
    ))
}

/// The world after one look, in which somebody scales the handle of a replica.
fn scaled(world: &World, object: &Value, replica: usize, to: u32) -> World {
    let mut world =
        World { objects: lower_in(object, world).beside, served: world.served, ..World::default() };
    world.objects[replica]["spec"]["replicas"] = json!(to);
    world
}

fn replicas(object: &Value, world: &World) -> u32 {
    lower_in(object, world).set.spec.roles[0].replicas
}

#[test]
fn whoever_scales_one_replica_scales_all() {
    let three = set(3);
    let world = scaled(&World::default(), &three, 1, 5);
    assert_eq!(replicas(&three, &world), 5);
    // Written back to all handles, and kept.
    let world = World { objects: lower_in(&three, &world).beside, served: world.served, ..World::default() };
    assert!(world.objects.iter().all(|it| it["spec"]["replicas"] == 5));
    assert_eq!(replicas(&three, &world), 5);
    // The next one, on another handle.
    let world = scaled(&world, &three, 0, 2);
    assert_eq!(replicas(&three, &world), 2);
    // To nothing, and back.
    let world = scaled(&world, &three, 0, 0);
    assert_eq!(replicas(&three, &world), 0);
    let world = scaled(&world, &three, 1, 4);
    assert_eq!(replicas(&three, &world), 4);
    // Another image changes nothing about it; another number in the template does.
    assert_eq!(replicas(&crate::support::with_tag(&three, "2"), &world), 4);
    assert_eq!(replicas(&set(7), &world), 7);
}

#[test]
fn what_belongs_to_another_set_does_not_count() {
    let three = set(3);
    let mut world = scaled(&World::default(), &three, 0, 5);
    for object in &mut world.objects {
        object["metadata"]["labels"]["app.kubernetes.io/part-of"] = json!("other");
    }
    assert_eq!(replicas(&three, &world), 3);
}

#[test]
fn what_an_autoscaler_made_of_groves_own_handles_holds_on() {
    let part = |scaling: &str| {
        object(&format!(
            "replicas: 1\ntemplate:\n  cliques: [{{name: a, spec: {{replicas: 2, minAvailable: 1, {scaling} podSpec: $P}}}}]"
        ))
    };
    let scales = "autoScalingConfig: {minReplicas: 2, maxReplicas: 9},";
    for (scaling, expected) in [(scales, 5), ("", 2)] {
        let set = part(scaling);
        let mut world = World { objects: lower(&set).beside, ..World::default() };
        for handle in world.objects.iter_mut().filter(|it| it["kind"] == "PodClique") {
            handle["metadata"]["annotations"] = json!({});
            handle["spec"]["replicas"] = json!(5);
        }
        assert_eq!(lower_in(&set, &world).set.spec.roles[0].replicas, expected, "{scaling}");
    }
}

/// A number below the minimum runs the minimum, and stays what it is for whoever wrote it.
#[test]
fn who_is_woken_comes_as_a_whole() {
    let rows = [
        (
            "cliques: [{name: a, spec: {replicas: 0, minAvailable: 2, podSpec: $P}}]",
            2,
            [(0, 0), (1, 2), (2, 2), (3, 3)],
        ),
        (
            "cliques: [{name: a, spec: {podSpec: $P}}]\n  podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 0, minAvailable: 2}]",
            2,
            [(0, 0), (1, 2), (2, 2), (3, 3)],
        ),
        ("cliques: [{name: a, spec: {replicas: 0, podSpec: $P}}]", 1, [(0, 0), (1, 1), (2, 2), (3, 3)]),
    ];
    for (template, least, numbers) in rows {
        let set = object(&format!("replicas: 1\ntemplate:\n  {template}"));
        for (to, running) in numbers {
            let world = scaled(&World::default(), &set, 0, to);
            let lowered = lower_in(&set, &world);
            let role = &lowered.set.spec.roles[0];
            let wished = &lowered.beside[0]["spec"];
            let expected = (running, Some(Int(least.min(running))), json!(to), json!(least));
            let found = (
                role.replicas,
                role.min_available,
                wished["replicas"].clone(),
                wished["minAvailable"].clone(),
            );
            assert_eq!(found, expected, "{to}: {template}");
        }
    }
}
