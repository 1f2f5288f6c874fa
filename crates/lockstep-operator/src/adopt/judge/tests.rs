//! Pods as each of the originals lays them out, and what becomes of them.

use lockstep_api::yaml_to_json;
use lockstep_dialects::World;
use serde_json::json;

use super::*;
use crate::act::Maker;
use crate::adopt::{Estate, patch};

const KTHENA: &str = "
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: llama, namespace: ml, uid: u-object}
spec:
  replicas: 1
  template:
    roles:
    - name: prefill
      replicas: 2
      workerReplicas: 1
      entryTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
      workerTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

const GROVE: &str = "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: llama, namespace: ml, uid: u-object}
spec:
  replicas: 1
  template:
    cliques:
    - {name: router, spec: {roleName: router, replicas: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
    - {name: leader, spec: {roleName: leader, replicas: 1, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
    - {name: worker, spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
    podCliqueScalingGroups:
    - {name: pd, cliqueNames: [leader, worker], replicas: 1}
";

const RBG: &str = "
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: llama, namespace: ml, uid: u-object}
spec:
  roles:
  - name: decode
    replicas: 2
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
  - name: prefill
    replicas: 1
    leaderWorkerPattern: {size: 2, template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
  - name: router
    replicas: 2
    workload: {apiVersion: apps/v1, kind: Deployment}
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
";

/// The config of an RBG, mounted into pods that keep their names.
fn configured(pod: &mut Value) {
    let items = json!([{"key": "config.yaml", "path": "config.yaml"}]);
    let config = json!({"name": "llama", "items": items, "defaultMode": 420});
    pod["spec"]["volumes"] = json!([{"name": "rbg-cluster-config", "configMap": config}]);
    let mount = json!({"name": "rbg-cluster-config", "mountPath": "/etc/rbg", "readOnly": true});
    pod["spec"]["containers"][0]["volumeMounts"] = json!([mount]);
}

fn pod(name: &str, labels: Value, host: Option<(&str, &str)>, image: &str) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "ml", "uid": format!("u-{name}"), "resourceVersion": "7", "labels": labels,
            "ownerReferences": [{"uid": "u-between", "controller": true, "kind": "X", "name": "x"}],
        },
        "spec": {"nodeName": "n", "containers": [{"name": "main", "image": image}]},
    });
    if let Some((host, domain)) = host {
        pod["spec"]["hostname"] = json!(host);
        pod["spec"]["subdomain"] = json!(domain);
    }
    pod
}

fn judged(manifest: &str, pods: &[Value]) -> (Adoption, SetRef) {
    let object = yaml_to_json(manifest).unwrap();
    let (dialect, _) = lockstep_dialects::of(&object).unwrap();
    let lowered = dialect.lower(&object, &World::default()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let maker = Maker {
        api_version: text(&object["apiVersion"]),
        kind: text(&object["kind"]),
        name: "llama".into(),
        uid: "u-object".into(),
    };
    let set = SetRef {
        namespace: "ml".into(),
        name: "llama".into(),
        uid: "u-set".into(),
        maker: Some(maker),
        volcano: crate::act::Volcano::default(),
    };
    let all: Vec<&Value> = pods.iter().collect();
    (judge(&set, &lowered.set, dialect.original().volumes, &all), set)
}

fn lines(adoption: &Adoption) -> Vec<String> {
    let line = |pod: &Judged| {
        let seat = pod.seat.as_ref().map_or_else(|| "nowhere".to_owned(), ToString::to_string);
        format!("{} {:?}: {seat}", pod.name, pod.fate)
    };
    adoption.pods.iter().map(line).collect()
}

fn kthena(instance: u32, k: u32, image: &str) -> Value {
    let labels = json!({"modelserving.volcano.sh/name": "llama", "modelserving.volcano.sh/role": "prefill"});
    pod(&format!("llama-0-prefill-{instance}-{k}"), labels, None, image)
}

#[test]
fn a_pod_of_an_older_template_takes_its_instance_along() {
    let pods =
        [kthena(0, 0, "vllm:1"), kthena(0, 1, "vllm:1"), kthena(1, 0, "vllm:1"), kthena(1, 1, "vllm:0")];
    let (adoption, _) = judged(KTHENA, &pods);
    let expected = [
        "llama-0-prefill-0-0 Stays: group 0, prefill-0, entry-0",
        "llama-0-prefill-0-1 Stays: group 0, prefill-0, worker-0",
        "llama-0-prefill-1-0 Rolls: group 0, prefill-1, entry-0",
        "llama-0-prefill-1-1 Rolls: group 0, prefill-1, worker-0",
    ];
    assert_eq!(lines(&adoption), expected);
    assert_eq!(adoption.pods[2].because, ["another pod of its instance is of an older template"]);
    assert_eq!(adoption.pods[3].because, ["containers[main].image is vllm:0, would be vllm:1"]);
    assert_eq!(
        adoption.pods[0].lacks,
        [
            "containers[main].env[ENTRY_ADDRESS]",
            "containers[main].env[GROUP_SIZE]",
            "containers[main].env[WORKER_INDEX]",
            "hostname",
            "subdomain"
        ]
    );
    // What it was made from is stored, so that it could come back as it was.
    let [former] = adoption.former.as_slice() else { panic!("{:?}", adoption.former) };
    let role = &former.roles[&RoleName::new("prefill")];
    assert_eq!(Some(role.revision), adoption.pods[2].revision);
    assert_eq!(role.revision, Revision::of(&role.content));
    let content = role.content().unwrap();
    assert_eq!(content.members[1].template["spec"]["containers"][0]["image"], "vllm:0");
    assert!(content.members[1].template["spec"].get("nodeName").is_none());
    assert_eq!(adoption.pods[2].labels[label::SET_REVISION], former.revision().as_str());
    assert_ne!(adoption.pods[0].revision, adoption.pods[2].revision);
}

#[test]
fn sizes_that_changed_make_an_instance_older_and_missing_pods_are_created() {
    let pods = [
        kthena(0, 0, "vllm:1"),
        kthena(1, 0, "vllm:1"),
        kthena(1, 1, "vllm:1"),
        kthena(1, 2, "vllm:1"),
        kthena(2, 0, "vllm:1"),
    ];
    let (adoption, _) = judged(KTHENA, &pods);
    let fates: Vec<Fate> = adoption.pods.iter().map(|pod| pod.fate).collect();
    assert_eq!(
        fates,
        [Fate::Stays, Fate::Rolls, Fate::Rolls, Fate::Rolls, Fate::Goes],
        "{:?}",
        lines(&adoption)
    );
    assert!(adoption.pods[3].because.contains(&"there are only 1 of worker now".to_owned()));
    let missing: Vec<String> = adoption.missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["group 0, prefill-0, worker-0"]);
}

#[test]
fn pods_with_random_letters_are_known_by_their_host_names() {
    let at = |host| Some((host, "llama-0"));
    let labels = || json!({"app.kubernetes.io/part-of": "llama"});
    let mut gated = pod("llama-0-router-1-kx2p9", labels(), at("llama-0-router-1"), "vllm:1");
    gated["spec"]["schedulingGates"] = json!([{"name": "grove.io/podgang-pending-creation"}]);
    let pods = [
        pod("llama-0-router-0-x7k2p", labels(), at("llama-0-router-0"), "vllm:1"),
        gated,
        pod("llama-0-pd-0-leader-0-aaaaa", labels(), at("llama-0-pd-0-leader-0"), "vllm:1"),
        pod("llama-0-pd-0-worker-1-bbbbb", labels(), at("llama-0-pd-0-worker-1"), "vllm:1"),
        pod("llama-0-pd-0-worker-0-ccccc", labels(), at("llama-0-pd-0-worker-0"), "vllm:1"),
        pod("llama-0-pd-0-worker-0-ddddd", labels(), at("llama-0-pd-0-worker-0"), "vllm:1"),
    ];
    let (adoption, _) = judged(GROVE, &pods);
    let expected = [
        "llama-0-pd-0-leader-0-aaaaa Stays: group 0, pd-0, leader-0",
        "llama-0-pd-0-worker-0-ccccc Stays: group 0, pd-0, worker-0",
        "llama-0-pd-0-worker-1-bbbbb Stays: group 0, pd-0, worker-1",
        "llama-0-router-0-x7k2p Stays: group 0, router-0",
        "llama-0-router-1-kx2p9 Rolls: group 0, router-1",
        "llama-0-pd-0-worker-0-ddddd Left: nowhere",
    ];
    assert_eq!(lines(&adoption), expected);
    let held = "held by grove.io/podgang-pending-creation, which nobody lifts: it never started";
    assert_eq!(adoption.pods[4].because, [held]);
}

#[test]
fn pods_of_a_deployment_take_the_places_that_are_free() {
    let labels = |role: &str, index: &str| {
        json!({
            "rbg.workloads.x-k8s.io/group-name": "llama", "rbg.workloads.x-k8s.io/role-name": role,
            "rbg.workloads.x-k8s.io/role-instance-index": index,
        })
    };
    let router = || json!({"rbg.workloads.x-k8s.io/group-name": "llama", "rbg.workloads.x-k8s.io/role-name": "router"});
    let mut pods = vec![
        pod("llama-decode-1", labels("decode", "1"), Some(("llama-decode-1", "s-llama-decode")), "vllm:1"),
        pod("llama-decode-0", labels("decode", "0"), Some(("llama-decode-0", "old-service")), "vllm:1"),
        pod("llama-prefill-0-0", labels("prefill", "0"), None, "vllm:1"),
        pod("llama-prefill-0-1", labels("prefill", "0"), None, "vllm:1"),
    ];
    pods.iter_mut().for_each(configured);
    pods.extend(
        ["a1b2c", "d3e4f", "g5h6i"]
            .map(|it| pod(&format!("llama-router-6d4b-{it}"), router(), None, "vllm:1")),
    );
    let (adoption, set) = judged(RBG, &pods);
    let expected = [
        "llama-decode-0 Rolls: group 0, decode-0",
        "llama-decode-1 Stays: group 0, decode-1",
        "llama-prefill-0-0 Stays: group 0, prefill-0, leader-0",
        "llama-prefill-0-1 Stays: group 0, prefill-0, worker-0",
        "llama-router-6d4b-a1b2c Stays: group 0, router-0",
        "llama-router-6d4b-d3e4f Stays: group 0, router-1",
        "llama-router-6d4b-g5h6i Goes: group 0, router-2",
    ];
    assert_eq!(lines(&adoption), expected);
    assert_eq!(adoption.pods[0].because, ["subdomain is old-service, would be s-llama-decode"]);

    // Once they are the set's own they keep their places, whatever order they are found in.
    let former = BTreeSet::from(["u-between"]);
    for judged in &adoption.pods {
        let pod = pods.iter_mut().find(|pod| pod["metadata"]["name"] == judged.name.as_str()).unwrap();
        let patched = patch(judged, pod, &set, &former).unwrap();
        assert_eq!(patched["metadata"]["resourceVersion"], "7");
        for (key, value) in patched["metadata"]["labels"].as_object().unwrap() {
            pod["metadata"]["labels"][key] = value.clone();
        }
        pod["metadata"]["ownerReferences"] = patched["metadata"]["ownerReferences"].clone();
        assert_eq!(pod["metadata"]["ownerReferences"], json!([set.owner_reference()]));
    }
    pods.reverse();
    let (again, set) = judged_again(&pods);
    assert_eq!(lines(&again), expected);
    for judged in &again.pods {
        let pod = pods.iter().find(|pod| pod["metadata"]["name"] == judged.name.as_str()).unwrap();
        assert_eq!(patch(judged, pod, &set, &former), None, "{}", judged.name);
    }
}

fn judged_again(pods: &[Value]) -> (Adoption, SetRef) {
    judged(RBG, pods)
}

#[test]
fn whose_a_pod_is() {
    let object = yaml_to_json(RBG).unwrap();
    let lowered = lockstep_dialects::ALL[0].lower(&object, &World::default()).unwrap();
    let owned = |name: &str, uid: &str, by: Option<&str>, labels: Value| {
        let owners: Vec<Value> = by.iter().map(|by| json!({"uid": by, "controller": true})).collect();
        json!({"kind": "X", "metadata": {"name": name, "uid": uid, "ownerReferences": owners, "labels": labels}})
    };
    let none = || json!({});
    let mut marked = owned("orphan", "u-5", None, none());
    marked["metadata"]["annotations"] = json!({label::LEFT_BY: "u-object"});
    let named = |name: &str| json!({"rbg.workloads.x-k8s.io/group-name": name});
    let others = [
        owned("instance", "u-2", Some("u-1"), none()),
        owned("set", "u-1", Some("u-object"), none()),
        owned("loop", "u-3", Some("u-3"), none()),
        owned("foreign", "u-4", Some("u-x"), none()),
        marked,
    ];
    let pods = [
        owned("deep", "p-1", Some("u-2"), none()),
        owned("direct", "p-2", Some("u-object"), none()),
        owned("worker", "p-3", Some("p-1"), none()),
        owned("lost", "p-4", None, named("llama")),
        owned("lost-of-another", "p-5", None, named("other")),
        owned("nobodys", "p-6", None, none()),
        owned("looped", "p-7", Some("u-3"), none()),
        owned("of-another", "p-8", Some("u-4"), named("llama")),
        owned("ours", "p-9", Some("u-set"), none()),
        owned("below-an-orphan", "p-10", Some("u-5"), none()),
    ];
    let estate = Estate::of(&object, &lowered.set, "u-set", &others, &pods);
    let names = |all: &[&Value]| -> Vec<String> { all.iter().map(|it| name(it).to_owned()).collect() };
    assert_eq!(names(&estate.pods), ["deep", "direct", "worker", "lost", "ours", "below-an-orphan"]);
    assert_eq!(names(&estate.between), ["orphan", "set", "instance"], "owners come first");
}

const GROUP_SET: &str = "
apiVersion: workloads.x-k8s.io/v1alpha1
kind: RoleBasedGroupSet
metadata: {name: llama, namespace: ml, uid: u-object}
spec:
  replicas: 2
  template:
    roles:
    - name: decode
      replicas: 1
      template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
    - name: prefill
      replicas: 1
      workload: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet}
      leaderWorkerSet: {size: 2, patchLeaderTemplate: null, patchWorkerTemplate: null}
      template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

/// A pod of a group of a set, with the config map that each group has in the original.
fn in_set(group: u32, role: &str, name: &str, service: &str, image: &str) -> Value {
    let labels = json!({
        "rolebasedgroup.workloads.x-k8s.io/name": format!("llama-{group}"),
        "rolebasedgroup.workloads.x-k8s.io/role": role,
    });
    let mut pod = pod(name, labels, Some((name, service)), image);
    let config =
        json!({"name": format!("llama-{group}"), "items": [{"key": "config.yaml", "path": "config.yaml"}]});
    pod["spec"]["volumes"] = json!([{"name": "rbg-cluster-config", "configMap": config}]);
    let mount = json!({"name": "rbg-cluster-config", "mountPath": "/etc/rbg"});
    pod["spec"]["containers"][0]["volumeMounts"] = json!([mount]);
    pod
}

#[test]
fn groups_of_a_set_and_leaders_with_workers_of_their_own_kind_stay() {
    let mut pods = Vec::new();
    for (group, image) in [(0, "vllm:1"), (1, "vllm:0")] {
        let decode = format!("llama-{group}-decode-0");
        pods.push(in_set(group, "decode", &decode, &format!("s-llama-{group}-decode"), "vllm:1"));
        let workload = format!("llama-{group}-prefill");
        for (k, name) in [format!("{workload}-0"), format!("{workload}-0-1")].into_iter().enumerate() {
            let mut pod = in_set(group, "prefill", &name, &workload, image);
            let leader = format!("{workload}-0.{workload}.ml");
            pod["spec"]["containers"][0]["env"] = json!([
                {"name": "LWS_LEADER_ADDRESS", "value": leader},
                {"name": "LWS_GROUP_SIZE", "value": "2"},
                {"name": "LWS_WORKER_INDEX", "value": k.to_string()},
            ]);
            pods.push(pod);
        }
    }
    let (adoption, _) = judged(GROUP_SET, &pods);
    let expected = [
        "llama-0-decode-0 Stays: group 0, decode-0",
        "llama-0-prefill-0 Stays: group 0, prefill-0, leader-0",
        "llama-0-prefill-0-1 Stays: group 0, prefill-0, worker-0",
        "llama-1-decode-0 Stays: group 1, decode-0",
        "llama-1-prefill-0 Rolls: group 1, prefill-0, leader-0",
        "llama-1-prefill-0-1 Rolls: group 1, prefill-0, worker-0",
    ];
    assert_eq!(lines(&adoption), expected, "{:#?}", adoption.pods);
    assert!(adoption.missing.is_empty(), "{:?}", adoption.missing);
}

#[test]
fn workers_belong_to_their_leader_and_it_to_the_set() {
    let object = yaml_to_json(GROUP_SET).unwrap();
    let lowered = lockstep_dialects::ALL[0].lower(&object, &World::default()).unwrap();
    let owned = |kind: &str, name: &str, by: &str| {
        let owner = json!({"uid": format!("u-{by}"), "controller": true});
        json!({"kind": kind, "metadata": {"name": name, "uid": format!("u-{name}"), "ownerReferences": [owner]}})
    };
    let others = [
        owned("RoleBasedGroup", "llama-0", "object"),
        owned("LeaderWorkerSet", "lws", "llama-0"),
        owned("StatefulSet", "leaders", "lws"),
        owned("StatefulSet", "workers", "llama-0-prefill-0"),
    ];
    let pods = [owned("Pod", "llama-0-prefill-0", "leaders"), owned("Pod", "llama-0-prefill-0-1", "workers")];
    let estate = Estate::of(&object, &lowered.set, "", &others, &pods);
    let names = |all: &[&Value]| -> Vec<String> { all.iter().map(|it| name(it).to_owned()).collect() };
    assert_eq!(names(&estate.pods), ["llama-0-prefill-0", "llama-0-prefill-0-1"]);
    assert_eq!(names(&estate.between), ["llama-0", "lws", "leaders", "workers"], "owners come first");
}
