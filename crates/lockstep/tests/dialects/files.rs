//! Manifests of other projects on the command line, without a cluster.

use lockstep_api::{parse, yaml_to_json};

use crate::common::{Ran, with_stdin};

const SERVING: &str = "\
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: llama}
spec:
  replicas: 2
  template:
    roles:
    - name: prefill
      replicas: 2
      entryTemplate: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

fn ran(args: &[&str], stdin: &str) -> Ran {
    with_stdin(args, stdin)
}

#[test]
fn what_it_becomes_is_a_set_that_can_be_applied() {
    let Ran { code, out, err } = ran(&["convert", "-f", "-"], SERVING);
    assert_eq!((code, err.as_str()), (0, ""));
    let set = parse(&out).expect("a set").set;
    assert_eq!((set.metadata.name.as_str(), set.spec.replicas), ("llama", 2));
    let refused = ran(&["convert", "-f", "-"], &out);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("holds a LockstepSet: there is nothing to convert"), "{}", refused.err);
}

#[test]
fn several_objects_of_a_file_become_several_sets_and_what_stands_beside_them() {
    let group = "\
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: group}
spec:
  roles:
  - name: decode
    replicas: 1
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}}
";
    let Ran { code, out, err } = ran(&["convert", "--all", "-f", "-"], &format!("{SERVING}---\n{group}"));
    assert_eq!(code, 0, "{err}");
    let kinds: Vec<String> = out
        .split("---\n")
        .map(|text| yaml_to_json(text).expect("YAML")["kind"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "LockstepSet").count(), 2, "{kinds:?}");
    assert!(kinds.contains(&"ConfigMap".to_owned()), "{kinds:?}");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let bad = SERVING.replace("replicas: 2\n      entry", "replicas: -2\n      entry");
    let lint = ran(&["lint", "-f", "-"], &bad);
    assert_eq!(lint.code, 1, "{}", lint.out);
    assert!(lint.out.contains("stdin:9: error: spec.template.roles[0].replicas"), "{}", lint.out);
    let plan = ran(&["plan", "--to", "-"], &bad);
    assert_eq!(plan.code, 1);
    assert!(plan.err.contains("stdin:9: error: spec.template.roles[0].replicas"), "{}", plan.err);
    assert_eq!(ran(&["lint", "-f", "-"], SERVING).code, 0);
}

/// Warnings stand beside errors, and what a cluster may have is not said to be missing.
#[test]
fn what_has_no_effect_is_said_along_with_what_is_wrong_and_what_is_not_known_is_said_to_be() {
    let set = "\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: llama}
spec:
  replicas: 1
  replicaSpreadConstraints: []
  template:
    topologyConstraint: {packDomain: rack}
    cliques:
    - {name: worker, spec: {minAvailable: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
";
    let lint = ran(&["lint", "-f", "-"], set);
    assert_eq!(
        (lint.code, lint.out.as_str()),
        (
            1,
            "\
stdin:10: error: spec.template.cliques[0].spec.minAvailable: 2: must not be more than replicas, which is 1
stdin:6: warning: spec.replicaSpreadConstraints: of a former version; has no effect; use topologySpreadConstraints of podSpec
stdin:8: warning: spec.template.topologyConstraint: takes effect only where the cluster has one ClusterTopologyBinding, with domain rack, which is not known here
1 file: 1 error, 2 warnings
"
        )
    );
    let former = ran(&["lint", "-f", "-"], &set.replace("PodCliqueSet", "PodGangSet"));
    let said = "stdin:2: error: kind: \"PodGangSet\": not known here as one of grove.io/v1alpha1; known are PodCliqueSet";
    assert!(former.code == 1 && former.out.starts_with(said), "{}", former.out);
}

#[test]
fn they_are_planned_and_simulated_as_they_are() {
    let plan = ran(&["plan", "--to", "-", "-o", "json"], SERVING);
    assert_eq!(plan.code, 0, "{}", plan.err);
    let simulated = ran(&["simulate", "--to", "-", "--runs", "3"], SERVING);
    assert_eq!(simulated.code, 0, "{}", simulated.err);
    assert!(simulated.out.contains("all kept"), "{}", simulated.out);
}

#[test]
fn up_applies_them_as_they_are_and_rolls_what_they_say() {
    let policy = "---\napiVersion: workloads.x-k8s.io/v1alpha2\nkind: CoordinatedPolicy\nmetadata: {name: llama}\nspec: {policies: []}\n";
    let args = ["up", "-f", "-", "--plain", "--roll", "--until", "complete", "--for", "3m"];
    let up = ran(&args, &format!("{SERVING}{policy}"));
    assert_eq!(up.code, 0, "{}\n{}", up.out, up.err);
    assert!(up.out.contains("prefill of llama: rolls to vllm:2"), "{}", up.out);
    // Had the set been changed, its maker would have put the old image back.
    let told = |what: &str| up.out.matches(what).count();
    assert_eq!((told("llama: rolls from"), told("goes back")), (1, 0), "{}", up.out);
}

/// The objects of a text as the items of a list.
fn listed(documents: &str) -> String {
    let item = |text: &str| {
        let mut lines = text.lines();
        let first = lines.next().map(|line| format!("- {line}\n")).unwrap_or_default();
        first + &lines.map(|line| format!("  {line}\n")).collect::<String>()
    };
    let items: String = documents.split("---\n").map(item).collect();
    format!("apiVersion: v1\nkind: List\nmetadata: {{}}\nitems:\n{items}")
}

#[test]
fn a_list_is_what_is_in_it() {
    let policy = "apiVersion: workloads.x-k8s.io/v1alpha2\nkind: CoordinatedPolicy\nmetadata: {name: other}\nspec: {policies: []}\n";
    let both = format!("{SERVING}---\n{policy}");
    for args in
        [&["convert", "-f", "-"][..], &["plan", "--to", "-"], &["simulate", "--to", "-", "--runs", "3"]]
    {
        let (plain, list) = (ran(args, &both), ran(args, &listed(&both)));
        assert_eq!((plain.code, &plain.out, &plain.err), (list.code, &list.out, &list.err), "{args:?}");
        assert_eq!(list.code, 0, "{args:?}: {}", list.err);
    }
    // A line is the line of the file: the four of the list stand before it.
    let bad = listed(&SERVING.replace("replicas: 2\n      entry", "replicas: -2\n      entry"));
    let lint = ran(&["lint", "-f", "-"], &bad);
    assert!(lint.out.contains("stdin:13: error: spec.template.roles[0].replicas"), "{}", lint.out);
    let conflict =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/conflict.yaml"));
    let conflict = conflict.expect("an example").replace("---\n", "");
    let (plain, list) = (ran(&["lint", "-f", "-"], &conflict), ran(&["lint", "-f", "-"], &listed(&conflict)));
    let line =
        |ran: &Ran| -> usize { ran.out.split(':').nth(1).and_then(|n| n.parse().ok()).expect("a line") };
    assert_eq!(line(&plain) + 4, line(&list), "{}", list.out);
    let refused = ran(&["lint", "-f", "-"], "kind: List\nitems: none\n");
    assert!(
        refused.out.contains("stdin:2: error: items: \"none\": must be a list of objects"),
        "{}",
        refused.out
    );
    let up = ran(&["up", "-f", "-", "--plain", "--until", "complete", "--for", "3m"], &listed(&both));
    assert_eq!(up.code, 0, "{}\n{}", up.out, up.err);
}
