//! Chores of the project: `cargo xtask <chore>`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::build::{Part, Programs};
use lockstep_testkit::floor::Floor;
use lockstep_testkit::{Cluster, say};

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
    /// Start a cluster with nodes and keep it until Ctrl-C.
    Cluster {
        /// How many nodes it has.
        #[arg(long, default_value_t = 3)]
        nodes: u32,
        /// With Kubernetes' own gang scheduling.
        #[arg(long)]
        gangs: bool,
    },
    /// Measure what a raw parallel client does per second on a fresh control plane.
    Floor {
        /// How many pods are created and deleted in each round.
        #[arg(long, default_value_t = 1000)]
        pods: usize,
        /// How many requests are under way at a time.
        #[arg(long, default_value_t = 64)]
        parallel: usize,
        /// How many rounds.
        #[arg(long, default_value_t = 3)]
        rounds: usize,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::ControlPlane { parts } => {
            for part in parts {
                let programs = Programs::of(part, &mut say)?;
                println!("{part}: {}", programs.dir().display());
            }
            Ok(())
        }
        Chore::Cluster { nodes, gangs } => cluster(nodes, gangs).await,
        Chore::Floor { pods, parallel, rounds } => floor(pods, parallel, rounds).await,
    }
}

async fn cluster(nodes: u32, gangs: bool) -> Result<()> {
    let builder = Cluster::builder().nodes(NodeGroup::new("node", nodes));
    let cluster = if gangs { builder.gangs() } else { builder }.start().await?;
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    if let Some(kubectl) = cluster.program("kubectl") {
        println!("{} get nodes", kubectl.display());
    }
    tokio::signal::ctrl_c().await?;
    Ok(())
}

async fn floor(pods: usize, parallel: usize, rounds: usize) -> Result<()> {
    let room = u32::try_from(pods.div_ceil(100).max(1))?;
    let nodes = NodeGroup::new("node", room).with_capacity("cpu", "1000");
    let cluster = Cluster::builder().nodes(nodes).start().await?;
    for _ in 0..rounds {
        println!("{}", Floor::measure(&cluster, pods, parallel).await?);
    }
    Ok(())
}
