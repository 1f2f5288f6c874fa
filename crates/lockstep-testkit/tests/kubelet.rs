//! The kubelet stand-in on a real API server.

#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use lockstep_kubelet::pod::PodView;
use lockstep_kubelet::{NodeGroup, Options};
use lockstep_testkit::pods::is_ready;
use lockstep_testkit::{Cluster, say};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

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

/// UID and readiness by name.
type There = BTreeMap<String, (String, bool)>;

/// Everybody who is there, kept by a watch.
struct RollCall {
    there: watch::Receiver<There>,
    leaving: Arc<Mutex<BTreeMap<String, oneshot::Sender<()>>>>,
    watching: JoinHandle<()>,
}

impl RollCall {
    fn start(client: kube::Client) -> Self {
        let (told, there) = watch::channel(There::new());
        let leaving: Arc<Mutex<BTreeMap<String, oneshot::Sender<()>>>> = Arc::default();
        let farewell = Arc::clone(&leaving);
        let watching = tokio::spawn(async move {
            let pods: Api<PodView> = Api::namespaced(client, "default");
            let mut events = watcher(pods, watcher::Config::default()).boxed();
            while let Some(event) = events.next().await {
                let event = event.expect("an event");
                if let Event::Delete(pod) = &event
                    && let Some(waiting) = farewell.lock().expect("whole").remove(&pod.name_any())
                {
                    let _ = waiting.send(());
                }
                told.send_modify(|there| note(there, event));
            }
        });
        Self { there, leaving, watching }
    }

    /// Is told when the pod of this name is gone.
    fn leaves(&self, name: &str) -> oneshot::Receiver<()> {
        let (gone, is_gone) = oneshot::channel();
        self.leaving.lock().expect("whole").insert(name.to_owned(), gone);
        is_gone
    }

    async fn all_ready(&self, expected: &BTreeMap<String, String>) {
        let ready = |there: &There| {
            there.len() == expected.len()
                && expected.iter().all(|(name, uid)| there.get(name) == Some(&(uid.clone(), true)))
        };
        let mut there = self.there.clone();
        let waiting = tokio::time::timeout(Duration::from_secs(120), there.wait_for(ready));
        assert!(waiting.await.is_ok(), "not all are ready");
    }
}

fn note(there: &mut There, event: Event<PodView>) {
    match event {
        Event::Apply(pod) | Event::InitApply(pod) => {
            let ready = pod.status.conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True");
            there.insert(pod.name_any(), (pod.metadata.uid.unwrap_or_default(), ready));
        }
        Event::Delete(pod) => drop(there.remove(&pod.name_any())),
        Event::Init | Event::InitDone => {}
    }
}

impl Drop for RollCall {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Deletes the pod of this name, and creates another the moment it is gone.
async fn replace(api: &Api<Pod>, roll: &RollCall, name: &str, node: &str, old: Option<&String>) -> String {
    if let Some(uid) = old {
        let is_gone = roll.leaves(name);
        let preconditions = Preconditions { uid: Some(uid.clone()), ..Preconditions::default() };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        api.delete(name, &parameters).await.expect("deleted");
        let told = tokio::time::timeout(Duration::from_secs(60), is_gone).await;
        assert!(matches!(told, Ok(Ok(()))), "{name} never goes");
    }
    let made = api.create(&PostParams::default(), &pod(name, node)).await.expect("created");
    made.metadata.uid.expect("a UID")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_pods_replaced_ten_times_under_their_names_none_lost_none_revived() {
    let nodes = NodeGroup::new("node", 10).with_capacity("pods", "200");
    let cluster = Cluster::builder().not_a_guest().nodes(nodes).start_or_skip().await;
    let Some(cluster) = cluster else { return };
    let api: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let roll = RollCall::start(cluster.client());
    let mut standing: BTreeMap<String, String> = BTreeMap::new();
    let began = Instant::now();
    for _ in 0..=ROUNDS {
        let replacing = stream::iter(0..PODS).map(|i| {
            let (name, node) = (format!("pod-{i}"), format!("node-{}", i % 10));
            let (api, roll, old) = (&api, &roll, standing.get(&name));
            async move {
                let uid = replace(api, roll, &name, &node, old).await;
                (name, uid)
            }
        });
        standing = replacing.buffer_unordered(AT_A_TIME).collect().await;
        roll.all_ready(&standing).await;
    }
    let took = began.elapsed();
    let kubelet = cluster.kubelet().expect("nodes").counters();
    say(&format!("{PODS} pods replaced {ROUNDS} times in {took:.1?}; {kubelet:?}"));
    // What could still go wrong goes wrong late: a delete meant for an earlier pod of the name.
    tokio::time::sleep(Duration::from_secs(2)).await;
    roll.all_ready(&standing).await;
}

#[tokio::test]
async fn a_node_that_is_gone_takes_its_pods_with_it_and_brings_them_back() {
    let kubelet = Options { lease_period: Some(Duration::from_millis(500)), ..Options::default() };
    let cluster = Cluster::builder().not_a_guest().nodes(NodeGroup::new("node", 2)).kubelet(kubelet);
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
