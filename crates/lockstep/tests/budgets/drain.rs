//! `kubectl drain` of a node with two groups on it, of which one may go.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use lockstep_testkit::Cluster;
use serde_json::json;

use super::{SOON, World, set, until};

/// The node that is drained, and that everything is on at first.
const NODE: &str = "node-0";

impl World {
    /// Lets pods onto a node, or onto all others.
    async fn open(&self, only: &str, is: bool) {
        let nodes: Api<Node> = Api::all(self.installed.cluster.client());
        for node in nodes.list(&ListParams::default()).await.expect("nodes") {
            let closed = (node.name_any() == only) != is;
            let patch = json!({"spec": {"unschedulable": closed}});
            nodes
                .patch(&node.name_any(), &PatchParams::default(), &Patch::Merge(&patch))
                .await
                .expect("patched");
        }
    }

    async fn on_node(&self, node: &str) -> BTreeSet<String> {
        let here = ListParams::default().fields(&format!("spec.nodeName={node}"));
        self.pods().list(&here).await.expect("pods").iter().map(ResourceExt::name_any).collect()
    }
}

/// The group of a pod of the set, by its name: `llama-<group>-<role>-0`.
fn group(pod: &str) -> &str {
    pod.split('-').nth(1).expect("a group")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_groups_on_a_node_one_goes_whole() {
    let Some(world) = World::start(Cluster::builder()).await else { return };
    world.budget(json!({"app": "llama"}), "lockstep.dev/group", 2).await;
    let sized = |groups: u32| {
        let mut set = set("vllm:1");
        set["spec"]["replicas"] = json!(groups);
        for role in set["spec"]["roles"].as_array_mut().expect("roles") {
            // Long enough to see what is held before anything is back.
            role["template"]["metadata"]["annotations"] = json!({"kubelet.lockstep.dev/ready-after": "8s"});
        }
        set
    };
    world.open(NODE, true).await;
    world.apply(sized(2)).await;
    until("two groups stand on the node", async || world.on_node(NODE).await.len() == 4).await;
    world.open(NODE, false).await;
    world.apply(sized(3)).await;
    let judge = world.judge("app=llama", "lockstep.dev/group", 3, 2);
    assert!(judge.whole(SOON).await, "all groups become available");

    let began = std::time::Instant::now();
    let drain = world.installed.kubectl(&["drain", NODE, "--timeout=90s"]);
    let seen = async {
        let mut left = BTreeSet::new();
        until("one group goes", async || world.on_node(NODE).await.len() <= 2).await;
        left.extend(world.on_node(NODE).await);
        left
    };
    let (drained, held) = tokio::join!(drain, seen);
    let said = String::from_utf8_lossy(&drained.stderr);
    assert!(drained.status.success(), "{said}");
    assert_eq!(held.len(), 2, "both pods of one group went, both of the other are held: {held:?}");
    let groups: BTreeSet<&str> = held.iter().map(|pod| group(pod)).collect();
    assert_eq!(groups.len(), 1, "{held:?}");
    assert!(began.elapsed().as_secs() >= 8, "the second group waited for the first to be back");
    assert!(judge.whole(SOON).await, "all groups become available");
    assert_eq!(judge.worst(), 1, "one group at a time, and one there was");
}
