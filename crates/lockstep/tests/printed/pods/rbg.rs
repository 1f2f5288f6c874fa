//! Pods of a RoleBasedGroup, and of a set of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{Look, Map, compare, found, map, namespace, revision, selected, services, with};
use crate::manifest::yaml;
use crate::story::Story;

pub const ROLE_BASED_GROUP: &str = "
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: pd}
spec:
  roles:
  - name: router
    replicas: 2
    standalonePattern:
      template:
        spec: {containers: [{name: main, image: 'router:1', env: [{name: ME, value: $(RBG_ROLE_INDEX)}]}]}
  - name: prefill
    replicas: 2
    leaderWorkerPattern:
      size: 3
      template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
  - name: cache
    replicas: 1
    customComponentsPattern:
      components:
      - {name: index, size: 1, template: {spec: {containers: [{name: main, image: 'store:1'}]}}}
      - {name: shard, size: 2, template: {spec: {containers: [{name: main, image: 'store:1'}]}}}
";

/// A pod of a RoleBasedGroup: its role and instance, its component, its number in it, in the instance, and of how many.
struct Member<'a> {
    group: &'a str,
    role: &'a str,
    instance: u32,
    pod: String,
    component: &'a str,
    id: u32,
    index: u32,
    size: u32,
}

impl Member<'_> {
    fn look(&self, story: &Story, more: &[(&str, &str)], own: Map) -> Look {
        let Self { group, role, instance, component, .. } = *self;
        let (name, service) = (format!("{group}-{role}-{instance}"), format!("s-{group}-{role}"));
        let uid = story.object["metadata"]["uid"].as_str().expect("a UID").to_owned();
        let (id, index, size) = (self.id.to_string(), self.index.to_string(), self.size.to_string());
        let instance = instance.to_string();
        let mut labels: Map = [
            ("group-name", group),
            ("group-uid", &uid),
            ("role-name", role),
            ("role-instance-name", &name),
            ("role-instance-index", &instance),
            ("component-name", component),
            ("component-id", &id),
            ("component-index", &index),
            ("component-size", &size),
            ("role-revision", &revision(story, &self.pod)),
        ]
        .into_iter()
        .map(|(key, value)| (format!("rbg.workloads.x-k8s.io/{key}"), value.to_owned()))
        .collect();
        labels.extend(map(&[
            ("rolebasedgroup.workloads.x-k8s.io/name", group),
            ("rolebasedgroup.workloads.x-k8s.io/role", role),
        ]));
        let ours = map(&[
            ("RBG_GROUP_NAME", group),
            ("RBG_ROLE_NAME", role),
            ("RBG_ROLE_INDEX", &instance),
            ("RBG_ROLE_INSTANCE_NAME", &name),
            ("RBG_COMPONENT_NAME", component),
            ("RBG_COMPONENT_INDEX", &id),
        ]);
        Look {
            hostname: Some(self.pod.clone()),
            // The service selects leaders alone, unless told: it has no name for workers.
            subdomain: Some(service).filter(|_| component != "worker"),
            labels,
            env: vec![with(ours, more), own],
        }
    }
}

const OF_GROUPS: [&str; 4] = [
    "rbg.workloads.x-k8s.io/",
    "rolebasedgroup.workloads.x-k8s.io/",
    "rolebasedgroupset.workloads.x-k8s.io/",
    "leaderworkerset.",
];

/// The pods of the group above.
fn members(group: &str) -> Vec<Member<'_>> {
    let mut all = Vec::new();
    for instance in 0..2 {
        let pod = format!("{group}-router-{instance}");
        all.push(Member {
            group,
            role: "router",
            instance,
            pod,
            component: "router",
            id: 0,
            index: 0,
            size: 1,
        });
        for index in 0..3 {
            let pod = format!("{group}-prefill-{instance}-{index}");
            let (component, id) = if index == 0 { ("leader", 0) } else { ("worker", index - 1) };
            all.push(Member { group, role: "prefill", instance, pod, component, id, index, size: 3 });
        }
    }
    for (component, size) in [("index", 1), ("shard", 2)] {
        for id in 0..size {
            let pod = format!("{group}-cache-0-{component}-{id}");
            all.push(Member { group, role: "cache", instance: 0, pod, component, id, index: id, size });
        }
    }
    all
}

fn look_of(member: &Member<'_>, story: &Story) -> Look {
    let own = if member.role == "router" { map(&[("ME", "$(RBG_ROLE_INDEX)")]) } else { Map::new() };
    if member.role != "prefill" {
        return member.look(story, &[], own);
    }
    let Member { group, instance, index, .. } = member;
    let leader = format!("{group}-prefill-{instance}-0.s-{group}-prefill.{}", namespace(story));
    let more = [
        ("RBG_LWP_LEADER_ADDRESS", leader.as_str()),
        ("RBG_LWP_WORKER_INDEX", &index.to_string()),
        ("RBG_LWP_GROUP_SIZE", "3"),
    ];
    member.look(story, &more, own)
}

fn ours_of(pod: &Pod) -> usize {
    if pod.labels()["rbg.workloads.x-k8s.io/role-name"] == "prefill" { 9 } else { 6 }
}

pub fn check(story: &Story) {
    let expected = members("pd").into_iter().map(|it| (it.pod.clone(), look_of(&it, story))).collect();
    let pods = story.pods.iter().map(|pod| (pod.name_any(), found(pod, &OF_GROUPS, ours_of(pod))));
    compare("pod", &pods.collect(), &expected);
    services_of_group(story, "pd");
    for pod in &story.pods {
        let spec = pod.spec.as_ref().expect("a spec");
        let mounts = spec.containers.iter().flat_map(|it| it.volume_mounts.iter().flatten());
        assert!(
            mounts.clone().any(|mount| mount.mount_path == "/etc/rbg"),
            "{} finds the others",
            pod.name_any()
        );
    }
}

fn services_of_group(story: &Story, group: &str) {
    let all = services(story);
    for role in ["cache", "prefill", "router"] {
        let name = format!("s-{group}-{role}");
        assert!(
            all.get(&name).is_some_and(|(early, _)| *early),
            "{name} shows pods that are not ready: {all:?}"
        );
        let expected: Vec<String> = match role {
            "prefill" => (0..2).map(|i| format!("{group}-prefill-{i}-0")).collect(),
            role => members(group).into_iter().filter(|it| it.role == role).map(|it| it.pod).collect(),
        };
        let mut selected = selected(story, &name);
        selected.sort();
        assert_eq!(selected, expected, "{name}");
    }
}

pub fn group_set() -> Value {
    let mut object = yaml(ROLE_BASED_GROUP);
    let spec = object["spec"].take();
    object["kind"] = json!("RoleBasedGroupSet");
    object["metadata"]["name"] = json!("many");
    object["spec"] = json!({"replicas": 2, "groupTemplate": {"spec": spec}});
    object
}

pub fn check_set(story: &Story) {
    let mut expected = BTreeMap::new();
    for (index, group) in ["many-0", "many-1"].into_iter().enumerate() {
        let index = index.to_string();
        for member in members(group) {
            let mut look = look_of(&member, story);
            look.labels.extend(map(&[
                ("rbg.workloads.x-k8s.io/groupset-name", "many"),
                ("rbg.workloads.x-k8s.io/groupset-index", &index),
                ("rolebasedgroupset.workloads.x-k8s.io/name", "many"),
                ("rolebasedgroupset.workloads.x-k8s.io/rbg-index", &index),
            ]));
            expected.insert(member.pod.clone(), look);
        }
    }
    let pods = story.pods.iter().map(|pod| (pod.name_any(), found(pod, &OF_GROUPS, ours_of(pod))));
    compare("pod", &pods.collect(), &expected);
    services_of_group(story, "many-0");
    services_of_group(story, "many-1");
}
