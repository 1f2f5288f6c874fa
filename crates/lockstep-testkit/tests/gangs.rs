//! Kubernetes' own gang scheduling as Lockstep relies on it. If an upgrade changes this, it is noticed here.

#![allow(clippy::expect_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use serde_json::json;

/// Long enough for the scheduler to try again.
const A_WHILE: Duration = Duration::from_secs(3);

fn node_of(pod: &Pod) -> Option<&String> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref())
}

struct Stage {
    cluster: Cluster,
    pods: Api<Pod>,
    groups: Api<DynamicObject>,
}

impl Stage {
    /// So many nodes, each with room for one pod.
    async fn with_nodes(count: u32) -> Option<Self> {
        let cluster = Cluster::builder()
            .not_a_guest()
            .gangs()
            .nodes(NodeGroup::new("node", count))
            .start_or_skip()
            .await?;
        let kind = GroupVersionKind::gvk("scheduling.k8s.io", "v1beta1", "PodGroup");
        let resource = ApiResource::from_gvk_with_plural(&kind, "podgroups");
        let pods = Api::namespaced(cluster.client(), "default");
        let groups = Api::namespaced_with(cluster.client(), "default", &resource);
        Some(Self { cluster, pods, groups })
    }

    async fn gang(&self, name: &str, minimum: u32) {
        let group = json!({
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
        });
        let group: DynamicObject = serde_json::from_value(group).expect("an object");
        self.groups.create(&PostParams::default(), &group).await.expect("created");
    }

    async fn pod(&self, name: &str, gang: &str) {
        let pod = json!({
            "metadata": {"name": name},
            "spec": {
                "schedulingGroup": {"podGroupName": gang},
                "containers": [{
                    "name": "main",
                    "image": "any",
                    "resources": {"requests": {"cpu": "30"}, "limits": {"cpu": "30"}},
                }],
            },
        });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        self.pods.create(&PostParams::default(), &pod).await.expect("created");
    }

    async fn bound(&self) -> usize {
        let pods = self.pods.list(&ListParams::default()).await.expect("a list").items;
        let members = pods.iter().filter(|pod| pod.name_any().starts_with("pod-"));
        members.filter(|pod| node_of(pod).is_some()).count()
    }

    async fn until_bound(&self, wanted: usize) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.bound().await != wanted {
            assert!(tokio::time::Instant::now() < deadline, "{} bound, not {wanted}", self.bound().await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// So many are bound, though the scheduler is at work: it has placed a pod that came after all of them.
    async fn stays_at(&self, bound: usize) {
        let probe = json!({
            "metadata": {"name": "probe"},
            "spec": {"containers": [{"name": "main", "image": "any"}]},
        });
        let probe: Pod = serde_json::from_value(probe).expect("a pod");
        self.pods.create(&PostParams::default(), &probe).await.expect("created");
        let is_bound = |pod: Option<&Pod>| pod.is_some_and(|pod| node_of(pod).is_some());
        let placed = await_condition(self.pods.clone(), "probe", is_bound);
        tokio::time::timeout(Duration::from_secs(60), placed).await.expect("in time").expect("placed");
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(self.bound().await, bound);
        self.gone("probe").await;
    }

    async fn was_scheduled_once(&self, gang: &str) -> bool {
        let group = self.groups.get(gang).await.expect("there");
        let conditions = group.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|it| it["type"] == "PodGroupInitiallyScheduled" && it["status"] == "True")
    }

    async fn gone(&self, name: &str) {
        let _ = self.pods.delete(name, &DeleteParams::default()).await.expect("deleted");
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.pods.get_opt(name).await.expect("answered").is_some() {
            assert!(tokio::time::Instant::now() < deadline, "{name} never goes");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn all_of_a_gang_or_nothing() {
    let Some(stage) = Stage::with_nodes(5).await else { return };
    stage.gang("base", 6).await;
    for i in 0..6 {
        stage.pod(&format!("pod-{i}"), "base").await;
    }
    stage.stays_at(0).await;
    assert!(!stage.was_scheduled_once("base").await);

    NodeGroup::new("sixth", 1).create(&stage.cluster.client()).await.expect("created");
    stage.until_bound(6).await;
    assert!(stage.was_scheduled_once("base").await);
}

/// Why a replacement must not go into the gang its group was started with.
#[tokio::test]
async fn the_minimum_binds_replacements_too() {
    let Some(stage) = Stage::with_nodes(6).await else { return };
    stage.gang("base", 6).await;
    for i in 0..6 {
        stage.pod(&format!("pod-{i}"), "base").await;
    }
    stage.until_bound(6).await;
    stage.gone("pod-0").await;
    stage.gone("pod-1").await;
    assert!(stage.was_scheduled_once("base").await, "it is remembered");

    stage.pod("pod-0", "base").await;
    stage.stays_at(4).await;

    // A gang of its own lets it through at once.
    stage.gone("pod-0").await;
    stage.gang("replacement", 1).await;
    stage.pod("pod-0", "replacement").await;
    stage.until_bound(5).await;

    // And a smaller minimum frees what waits.
    stage.pod("pod-1", "base").await;
    stage.stays_at(5).await;
    let smaller = json!({"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}});
    let patched = stage.groups.patch("base", &PatchParams::default(), &Patch::Merge(smaller)).await;
    patched.expect("the minimum can change");
    stage.until_bound(6).await;
}
