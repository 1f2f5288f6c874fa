//! Other people's controllers beside a control plane of ours.

#![allow(clippy::expect_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::neighbours::leader_worker_set;
use lockstep_testkit::pods::is_ready;
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
#[ignore = "builds the LeaderWorkerSet controller from Go modules, some minutes: see docs/testing.md"]
async fn a_leader_worker_set_comes_up() {
    let nodes = NodeGroup::new("node", 3);
    let Some(cluster) =
        Cluster::builder().our_own("the controllers of others").nodes(nodes).start_or_skip().await
    else {
        return;
    };
    let neighbour = leader_worker_set::start(&cluster).await.expect("it starts");

    let kind = leader_worker_set::leader_worker_sets();
    let sets: Api<DynamicObject> = Api::namespaced_with(cluster.client(), "default", &kind);
    let template = json!({"spec": {"containers": [{"name": "main", "image": "any"}]}});
    let spec = json!({"replicas": 3, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template}});
    let set = DynamicObject::new("model", &kind).data(json!({"spec": spec}));
    sets.create(&PostParams::default(), &set).await.expect("it is accepted");

    let up = |set: Option<&DynamicObject>| set.is_some_and(|set| set.data["status"]["readyReplicas"] == 3);
    let waited = tokio::time::timeout(PATIENCE, await_condition(sets, "model", up)).await;
    assert_eq!(neighbour.ended(), None);
    waited.expect("its groups are ready in time").expect("it is watched");
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let pods = pods.list(&ListParams::default()).await.expect("pods are listed");
    assert_eq!((pods.items.len(), pods.iter().filter(|pod| is_ready(pod)).count()), (9, 9));
    // Its webhook for pods has been at work.
    let variables = pods.iter().filter_map(|pod| pod.spec.as_ref()?.containers[0].env.as_ref());
    let leaders = variables.filter(|all| all.iter().any(|it| it.name == "LWS_LEADER_ADDRESS")).count();
    assert_eq!(leaders, 9);
}
