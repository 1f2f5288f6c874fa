//! A control plane of real processes: it starts, stops, comes back, and leaves nothing behind.

#![allow(clippy::expect_used)]

mod leftovers;

use std::time::Instant;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use leftovers::{Traces, end_of};
use lockstep_testkit::{Cluster, Component, say};

async fn write_down(cluster: &Cluster, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    api.create(&PostParams::default(), &map).await.expect("created");
}

async fn is_written(cluster: &Cluster, name: &str) -> bool {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    api.get_opt(name).await.expect("answered").is_some()
}

#[tokio::test]
async fn it_is_the_version_that_is_pinned() {
    let Some(cluster) = Cluster::builder().our_own("real components").start_or_skip().await else { return };
    let version = cluster.client().apiserver_version().await.expect("a version");
    assert_eq!(version.git_version, "v1.37.0");
}

#[tokio::test]
async fn ten_starts_and_stops_leave_nothing_behind() {
    let mut times = Vec::new();
    for _ in 0..10 {
        let began = Instant::now();
        let Some(cluster) = Cluster::builder().our_own("real components").start_or_skip().await else {
            return;
        };
        times.push(began.elapsed());
        let traces = Traces::of(&cluster);
        assert!(traces.everything_is_there(), "{traces:?}");
        drop(cluster);
        assert_eq!(traces.left(), Vec::<String>::new());
    }
    times.sort();
    say(&format!("ten starts: {:.1?} to {:.1?}, half within {:.1?}", times[0], times[9], times[4]));
}

#[tokio::test]
async fn clusters_stand_side_by_side_and_know_nothing_of_each_other() {
    let Some(one) = Cluster::builder().our_own("real components").start_or_skip().await else { return };
    let Some(two) = Cluster::builder().our_own("real components").start_or_skip().await else { return };
    write_down(&one, "only-in-one").await;
    assert!(is_written(&one, "only-in-one").await);
    assert!(!is_written(&two, "only-in-one").await);
    drop(one);
    assert!(!is_written(&two, "only-in-one").await);
}

#[tokio::test]
async fn components_come_back_with_all_they_knew() {
    let Some(cluster) = Cluster::builder().our_own("real components").start_or_skip().await else { return };
    write_down(&cluster, "before").await;

    cluster.stop(Component::ApiServer).await.expect("stopped");
    assert!(cluster.client().apiserver_version().await.is_err(), "nobody answers");
    cluster.start_again(Component::ApiServer).await.expect("back");
    assert!(is_written(&cluster, "before").await);

    cluster.kill(Component::Etcd).await.expect("killed");
    cluster.start_again(Component::Etcd).await.expect("back");
    assert!(is_written(&cluster, "before").await);
    write_down(&cluster, "after").await;

    let scheduler = cluster.process_id(Component::Scheduler);
    cluster.kill(Component::Scheduler).await.expect("killed");
    assert_eq!(cluster.process_id(Component::Scheduler), None);
    cluster.start_again(Component::Scheduler).await.expect("back");
    assert_ne!(cluster.process_id(Component::Scheduler), scheduler);
}

#[tokio::test]
async fn somebody_else_has_only_the_rights_they_were_given() {
    let Some(cluster) = Cluster::builder().our_own("real components").start_or_skip().await else { return };
    let stranger = cluster.access_as("stranger", &[]).expect("a certificate");
    let maps: Api<ConfigMap> = Api::default_namespaced(stranger.client("stranger").await.expect("a client"));
    let refused = maps.list(&Default::default()).await.expect_err("no rights");
    assert!(refused.to_string().contains("User \"stranger\" cannot list"), "{refused}");

    let chief = cluster.access_as("chief", &["system:masters"]).expect("a certificate");
    let maps: Api<ConfigMap> = Api::default_namespaced(chief.client("chief").await.expect("a client"));
    maps.list(&Default::default()).await.expect("all rights");
}

/// Not a test: a program that ends badly in the middle of one. See [`end_of`].
#[tokio::test]
#[ignore = "started by the tests below"]
async fn a_test_that_ends_badly() {
    let Some(how) = std::env::var_os(leftovers::HOW) else { return };
    let Some(cluster) = Cluster::builder().our_own("real components").start_or_skip().await else { return };
    Traces::of(&cluster).hand_over();
    if how == "panic" {
        panic!("on purpose");
    }
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_test_that_panics_leaves_nothing_behind() {
    end_of("panic", None).await;
}

#[tokio::test]
async fn ctrl_c_leaves_nothing_behind() {
    end_of("wait", Some(rustix::process::Signal::INT)).await;
}

#[tokio::test]
async fn a_test_that_is_killed_leaves_nothing_behind() {
    end_of("wait", Some(rustix::process::Signal::KILL)).await;
}
