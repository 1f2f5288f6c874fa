//! `lockstep operator` and `lockstep federation`: the engine in a cluster, and over several.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use lockstep_operator::admission::Limits;
use lockstep_operator::certificates::service_names;
use lockstep_operator::dialects::Dialects;
use lockstep_operator::election::ElectionOptions;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::operator::{self, Certificates, OperatorOptions, WebhookOptions};
use lockstep_operator::serve::shutdown;
use tracing_subscriber::EnvFilter;

use crate::exit::Exit;
use crate::input::cluster::{ClusterArgs, block_on};
use crate::input::dialects::{DialectName, chosen, dialect};
use crate::input::kinds;

/// `lockstep operator`.
#[derive(Debug, Args)]
pub struct OperatorArgs {
    /// Which cluster. With a namespace: look after the sets of that namespace only.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// How it serves.
    #[command(flatten)]
    pub serving: ServingArgs,
    /// Also look after objects of these dialects, where `lockstep install` defined their kinds: rbg, kthena, grove; or
    /// none. Kinds that somebody else defined are left alone.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "rbg,kthena,grove", value_parser = dialect)]
    pub dialects: Vec<Option<DialectName>>,
    /// Look after PodUnavailableBudgets, where `lockstep install` defined their kind. One that somebody else defined is
    /// left alone.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub budgets: bool,
}

/// `lockstep federation`.
#[derive(Debug, Args)]
pub struct FederationArgs {
    /// Which control plane of Karmada.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Further kinds, by where their fields stand: a file as docs/federation.md shows it. `lockstep install --karmada`
    /// takes the same one.
    #[arg(long, value_name = "FILE")]
    pub kinds: Option<PathBuf>,
    /// How it serves.
    #[command(flatten)]
    pub serving: ServingArgs,
}

/// How a process that looks after something serves, alone or with others.
#[derive(Debug, Args)]
pub struct ServingArgs {
    /// Share the work's lease with other replicas: one does the work, the others stand by.
    #[arg(long)]
    pub leader_elect: bool,
    /// Where the lease lies.
    #[arg(long, value_name = "NAME", default_value = "lockstep-system")]
    pub lease_namespace: String,
    /// How many seconds a lease lasts. Longer survives longer outages of the API server, shorter hands over sooner.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=3600))]
    pub lease_seconds: u64,
    /// This replica's name. Default: $POD_NAME.
    #[arg(long, value_name = "NAME")]
    pub identity: Option<String>,
    /// Where /healthz, /readyz and /metrics are served: 0.0.0.0:8080.
    #[arg(long, value_name = "ADDRESS")]
    pub health_address: Option<SocketAddr>,
    /// Serve admission for this Service, with certificates of our own in its namespace: lockstep-system/lockstep-webhook.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub webhook_service: Option<String>,
    /// Another name or address the API server calls the webhook by.
    #[arg(long, value_name = "NAME", requires = "webhook_service")]
    pub webhook_name: Vec<String>,
    /// Where admission is served.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub webhook_address: SocketAddr,
    /// Serve admission with tls.crt and tls.key of this folder, as cert-manager mounts them.
    #[arg(long, value_name = "DIR", conflicts_with = "webhook_service")]
    pub cert_dir: Option<PathBuf>,
    /// How logs are written.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one object per line.
    Json,
}

/// Runs until it is told to stop.
pub fn run(args: &OperatorArgs) -> Result<Exit> {
    let options = OperatorOptions {
        namespace: args.cluster.namespace.clone(),
        dialects: Dialects(chosen(&args.dialects)),
        budgets: args.budgets,
        ..args.serving.options("lockstep")
    };
    serve(&args.cluster, &args.serving, options)
}

/// Looks after rollouts over several clusters until it is told to stop.
pub fn federate(args: &FederationArgs) -> Result<Exit> {
    let federation = Some(kinds::read(args.kinds.as_deref())?);
    let options = OperatorOptions { federation, ..args.serving.options("lockstep-federation") };
    serve(&args.cluster, &args.serving, options)
}

fn serve(cluster: &ClusterArgs, serving: &ServingArgs, options: OperatorOptions) -> Result<Exit> {
    log(serving.log_format);
    if options.webhook.is_none() && options.federation.is_none() {
        tracing::warn!(
            "the API server can ask nothing here (no --webhook-service or --cert-dir): specs are only checked when they \
             are looked at, and budgets hold no delete and no eviction of others, though our own rollouts keep to them"
        );
    }
    block_on(async {
        let metrics = Metrics::new();
        let client = cluster.operator_client(&metrics).await?;
        let (trigger, shutdown) = shutdown();
        let operator = operator::run(client, options, metrics, shutdown);
        tokio::pin!(operator);
        tokio::select! {
            ended = &mut operator => ended?,
            stop = stopped() => {
                stop?;
                tracing::info!("stops");
                trigger.shut_down();
                operator.await?;
            }
        }
        Ok(Exit::Fine)
    })
}

impl ServingArgs {
    /// Everything but what is looked after. `lease` is what replicas share.
    fn options(&self, lease: &str) -> OperatorOptions {
        let identity = self
            .identity
            .clone()
            .or_else(|| std::env::var("POD_NAME").ok())
            .unwrap_or_else(|| format!("{lease}-{}", std::process::id()));
        let election = self.leader_elect.then(|| ElectionOptions {
            lease_duration: std::time::Duration::from_secs(self.lease_seconds),
            renew_deadline: std::time::Duration::from_secs(self.lease_seconds) * 2 / 3,
            retry_period: std::time::Duration::from_secs(self.lease_seconds) * 2 / 15,
            ..ElectionOptions::new(&self.lease_namespace, lease, &identity)
        });
        OperatorOptions {
            identity,
            election,
            health: self.health_address,
            webhook: self.webhook(),
            ..OperatorOptions::default()
        }
    }

    fn webhook(&self) -> Option<WebhookOptions> {
        let own = self.webhook_service.as_ref().map(|service| {
            let (namespace, name) = service.split_once('/').unwrap_or(("lockstep-system", service));
            let mut names = service_names(namespace, name);
            names.extend(self.webhook_name.iter().cloned());
            Certificates::Own { namespace: namespace.to_owned(), names }
        });
        let certificates = own.or_else(|| self.cert_dir.clone().map(Certificates::Files))?;
        Some(WebhookOptions { address: self.webhook_address, certificates, limits: Limits::default() })
    }
}

/// Waits until somebody wants us to stop.
pub async fn stopped() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for Ctrl-C")?,
    }
    Ok(())
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,kube_client=off"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}
