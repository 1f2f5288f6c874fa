//! Unavailable budgets between those who take pods away: kubectl drain, a rollout of ours, the LeaderWorkerSet
//! controller. A real control plane, and the operator as it is installed.

#![allow(clippy::expect_used)]

mod chronicle;
#[path = "../cluster/mod.rs"]
mod cluster;
mod drain;
mod foreign;
#[path = "../rights/installed.rs"]
#[allow(dead_code)]
mod installed;
mod race;
mod wrong;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use lockstep_testkit::Cluster;
use lockstep_testkit::cluster::Builder;
use lockstep_testkit::groups::{Groups, Judge};
use lockstep_testkit::neighbours::leader_worker_set;
use serde_json::{Value, json};

use self::installed::replica::SOON;
use self::installed::{Installed, Replica, until};

/// The cluster, and the operator that guards its pods.
struct World {
    installed: Installed,
    _replica: Replica,
    namespace: String,
}

impl World {
    async fn start(builder: Builder) -> Option<Self> {
        let installed = Installed::start_with(builder, &["--dialects=none"]).await?;
        let replica = installed.replica("one").await;
        installed.route_admission_to(&replica).await;
        installed.until_leading(&replica).await;
        let namespace = installed.cluster.new_namespace("budgets").await.expect("a namespace");
        Some(Self { installed, _replica: replica, namespace })
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.installed.cluster.client(), &self.namespace)
    }

    async fn apply(&self, object: Value) {
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let types = object.types.clone().expect("a kind");
        let kind = kube::core::GroupVersionKind::try_from(&types).expect("a kind");
        let (resource, _) = kube::discovery::pinned_kind(&self.installed.cluster.client(), &kind)
            .await
            .expect("the kind is served");
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.installed.cluster.client(), &self.namespace, &resource);
        let params = PatchParams::apply("test").force();
        until(&format!("{name} is taken"), async || {
            api.patch(&name, &params, &Patch::Apply(&object)).await.is_ok()
        })
        .await;
    }

    /// At most one group at a time, told apart by a label.
    async fn budget(&self, selector: Value, label: &str, ready: u32) {
        self.apply(json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
            "metadata": {"name": "guard"},
            "spec": {
                "selector": {"matchLabels": selector}, "maxUnavailable": 1,
                "podGroupPolicy": {"groupLabelKey": label, "minReadyReplicas": ready},
            },
        }))
        .await;
    }

    /// Watches so many groups, each of which needs so many ready pods.
    fn judge(&self, selector: &str, label: &str, count: u32, ready: u32) -> Judge {
        let (selector, label) = (selector.to_owned(), label.to_owned());
        Judge::start(self.pods(), Groups { selector, label, count, ready })
    }

    async fn nodes_in_use(&self) -> Vec<String> {
        let pods = self.pods().list(&ListParams::default()).await.expect("pods");
        let mut nodes: Vec<String> =
            pods.items.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    /// Drains a node as people do, and gives it back.
    async fn drain(&self, node: &str) {
        let drained = self
            .installed
            .kubectl(&["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s"])
            .await;
        let said = String::from_utf8_lossy(&drained.stderr);
        assert!(drained.status.success(), "{node}: {said}");
        let nodes: Api<Node> = Api::all(self.installed.cluster.client());
        let open = json!({"spec": {"unschedulable": null}});
        nodes.patch(node, &PatchParams::default(), &Patch::Merge(&open)).await.expect("uncordoned");
    }
}

fn set(image: &str) -> Value {
    let role = |name: &str| {
        json!({
            "name": name, "replicas": 1,
            "template": {
                "metadata": {"labels": {"app": "llama"}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        })
    };
    json!({
        "apiVersion": "lockstep.dev/v1alpha1", "kind": "LockstepSet", "metadata": {"name": "llama"},
        "spec": {
            "replicas": 4, "updateStrategy": {"maxUnavailable": 1}, "roles": [role("prefill"), role("decode")],
        },
    })
}

/// A rollout and drains draw on one account: neither takes more than it allows, and both come to their end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_while_a_set_rolls() {
    let Some(world) = World::start(Cluster::builder()).await else { return };
    world.budget(json!({"app": "llama"}), "lockstep.dev/group", 2).await;
    world.apply(set("vllm:1")).await;
    let judge = world.judge("app=llama", "lockstep.dev/group", 4, 2);
    assert!(judge.whole(SOON).await, "all groups become available");
    world.apply(set("vllm:2")).await;
    for node in world.nodes_in_use().await.iter().take(3) {
        world.drain(node).await;
    }
    until("the rollout ends", async || {
        let pods = world.pods().list(&ListParams::default()).await.expect("pods").items;
        let image = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone());
        pods.len() == 8 && pods.iter().all(|pod| image(pod).as_deref() == Some("vllm:2"))
    })
    .await;
    assert!(judge.whole(SOON).await, "all groups become available");
    assert_eq!(judge.worst(), 1, "one group at a time, and one there was");
}

fn leaders_and_workers() -> Value {
    let template = json!({
        "metadata": {"labels": {"app": "lws"}},
        "spec": {"containers": [{"name": "main", "image": "vllm:1"}]},
    });
    json!({
        "metadata": {"name": "lws"},
        "spec": {
            "replicas": 3,
            "leaderWorkerTemplate": {
                "size": 3, "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": template, "workerTemplate": template,
            },
        },
    })
}

/// Groups of the real LeaderWorkerSet controller, drained node by node: it deletes the rest of a group that lost a
/// pod, and that is free; another group has to wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_a_leader_worker_set_node_by_node() {
    let builder = Cluster::builder().our_own("the controllers of others");
    let Some(world) = World::start(builder).await else { return };
    let _neighbour = leader_worker_set::start(&world.installed.cluster).await.expect("it starts");
    let label = "leaderworkerset.sigs.k8s.io/group-index";
    world.budget(json!({"app": "lws"}), label, 3).await;
    let kind = leader_worker_set::leader_worker_sets();
    let api: Api<DynamicObject> =
        Api::namespaced_with(world.installed.cluster.client(), &world.namespace, &kind);
    let mut object = leaders_and_workers();
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.kind);
    let object: DynamicObject = serde_json::from_value(object).expect("a LeaderWorkerSet");
    api.create(&PostParams::default(), &object).await.expect("created");
    let judge = world.judge("app=lws", label, 3, 3);
    assert!(judge.whole(SOON).await, "all groups become available");
    let before: Vec<Option<String>> =
        world.pods().list(&ListParams::default()).await.expect("pods").iter().map(ResourceExt::uid).collect();
    for node in world.nodes_in_use().await.iter().take(4) {
        world.drain(node).await;
        assert!(judge.whole(SOON).await, "it comes back");
    }
    let after = world.pods().list(&ListParams::default()).await.expect("pods");
    assert!(after.iter().any(|pod| !before.contains(&pod.uid())), "somebody was replaced");
    assert_eq!(judge.worst(), 1, "one group at a time, and one there was");
}
