//! The handle of a stand-in that runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use lockstep_feed::{Source, feed};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::counters::{Counters, Tally};
use super::desk::{Desk, Inlets};
use super::heartbeat::Heartbeat;
use super::nodes::Alive;
use super::options::Options;
use crate::annotations::{GONE, STAND_IN};
use crate::pod::PodView;
use crate::profile::Profile;

/// A stand-in that runs: the kubelets of all nodes that carry its label. Dropping it ends it at once, wherever
/// it is; another one goes on from there.
pub struct Kubelet {
    client: Client,
    profile: watch::Sender<Profile>,
    stop: watch::Sender<bool>,
    alive: watch::Receiver<Alive>,
    tally: Arc<Tally>,
    tasks: Vec<JoinHandle<()>>,
}

impl Kubelet {
    /// Starts a stand-in on the present tokio runtime.
    pub fn start(client: Client, options: Options) -> Self {
        let Options { stand_in, profile, clock, concurrency, lease_period, initial_list } = options;
        let (profile, profiles) = watch::channel(profile);
        let (stop, stopped) = watch::channel(false);
        let (living, alive) = watch::channel(Alive::new());
        let tally = Arc::new(Tally::default());

        let mut pods = Source::new(Api::<PodView>::all(client.clone()), initial_list);
        pods.config.field_selector = Some("spec.nodeName!=".to_owned());
        let mut nodes = Source::new(Api::<Node>::all(client.clone()), initial_list);
        nodes.config.label_selector = Some(format!("{STAND_IN}={stand_in}"));
        let inlets = Inlets { pods: feed(pods), nodes: feed(nodes), profile: profiles, stop: stopped };
        let desk = Desk::new(client.clone(), clock.clone(), concurrency, tally.clone(), living);

        let mut tasks = vec![tokio::spawn(desk.run(inlets))];
        if let Some(period) = lease_period {
            let heartbeat = Heartbeat { client: client.clone(), clock, period, alive: alive.clone() };
            tasks.push(tokio::spawn(heartbeat.run()));
        }
        Self { client, profile, stop, alive, tally, tasks }
    }

    /// Stops the stand-in; writes that are under way come to an end first.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The heartbeat ends with the desk, which publishes who lives.
        for task in std::mem::take(&mut self.tasks) {
            if let Err(error) = task.await {
                tracing::warn!(%error, "the stand-in did not end well");
            }
        }
    }

    /// Tells pods how to behave from now on.
    pub fn set_profile(&self, profile: Profile) {
        self.profile.send_replace(profile);
    }

    /// What has been done so far.
    pub fn counters(&self) -> Counters {
        self.tally.read()
    }

    /// The nodes that are played and live.
    pub fn nodes(&self) -> BTreeSet<String> {
        self.alive.borrow().keys().cloned().collect()
    }

    /// Makes a node look dead: its lease is no longer renewed and its pods are no longer touched. Returns when
    /// that holds.
    pub async fn node_gone(&self, node: &str) -> kube::Result<()> {
        self.mark(node, json!("true")).await?;
        self.wait_for(node, false).await;
        Ok(())
    }

    /// Brings a node back; it catches up with what it missed. Returns when it lives.
    pub async fn node_back(&self, node: &str) -> kube::Result<()> {
        self.mark(node, json!(null)).await?;
        self.wait_for(node, true).await;
        Ok(())
    }

    async fn mark(&self, node: &str, value: serde_json::Value) -> kube::Result<()> {
        let api: Api<Node> = Api::all(self.client.clone());
        let body = json!({"metadata": {"annotations": {GONE: value}}});
        api.patch(node, &PatchParams::default(), &Patch::Merge(body)).await.map(drop)
    }

    /// An error means that the stand-in has ended, and then nobody is alive.
    async fn wait_for(&self, node: &str, is_alive: bool) {
        let mut alive = self.alive.clone();
        let _ = alive.wait_for(|all| all.contains_key(node) == is_alive).await;
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
