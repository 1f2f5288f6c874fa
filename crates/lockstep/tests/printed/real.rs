//! The rows on a real control plane, with Lockstep installed as its users install it.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;

use crate::installed::{Installed, until};
use crate::play::play_all;
use crate::row::Row;
use crate::{grove, kthena, pods, rbg, stuck};

/// Plays all rows at once, each in a namespace of its own.
async fn on_a_real_one(rows: Vec<Row>, more: &[NodeGroup]) {
    let dialects = ["--dialects", "rbg,kthena,grove"];
    let cluster = Cluster::builder().gangs();
    let Some(installed) = Installed::start_with(cluster, &dialects).await else { return };
    let replica = installed.replica("lockstep-a").await;
    installed.route_admission_to(&replica).await;
    installed.until_leading(&replica).await;
    until_admitted(&installed.cluster.client()).await;
    for group in more {
        group.create(&installed.cluster.client()).await.expect("nodes");
    }
    let short: Vec<&Row> = rows.iter().filter(|row| !row.long).collect();
    let limit = Duration::from_secs(300);
    play_all(&short, &installed.cluster.client(), limit).await;
}

/// Until the API server trusts the operator, nothing is taken.
async fn until_admitted(client: &Client) {
    let probe = rbg::probe();
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("workloads.x-k8s.io", "v1alpha1", "RoleBasedGroup"),
        "rolebasedgroups",
    );
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    until("a group is taken", async || {
        let how = PatchParams::apply("someone").dry_run();
        api.patch("probe", &how, &Patch::Apply(&probe)).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn role_based_groups_and_the_pods_of_all() {
    on_a_real_one(rbg::rows().into_iter().chain(pods::rows()).collect(), &rbg::nodes()).await;
}

#[tokio::test]
async fn model_servings_and_pod_clique_sets() {
    on_a_real_one(kthena::rows().into_iter().chain(grove::rows()).collect(), &[]).await;
}

#[tokio::test]
async fn whatever_gets_stuck_says_why_and_has_a_way_out() {
    on_a_real_one(stuck::rows(), &stuck::nodes()).await;
}
