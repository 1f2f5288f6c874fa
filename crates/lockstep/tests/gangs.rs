//! Gangs, gates and placement batches on a real scheduler.

#![allow(clippy::expect_used)]

mod cluster;

use std::time::Duration;

use cluster::{LOCKSTEP, Stage, role, set};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::operator::Operator;

/// Nodes on which one pod of thirty CPUs fits each, with gang scheduling.
async fn nodes(count: u32) -> Option<(Cluster, Operator)> {
    let nodes = NodeGroup::new("node", count);
    let cluster = Cluster::builder().not_a_guest().gangs().nodes(nodes).start_or_skip().await?;
    let operator = cluster.operator(LOCKSTEP, &[]).await.expect("an operator");
    Some((cluster, operator))
}

/// A role of a leader and two workers, each as large as a node.
fn large(replicas: u32, image: &str, more: &str) -> String {
    let template = format!(
        "{{spec: {{containers: [{{name: main, image: 'vllm:{image}', resources: {{limits: {{cpu: '30'}}}}}}]}}}}"
    );
    let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "- name: prefill
  replicas: {replicas}
{more}  members:
  - {{name: leader, template: {template}}}
  - {{name: worker, count: 2, template: {template}}}
"
    )
}

fn bound(pods: &[cluster::Line]) -> usize {
    pods.iter().filter(|pod| !pod.node.is_empty()).count()
}

#[tokio::test]
async fn a_gang_that_does_not_fit_stays_pending_as_a_whole_until_there_is_room() {
    let Some((cluster, _operator)) = nodes(5).await else { return };
    let stage = Stage::new(&cluster).await;
    stage.apply(&set("gang: {scheduler: PodGroup}", &[large(2, "1", "")])).await;
    stage.until("six pods, none on a node", |pods| pods.len() == 6 && bound(pods) == 0).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(bound(&stage.pods().await), 0, "five of six would fit");
    NodeGroup::new("one-more", 1).create(&cluster.client()).await.expect("a node");
    stage.until("all six on nodes", |pods| bound(pods) == 6).await;
    stage.until_ready().await;
}

#[tokio::test]
async fn an_update_inside_a_gang_goes_on_past_a_member_that_finds_no_place() {
    // Nine nodes for nine pods. One of them is lost while the set is rolled.
    let Some((cluster, _operator)) = nodes(9).await else { return };
    let stage = Stage::new(&cluster).await;
    let spec = "gang: {scheduler: PodGroup}";
    let patient = "updateStrategy: {maxUnavailable: 2}\nminAvailable: 1";
    stage.apply(&set(spec, &[large(3, "1", patient)])).await;
    stage.until_ready().await;
    stage.kubectl(&["cordon", "node-0"]).await;
    stage.apply(&set(spec, &[large(3, "2", patient)])).await;
    // The instance that had a pod on node-0 cannot come back; the other two are replaced nevertheless.
    stage
        .until("two instances updated and ready, the third without a place", |pods| {
            let new: Vec<_> = pods.iter().filter(|pod| pod.image == "vllm:2").collect();
            new.iter().filter(|pod| pod.ready).count() == 6 && new.len() == 9
        })
        .await;
    stage.kubectl(&["uncordon", "node-0"]).await;
    stage.until_ready().await;
}

#[tokio::test]
async fn roles_start_in_order_behind_gates() {
    let Some((cluster, _operator)) = nodes(3).await else { return };
    let stage = Stage::new(&cluster).await;
    let slow = role("decode", 1, "1", "")
        .replace("annotations: {", "annotations: {kubelet.lockstep.dev/ready-after: 3s");
    stage.apply(&set("", &[slow, role("prefill", 2, "1", "startsAfter: [decode]")])).await;
    stage
        .until("prefill held by our gate while decode starts", |pods| {
            let held = pods.iter().filter(|pod| pod.gated && pod.name.contains("prefill")).count();
            held == 2 && pods.iter().any(|pod| pod.name.contains("decode") && !pod.gated)
        })
        .await;
    stage.until_ready().await;
    assert!(stage.pods().await.iter().all(|pod| !pod.gated));
}

#[tokio::test]
async fn batches_are_placed_together_one_after_the_other() {
    let Some((cluster, _operator)) = nodes(3).await else { return };
    let stage = Stage::new(&cluster).await;
    let rule = "coordination:\n- name: near\n  affinityScheduling: {topologyKey: kubernetes.io/hostname, ratios: {prefill: 2, decode: 1}}";
    let small = |name: &str, replicas| {
        role(name, replicas, "1", "")
            .replace("image: 'vllm:1'", "image: 'vllm:1', resources: {limits: {cpu: '10'}}")
    };
    stage.apply(&set(rule, &[small("prefill", 6), small("decode", 3)])).await;
    stage.until_ready().await;
    let pods = stage.pods().await;
    for batch in 0..3 {
        let label = format!("llama-0-{batch}");
        let nodes: std::collections::BTreeSet<&str> =
            pods.iter().filter(|pod| pod.batch == label).map(|pod| pod.node.as_str()).collect();
        assert_eq!(nodes.len(), 1, "batch {batch} is on {nodes:?}");
    }
    assert_eq!(pods.len(), 9);
}
