//! A small API server in the test's own process: enough of pods, nodes, leases and events for a kubelet.
//!
//! It keeps the promises that matter here: versions that grow, UIDs that are checked on every write, deletions
//! with a grace period, watches from a version on, conditions merged by type.

mod server;
mod store;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use lockstep_kubelet::{Clock, Kubelet, NodeGroup, Options, TokioClock};
use serde_json::{Value, json};

pub use server::Request;
use store::Store;

/// A fake API server and its clock.
#[derive(Clone)]
pub struct Fake {
    store: Arc<Mutex<Store>>,
    pub clock: TokioClock,
}

impl Fake {
    /// A server with one node, `n-0`.
    pub fn new() -> Self {
        let clock = TokioClock::starting_at("2026-01-01T00:00:00.250Z".parse().unwrap());
        let fake = Self { store: Arc::new(Mutex::new(Store::default())), clock };
        fake.add_node("n-0");
        fake
    }

    /// A client of this server.
    pub fn client(&self) -> Client {
        server::client(self.store.clone(), self.clock)
    }

    /// A stand-in at work.
    pub fn kubelet(&self) -> Kubelet {
        Kubelet::start(self.client(), self.options())
    }

    /// Options with this server's clock.
    pub fn options(&self) -> Options {
        Options { clock: Arc::new(self.clock), ..Options::default() }
    }

    fn add_node(&self, name: &str) {
        let (prefix, _) = name.rsplit_once('-').unwrap();
        let node = NodeGroup::new(prefix, 1).nodes().remove(0);
        self.store.lock().unwrap().create("nodes", serde_json::to_value(node).unwrap()).unwrap();
    }

    /// Creates a pod on `n-0` with these annotations; answers with its UID.
    pub fn create(&self, name: &str, annotations: &[(&str, &str)]) -> String {
        let prefixed = |(key, value): &(&str, &str)| (format!("kubelet.lockstep.dev/{key}"), json!(value));
        let annotations: serde_json::Map<String, Value> = annotations.iter().map(prefixed).collect();
        let pod = json!({
            "metadata": {"name": name, "namespace": "default", "labels": {"name": name}, "annotations": annotations},
            "spec": {"nodeName": "n-0", "containers": [{"name": "app", "image": "app:1"}]},
            "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
        });
        let made = self.store.lock().unwrap().create("pods", pod).unwrap();
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Asks for a pod's deletion, as `kubectl delete` does.
    pub fn delete(&self, name: &str) {
        let now = self.clock.now();
        self.store.lock().unwrap().delete(name, &json!({"gracePeriodSeconds": 30}), now).unwrap();
    }

    /// Removes a pod at once, as a forced deletion does.
    pub fn remove(&self, name: &str) {
        let now = self.clock.now();
        self.store.lock().unwrap().delete(name, &json!({"gracePeriodSeconds": 0}), now).unwrap();
    }

    /// Sets something in a pod.
    pub fn set(&self, name: &str, patch: Value) {
        self.store.lock().unwrap().patch("pods", name, &patch).unwrap();
    }

    /// The pod of this name.
    pub fn pod(&self, name: &str) -> Option<Value> {
        self.store.lock().unwrap().get("pods", name)
    }

    /// Any object of a kind.
    pub fn object(&self, kind: &str, name: &str) -> Option<Value> {
        self.store.lock().unwrap().get(kind, name)
    }

    /// All objects of a kind.
    pub fn all(&self, kind: &str) -> Vec<Value> {
        self.store.lock().unwrap().list(kind)
    }

    /// The pod's readiness and phase: `Running True`; `gone` if there is no such pod.
    pub fn words(&self, name: &str) -> String {
        let Some(pod) = self.pod(name) else { return "gone".into() };
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        let ready = ready.map_or("?", |condition| condition["status"].as_str().unwrap());
        format!("{} {ready}", pod["status"]["phase"].as_str().unwrap())
    }

    /// What was asked for so far, reads left out.
    pub fn writes(&self) -> Vec<Request> {
        self.store.lock().unwrap().requests.clone()
    }

    /// Whether watches are told what happens; what happens meanwhile is told later.
    pub fn hold_watches(&self, hold: bool) {
        self.store.lock().unwrap().hold(hold);
    }

    /// Breaks all connections that watch.
    pub fn break_watches(&self) {
        self.store.lock().unwrap().watchers.clear();
    }

    /// Forgets history: watches from old versions are answered with 410.
    pub fn compact(&self) {
        let mut store = self.store.lock().unwrap();
        store.oldest = store.version;
        store.watchers.clear();
    }

    /// Answers so many of the next writes with this code.
    pub fn fail(&self, times: usize, code: u16) {
        self.store.lock().unwrap().failing = (times, code);
    }
}

/// Lets tokio's clock, which is paused, run for so long.
pub async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
