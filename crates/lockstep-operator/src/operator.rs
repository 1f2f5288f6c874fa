//! The whole operator: what every replica does, and what only the leader does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission::{self, Limits};
use crate::certificates::{SecretStore, bundle, conversion, files};
use crate::clock::Clock;
use crate::controller::{self, ControllerOptions};
use crate::dialects::{self, Dialects, Setting};
use crate::election::{BadTiming, Election, ElectionOptions, Leadership};
use crate::metrics::Metrics;
use crate::serve::{Readiness, ServingCertificate, Shutdown, health, serve_plain, serve_tls};

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
    /// How admission is served; without it, it is not.
    pub webhook: Option<WebhookOptions>,
    /// The dialects whose objects are looked after, where their definitions are ours.
    pub dialects: Dialects,
    /// What time it is.
    pub clock: Clock,
}

/// How admission is served.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Where.
    pub address: SocketAddr,
    /// With which certificates.
    pub certificates: Certificates,
    /// What it may spend.
    pub limits: Limits,
}

/// Where certificates come from.
#[derive(Debug, Clone)]
pub enum Certificates {
    /// We make them ourselves, and keep them in a Secret that all replicas share.
    Own {
        /// The namespace of the Secret.
        namespace: String,
        /// The names the API server calls us by.
        names: Vec<String>,
    },
    /// Somebody else puts them into this folder, and sees to it that the API server trusts them.
    Files(PathBuf),
}

/// The Secret with our own certificates.
const SECRET: &str = "lockstep-webhook-cert";

/// The webhook configuration that is kept trusting us.
const CONFIGURATION: &str = "lockstep";

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
    let mut servers = JoinSet::new();
    let mut followers = JoinSet::new();
    let (authorities, trusted) = watch::channel(None);
    serve_health(&options, &metrics, &readiness, &shutdown, &mut servers).await?;
    match &options.webhook {
        Some(webhook) => {
            let shown = ServingCertificate::none();
            let known = (client.clone(), options.dialects.clone());
            serve_admission((webhook, known), &metrics, &shown, &shutdown, &mut servers).await?;
            follow(&client, (webhook, &options.clock), shown, &readiness, authorities, &mut followers);
        }
        // Where admission is not served, nothing is missing for it.
        None => readiness.certificate(true),
    }
    let duties = Duties { client, options: &options, metrics: &metrics, readiness: &readiness, trusted };
    duties.lead(&shutdown).await?;
    readiness.ending();
    while servers.join_next().await.is_some() {}
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, OperatorError> {
    TcpListener::bind(address).await.map_err(|source| OperatorError::Serve { address, source })
}

async fn serve_health(
    options: &OperatorOptions,
    metrics: &Metrics,
    readiness: &Readiness,
    shutdown: &Shutdown,
    servers: &mut JoinSet<()>,
) -> Result<(), OperatorError> {
    let Some(address) = options.health else { return Ok(()) };
    let listener = listen(address).await?;
    let router = health(metrics.clone(), readiness.clone());
    let shutdown = shutdown.clone();
    servers.spawn(async move {
        if let Err(error) = serve_plain(listener, router, shutdown).await {
            tracing::error!(%error, "health and metrics are no longer served");
        }
    });
    Ok(())
}

async fn serve_admission(
    (webhook, dialects): (&WebhookOptions, (Client, Dialects)),
    metrics: &Metrics,
    shown: &Arc<ServingCertificate>,
    shutdown: &Shutdown,
    servers: &mut JoinSet<()>,
) -> Result<(), OperatorError> {
    let listener = listen(webhook.address).await?;
    let router = admission::router(metrics.clone(), webhook.limits, Some(dialects));
    let (shown, shutdown) = (Arc::clone(shown), shutdown.clone());
    servers.spawn(async move {
        if let Err(error) = serve_tls(listener, router, shown, shutdown).await {
            tracing::error!(%error, "admission is no longer served");
        }
    });
    Ok(())
}

/// Shows the certificates, and what follows them.
fn follow(
    client: &Client,
    (webhook, clock): (&WebhookOptions, &Clock),
    shown: Arc<ServingCertificate>,
    readiness: &Readiness,
    authorities: watch::Sender<Option<String>>,
    followers: &mut JoinSet<()>,
) {
    let readiness = readiness.clone();
    match webhook.certificates.clone() {
        Certificates::Own { namespace, names } => {
            let store = SecretStore::new(client.clone(), &namespace, SECRET, names).clock(clock.clone());
            followers.spawn(async move { store.follow(&shown, &readiness, &authorities).await });
        }
        Certificates::Files(dir) => {
            followers.spawn(async move {
                if let Err(error) = files::follow(&dir, &shown, &readiness).await {
                    tracing::error!(%error, "certificates are no longer followed");
                }
            });
        }
    }
}

/// What the leader does.
struct Duties<'a> {
    client: Client,
    options: &'a OperatorOptions,
    metrics: &'a Metrics,
    readiness: &'a Readiness,
    trusted: watch::Receiver<Option<String>>,
}

impl Duties<'_> {
    /// Does them whenever it is our turn.
    async fn lead(&self, shutdown: &Shutdown) -> Result<(), OperatorError> {
        match &self.options.election {
            None => tokio::select! {
                biased;
                () = shutdown.requested() => {}
                () = self.term(Arc::new(|| true)) => {}
            },
            Some(election) => {
                let election = ElectionOptions { clock: self.options.clock.clone(), ..election.clone() };
                let election = Election::new(self.client.clone(), &election)?;
                let term = |leadership: Leadership| self.term(Arc::new(move || leadership.is_sure()));
                election.run(shutdown.requested(), term).await;
            }
        }
        Ok(())
    }

    /// One term, for as long as we are sure.
    async fn term(&self, sure: Arc<dyn Fn() -> bool + Send + Sync>) {
        let _term = Term::begin(self.metrics, self.readiness);
        let instance = Some(self.options.identity.clone()).filter(|identity| !identity.is_empty());
        let (namespace, clock) = (self.options.namespace.clone(), self.options.clock.clone());
        let setting = Setting {
            client: self.client.clone(),
            namespace: namespace.clone(),
            instance: instance.clone(),
            metrics: self.metrics.clone(),
            sure: Arc::clone(&sure),
            clock: clock.clone(),
        };
        let dialects = dialects::run(setting, self.options.dialects.clone());
        let options = ControllerOptions { namespace, instance, clock };
        let filled = self.readiness.clone();
        let ready = move || {
            filled.caches(true);
            tracing::info!("looks after sets");
        };
        let controller = controller::run(self.client.clone(), options, self.metrics.clone(), sure, ready);
        let own = self.options.webhook.as_ref();
        let own = own.is_some_and(|webhook| matches!(webhook.certificates, Certificates::Own { .. }));
        let trust = async {
            if own {
                let webhooks = bundle::keep(self.client.clone(), CONFIGURATION, self.trusted.clone());
                let conversions = async {
                    if !self.options.dialects.0.is_empty() {
                        conversion::keep(self.client.clone(), self.trusted.clone()).await;
                    }
                };
                tokio::join!(webhooks, conversions);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = controller => {}
            () = dialects => {}
            () = trust => {}
        }
    }
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
