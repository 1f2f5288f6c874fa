//! Chores of the project: `cargo xtask <chore>`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use lockstep_testkit::build::{Part, Programs};
use lockstep_testkit::say;

/// Chores of the project.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Build the programs of a test cluster from pinned Go modules into a cache, unless they are there.
    ///
    /// Prints the folder of each part. KUBEBUILDER_ASSETS, if set, is used for `kubernetes` as it is.
    ControlPlane {
        /// Which parts: kubernetes, leaderworkerset, kruise, karmada.
        #[arg(default_value = "kubernetes")]
        parts: Vec<Part>,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::ControlPlane { parts } => {
            for part in parts {
                let programs = Programs::of(part, &mut say)?;
                println!("{part}: {}", programs.dir().display());
            }
            Ok(())
        }
    }
}
