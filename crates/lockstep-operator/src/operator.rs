//! The whole operator: what every replica does, and what only the leader does.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use kube::Client;
use tokio::net::TcpListener;

use crate::controller::{self, ControllerOptions};
use crate::election::{BadTiming, Election, ElectionOptions};
use crate::metrics::Metrics;
use crate::serve::{Readiness, Shutdown, health, serve_plain};

/// How an operator is set up.
#[derive(Debug, Clone, Default)]
pub struct OperatorOptions {
    /// Look after sets of this namespace only.
    pub namespace: Option<String>,
    /// Who we are among the replicas.
    pub identity: String,
    /// How one replica is chosen; without it, this is the only one.
    pub election: Option<ElectionOptions>,
    /// Where health and metrics are served.
    pub health: Option<SocketAddr>,
}

/// The operator cannot be started, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The times of the election do not fit together.
    #[error(transparent)]
    Timing(#[from] BadTiming),
    /// A port cannot be used.
    #[error("cannot serve at {address}: {source}")]
    Serve {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// Runs until it is told to stop.
pub async fn run(
    client: Client,
    options: OperatorOptions,
    metrics: Metrics,
    shutdown: Shutdown,
) -> Result<(), OperatorError> {
    let readiness = Readiness::default();
    // Until admission is served here, nothing is missing for it.
    readiness.certificate(true);
    let serving = serve_health(&options, &metrics, &readiness, &shutdown).await?;
    lead(client, &options, &metrics, &readiness, &shutdown).await?;
    readiness.ending();
    serving.await;
    Ok(())
}

/// Serves health and metrics in the background; what is returned ends when that has ended.
async fn serve_health(
    options: &OperatorOptions,
    metrics: &Metrics,
    readiness: &Readiness,
    shutdown: &Shutdown,
) -> Result<impl Future<Output = ()>, OperatorError> {
    let mut server = tokio::task::JoinSet::new();
    if let Some(address) = options.health {
        let cannot = |source| OperatorError::Serve { address, source };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let router = health(metrics.clone(), readiness.clone());
        let shutdown = shutdown.clone();
        server.spawn(async move {
            if let Err(error) = serve_plain(listener, router, shutdown).await {
                tracing::error!(%error, "health and metrics are no longer served");
            }
        });
    }
    Ok(async move { while server.join_next().await.is_some() {} })
}

/// Looks after sets whenever it is our turn.
async fn lead(
    client: Client,
    options: &OperatorOptions,
    metrics: &Metrics,
    readiness: &Readiness,
    shutdown: &Shutdown,
) -> Result<(), OperatorError> {
    let work = |sure: Arc<dyn Fn() -> bool + Send + Sync>| {
        let instance = Some(options.identity.clone()).filter(|identity| !identity.is_empty());
        let options = ControllerOptions { namespace: options.namespace.clone(), instance };
        let (client, metrics, readiness) = (client.clone(), metrics.clone(), readiness.clone());
        async move {
            let _term = Term::begin(&metrics, &readiness);
            let filled = readiness.clone();
            let ready = move || {
                filled.caches(true);
                tracing::info!("looks after sets");
            };
            controller::run(client, options, metrics.clone(), sure, ready).await;
        }
    };
    match &options.election {
        None => tokio::select! {
            () = work(Arc::new(|| true)) => {}
            () = shutdown.requested() => {}
        },
        Some(election) => {
            let election = Election::new(client.clone(), election)?;
            election
                .run(shutdown.requested(), |leadership| work(Arc::new(move || leadership.is_sure())))
                .await;
        }
    }
    Ok(())
}

/// A term as leader: whatever ends it, the metrics and readiness say so.
struct Term {
    metrics: Metrics,
    readiness: Readiness,
}

impl Term {
    fn begin(metrics: &Metrics, readiness: &Readiness) -> Self {
        metrics.leader(true);
        readiness.leading(true);
        Self { metrics: metrics.clone(), readiness: readiness.clone() }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.metrics.leader(false);
        self.metrics.forget_all_sets();
        self.readiness.leading(false);
        self.readiness.caches(false);
    }
}
