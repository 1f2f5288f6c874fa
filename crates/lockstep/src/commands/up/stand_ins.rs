//! Nodes that a kubelet stand-in plays, lost and found by an annotation.

use anyhow::{Result, bail};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use lockstep_kubelet::annotations::{GONE, STAND_IN};
use serde_json::{Value, json};

use super::cluster::NodeSwitch;
use crate::input::objects::plainly;

/// The nodes of a stand-in.
pub struct StandIns {
    nodes: Api<Node>,
}

impl StandIns {
    /// Those of a cluster.
    pub fn new(client: Client) -> Self {
        Self { nodes: Api::all(client) }
    }

    async fn mark(&self, node: &str, gone: Value) -> Result<()> {
        let found = self.nodes.get(node).await.map_err(plainly)?;
        if !found.labels().contains_key(STAND_IN) {
            bail!("{node} is a real node, and not ours to take; `kubectl drain {node}` comes near");
        }
        let patch = Patch::Merge(json!({"metadata": {"annotations": {GONE: gone}}}));
        self.nodes.patch(node, &PatchParams::default(), &patch).await.map_err(plainly)?;
        Ok(())
    }
}

impl NodeSwitch for StandIns {
    fn lose<'a>(&'a self, node: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        self.mark(node, json!("true")).boxed_local()
    }

    fn bring_back<'a>(&'a self, node: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        self.mark(node, Value::Null).boxed_local()
    }

    fn is_lost(&self, node: &Node) -> bool {
        node.annotations().get(GONE).is_some_and(|gone| gone == "true")
    }

    fn command(&self, node: &str, lose: bool) -> String {
        let annotation = if lose { format!("{GONE}=true") } else { format!("{GONE}-") };
        format!("kubectl annotate node {node} {annotation}")
    }
}
