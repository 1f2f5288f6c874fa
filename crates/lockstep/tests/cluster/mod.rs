//! A real control plane with the operator beside it, and sets in a few words.

#![allow(dead_code)]

use std::time::Duration;

use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::cluster::Builder;
use lockstep_testkit::operator::Operator;

/// The program under test.
pub const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");

/// How long pods take to start, in most scenarios.
pub const START: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(400));

/// A cluster with ten nodes and an operator; nothing where there is no control plane to be had.
pub async fn with_operator(builder: Builder, more: &[&str]) -> Option<(Cluster, Operator)> {
    let cluster = builder.our_own().nodes(NodeGroup::new("node", 10)).start_or_skip().await?;
    let operator = cluster.operator(LOCKSTEP, more).await.expect("an operator");
    Some((cluster, operator))
}

/// A set: its spec but for the roles, and its roles.
pub fn set(spec: &str, roles: &[String]) -> String {
    let lines = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let roles: String = roles.iter().map(|role| lines(role)).collect();
    format!(
        "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {{name: llama}}\nspec:\n{}  roles:\n{roles}",
        lines(spec)
    )
}

/// A role of single pods: its name, how many, its image, and what else its fields are.
pub fn role(name: &str, replicas: u32, image: &str, more: &str) -> String {
    let bad = if image == "missing" { "kubelet.lockstep.dev/image: missing" } else { "" };
    let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "- name: {name}
  replicas: {replicas}
{more}  template:
    metadata: {{annotations: {{{bad}}}}}
    spec: {{containers: [{{name: main, image: 'vllm:{image}'}}]}}
"
    )
}

/// A role of a leader and so many workers.
pub fn gang(name: &str, replicas: u32, workers: u32, image: &str, more: &str) -> String {
    let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
    let template = format!("{{spec: {{containers: [{{name: main, image: 'vllm:{image}'}}]}}}}");
    format!(
        "- name: {name}
  replicas: {replicas}
{more}  members:
  - {{name: leader, template: {template}}}
  - {{name: worker, count: {workers}, template: {template}}}
"
    )
}
