//! What manifests become.

use lockstep_api::{GangScheduler, RestartType, UpdateType};
use lockstep_core::number::IntOrPercent::{Int, Percent};
use lockstep_dialects::{Served, World};
use serde_json::{Value, json};

use crate::common::*;

fn json_of(yaml: &str, world: &World) -> Value {
    serde_json::to_value(&*lowered(yaml, world).set).expect("a set is JSON")
}

#[test]
fn whole_groups_are_replaced_unless_something_else_is_asked_for() {
    let set = lowered(MINIMAL, &World::default()).set;
    let strategy = set.spec.update_strategy;
    assert_eq!(strategy.kind, UpdateType::GroupRecreate);
    assert_eq!((strategy.max_unavailable, strategy.max_surge, strategy.partition), (Int(1), Int(0), Int(0)));
    assert_eq!((set.spec.replicas, set.spec.roles[0].replicas), (1, 1));
    assert_eq!(set.spec.roles[0].restart_type(), RestartType::Instance);
    assert_eq!(set.spec.roles[0].pods(), 1);
    assert_eq!(set.spec.revision_history_limit, 10);
    let template = &set.spec.roles[0].members[0].template;
    assert_eq!(template, &json!({"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}}));
}

#[test]
fn an_order_of_roles_becomes_steps() {
    let set = json_of(ORDERED, &World::default());
    assert_eq!(set["spec"]["updateStrategy"]["type"], "RollingUpdate");
    let steps = json!([
        {"role": "decode", "updateTo": 1},
        {"role": "prefill", "updateTo": 1},
        {"role": "prefill", "updateTo": "100%"},
        {"role": "decode", "updateTo": "100%"},
    ]);
    assert_eq!(set["spec"]["coordination"], json!([{"name": "role-upgrade", "steps": steps}]));
    for role in [0, 1] {
        let strategy = &set["spec"]["roles"][role]["updateStrategy"];
        assert_eq!((&strategy["maxUnavailable"], &strategy["maxSurge"]), (&json!(1), &json!(0)));
    }
    assert_eq!(set["spec"]["roles"][0]["members"][0]["template"]["spec"]["schedulerName"], "volcano");
}

#[test]
fn of_a_network_topology_what_is_not_handed_on_is_said_by_name() {
    let topology = |more: &str| {
        let group = format!("groupPolicy: {{mode: hard, highestTierAllowed: 1{more}");
        let yaml = MINIMAL.replacen("spec:\n", "spec:\n  schedulerName: volcano\n", 1);
        let yaml = yaml.replacen("    roles:", &format!("    networkTopology: {{{group}}}\n    roles:"), 1);
        lines(&lowered(&yaml, &with_volcano()).warnings)
    };
    let why = "has no effect: Volcano is handed mode and highestTierAllowed of the group's groupPolicy alone";
    assert_eq!(topology("}"), "");
    assert_eq!(
        topology("}, rolePolicy: {mode: hard, highestTierAllowed: 1}"),
        format!("spec.template.networkTopology.rolePolicy: {why}")
    );
    assert_eq!(
        topology(", highestTierName: rack}, roleAffinity: {}"),
        format!(
            "spec.template.networkTopology.groupPolicy.highestTierName: \"rack\": {why}\n\
             spec.template.networkTopology.roleAffinity: {why}"
        )
    );
}

#[test]
fn every_field_is_accepted_and_what_it_does_not_do_is_said() {
    let lowered = lowered(EVERYTHING, &World::default());
    let said = [
        "spec.rolloutStrategy.evictionStrategy: has no effect: evictions are not held back; a PodUnavailableBudget \
         does that, with groups by the label modelserving.volcano.sh/group-name",
        "spec.template.gangPolicy: has no effect: nothing in this cluster schedules gangs",
        "spec.plugins[1]: has no effect: there is no plugin tweaks",
        "spec.template.networkTopology: has no effect: nothing in this cluster knows its network",
        "spec.template.roles[0].networkTopology: has no effect: nothing in this cluster knows its network",
    ];
    assert_eq!(lines(&lowered.warnings).lines().collect::<Vec<_>>(), said);
    let spec = &lowered.set.spec;
    assert_eq!(spec.update_strategy.kind, UpdateType::RollingUpdate);
    assert_eq!(spec.update_strategy.max_unavailable, Percent(50));
    assert_eq!(spec.revision_history_limit, 3);
    let prefill = spec.roles[0].strategy();
    let numbers = (prefill.max_unavailable, prefill.max_surge, prefill.partition);
    assert_eq!(numbers, (Percent(50), Percent(25), Int(1)));
    assert_eq!(spec.roles[0].restart_type(), RestartType::None);
    assert_eq!(
        serde_json::to_value(&spec.coordination).expect("JSON"),
        json!([{
            "name": "role-upgrade",
            "roles": ["prefill", "decode"],
            "rollingUpdate": {"maxSkew": "50%"},
            "steps": [{"role": "decode", "updateTo": 1}, {"role": "prefill", "updateTo": 1}],
        }])
    );
    let spread = |role: usize, n: usize| {
        spec.roles[role].members[0].template["spec"]["topologySpreadConstraints"][n].clone()
    };
    assert_eq!(
        spread(0, 0)["labelSelector"],
        json!({"matchLabels": {"modelserving.volcano.sh/name": "full"}})
    );
    assert_eq!((&spread(1, 0)["maxSkew"], &spread(1, 1)["maxSkew"]), (&json!(2), &json!(1)));
}

#[test]
fn gangs_are_made_by_whoever_can() {
    let served = |volcano, pod_groups| World {
        served: Served { volcano, pod_groups, pod_gangs: true },
        ..World::default()
    };
    let other = SEVERAL_NODES.replace("schedulerName: volcano", "schedulerName: other");
    let without = SEVERAL_NODES.replace("    gangPolicy:\n      minRoleReplicas:\n        405b: 1\n", "");
    for (yaml, world, scheduler, least) in [
        (SEVERAL_NODES, served(true, true), GangScheduler::Volcano, Some(Int(1))),
        (SEVERAL_NODES, served(false, true), GangScheduler::PodGroup, Some(Int(1))),
        (SEVERAL_NODES, served(false, false), GangScheduler::None, None),
        (&other, served(true, true), GangScheduler::PodGroup, Some(Int(1))),
        (&other, served(true, false), GangScheduler::None, None),
        (&without, served(true, true), GangScheduler::None, None),
    ] {
        let set = lowered(yaml, &world).set;
        assert_eq!(
            (set.spec.gang.scheduler, set.spec.roles[0].min_available),
            (scheduler, least),
            "{world:?}"
        );
    }
}

#[test]
fn what_others_read_on_the_object_is_on_the_set() {
    let mut given = object(SEVERAL_NODES);
    given["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
    let set = dialect().lower(&given, &with_volcano()).expect("accepted").set;
    assert_eq!(set.metadata.namespace.as_deref(), Some("models"));
    assert_eq!(set.metadata.labels["team"], "inference");
    assert_eq!(set.metadata.annotations.keys().collect::<Vec<_>>(), ["scheduling.volcano.sh/queue-name"]);
}

#[test]
fn an_autoscaler_sets_the_replicas_of_a_role() {
    let scaled = |role: &str, replicas: u32| {
        let spec = json!({"modelServingRef": {"name": "llama"}, "roleName": role, "replicas": replicas});
        let object = json!({
            "apiVersion": "workload.serving.volcano.sh/v1alpha1",
            "kind": "ModelServingRoleReplica",
            "metadata": {"name": "scale"},
            "spec": spec,
        });
        World { objects: vec![object], ..World::default() }
    };
    let steps = |world: &World| {
        let set = json_of(ORDERED, world);
        let steps = set["spec"]["coordination"][0]["steps"].as_array().cloned().unwrap_or_default();
        let steps: Vec<String> = steps.iter().map(|step| step["updateTo"].to_string()).collect();
        (set["spec"]["roles"][0]["replicas"].clone(), steps.join(" "))
    };
    assert_eq!(steps(&scaled("prefill", 7)), (json!(7), "1 1 7 \"100%\"".to_owned()));
    // Fewer than a step asks for, or none: the order stays, and the set is still a good one.
    assert_eq!(steps(&scaled("prefill", 1)), (json!(1), "1 1 1 \"100%\"".to_owned()));
    assert_eq!(steps(&scaled("prefill", 0)), (json!(0), "1 \"100%\" \"100%\" \"100%\"".to_owned()));
    assert_eq!(steps(&scaled("nobody", 3)).0, json!(4));
}

#[test]
fn the_definitions_are_what_an_api_server_takes() {
    let definitions = dialect().definitions();
    let names: Vec<&str> = definitions.iter().filter_map(|it| it["metadata"]["name"].as_str()).collect();
    let group = "workload.serving.volcano.sh";
    assert_eq!(names, [format!("modelservings.{group}"), format!("modelservingrolereplicas.{group}")]);
    let version = &definitions[0]["spec"]["versions"][0];
    assert_eq!(version["subresources"]["scale"]["labelSelectorPath"], ".status.labelSelector");
    let text = definitions[0].to_string();
    // What the user did not write must not come back from the server.
    assert!(!text.contains("\"default\":"), "{text}");
    assert!(!text.contains("$ref") && !text.contains("anyOf"), "{text}");
}

#[test]
fn a_gang_keeps_its_minimum() {
    let old = object(SEVERAL_NODES);
    let changed = |from: &str, to: &str| object(&SEVERAL_NODES.replace(from, to));
    let none = changed("    gangPolicy:\n      minRoleReplicas:\n        405b: 1\n", "");
    let cases = [
        (&old, &old, ""),
        (&old, &none, "spec.template.gangPolicy: cannot be removed once it is set"),
        (&none, &old, ""),
        (
            &old,
            &changed("405b: 1", "405b: 2"),
            "spec.template.gangPolicy.minRoleReplicas: cannot be changed once it is set",
        ),
    ];
    for (old, new, said) in cases {
        assert_eq!(lines(&dialect().forbidden_changes(old, new)), said);
    }
}

#[test]
fn what_a_platform_team_writes_is_accepted() {
    let lowered = lowered(REALISTIC, &with_volcano());
    assert_eq!(lines(&lowered.warnings), "");
    let restarts = lowered.set.spec.roles[0].restart_policy.expect("it has one");
    assert_eq!(restarts.grace_period_seconds, 60);
    let handed = &lowered.set.metadata.annotations;
    assert_eq!(handed["volcano.sh/network-topology-mode"], "soft");
    assert_eq!(handed["volcano.sh/network-topology-highest-tier"], "2");
    assert_eq!(lowered.set.spec.gang.scheduler, GangScheduler::Volcano);
}

#[test]
fn names_that_become_too_long_are_a_matter_of_the_name() {
    let long = "a-name-that-leaves-no-room-for-a-role-and-its-ordinals";
    let problems = lower(&MINIMAL.replace("name: small", &format!("name: {long}")), &World::default());
    let said = format!("metadata.name: {long}-0-server-0-0 has 67 characters, 4 too many");
    assert_eq!(lines(&problems.expect_err("it does not fit")), said);
}

/// A change of these rolls the pods of everybody who upgrades the operator.
#[test]
fn revisions_stay_what_they_are() {
    let revisions = |yaml: &str| {
        let spec = lockstep_api::lower(&lowered(yaml, &World::default()).set);
        spec.roles.iter().map(|role| role.revision.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(revisions(MINIMAL), ["665ff2ea49"]);
    assert_eq!(revisions(SEVERAL_NODES), ["0c16cb0179"]);
}
