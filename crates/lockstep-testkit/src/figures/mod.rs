//! The operator's figures on a real control plane: what it writes, how soon it acts, how long it takes, what it
//! holds in memory, each beside the floor of the same run.

mod budgets;
mod federation;
mod memory;
mod peers;
mod raw;
mod reaction;
mod report;
mod stage;
mod wait;
mod writes;

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

pub use self::budgets::Budgets;
pub use self::federation::Federation;
pub use self::memory::Memory;
pub use self::peers::{Kind, Roll, Share, SideBySide, Size};
pub use self::reaction::Spread;
pub use self::writes::{Took, Writes};

use self::raw::RawClient;
use self::reaction::Reactions;
use self::stage::{Shape, Stage};
use crate::cluster::ClusterError;
use crate::say;

/// How the operator appears in the audit log.
const OPERATOR: &str = "lockstep-operator";

/// The rollout that readiness limits: few pods, fewer away, each taking its time.
const LIMITED: Shape<'_> = Shape { name: "limited", pods: 100, window: 5, ready_after: Some("1s..3s") };

/// What is measured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program whose operator it is.
    pub program: PathBuf,
    /// How many pods are created and rolled.
    pub pods: u32,
    /// How many requests of the raw client are under way at a time.
    pub parallel: usize,
    /// How often creating and rolling are measured.
    pub rounds: u32,
    /// What is rolled side by side with others.
    pub peers: Size,
    /// Which figures.
    pub parts: Vec<Part>,
}

/// A part of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Writes per replaced pod, and how long creating and rolling take.
    Rounds,
    /// How soon the operator acts.
    Reaction,
    /// What it holds in memory.
    Memory,
    /// What the answers to removals cost.
    Budgets,
    /// What a thousand workloads over ten clusters take.
    Federation,
    /// The same roll by LeaderWorkerSet and DisaggregatedSet.
    Peers,
}

impl Part {
    /// All that need nobody but the operator.
    pub const OWN: [Self; 5] = [Self::Rounds, Self::Reaction, Self::Memory, Self::Budgets, Self::Federation];
}

/// All figures of one run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figures {
    /// How many pods were created and rolled in each round.
    pub pods: u32,
    /// The processors, and how many processes wanted them before and after.
    pub machine: Machine,
    /// Creating and rolling.
    pub rounds: Vec<Round>,
    /// How soon the operator acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<Reaction>,
    /// What the operator holds in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// What the answers to removals cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Budgets>,
    /// What a thousand workloads over ten clusters take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub federation: Option<Federation>,
    /// The same roll by others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_by_side: Option<SideBySide>,
}

/// Where it was measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Machine {
    /// Processors.
    pub cores: usize,
    /// The load average of a minute, before and after.
    pub load: [f64; 2],
}

/// One round: the operator and the raw client on the same control plane.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Round {
    /// The operator.
    pub operator: Work,
    /// The raw client.
    pub floor: Work,
    /// What the operator wrote while it rolled.
    pub writes: Writes,
}

/// The same work by either.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Work {
    /// All pods created.
    pub create: Took,
    /// All pods replaced, a tenth at a time.
    pub roll: Took,
}

/// How soon a pod's readiness leads to the next delete, and a pod's end to the next create.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Reaction {
    /// By the operator: ready to delete.
    pub ready: Spread,
    /// By the operator: gone to create.
    pub gone: Spread,
    /// By the raw client: ready to delete.
    pub floor_ready: Spread,
    /// By the raw client: gone to create.
    pub floor_gone: Spread,
}

/// Measures everything.
pub async fn measure(settings: &Settings) -> Result<Figures, ClusterError> {
    let mut figures = Figures { pods: settings.pods, ..Figures::default() };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    figures.machine = Machine { cores, load: [load(), 0.0] };
    for part in &settings.parts {
        match part {
            Part::Rounds => figures.rounds = rounds(settings).await?,
            Part::Reaction => {
                say("a rollout that readiness limits");
                figures.reaction = Some(reaction(settings).await?);
            }
            Part::Memory => {
                say("memory with 1,000 and 5,000 pods");
                figures.memory = Some(memory::measure(&settings.program).await?);
            }
            Part::Budgets => {
                say("500 budgets over 10,000 pods");
                figures.budgets = Some(budgets::measure(&settings.program).await?);
            }
            Part::Federation => {
                say("1,000 workloads over ten clusters");
                figures.federation = Some(federation::measure(&settings.program).await?);
            }
            Part::Peers => {
                figures.side_by_side = Some(peers::measure(&settings.program, settings.peers).await?);
            }
        }
    }
    figures.machine.load[1] = load();
    Ok(figures)
}

async fn rounds(settings: &Settings) -> Result<Vec<Round>, ClusterError> {
    let mut rounds = Vec::new();
    for number in 0..settings.rounds {
        say(&format!("creating and rolling {} pods, round {}", settings.pods, number + 1));
        // Who comes second finds a warmer and a fuller control plane: they take turns.
        rounds.push(round(settings, number % 2 == 0).await?);
    }
    Ok(rounds)
}

async fn round(settings: &Settings, operator_first: bool) -> Result<Round, ClusterError> {
    let stage = Stage::set(&settings.program, settings.pods * 2).await?;
    let window = (settings.pods / 10).max(1);
    let shape = Shape { name: "rolled", pods: settings.pods, window, ready_after: None };
    let mut round = Round::default();
    for operator in [operator_first, !operator_first] {
        if operator {
            (round.operator, round.writes) = by_operator(&stage, &shape).await?;
        } else {
            round.floor = by_raw_client(&stage, &shape, settings.parallel).await?;
        }
    }
    Ok(round)
}

async fn by_operator(stage: &Stage, shape: &Shape<'_>) -> Result<(Work, Writes), ClusterError> {
    let namespace = stage.cluster.new_namespace("operator").await?;
    let began = Timestamp::now();
    stage.roll_out(&namespace, shape, "v1").await?;
    let create = Took::since(began, &stage.cluster.audit()?, &namespace);
    let began = Timestamp::now();
    stage.roll_out(&namespace, shape, "v2").await?;
    let audit = stage.cluster.audit()?.since(began);
    let roll = Took::since(began, &audit, &namespace);
    Ok((Work { create, roll }, Writes::count(&audit, &namespace, &[OPERATOR])))
}

async fn by_raw_client(stage: &Stage, shape: &Shape<'_>, parallel: usize) -> Result<Work, ClusterError> {
    let namespace = stage.cluster.new_namespace("floor").await?;
    let raw = RawClient::start(&stage.cluster, &namespace, shape, parallel).await?;
    let began = Timestamp::now();
    raw.create_all("v1").await?;
    let create = Took::since(began, &stage.cluster.audit()?, &namespace);
    let began = Timestamp::now();
    raw.roll("v2").await?;
    let roll = Took::since(began, &stage.cluster.audit()?, &namespace);
    Ok(Work { create, roll })
}

async fn reaction(settings: &Settings) -> Result<Reaction, ClusterError> {
    let stage = Stage::set(&settings.program, LIMITED.pods * 2).await?;
    let window = LIMITED.window as usize;
    let namespace = stage.cluster.new_namespace("operator").await?;
    stage.roll_out(&namespace, &LIMITED, "v1").await?;
    let began = Timestamp::now();
    stage.roll_out(&namespace, &LIMITED, "v2").await?;
    let audit = stage.cluster.audit()?.since(began);
    let ours = Reactions::read(&audit, &namespace, OPERATOR, window);

    let namespace = stage.cluster.new_namespace("floor").await?;
    let raw = RawClient::start(&stage.cluster, &namespace, &LIMITED, settings.parallel).await?;
    raw.create_all("v1").await?;
    let began = Timestamp::now();
    raw.roll("v2").await?;
    let audit = stage.cluster.audit()?.since(began);
    let floor = Reactions::read(&audit, &namespace, raw::AGENT, window);
    Ok(Reaction {
        ready: Spread::of(&ours.ready_to_delete),
        gone: Spread::of(&ours.gone_to_create),
        floor_ready: Spread::of(&floor.ready_to_delete),
        floor_gone: Spread::of(&floor.gone_to_create),
    })
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default()
}
