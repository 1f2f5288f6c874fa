//! Pods of a PodCliqueSet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::{Look, Map, compare, found, map, namespace, revision, selected, services, with};
use crate::story::Story;

pub const POD_CLIQUE_SET: &str = "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: qwen}
spec:
  replicas: 2
  template:
    headlessServiceConfig: {publishNotReadyAddresses: true}
    cliques:
    - name: frontend
      labels: {tier: edge, app.kubernetes.io/name: mine}
      annotations: {note: kept}
      spec: {roleName: frontend, replicas: 2, podSpec: {containers: [{name: main, image: 'front:1'}]}}
    - name: leader
      spec:
        roleName: leader
        replicas: 1
        podSpec: {containers: [{name: main, image: 'vllm:1', env: [{name: RANK, value: $(GROVE_PCSG_POD_INDEX)}]}]}
    - name: worker
      spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}
    podCliqueScalingGroups:
    - {name: model, cliqueNames: [leader, worker], replicas: 2, minAvailable: 1}
";

/// What all pods of a replica have: labels and environment.
fn of_replica(story: &Story, group: u32, pod: &str) -> (Map, Map) {
    let index = group.to_string();
    let service = format!("qwen-{group}.{}.svc.cluster.local", namespace(story));
    let labels = map(&[
        ("app.kubernetes.io/managed-by", "grove-operator"),
        ("app.kubernetes.io/part-of", "qwen"),
        ("grove.io/podcliqueset-replica-index", &index),
        ("grove.io/pod-template-hash", &revision(story, pod)),
    ]);
    let env =
        map(&[("GROVE_PCS_NAME", "qwen"), ("GROVE_PCS_INDEX", &index), ("GROVE_HEADLESS_SERVICE", &service)]);
    (labels, env)
}

/// A pod of the standalone clique.
fn of_frontend(story: &Story, group: u32, k: &str) -> (String, Look) {
    let base = format!("qwen-{group}");
    let clique = format!("{base}-frontend");
    let name = format!("{clique}-{k}");
    let (labels, env) = of_replica(story, group, &name);
    let labels = with(
        labels,
        &[
            ("app.kubernetes.io/name", &clique),
            ("app.kubernetes.io/component", "pcs-podclique"),
            ("grove.io/podclique", &clique),
            ("grove.io/podclique-pod-index", k),
            ("grove.io/podgang", &base),
        ],
    );
    let env = with(env, &[("GROVE_PCLQ_NAME", &clique), ("GROVE_PCLQ_POD_INDEX", k)]);
    (name.clone(), of_clique(name, &base, labels, vec![env, Map::new()]))
}

/// A pod of a replica of the scaling group: its clique, its number in it, and in the replica.
fn of_model(story: &Story, group: u32, i: &str, (clique, k, index): (&str, &str, &str)) -> (String, Look) {
    let base = format!("qwen-{group}");
    let scaled = format!("{base}-model");
    // The first replica is all that the base gang needs; the second has one of its own.
    let gang = if i == "0" { base.clone() } else { format!("{scaled}-0") };
    let full = format!("{scaled}-{i}-{clique}");
    let name = format!("{full}-{k}");
    let (labels, env) = of_replica(story, group, &name);
    let labels = with(
        labels,
        &[
            ("app.kubernetes.io/name", &full),
            ("app.kubernetes.io/component", "pcsg-podclique"),
            ("grove.io/podclique", &full),
            ("grove.io/podclique-pod-index", k),
            ("grove.io/podgang", &gang),
            ("grove.io/base-podgang", &base),
            ("grove.io/podcliquescalinggroup", &scaled),
            ("grove.io/podcliquescalinggroup-replica-index", i),
            ("grove.io/podcliquescalinggroup-pod-index", index),
        ],
    );
    let env = with(
        env,
        &[
            ("GROVE_PCLQ_NAME", &full),
            ("GROVE_PCLQ_POD_INDEX", k),
            ("GROVE_PCSG_NAME", &scaled),
            ("GROVE_PCSG_INDEX", i),
            ("GROVE_PCSG_POD_INDEX", index),
            ("GROVE_PCSG_TEMPLATE_NUM_PODS", "3"),
        ],
    );
    let own = if clique == "leader" { map(&[("RANK", "$(GROVE_PCSG_POD_INDEX)")]) } else { Map::new() };
    (name.clone(), of_clique(name, &base, labels, vec![env, own]))
}

pub fn check(story: &Story) {
    let members = [("leader", "0", "0"), ("worker", "0", "1"), ("worker", "1", "2")];
    let mut expected = BTreeMap::new();
    for group in 0..2 {
        expected.extend(["0", "1"].map(|k| of_frontend(story, group, k)));
        for i in ["0", "1"] {
            expected.extend(members.map(|member| of_model(story, group, i, member)));
        }
    }
    let ours = |pod: &Pod| if pod.name_any().contains("frontend") { 5 } else { 9 };
    let look = |pod: &Pod| found(pod, &["app.kubernetes.io/", "grove.io/"], ours(pod));
    compare("pod", &story.pods.iter().map(|pod| (pod.name_any(), look(pod))).collect(), &expected);
    for pod in story.pods.iter().filter(|pod| pod.name_any().contains("frontend")) {
        assert_eq!(pod.labels().get("tier").map(String::as_str), Some("edge"));
        assert_eq!(pod.annotations().get("note").map(String::as_str), Some("kept"));
    }
    let all = services(story);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["qwen-0", "qwen-1"]);
    for (name, (early, _)) in &all {
        assert!(early, "{name} shows pods that are not ready");
        let of_it = |it: &String| it.starts_with(&format!("{name}-"));
        let selected = selected(story, name);
        assert!(selected.len() == 8 && selected.iter().all(of_it), "{name}: {selected:?}");
    }
}

fn of_clique(name: String, base: &str, labels: Map, env: Vec<Map>) -> Look {
    Look { hostname: Some(name), subdomain: Some(base.to_owned()), labels, env }
}
