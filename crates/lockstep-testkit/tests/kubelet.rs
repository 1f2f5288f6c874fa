//! The kubelet stand-in on a real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use lockstep_kubelet::{NodeGroup, Options};
use lockstep_testkit::{Cluster, say};
use serde_json::json;

const PODS: usize = 1000;
const ROUNDS: usize = 10;
const AT_A_TIME: usize = 64;

fn pod(name: &str, node: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name, "annotations": {"kubelet.lockstep.dev/terminates-after": "0s..50ms"}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "any"}]},
    }))
    .expect("a pod")
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|it| it.type_ == "Ready" && it.status == "True")
}

/// Deletes the pod of this name, and creates another as soon as the API server lets it.
async fn replace(api: &Api<Pod>, name: &str, node: &str, old: Option<&String>) -> String {
    if let Some(uid) = old {
        let preconditions = Preconditions { uid: Some(uid.clone()), ..Preconditions::default() };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        api.delete(name, &parameters).await.expect("deleted");
    }
    loop {
        match api.create(&PostParams::default(), &pod(name, node)).await {
            Ok(made) => return made.metadata.uid.expect("a UID"),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn all_ready(api: &Api<Pod>, expected: &BTreeMap<String, String>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let list = api.list(&ListParams::default()).await.expect("a list").items;
        let name = |pod: &Pod| (pod.metadata.name.clone(), pod.metadata.uid.clone());
        let there: BTreeSet<_> = list.iter().map(name).collect();
        for (name, uid) in expected {
            assert!(there.contains(&(Some(name.clone()), Some(uid.clone()))), "{name} is lost");
        }
        if list.len() == expected.len() && list.iter().all(is_ready) {
            return;
        }
        assert!(Instant::now() < deadline, "{} ready", list.iter().filter(|pod| is_ready(pod)).count());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_pods_replaced_ten_times_under_their_names_none_lost_none_revived() {
    let nodes = NodeGroup::new("node", 10).with_capacity("pods", "200");
    let Some(cluster) = Cluster::builder().nodes(nodes).start_or_skip().await else { return };
    let api: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let mut standing: BTreeMap<String, String> = BTreeMap::new();
    let began = Instant::now();
    for _ in 0..=ROUNDS {
        let replacing = stream::iter(0..PODS).map(|i| {
            let (name, node) = (format!("pod-{i}"), format!("node-{}", i % 10));
            let (api, old) = (&api, standing.get(&name));
            async move {
                let uid = replace(api, &name, &node, old).await;
                (name, uid)
            }
        });
        standing = replacing.buffer_unordered(AT_A_TIME).collect().await;
        all_ready(&api, &standing).await;
    }
    let took = began.elapsed();
    let kubelet = cluster.kubelet().expect("nodes").counters();
    say(&format!("{PODS} pods replaced {ROUNDS} times in {took:.1?}; {kubelet:?}"));
    // What could still go wrong goes wrong late: a delete meant for an earlier pod of the name.
    tokio::time::sleep(Duration::from_secs(2)).await;
    all_ready(&api, &standing).await;
}

#[tokio::test]
async fn a_node_that_is_gone_takes_its_pods_with_it_and_brings_them_back() {
    let kubelet = Options { lease_period: Some(Duration::from_millis(500)), ..Options::default() };
    let cluster = Cluster::builder().nodes(NodeGroup::new("node", 2)).kubelet(kubelet);
    let cluster = cluster.node_grace(Duration::from_secs(4)).start_or_skip().await;
    let Some(cluster) = cluster else { return };
    let api: Api<Pod> = Api::namespaced(cluster.client(), "default");
    for (name, node) in [("lost", "node-0"), ("kept", "node-1")] {
        api.create(&PostParams::default(), &pod(name, node)).await.expect("created");
    }
    let kubelet = cluster.kubelet().expect("nodes");
    until(&api, &[("lost", true), ("kept", true)]).await;
    kubelet.node_gone("node-0").await.expect("gone");
    until(&api, &[("lost", false), ("kept", true)]).await;
    kubelet.node_back("node-0").await.expect("back");
    until(&api, &[("lost", true), ("kept", true)]).await;
}

async fn until(api: &Api<Pod>, wanted: &[(&str, bool)]) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let mut as_wanted = true;
        for (name, ready) in wanted {
            as_wanted &= is_ready(&api.get(name).await.expect("there")) == *ready;
        }
        if as_wanted {
            return;
        }
        assert!(Instant::now() < deadline, "not {wanted:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
