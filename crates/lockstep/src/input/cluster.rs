//! Which cluster is meant: the flags kubectl has for it, and a client for what they say.

use std::future::Future;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lockstep_operator::metrics::{CountRequests, Metrics};

/// Which cluster, and where in it. Without any of these: what kubectl would take.
#[derive(Debug, Clone, Default, Args)]
pub struct ClusterArgs {
    /// The kubeconfig file. Default: $KUBECONFIG, else ~/.kube/config, else the pod's own service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace. Default: the context's.
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
}

impl ClusterArgs {
    /// A client for the cluster, and the namespace that is meant where none is named.
    pub async fn client(&self) -> Result<(Client, String)> {
        let config = self.config().await?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let server = config.cluster_url.clone();
        let client = Client::try_from(config).with_context(|| format!("no client for {server}"))?;
        Ok((client, namespace))
    }

    /// The operator's client: it does not retry by itself, because a refusal is an answer, it says who it is, and
    /// its requests are counted.
    pub async fn operator_client(&self, metrics: &Metrics) -> Result<Client> {
        let mut config = self.config().await?;
        config.default_retry = false;
        config.headers.push((USER_AGENT, HeaderValue::from_static("lockstep-operator")));
        let server = config.cluster_url.clone();
        let builder = ClientBuilder::try_from(config).with_context(|| format!("no client for {server}"))?;
        Ok(builder.with_layer(&CountRequests(metrics.clone())).build())
    }

    /// How the cluster is reached.
    pub async fn config(&self) -> Result<Config> {
        if self.kubeconfig.is_none() && self.context.is_none() {
            return Config::infer().await.context("no cluster to talk to; name one with --kubeconfig");
        }
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let (kubeconfig, from) = match &self.kubeconfig {
            Some(path) => (Kubeconfig::read_from(path), path.display().to_string()),
            None => (Kubeconfig::read(), "the kubeconfig".to_owned()),
        };
        let kubeconfig = kubeconfig.with_context(|| format!("cannot read {from}"))?;
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .with_context(|| format!("{from} does not say how to reach the cluster"))
    }
}

/// Does work that talks to a cluster, from a command that does not.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(work)
}
