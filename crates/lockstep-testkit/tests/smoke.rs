//! One scenario for all worlds: a StatefulSet of twenty, rolled one by one.

#![allow(clippy::expect_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::{Api, ResourceExt};
use lockstep_core::number::IntOrPercent;
use lockstep_core::promises::Promise;
use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::{By, End, What};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::scenario::{Scenario, Verdict, World};

const MOMENT: Duration = Duration::from_millis(50);

fn stateful_set(image: &str, rolling: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: web}}
spec:
  replicas: 20
  serviceName: web
  podManagementPolicy: Parallel
  selector: {{matchLabels: {{app: web}}}}
  updateStrategy: {{type: RollingUpdate, rollingUpdate: {rolling}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: main, image: {image:?}}}]}}
"
    )
}

fn deployment(image: &str, rolling: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: api}}
spec:
  replicas: 10
  selector: {{matchLabels: {{app: api}}}}
  strategy: {{type: RollingUpdate, rollingUpdate: {rolling}}}
  template:
    metadata: {{labels: {{app: api}}}}
    spec: {{containers: [{{name: main, image: {image:?}}}]}}
"
    )
}

async fn everywhere(scenario: &Scenario, check: impl Fn(&Verdict)) {
    let cluster = Cluster::builder().nodes(NodeGroup::new("node", 3));
    scenario.everywhere(cluster, check).await.expect("played");
}

fn rollout(from: &str, to: &str) -> Scenario {
    Scenario::given(from).and_then(|given| given.change(Duration::ZERO, to)).expect("a scenario")
}

fn deletes(verdict: &Verdict, who: By) -> usize {
    let by = |what: &What| matches!(what, What::Delete { by, .. } if *by == who);
    verdict.events.iter().filter(|event| by(&event.what)).count()
}

#[tokio::test]
async fn twenty_are_rolled_one_by_one() {
    let one = "{maxUnavailable: 1}";
    let scenario = rollout(&stateful_set("web:1", one), &stateful_set("web:2", one))
        .starting_in(MOMENT, 3 * MOMENT)
        .terminating_in(MOMENT);
    everywhere(&scenario, |verdict| {
        verdict.assert_kept();
        assert_eq!(deletes(verdict, By::Engine), 20);
        // The judge can say no: nobody promised that all twenty stay.
        let broken = verdict.judged_against(|spec| {
            spec.roles[0].strategy.max_unavailable = IntOrPercent::Int(0);
        });
        assert_eq!(broken.len(), 20);
        assert!(broken.iter().all(|broken| broken.promise == Promise::Floor), "{broken:?}");
    })
    .await;
}

#[tokio::test]
async fn a_partition_stops_it_half_way() {
    let scenario =
        rollout(&stateful_set("web:1", "{maxUnavailable: 1}"), &stateful_set("web:2", "{partition: 12}"))
            .starting_in(MOMENT, MOMENT)
            .ends(End::PartitionReached);
    everywhere(&scenario, |verdict| {
        verdict.assert_kept();
        assert_eq!(deletes(verdict, By::Engine), 8);
    })
    .await;
}

#[tokio::test]
async fn an_eviction_in_the_middle_is_the_world_s_doing() {
    let one = "{maxUnavailable: 1}";
    let scenario = rollout(&stateful_set("web:1", one), &stateful_set("web:2", one))
        .starting_in(4 * MOMENT, 4 * MOMENT)
        .strike(10 * MOMENT, "web", 0, Blow::Evict);
    everywhere(&scenario, |verdict| {
        verdict.assert_kept();
        assert_eq!(deletes(verdict, By::World), 1);
    })
    .await;
}

#[tokio::test]
async fn an_image_that_is_missing_costs_one_and_is_taken_back() {
    let (good, bad) =
        (stateful_set("web:1", "{maxUnavailable: 1}"), stateful_set("web:2", "{maxUnavailable: 1}"));
    let bad = bad.replace(
        "labels: {app: web}}",
        "labels: {app: web}, annotations: {kubelet.lockstep.dev/image: missing}}",
    );
    let scenario =
        rollout(&good, &bad).change(60 * MOMENT, &good).expect("a scenario").starting_in(MOMENT, MOMENT);
    everywhere(&scenario, |verdict| {
        verdict.assert_kept();
        assert_eq!(deletes(verdict, By::Engine), 2, "one for the new image, one to take it back");
    })
    .await;
}

#[tokio::test]
async fn a_deployment_is_held_to_a_floor_nobody_told_it() {
    let half = "{maxUnavailable: 50%, maxSurge: 0}";
    let scenario =
        rollout(&deployment("api:1", half), &deployment("api:2", half)).starting_in(MOMENT, 3 * MOMENT);
    everywhere(&scenario, |verdict| {
        verdict.assert_kept();
        let broken = verdict.judged_against(|spec| {
            spec.roles[0].strategy.max_unavailable = IntOrPercent::Int(1);
        });
        assert!(broken.iter().any(|broken| broken.promise == Promise::Floor), "{broken:?}");
    })
    .await;
}

/// The operator is not there yet; the language is the same.
#[tokio::test]
async fn a_lockstep_set_is_played_in_the_simulation() {
    let from = include_str!("../../../examples/prefill-decode.yaml");
    let to = include_str!("../../../examples/prefill-decode-v2.yaml");
    let hour = Duration::from_secs(3600);
    let minute = Duration::from_secs(60);
    let scenario = rollout(from, to)
        .starting_in(minute, 8 * minute)
        .strike(10 * minute, "prefill", 2, Blow::Evict)
        .strike(20 * minute, "decode", 0, Blow::Crash)
        .within(24 * hour);
    let verdict = scenario.play(&World::Simulation).await.expect("played");
    verdict.assert_kept();
    assert_eq!(deletes(&verdict, By::World), 1);
}

/// Not started, not stopped, and nothing left in it.
#[tokio::test]
async fn the_same_on_a_cluster_of_the_user_s_own() {
    let Some(cluster) = Cluster::builder().our_own("a cluster that has StatefulSets").start_or_skip().await
    else {
        return;
    };
    let program = std::env::current_exe().expect("this program");
    let mut run = tokio::process::Command::new(program);
    // Two at a time, in one program.
    run.args(["a_partition_stops_it_half_way", "an_eviction_in_the_middle_is_the_world_s_doing", "--exact"])
        .env("LOCKSTEP_KUBECONFIG", cluster.kubeconfig());
    let ran = run.output().await.expect("ran");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));

    let nodes: Api<Node> = Api::all(cluster.client());
    assert_eq!(nodes.list(&Default::default()).await.expect("still there").items.len(), 0);
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let mut left = namespaces.list(&Default::default()).await.expect("still there").items;
    left.retain(|it| it.metadata.deletion_timestamp.is_none() && it.name_any().starts_with("web-"));
    assert_eq!(left.len(), 0, "namespaces are left behind");
    let wrote = cluster.audit().expect("a log").tally().of_agent("lockstep-testkit");
    assert!(wrote > 0, "it was played somewhere else");
}
