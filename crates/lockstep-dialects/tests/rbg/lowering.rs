//! Manifests as people have them, and every pod, label and address that comes of them.

use lockstep_api::proof::Verdict;
use lockstep_api::{GangScheduler, RestartType, UpdateType, yaml_to_json};
use lockstep_core::number::IntOrPercent;
use lockstep_dialects::{Dialect, rbg::Rbg};
use serde_json::{Value, json};

use crate::common::{Pod, documents, first, lowered, pods, said, world};

const OLD: &str = include_str!("../manifests/rbg/old-words.yaml");
const NEW: &str = include_str!("../manifests/rbg/new-words.yaml");
const SETS: &str = include_str!("../manifests/rbg/sets.yaml");
const PARTITION: &str = include_str!("../manifests/rbg/seed-partition.yaml");
const AFFINITY: &str = include_str!("../manifests/rbg/seed-affinity.yaml");

#[test]
fn every_manifest_is_accepted_and_can_finish() {
    for text in [OLD, NEW, SETS, PARTITION, AFFINITY] {
        for result in lowered(text) {
            let lowered = result.unwrap_or_else(|problems| panic!("{}", said(&problems).join("\n")));
            assert_eq!(lowered.prove(None), Verdict::Finish, "{}", lowered.set.metadata.name);
        }
    }
}

fn names(pods: &[Pod]) -> Vec<String> {
    pods.iter().map(|pod| format!("{}.{}", pod.name, pod.subdomain)).collect()
}

#[test]
fn pods_are_called_as_routers_know_them() {
    let (old, new) = (first(OLD), first(NEW));
    let cases = [
        (&old, "router", 0, vec!["old-words-router-0.s-old-words-router"]),
        (&old, "prefill", 3, vec!["old-words-prefill-3.s-old-words-prefill"]),
        (
            &old,
            "decode",
            1,
            vec![
                "old-words-decode-1.old-words-decode",
                "old-words-decode-1-1.old-words-decode",
                "old-words-decode-1-2.old-words-decode",
            ],
        ),
        (
            &old,
            "store",
            0,
            vec![
                "old-words-store-0-index-0.s-old-words-store",
                "old-words-store-0-shard-0.shards",
                "old-words-store-0-shard-1.shards",
            ],
        ),
        // The role's service is for leaders unless it is said to be for all.
        (
            &new,
            "prefill",
            1,
            vec![
                "new-words-prefill-1-0.s-new-words-prefill",
                "new-words-prefill-1-1.",
                "new-words-prefill-1-2.",
            ],
        ),
        (
            &new,
            "decode",
            0,
            vec!["new-words-decode-0-0.s-new-words-decode", "new-words-decode-0-1.s-new-words-decode"],
        ),
    ];
    for (lowered, role, instance, wanted) in cases {
        assert_eq!(names(&pods(lowered, role, 0, instance)), wanted, "{role}");
    }
    assert_eq!(names(&pods(&first(SETS), "server", 1, 0)), ["many-1-server-0.s-many-1-server"]);
}

#[test]
fn pods_carry_what_start_scripts_read() {
    let pods = pods(&first(NEW), "decode", 0, 1);
    assert_eq!(
        pods[1].env,
        [
            "RBG_COMPONENT_INDEX=0",
            "RBG_COMPONENT_NAME=worker",
            "RBG_GROUP_NAME=new-words",
            "RBG_LWP_GROUP_SIZE=2",
            "RBG_LWP_LEADER_ADDRESS=new-words-decode-1-0.s-new-words-decode.default",
            "RBG_LWP_WORKER_INDEX=1",
            "RBG_ROLE_INDEX=1",
            "RBG_ROLE_INSTANCE_NAME=new-words-decode-1",
            "RBG_ROLE_NAME=decode",
        ]
    );
    assert_eq!(
        pods[1].labels,
        [
            "rbg.workloads.x-k8s.io/component-id=0",
            "rbg.workloads.x-k8s.io/component-index=1",
            "rbg.workloads.x-k8s.io/component-name=worker",
            "rbg.workloads.x-k8s.io/component-size=2",
            "rbg.workloads.x-k8s.io/group-name=new-words",
            "rbg.workloads.x-k8s.io/group-uid=uid",
            "rbg.workloads.x-k8s.io/role-instance-index=1",
            "rbg.workloads.x-k8s.io/role-instance-name=new-words-decode-1",
            "rbg.workloads.x-k8s.io/role-name=decode",
            "rbg.workloads.x-k8s.io/role-revision=rev",
            "rolebasedgroup.workloads.x-k8s.io/name=new-words",
            "rolebasedgroup.workloads.x-k8s.io/role=decode",
        ]
    );
    let lws = &crate::common::pods(&first(OLD), "decode", 0, 0)[2];
    for wanted in [
        "LWS_LEADER_ADDRESS=old-words-decode-0.old-words-decode.default",
        "LWS_GROUP_SIZE=3",
        "LWS_WORKER_INDEX=2",
    ] {
        assert!(lws.env.iter().any(|env| env == wanted), "{wanted} in {:?}", lws.env);
    }
}

#[test]
fn the_words_of_both_versions_become_the_same_fields() {
    let old = first(OLD);
    let spec = &old.set.spec;
    assert_eq!(spec.progress_deadline_seconds, 3600);
    assert_eq!(spec.gang.scheduler, GangScheduler::PodGroup);
    let role = |name: &str| spec.roles.iter().find(|role| role.name == name).expect("role");
    assert_eq!(role("prefill").restart_type(), RestartType::Group);
    assert_eq!(role("decode").restart_type(), RestartType::Instance);
    assert_eq!(role("router").restart_type(), RestartType::None);
    assert_eq!(role("router").starts_after, ["prefill", "decode"]);
    assert_eq!(role("decode").strategy().max_surge, IntOrPercent::Int(1));
    let rule = &spec.coordination[0];
    assert_eq!(rule.rolling_update.expect("rolling").max_skew, IntOrPercent::Percent(10));
    assert!(rule.scaling.is_some());

    let new = first(NEW);
    let spec = &new.set.spec;
    assert_eq!(spec.gang.scheduler, GangScheduler::Volcano);
    let least: Vec<_> = spec.roles.iter().map(|role| role.min_available).collect();
    assert_eq!(least, [None, Some(IntOrPercent::Int(1)), Some(IntOrPercent::Int(1)), None]);
    let restart = spec.roles[2].restart_policy.expect("policy");
    assert_eq!((restart.base_delay_seconds, restart.max_delay_seconds), (5, 60));
    assert_eq!(spec.roles[1].restart_type(), RestartType::None);

    let sets: Vec<_> = lowered(SETS).into_iter().map(|it| it.expect("a set").set).collect();
    assert_eq!((sets[0].spec.replicas, sets[0].spec.update_strategy.kind), (2, UpdateType::GroupRecreate));
    assert_eq!((sets[1].spec.replicas, sets[1].spec.update_strategy.kind), (3, UpdateType::RollingUpdate));
}

#[test]
fn templates_are_patched_and_dressed() {
    let old = first(OLD);
    let template = |name: &str| {
        old.set.spec.roles.iter().find(|role| role.name == name).and_then(|role| role.template.clone())
    };
    let prefill = template("prefill").expect("template");
    let containers = &prefill["spec"]["containers"];
    assert_eq!(containers[0]["env"], json!([{"name": "MODE", "value": "prefill"}]));
    assert_eq!(containers[0]["volumeMounts"][0]["mountPath"], "/etc/rbg");
    assert_eq!(containers[1]["name"], "agent");
    assert_eq!(containers[1]["args"], json!(["--port=1", "--role=prefill"]));
    assert_eq!(containers[1]["env"], json!([{"name": "PORT", "value": "8000"}]));
    assert_eq!(prefill["spec"]["initContainers"][0]["name"], "prepare");
    let volumes: Vec<&Value> =
        prefill["spec"]["volumes"].as_array().into_iter().flatten().map(|volume| &volume["name"]).collect();
    assert_eq!(volumes, ["scratch", "rbg-cluster-config"]);
    let affinity = &prefill["spec"]["affinity"];
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    assert_eq!(affinity["podAffinity"][required][0]["topologyKey"], "kubernetes.io/hostname");
    // An API server refuses a key that is both selected and matched.
    let selected = &affinity["podAffinity"][required][0]["labelSelector"]["matchExpressions"][0]["key"];
    assert_eq!(selected, "rbg.workloads.x-k8s.io/role-name");
    assert_eq!(
        affinity["podAntiAffinity"][required][0]["mismatchLabelKeys"],
        json!(["rbg.workloads.x-k8s.io/group-name"])
    );
    // A Deployment's pods have no names to be found by.
    let router = template("router").expect("template");
    assert!(router["spec"]["volumes"].is_null(), "{router}");

    let members = &old.set.spec.roles[2].members;
    let parts: Vec<&Value> = members.iter().map(|it| &it.template["metadata"]["labels"]["part"]).collect();
    assert_eq!(parts, ["leader", "worker"]);
    let metadata = &members[0].template["metadata"];
    assert_eq!(metadata["labels"]["tier"], "back");
    assert_eq!(metadata["annotations"], json!({"note": "{braces} are fine"}));
}

#[test]
fn what_stands_beside_a_group() {
    let old = first(OLD);
    let kinds: Vec<String> = old
        .beside
        .iter()
        .map(|it| format!("{} {}", it["kind"], it["metadata"]["name"]).replace('"', ""))
        .collect();
    assert_eq!(
        kinds,
        [
            "ConfigMap old-words",
            "Service s-old-words-router",
            "RoleBasedGroupScalingAdapter old-words-prefill",
            "Service s-old-words-decode"
        ]
    );
    let config = yaml_to_json(old.beside[0]["data"]["config.yaml"].as_str().expect("text")).expect("YAML");
    assert_eq!(
        config["group"],
        json!({"name": "old-words", "size": 4, "roles": ["router", "prefill", "decode", "store"]})
    );
    assert_eq!(
        config["roles"]["router"],
        json!({"size": 1, "instances": [{"address": "old-words-router-0.s-old-words-router", "ports": {"http_main": 8000}}]})
    );
    assert_eq!(config["roles"]["decode"]["instances"][1]["address"], "old-words-decode-1.old-words-decode");
    assert_eq!(
        config["roles"]["store"]["instances"][0]["address"],
        "old-words-store-0-index-0.s-old-words-store"
    );
    let set = &lowered(SETS)[0];
    let data = &set.as_ref().expect("a set").beside[0]["data"];
    let files: Vec<&String> = data.as_object().into_iter().flatten().map(|(key, _)| key).collect();
    assert_eq!(files, ["many-0.yaml", "many-1.yaml"]);
}

#[test]
fn an_adapter_that_was_written_to_holds() {
    let mut objects = documents(OLD);
    let adapter = first(OLD).beside[2].clone();
    objects.push(adapter);
    let last = objects.len() - 1;
    objects[last]["spec"]["replicas"] = json!(7);
    let lowered = Rbg.lower(&objects[0], &world(&objects)).expect("accepted");
    assert_eq!(lowered.set.spec.roles[1].replicas, 7);
    let warned = said(&lowered.warnings);
    let wanted =
        "spec.roles[1].replicas: 4: 7 is used: RoleBasedGroupScalingAdapter old-words-prefill says so";
    assert!(warned.iter().any(|it| it == wanted), "{warned:#?}");
    let adapter =
        lowered.beside.iter().find(|it| it["kind"] == "RoleBasedGroupScalingAdapter").expect("adapter");
    assert_eq!(adapter["spec"]["replicas"], 7);
}

/// Somebody's own adapter takes the place of ours, and gets the number it needs to be scaled from.
#[test]
fn an_adapter_that_somebody_made_takes_the_place_of_ours() {
    let mut objects = documents(OLD);
    let target = json!({"name": "old-words", "role": "prefill"});
    objects.push(json!({
        "apiVersion": "workloads.x-k8s.io/v1alpha2",
        "kind": "RoleBasedGroupScalingAdapter",
        "metadata": {"name": "mine"},
        "spec": {"scaleTargetRef": target},
    }));
    objects.push(first(OLD).beside[2].clone());
    let adapters = |objects: &[Value]| -> Vec<(Value, Value)> {
        let lowered = Rbg.lower(&objects[0], &world(objects)).expect("accepted");
        let adapters = lowered.beside.iter().filter(|it| it["kind"] == "RoleBasedGroupScalingAdapter");
        adapters.map(|it| (it["metadata"]["name"].clone(), it["spec"]["replicas"].clone())).collect()
    };
    assert_eq!(adapters(&objects), [(json!("mine"), json!(4))]);
    objects[2]["spec"]["replicas"] = json!(9);
    assert_eq!(adapters(&objects), [(json!("mine"), json!(9))]);
}

#[test]
fn null_in_a_patch_takes_a_field_away() {
    let lowered = first(
        "
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: llama}
spec:
  roles:
  - name: decode
    minReadySeconds: null
    leaderWorkerPattern:
      size: 2
      template: {spec: {nodeSelector: {gpu: big}, containers: [{name: c, image: x, command: [serve]}]}}
      leaderTemplatePatch: {spec: {nodeSelector: null, containers: [{name: c, command: null}]}}
      workerTemplatePatch: null
",
    );
    let spec = |member: usize| lowered.set.spec.roles[0].members[member].template["spec"].clone();
    let shown = |spec: Value| json!([spec["nodeSelector"], spec["containers"][0]["command"]]);
    assert_eq!(shown(spec(0)), json!([null, null]));
    assert_eq!(shown(spec(1)), json!([{"gpu": "big"}, ["serve"]]));
}
