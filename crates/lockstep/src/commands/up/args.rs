//! What may be said of `lockstep up`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lockstep_core::time::Millis;

use super::cluster::StartOptions;
use crate::args::duration;
use crate::input::cluster::ClusterArgs;

/// Examples at the end of the help.
pub const HELP: &str = "\
Exit codes: 0 quit, or as --until asks; 2 a rollout has stalled or went back before --until was reached;
3 --for was over before.

Examples:
  lockstep up                                        a cluster, a demo set, keys to play with it
  lockstep up -f mine.yaml                           with a set of your own
  lockstep up --plain --roll --until complete        the story of one rollout, for scripts
  lockstep up --clusters 3                           a Deployment over three clusters, rolled as if it stood in one
  lockstep up --no-operator --no-demo                only the cluster; `lockstep operator` beside it";

/// `lockstep up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Sets to start instead of the demo. `-` reads stdin.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Start no demo set.
    #[arg(long)]
    pub no_demo: bool,
    /// Run no operator: the sets stay as they are until one runs beside.
    #[arg(long)]
    pub no_operator: bool,
    /// How many nodes the cluster has.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = number(1..=1000))]
    pub nodes: u32,
    /// Start a host and so many clusters instead of one, and a Deployment that is spread over them.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number(2..=9), conflicts_with_all = ["files", "no_demo", "no_operator", "port", "data", "gpus", "kubeconfig", "context", "namespace"])]
    pub clusters: Option<u32>,
    /// How many GPUs (nvidia.com/gpu) each node has.
    #[arg(long, value_name = "N", default_value_t = 8, allow_negative_numbers = true, value_parser = number(0..=1024))]
    pub gpus: u32,
    /// The port the cluster listens at, on this machine only. Default: any that is free.
    #[arg(long, value_name = "PORT", allow_negative_numbers = true, value_parser = port_number)]
    pub port: Option<u16>,
    /// Keep the cluster in this file: what it holds is there again next time.
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// How many times faster pods start and end.
    #[arg(long, value_name = "TIMES", default_value_t = 1, allow_negative_numbers = true, value_parser = number(1..=1000))]
    pub speed: u32,
    /// Print a line for each change instead of the view. This is the default where there is no terminal.
    #[arg(long)]
    pub plain: bool,
    /// Roll the first set to a new version once it stands, as the key r does.
    #[arg(long)]
    pub roll: bool,
    /// End when every set is there; with --roll: after that rollout.
    #[arg(long, value_name = "STATE", value_enum)]
    pub until: Option<Until>,
    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub limit: Option<Millis>,
    /// Write what the operator says to this file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Look at a cluster that runs already instead of starting one.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// A number within bounds, which a refusal names.
fn number(accepted: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| accepted.contains(number));
        number
            .ok_or_else(|| format!("must be a whole number from {} to {}", accepted.start(), accepted.end()))
    }
}

fn port_number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "must be a port from 1 to 65535, or 0 for any that is free".to_owned())
}

/// When to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// Every set is complete, or its partition is reached.
    Complete,
    /// Every set is at its end, also a bad one: complete, stalled, rolled back or refused.
    Ended,
}

impl UpArgs {
    /// How the cluster is to be started.
    pub fn start_options(&self) -> StartOptions {
        let Self { nodes, gpus, port, speed, .. } = *self;
        StartOptions { nodes, gpus, port, speed, data: self.data.clone() }
    }

    /// A cluster that runs already was named.
    pub fn is_of_others(&self) -> bool {
        self.cluster.kubeconfig.is_some() || self.cluster.context.is_some()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::Cli;

    #[test]
    fn a_wrong_number_is_named_with_what_would_be_accepted() {
        for (option, values, accepted) in [
            ("--nodes", ["-1", "0", "1001", "abc"], "must be a whole number from 1 to 1000"),
            ("--gpus", ["-1", "1025", "1.5", "8Gi"], "must be a whole number from 0 to 1024"),
            ("--speed", ["-2", "0", "1001", "2x"], "must be a whole number from 1 to 1000"),
            ("--clusters", ["-1", "1", "10", "two"], "must be a whole number from 2 to 9"),
            (
                "--port",
                ["-1", "65536", "http", "80.0"],
                "must be a port from 1 to 65535, or 0 for any that is free",
            ),
        ] {
            for value in values {
                let refused = Cli::try_parse_from(["lockstep", "up", option, value]).unwrap_err().to_string();
                for part in [option, &format!("'{value}'"), accepted] {
                    assert!(refused.contains(part), "{part:?} is not in {refused}");
                }
            }
        }
    }
}
