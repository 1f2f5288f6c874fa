//! What controllers of one cluster do by themselves, where nobody spreads anything: more cannot be asked of them where
//! they are one of several.

#![allow(clippy::expect_used)]

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject};
use kube::{Api, Client};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::cluster::apply;
use lockstep_testkit::federation::case::{Case, FIRST, Kind, NAME, Strategy};
use lockstep_testkit::federation::record::{Promise, Recorder, Verdict, View};
use lockstep_testkit::neighbours::leader_worker_set;
use lockstep_testkit::seeds::number;

const PATIENCE: Duration = Duration::from_secs(120);

/// How often each is rolled, if `LOCKSTEP_LONG` says nothing else.
const ROLLS: u64 = 10;

const fn of_kind(kind: Kind, split: &'static [u32], max_unavailable: u32, max_surge: u32) -> Case<'static> {
    let strategy = Strategy { max_unavailable, max_surge, partition: 0 };
    let new = split[0];
    Case { name: "alone", kind, split, strategy, steps: &[], ends: split, new, broken_alone: false }
}

/// Rolls it over and over, and tells what was recorded.
async fn roll(case: &Case<'_>, client: &Client, namespace: &str, rolls: u64) -> Verdict {
    let kind = case.kind.resource();
    let members = vec![("alone".to_owned(), client.clone())];
    let mut recorder = Recorder::here(members, namespace, &kind).await.expect("it is recorded");
    let is_whole = |view: &View| view.rests() && (view.sum().new, view.sum().mixed) == (case.new, 0);
    for roll in 0..=rolls {
        let image = if roll == 0 { FIRST.to_owned() } else { format!("demo:r{roll}") };
        let promised = case.promise(&image);
        // Before the first has come up nothing is available.
        recorder.wish(&if roll == 0 { Promise { max_unavailable: case.new, ..promised } } else { promised });
        apply(client, &case.manifest(namespace, &image)).await.expect("it is applied");
        let arrived = recorder.until_stays(PATIENCE, is_whole).await;
        assert!(arrived, "roll {roll} has not ended: {}", recorder.view());
    }
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let verdict = recorder.verdict();
    api.delete(NAME, &DeleteParams::default()).await.expect("it is deleted");
    assert_eq!(verdict.interruptions, Vec::<String>::new());
    verdict
}

/// A Deployment counts what its ReplicaSets were told: its pods may be one too many for a moment, and never more than
/// those that are condemned.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures what others do: see docs/federation.md"]
async fn a_deployment_counts_what_its_replica_sets_were_told() {
    let nodes = NodeGroup::new("node", 3);
    let Some(cluster) =
        Cluster::builder().our_own("the real Deployment controller").nodes(nodes).start_or_skip().await
    else {
        return;
    };
    let rolls = number("LOCKSTEP_LONG").unwrap_or(ROLLS);
    for (max_unavailable, max_surge) in [(2, 1), (1, 0), (0, 1)] {
        let case = of_kind(Kind::Deployment, &[6], max_unavailable, max_surge);
        let namespace = cluster.new_namespace("alone").await.expect("a namespace");
        let verdict = roll(&case, &cluster.client(), &namespace, rolls).await;
        let (all, pods) = (verdict.breaches.len(), verdict.by_pods_alone());
        println!(
            "maxUnavailable {max_unavailable}, maxSurge {max_surge}: {rolls} rolls, {} breaches by its pods alone",
            pods.len()
        );
        pods.iter().for_each(|breach| println!("  {breach}"));
        let breaches: Vec<String> = verdict.breaches.iter().map(ToString::to_string).collect();
        assert_eq!(all, 0, "{}", breaches.join("\n"));
    }
}

/// Says what a LeaderWorkerSet does that rolls by surge alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures what others do; builds LeaderWorkerSet from Go modules: see docs/federation.md"]
async fn a_leader_worker_set_rolls_by_surge_alone() {
    let nodes = NodeGroup::new("node", 3);
    let Some(cluster) =
        Cluster::builder().our_own("the controllers of others").nodes(nodes).start_or_skip().await
    else {
        return;
    };
    let _neighbour = leader_worker_set::start(&cluster).await.expect("it starts");
    let rolls = number("LOCKSTEP_LONG").unwrap_or(ROLLS);
    for (replicas, max_unavailable, max_surge) in [(&[2], 0, 1), (&[4], 0, 1), (&[4], 1, 0)] {
        let case = of_kind(Kind::LeaderWorkerSet, replicas, max_unavailable, max_surge);
        let namespace = cluster.new_namespace("alone").await.expect("a namespace");
        let verdict = roll(&case, &cluster.client(), &namespace, rolls).await;
        println!(
            "{} groups, maxUnavailable {max_unavailable}, maxSurge {max_surge}: {rolls} rolls, {} breaches",
            replicas[0],
            verdict.breaches.len(),
        );
        verdict.breaches.iter().for_each(|breach| println!("  {breach}"));
    }
}
