//! `lockstep operator`: the engine in a cluster.

use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use lockstep_operator::controller::{self, ControllerOptions};
use tracing_subscriber::EnvFilter;

use crate::exit::Exit;
use crate::input::cluster::{ClusterArgs, block_on};

/// `lockstep operator`.
#[derive(Debug, Args)]
pub struct OperatorArgs {
    /// Which cluster. With a namespace: look after the sets of that namespace only.
    #[command(flatten)]
    pub cluster: ClusterArgs,
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
    log(args.log_format);
    block_on(async {
        let client = args.cluster.plain_client("lockstep-operator").await?;
        let options = ControllerOptions { namespace: args.cluster.namespace.clone(), instance: None };
        let sure = Arc::new(|| true);
        let controller = controller::run(client, options, sure, || tracing::info!("looks after sets"));
        tokio::select! {
            () = controller => {}
            stop = stopped() => stop?,
        }
        Ok(Exit::Fine)
    })
}

/// Waits until somebody wants us to stop.
async fn stopped() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for Ctrl-C")?,
    }
    Ok(())
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}
