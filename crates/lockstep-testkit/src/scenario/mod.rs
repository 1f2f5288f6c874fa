//! Scenarios: given this manifest, when that happens, then these promises hold, and it ends so.
//!
//! A scenario is data. It is played in the simulation and on a real cluster, and judged by the same promises
//! on the same kind of trace.

mod deeds;
mod real;
mod simulated;
mod verdict;

use std::time::Duration;

use lockstep_core::names::RoleName;
use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::{End, Event, Subject};

pub(crate) use self::real::Ground;
pub use self::verdict::{Verdict, judge};
use crate::cluster::{Builder, Cluster, ClusterError};
use crate::embedded::Embedded;
use crate::workload::{Workload, WorkloadError};

/// A rollout to be played.
#[derive(Debug, Clone)]
pub struct Scenario {
    given: Workload,
    starts_in: (Duration, Duration),
    terminates_in: Duration,
    happenings: Vec<(Duration, Happening)>,
    ends: Vec<End>,
    promotes: bool,
    limit: Duration,
}

/// What happens in the course of it.
#[derive(Debug, Clone)]
enum Happening {
    Change(Box<Workload>),
    Strike {
        of: Subject,
        blow: Blow,
    },
    /// Somebody sends everything back to the last complete set.
    Abort,
    /// A node falls silent, or comes back.
    Node {
        name: String,
        gone: bool,
    },
}

/// A scenario that was played and not judged yet.
struct Played {
    world: &'static str,
    events: Vec<Event>,
    end: End,
    interruptions: Vec<String>,
}

/// Where a scenario is played.
pub enum World<'a> {
    /// The model world, with its virtual clock.
    Simulation,
    /// A cluster.
    Cluster(&'a Cluster),
    /// An embedded cluster in this process, in its own time.
    Embedded(&'a Embedded),
}

/// A scenario cannot be written, or not be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A manifest is not what a scenario can be made of.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The cluster does not do its part.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The given workload never became complete.
    #[error("{name} was not complete after {waited:?}")]
    NeverReady {
        /// Which.
        name: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A strike met nobody, or had no effect.
    #[error("{blow:?} was to strike {of}, and {reason}")]
    Missed {
        /// What was to happen.
        blow: Blow,
        /// To whom.
        of: Subject,
        /// Why it did not.
        reason: &'static str,
    },
    /// The model world knows no such thing.
    #[error("{0:?} happens on clusters only")]
    OnClustersOnly(String),
}

impl Scenario {
    /// Given this manifest, complete and ready.
    pub fn given(manifest: &str) -> Result<Self, ScenarioError> {
        Ok(Self {
            given: Workload::read(manifest)?,
            starts_in: (Duration::ZERO, Duration::ZERO),
            terminates_in: Duration::ZERO,
            happenings: Vec::new(),
            ends: vec![End::Complete],
            promotes: false,
            limit: Duration::from_secs(120),
        })
    }

    /// Its pods take so long from their node to ready.
    pub fn starting_in(mut self, shortest: Duration, longest: Duration) -> Self {
        self.starts_in = (shortest, longest);
        self
    }

    /// Its pods take so long to go.
    pub fn terminating_in(mut self, time: Duration) -> Self {
        self.terminates_in = time;
        self
    }

    /// When this manifest is applied. Times count from the first change.
    pub fn change(mut self, after: Duration, manifest: &str) -> Result<Self, ScenarioError> {
        let workload = Box::new(Workload::read(manifest)?);
        self.happenings.push((after, Happening::Change(workload)));
        Ok(self)
    }

    /// When this befalls an instance.
    pub fn strike(mut self, after: Duration, role: &str, instance: u32, blow: Blow) -> Self {
        let of = Subject { group: 0, role: RoleName::new(role), instance };
        self.happenings.push((after, Happening::Strike { of, blow }));
        self
    }

    /// When somebody aborts the rollout, if there is one that can be.
    pub fn abort(mut self, after: Duration) -> Self {
        self.happenings.push((after, Happening::Abort));
        self
    }

    /// When a node falls silent, for so long.
    pub fn lose_node(mut self, after: Duration, name: &str, length: Duration) -> Self {
        for (at, gone) in [(after, true), (after + length, false)] {
            self.happenings.push((at, Happening::Node { name: name.to_owned(), gone }));
        }
        self
    }

    /// Whenever nothing moves any more because a pause holds, somebody lets it pass. The model world does so anyway.
    pub fn promoting(mut self) -> Self {
        self.promotes = true;
        self
    }

    /// Then it ends so; `Complete`, unless told.
    pub fn ends(self, end: End) -> Self {
        self.ends_in(&[end])
    }

    /// Then it ends in one of these ways.
    pub fn ends_in(mut self, ends: &[End]) -> Self {
        self.ends = ends.to_vec();
        self
    }

    /// How long it may take.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Plays it.
    pub async fn play(&self, world: &World<'_>) -> Result<Verdict, ScenarioError> {
        match world {
            World::Simulation => simulated::play(self),
            World::Cluster(cluster) => real::play(self, &cluster.ground()).await,
            World::Embedded(embedded) => real::play(self, &embedded.ground()).await,
        }
    }

    /// Plays it in every world there is, and has each verdict checked: in the simulation, and on a cluster that
    /// is started for it. `LOCKSTEP_WORLD` picks one of them.
    ///
    /// # Panics
    /// If `LOCKSTEP_WORLD` names no world, or a cluster cannot be started.
    pub async fn everywhere(&self, cluster: Builder, check: impl Fn(&Verdict)) -> Result<(), ScenarioError> {
        let wanted = std::env::var("LOCKSTEP_WORLD").unwrap_or_else(|_| "all".to_owned());
        let known = ["all", "simulation", "cluster"].contains(&wanted.as_str());
        assert!(known, "LOCKSTEP_WORLD is {wanted:?}, and the worlds are simulation, cluster and all");
        if wanted != "cluster" {
            check(&self.play(&World::Simulation).await?);
        }
        if wanted != "simulation"
            && let Some(cluster) = cluster.start_or_skip().await
        {
            check(&self.play(&World::Cluster(&cluster)).await?);
        }
        Ok(())
    }

    fn verdict(&self, played: Played) -> Verdict {
        Verdict::new(played, self.given.promises(), self.ends.clone())
    }
}
