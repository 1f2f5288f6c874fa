//! The whole operator: what every replica does, and what only the leader does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission::{self, Limits};
use crate::budgets::Budgets;
use crate::certificates::{SecretStore, bundle, conversion, files};
use crate::clock::Clock;
use crate::controller::{self, ControllerOptions};
use crate::dialects::{self, Dialects, Setting};
use crate::election::{BadTiming, Election, ElectionOptions, Leadership};
use crate::federation::{self, Stamper};
use crate::metrics::Metrics;
use crate::report::Herald;
use crate::serve::{Readiness, ServingCertificate, Shutdown, health, serve_plain, serve_tls};
use lockstep_federation::interpret::Kinds;

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
    /// Whether unavailable budgets are looked after, where their definition is ours.
    pub budgets: bool,
    /// Look after rollouts of these kinds over several clusters on Karmada's API server, and after nothing else.
    pub federation: Option<Kinds>,
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

/// The webhook configurations by which pods are guarded, one validating and one mutating.
const GUARDS: &str = "lockstep-budgets";

/// The webhook configuration by which Works are stamped. It sorts before Karmada's own.
pub const FEDERATION: &str = "lockstep-federation";

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
    let budgets = (options.budgets && options.federation.is_none()).then(|| {
        let (namespace, clock) = (options.namespace.clone(), options.clock.clone());
        Budgets::new(client.clone(), namespace, metrics.clone(), clock)
    });
    if let Some(budgets) = budgets.clone() {
        followers.spawn(async move { budgets.run().await });
    }
    serve_health(&options, &metrics, &readiness, &shutdown, &mut servers).await?;
    match &options.webhook {
        Some(webhook) => {
            let shown = ServingCertificate::none();
            let known = (client.clone(), options.dialects.clone());
            let router = match &options.federation {
                Some(kinds) => {
                    let stamper = Stamper::new(client.clone(), metrics.clone(), kinds.clone());
                    admission::federation_router(stamper)
                }
                None => admission::router(metrics.clone(), webhook.limits, Some(known), budgets.as_ref()),
            };
            serve_admission(webhook.address, router, &shown, &shutdown, &mut servers).await?;
            follow(&client, (webhook, &options.clock), shown, &readiness, authorities, &mut followers);
        }
        // Where admission is not served, nothing is missing for it.
        None => readiness.certificate(true),
    }
    let duties =
        Duties { client, options: &options, budgets, metrics: &metrics, readiness: &readiness, trusted };
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
    address: SocketAddr,
    router: axum::Router,
    shown: &Arc<ServingCertificate>,
    shutdown: &Shutdown,
    servers: &mut JoinSet<()>,
) -> Result<(), OperatorError> {
    let listener = listen(address).await?;
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
    budgets: Option<Budgets>,
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
        match &self.options.federation {
            Some(kinds) => self.federate(kinds.clone(), sure).await,
            None => self.look_after_sets(sure).await,
        }
    }

    /// Whether the API server has to be told which authorities to trust.
    fn certifies_itself(&self) -> bool {
        let webhook = self.options.webhook.as_ref();
        webhook.is_some_and(|webhook| matches!(webhook.certificates, Certificates::Own { .. }))
    }

    async fn federate(&self, kinds: Kinds, sure: Arc<dyn Fn() -> bool + Send + Sync>) {
        let instance = Some(self.options.identity.clone()).filter(|identity| !identity.is_empty());
        let (client, clock) = (self.client.clone(), self.options.clock.clone());
        let metrics = self.metrics.clone();
        let trust = async {
            if self.certifies_itself() {
                bundle::keep_mutating(&self.client, FEDERATION, self.trusted.clone()).await;
            }
        };
        self.readiness.caches(true);
        tokio::join!(
            federation::run(federation::Setting { client, instance, sure, clock, metrics, kinds }),
            trust
        );
    }

    async fn look_after_sets(&self, sure: Arc<dyn Fn() -> bool + Send + Sync>) {
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
        let herald = Herald::new(self.client.clone(), instance.clone(), clock.clone());
        let budgets = async {
            match &self.budgets {
                Some(budgets) => budgets.lead(herald, Arc::clone(&sure)).await,
                None => std::future::pending().await,
            }
        };
        let options = ControllerOptions { namespace, instance, budgets: self.budgets.clone(), clock };
        let filled = self.readiness.clone();
        let ready = move || {
            filled.caches(true);
            tracing::info!("looks after sets");
        };
        let controller =
            controller::run(self.client.clone(), options, self.metrics.clone(), Arc::clone(&sure), ready);
        let trust = async {
            if self.certifies_itself() {
                let guards = self.budgets.as_ref().map(|_| GUARDS);
                let webhooks = bundle::keep_all(&self.client, CONFIGURATION, guards, self.trusted.clone());
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
            () = budgets => {}
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
        self.metrics.forget_all();
        self.readiness.leading(false);
        self.readiness.caches(false);
    }
}
