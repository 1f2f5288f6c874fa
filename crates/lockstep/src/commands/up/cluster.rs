//! The cluster everything happens in.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use futures::future::BoxFuture;
use kube::Client;

use crate::input::cluster::ClusterArgs;

/// How a cluster is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOptions {
    /// How many nodes it has.
    pub nodes: u32,
    /// How many GPUs each of them has.
    pub gpus: u32,
    /// Where it listens; anywhere, if nothing is said.
    pub port: Option<u16>,
    /// Where it keeps what it holds; nowhere, if nothing is said.
    pub data: Option<PathBuf>,
    /// How many times faster than usual pods start and end.
    pub speed: u32,
}

/// A cluster that runs.
pub struct Running {
    /// A client that does not retry by itself: for the operator a refusal is an answer.
    pub client: Client,
    /// The kubeconfig by which others reach it.
    pub kubeconfig: Option<PathBuf>,
    /// Only this namespace is looked at, and the operator looks after no other.
    pub scope: Option<String>,
    /// What takes nodes away and brings them back; none, where they are not ours to take.
    pub nodes: Option<Arc<dyn NodeSwitch>>,
    /// What is to be done at the end.
    pub end: Option<BoxFuture<'static, Result<()>>>,
}

/// Takes nodes away and brings them back.
pub trait NodeSwitch: Send + Sync {
    /// The node is as if its plug had been pulled: nothing more is heard of it.
    fn lose<'a>(&'a self, node: &'a str) -> BoxFuture<'a, Result<()>>;

    /// The node is there again.
    fn bring_back<'a>(&'a self, node: &'a str) -> BoxFuture<'a, Result<()>>;

    /// The nodes that are lost.
    fn lost(&self) -> Vec<String>;

    /// The command that does the same, if there is one: with `true` it loses the node.
    fn command(&self, node: &str, lose: bool) -> Option<String>;
}

/// Starts a cluster of our own.
pub async fn start(_options: &StartOptions) -> Result<Running> {
    bail!("this build has no cluster of its own; name one with --kubeconfig")
}

/// A cluster that runs already. Its nodes are not ours to take.
pub async fn join(args: &ClusterArgs) -> Result<Running> {
    let metrics = lockstep_operator::metrics::Metrics::new();
    let client = args.operator_client(&metrics).await?;
    let kubeconfig = args.kubeconfig.clone();
    Ok(Running { client, kubeconfig, scope: args.namespace.clone(), nodes: None, end: None })
}
