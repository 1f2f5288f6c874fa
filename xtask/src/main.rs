//! Chores of the project: `cargo xtask <chore>`.

mod crdgen;
mod embedded;
mod facts;
mod figures;

use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand, value_parser};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::build::{Part, Programs};
use lockstep_testkit::cluster::Builder;
use lockstep_testkit::floor::Floor;
use lockstep_testkit::{Cluster, say};

use crate::figures::FiguresArgs;

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
    /// Write the definitions of our kinds to deploy/crds.
    Crdgen {
        /// Write nothing; fail if the files are out of date.
        #[arg(long)]
        check: bool,
    },
    /// Write what the embedded cluster knows about Kubernetes, taken from a real one, to crates/lockstep-sandbox/facts.
    Facts,
    /// Start a cluster with nodes and keep it until Ctrl-C.
    Cluster {
        /// How many nodes it has.
        #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(0..=5000))]
        nodes: u32,
        /// How many GPUs (nvidia.com/gpu) each node has.
        #[arg(long, default_value_t = 0)]
        gpus: u32,
        /// How many seconds a node may be silent before Kubernetes calls it lost.
        #[arg(long, default_value_t = 40, value_parser = value_parser!(u64).range(15..=86400))]
        node_grace: u64,
        /// With Kubernetes' own gang scheduling.
        #[arg(long)]
        gangs: bool,
    },
    /// Measure what a raw parallel client does per second on a fresh control plane.
    Floor {
        /// How many pods are created and deleted in each round.
        #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..=100_000))]
        pods: u32,
        /// How many requests are under way at a time.
        #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=1000))]
        parallel: u32,
        /// How many rounds.
        #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(1..=1000))]
        rounds: u32,
    },
    /// Measure the operator on a real control plane, beside a raw client: writes, reaction, pace and memory.
    ///
    /// Builds everything in release. Figures of different runs or machines cannot be compared; ratios can.
    Figures(FiguresArgs),
    /// Measure the embedded cluster: start, creates, memory, and a thousand pods in virtual time.
    EmbeddedFigures,
}

fn main() -> Result<()> {
    let chore = Arguments::parse().chore;
    // It has runtimes of its own, one of them with a time of its own.
    if matches!(chore, Chore::EmbeddedFigures) {
        return embedded::measure();
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(chore))
}

async fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::EmbeddedFigures => embedded::measure(),
        Chore::ControlPlane { parts } => {
            for part in parts {
                let programs = Programs::of(part, &mut say)?;
                programs.check(part)?;
                println!("{part}: {}", programs.dir().display());
            }
            Ok(())
        }
        Chore::Crdgen { check: false } => crdgen::write(),
        Chore::Crdgen { check: true } => crdgen::check(),
        Chore::Facts => facts::write().await,
        Chore::Cluster { nodes, gpus, node_grace, gangs } => {
            let group = NodeGroup::new("node", nodes);
            let group =
                if gpus > 0 { group.with_capacity("nvidia.com/gpu", &gpus.to_string()) } else { group };
            let builder = Cluster::builder().nodes(group).node_grace(Duration::from_secs(node_grace));
            cluster(if gangs { builder.gangs() } else { builder }).await
        }
        Chore::Floor { pods, parallel, rounds } => floor(pods, parallel, rounds).await,
        Chore::Figures(args) => figures::run(&args).await,
    }
}

async fn cluster(builder: Builder) -> Result<()> {
    let cluster = builder.our_own("a real control plane").start().await?;
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    if let Some(kubectl) = cluster.program("kubectl") {
        if let Some(folder) = kubectl.parent() {
            println!("export PATH={}:$PATH    # for its kubectl", folder.display());
        }
        println!("kubectl get nodes");
    }
    say("pods are played by a stand-in, without containers; Ctrl-C ends the cluster");
    tokio::signal::ctrl_c().await?;
    Ok(())
}

async fn floor(pods: u32, parallel: u32, rounds: u32) -> Result<()> {
    let nodes = NodeGroup::new("node", pods.div_ceil(100)).with_capacity("cpu", "1000");
    let cluster = Cluster::builder().our_own("a real control plane").nodes(nodes).start().await?;
    for _ in 0..rounds {
        println!("{}", Floor::measure(&cluster, pods as usize, parallel as usize).await?);
    }
    Ok(())
}
