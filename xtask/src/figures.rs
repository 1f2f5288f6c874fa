//! `cargo xtask figures`: the operator's figures on a real control plane.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum, value_parser};
use lockstep_kubelet::span::Span;
use lockstep_testkit::figures::{Part, Settings, Size, measure};
use lockstep_testkit::say;
use serde_json::Value;

/// What is measured, and how it is shown.
#[derive(Debug, Clone, Args)]
pub struct FiguresArgs {
    /// How many pods are created and rolled in each round.
    #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(10..=10_000))]
    pods: u32,
    /// How many requests of the raw client are under way at a time.
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=1000))]
    parallel: u32,
    /// How often creating and rolling are measured.
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Only these figures.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Only>,
    /// The same roll by LeaderWorkerSet and DisaggregatedSet, side by side; nothing else, unless `--only` says so.
    ///
    /// Their controller is built from Go modules at the first time.
    #[arg(long)]
    peers: bool,
    /// How many groups of a leader and its workers are rolled side by side.
    #[arg(long, requires = "peers", default_value_t = 50, value_parser = value_parser!(u32).range(2..=1000))]
    groups: u32,
    /// How many pods such a group has.
    #[arg(long, requires = "peers", default_value_t = 4, value_parser = value_parser!(u32).range(2..=100))]
    group_size: u32,
    /// How long each of these pods takes to be ready (`2s`, `1s..3s`); at once, unless told.
    #[arg(long, requires = "peers")]
    ready_after: Option<Span>,
    /// How the figures are shown.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// The operator's program, built as it is to be measured; nothing else is built then.
    #[arg(long, hide = true)]
    program: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// For machines.
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Only {
    /// Writes per replaced pod, and how long creating and rolling take.
    Rounds,
    /// How soon the operator acts.
    Reaction,
    /// What it holds in memory.
    Memory,
    /// What the answers to removals cost, with 500 budgets over 10,000 pods.
    Budgets,
    /// What `lockstep federation` holds in memory with 1,000 workloads over ten clusters.
    Federation,
}

impl From<Only> for Part {
    fn from(only: Only) -> Self {
        match only {
            Only::Rounds => Self::Rounds,
            Only::Reaction => Self::Reaction,
            Only::Memory => Self::Memory,
            Only::Budgets => Self::Budgets,
            Only::Federation => Self::Federation,
        }
    }
}

impl FiguresArgs {
    fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = self.only.iter().copied().map(Part::from).collect();
        parts.extend(self.peers.then_some(Part::Peers));
        if parts.is_empty() { Part::OWN.to_vec() } else { parts }
    }
}

/// Measures and shows.
pub async fn run(args: &FiguresArgs) -> Result<()> {
    let Some(program) = &args.program else { return run_in_release() };
    let settings = Settings {
        parts: args.parts(),
        program: program.clone(),
        pods: args.pods,
        parallel: args.parallel as usize,
        rounds: args.rounds,
        peers: Size { groups: args.groups, group_size: args.group_size, ready_after: args.ready_after },
    };
    let figures = measure(&settings).await?;
    match args.output {
        Output::Table => print!("{figures}"),
        Output::Json => println!("{}", serde_json::to_string_pretty(&figures)?),
    }
    Ok(())
}

/// The raw client and the kubelet stand-in are part of this program. Compared is what is compiled alike: both are
/// built in release, and this command is run again there.
fn run_in_release() -> Result<()> {
    say("building lockstep and xtask in release");
    let [lockstep, xtask] = build(["lockstep", "xtask"])?;
    let status = Command::new(xtask)
        .args(std::env::args_os().skip(1))
        .arg("--program")
        .arg(lockstep)
        .status()
        .context("cannot run xtask in release")?;
    if !status.success() {
        bail!("the measurement ended with {status}");
    }
    Ok(())
}

/// Builds the programs of packages, in one go so that what they share is compiled once, and says where they are.
fn build<const N: usize>(packages: [&str; N]) -> Result<[PathBuf; N]> {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--message-format=json"])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cannot build {}: {}", packages.join(" and "), output.status);
    }
    let text = String::from_utf8(output.stdout).context("cargo does not write text")?;
    let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let program = |package: &str| {
        let mut built = messages.iter().filter(|message| message["target"]["name"] == package);
        built.find_map(|message| message["executable"].as_str().map(PathBuf::from))
    };
    let mut found = packages.map(|_| PathBuf::new());
    for (package, found) in packages.iter().zip(&mut found) {
        *found = program(package).with_context(|| format!("cargo does not say where {package} is"))?;
    }
    Ok(found)
}
