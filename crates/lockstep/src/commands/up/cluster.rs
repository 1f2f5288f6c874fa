//! The cluster everything happens in.

use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Result;
use futures::future::LocalBoxFuture;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use lockstep_operator::clock::Clock;

use super::stand_ins::StandIns;
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
    /// What takes nodes away and brings them back; none, where that cannot be done.
    pub nodes: Option<Rc<dyn NodeSwitch>>,
    /// What time it is there.
    pub clock: Clock,
    /// What is to be done at the end.
    pub end: Option<LocalBoxFuture<'static, Result<()>>>,
}

/// Takes nodes away and brings them back.
pub trait NodeSwitch {
    /// The node is as if its plug had been pulled: nothing more is heard of it.
    fn lose<'a>(&'a self, node: &'a str) -> LocalBoxFuture<'a, Result<()>>;

    /// The node is there again.
    fn bring_back<'a>(&'a self, node: &'a str) -> LocalBoxFuture<'a, Result<()>>;

    /// Whether a node is lost. Its conditions say so only later.
    fn is_lost(&self, node: &Node) -> bool;

    /// The command that does the same; with `lose` it loses the node.
    fn command(&self, node: &str, lose: bool) -> String;
}

/// A cluster that runs already. Of its nodes only those of a stand-in can be taken away.
pub async fn join(args: &ClusterArgs) -> Result<Running> {
    let metrics = lockstep_operator::metrics::Metrics::new();
    let client = args.operator_client(&metrics).await?;
    let kubeconfig = args.kubeconfig.clone();
    let nodes: Option<Rc<dyn NodeSwitch>> = Some(Rc::new(StandIns::new(client.clone())));
    Ok(Running {
        client,
        kubeconfig,
        scope: args.namespace.clone(),
        nodes,
        clock: Clock::default(),
        end: None,
    })
}
