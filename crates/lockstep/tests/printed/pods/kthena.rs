//! Pods of a ModelServing.

use std::collections::BTreeMap;

use kube::ResourceExt;

use super::{Look, Map, compare, found, map, namespace, revision, selected, services, set_revision, with};
use crate::story::Story;

pub const MODEL_SERVING: &str = "
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: llama}
spec:
  replicas: 2
  template:
    roles:
    - name: prefill
      replicas: 2
      workerReplicas: 1
      entryTemplate:
        metadata: {labels: {team: a, modelserving.volcano.sh/role: mine}, annotations: {note: kept}}
        spec:
          containers:
          - {name: main, image: 'vllm:1', env: [{name: GROUP_SIZE, value: '7'}, {name: RANK, value: $(WORKER_INDEX)}]}
          - {name: side, image: 'side:1'}
      workerTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
    - name: decode
      replicas: 1
      entryTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

/// A pod of a replica with so many: entry pods are 0.
fn look(story: &Story, group: u32, role: &str, i: u32, (k, size): (u32, u32)) -> (String, Look) {
    let name = format!("llama-{group}-{role}-{i}-{k}");
    let entry = format!("llama-{group}-{role}-{i}-0");
    let revision = revision(story, &name);
    // A label of the template wins.
    let shown = if role == "prefill" && k == 0 { "mine" } else { role };
    let mut labels = map(&[
        ("modelserving.volcano.sh/name", "llama"),
        ("modelserving.volcano.sh/group-name", &format!("llama-{group}")),
        ("modelserving.volcano.sh/role", shown),
        ("modelserving.volcano.sh/role-id", &format!("{role}-{i}")),
        ("modelserving.volcano.sh/revision", &set_revision(story, &name)),
        ("modelserving.volcano.sh/role-template-hash", &revision),
    ]);
    if k == 0 {
        labels = with(labels, &[("modelserving.volcano.sh/entry", "true")]);
    }
    let ours = map(&[
        ("GROUP_SIZE", &size.to_string()),
        ("ENTRY_ADDRESS", &format!("{entry}.{}", namespace(story))),
        ("WORKER_INDEX", &k.to_string()),
    ]);
    // What the template says of ours does not count; what it says besides may refer to ours.
    let own = if shown == "mine" { map(&[("RANK", "$(WORKER_INDEX)")]) } else { Map::new() };
    let subdomain = (size > 1).then_some(entry);
    (name.clone(), Look { hostname: Some(name), subdomain, labels, env: vec![ours, own] })
}

pub fn check(story: &Story) {
    let mut expected = BTreeMap::new();
    for group in 0..2 {
        for (role, i, size) in [("prefill", 0, 2), ("prefill", 1, 2), ("decode", 0, 1)] {
            expected.extend((0..size).map(|k| look(story, group, role, i, (k, size))));
        }
    }
    let pods = story.pods.iter().map(|pod| (pod.name_any(), found(pod, &["modelserving.volcano.sh/"], 3)));
    compare("pod", &pods.collect(), &expected);
    let kept = story.pods.iter().filter(|pod| pod.annotations().get("note").is_some_and(|it| it == "kept"));
    assert_eq!(kept.count(), 4, "entry pods of prefill keep their annotations");
    let names: Vec<String> = services(story).into_keys().collect();
    assert_eq!(
        names,
        ["llama-0-prefill-0-0", "llama-0-prefill-1-0", "llama-1-prefill-0-0", "llama-1-prefill-1-0"]
    );
    for name in &names {
        assert_eq!(
            selected(story, name),
            std::slice::from_ref(name),
            "a service selects the entry pod alone"
        );
    }
}
