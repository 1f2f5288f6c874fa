//! The model world for rollouts over clusters: a virtual clock drives [`crate::align::align`] and models of the
//! members' controllers through whole rollouts.
//!
//! Seeded; the same scenario gives the same trace, byte for byte. What is promised is judged at every instant
//! ([`promise`]). Members are models of the controllers of their kind ([`deployment`], [`clone_set`],
//! [`stateful_set`]); everything that goes between them and the aligner may be late and overtake something else.

pub mod clone_set;
pub mod deployment;
pub mod faults;
pub mod promise;
pub mod stateful_set;
pub mod trace;
pub mod workload;
pub mod world;

mod between;
mod happen;
mod hub;

use std::collections::{BTreeMap, BTreeSet};

use self::between::Desk;
use self::clone_set::CloneSet;
use self::deployment::Deployment;
use self::faults::{Faults, Nature};
use self::happen::Job;
use self::promise::Breach;
use self::stateful_set::StatefulSet;
use self::trace::{Event, What};
use self::workload::{Standing, Template, Workload};
use self::world::{Site, World};
use super::rng::Rng;
use super::trace::End;
use crate::align::{self, Alignment, Code, Kind, Ledger, Reason, Target, Totals, Wish};
use crate::time::{Millis, Time};

/// The kinds that have a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modelled {
    /// `apps/v1`.
    Deployment,
    /// `apps.kruise.io`.
    CloneSet,
    /// `apps/v1`.
    StatefulSet,
}

impl Modelled {
    /// The model of a kind, if there is one.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Deployment => Some(Self::Deployment),
            Kind::CloneSet => Some(Self::CloneSet),
            Kind::StatefulSet => Some(Self::StatefulSet),
            Kind::LeaderWorkerSet | Kind::LockstepSet => None,
        }
    }
}

/// What stands at the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// Nothing: the first change is a first start.
    Nothing,
    /// All that this wishes for, complete.
    Complete(Wish),
    /// What a ledger says: every cluster as it last reported.
    Ledger {
        /// The ledger.
        ledger: Ledger,
        /// What was wished for.
        wish: Wish,
        /// What pods that are not of the template in force were made from.
        old: Template,
        /// Clusters that cannot be reached.
        unreachable: BTreeSet<String>,
    },
}

/// A rollout over clusters to be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Which model the members are.
    pub model: Modelled,
    /// What stands at the beginning.
    pub start: Start,
    /// What is wished for, and when; the first at once. No later one may leave out a cluster of an earlier one.
    pub changes: Vec<(Millis, Wish)>,
    /// How the world behaves.
    pub nature: Nature,
    /// What goes wrong.
    pub faults: Faults,
    /// For everything that is left to chance.
    pub seed: u64,
    /// How long to play at most.
    pub limit: Millis,
}

/// Says which clusters' turn has not come.
pub trait Turns {
    /// Who has to wait and why, and when somebody has to look again.
    fn held(&mut self, wish: &Wish, now: Time) -> (BTreeMap<String, String>, Option<Time>);
    /// What came of it.
    fn aligned(&mut self, wish: &Wish, alignment: &Alignment, now: Time);
}

/// Nobody has to wait for a turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct AtOnce;

impl Turns for AtOnce {
    fn held(&mut self, _: &Wish, _: Time) -> (BTreeMap<String, String>, Option<Time>) {
        (BTreeMap::new(), None)
    }

    fn aligned(&mut self, _: &Wish, _: &Alignment, _: Time) {}
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub duration: Millis,
    /// How often it was aligned.
    pub alignments: u64,
    /// How many leases were given.
    pub leases: u64,
    /// How long it waited, by reason, summed over the clusters.
    pub waits: BTreeMap<Code, Millis>,
    /// What it waits for at the end.
    pub reasons: Vec<Reason>,
    /// The numbers of the whole at the end.
    pub totals: Totals,
    /// The least that was available over all clusters.
    pub least_available: u32,
    /// The most that stood over all clusters.
    pub most_pods: u32,
    /// The promises that were broken, and when.
    pub broken: Vec<(Time, Breach)>,
}

/// Plays a scenario. Every event goes to `sink` as it happens.
pub fn run(scenario: &Scenario, turns: &mut dyn Turns, sink: &mut dyn FnMut(Event)) -> Outcome {
    match scenario.model {
        Modelled::Deployment => Sim::<Deployment>::new(scenario, turns, sink).play(),
        Modelled::CloneSet => Sim::<CloneSet>::new(scenario, turns, sink).play(),
        Modelled::StatefulSet => Sim::<StatefulSet>::new(scenario, turns, sink).play(),
    }
}

/// The most things that happen in one run: far above any rollout, and an end to one that has none.
const MOST_JOBS: u64 = 20_000_000;

struct Sim<'a, W> {
    scenario: &'a Scenario,
    turns: &'a mut dyn Turns,
    sink: &'a mut dyn FnMut(Event),
    rng: Rng,
    now: Time,
    world: World<W>,
    desks: BTreeMap<String, Desk>,
    queue: BTreeMap<(Time, u64), Job>,
    next_job: u64,
    changes_left: usize,
    aligning: bool,
    down: bool,
    dying: Option<u64>,
    /// The last alignment had nothing more to give.
    settled: bool,
    waiting: BTreeMap<(Code, Option<String>), Time>,
    reasons: Vec<Reason>,
    outcome: Outcome,
}

impl<'a, W: Workload> Sim<'a, W> {
    fn new(scenario: &'a Scenario, turns: &'a mut dyn Turns, sink: &'a mut dyn FnMut(Event)) -> Self {
        let first = scenario.changes.first().map(|(_, wish)| wish);
        let world = stand(&scenario.start, first);
        let outcome = Outcome {
            end: End::Stuck,
            duration: Millis(0),
            alignments: 0,
            leases: 0,
            waits: BTreeMap::new(),
            reasons: Vec::new(),
            totals: align::align(&world.wish, &BTreeMap::new(), &Ledger::default()).totals,
            least_available: u32::MAX,
            most_pods: 0,
            broken: Vec::new(),
        };
        Self {
            scenario,
            turns,
            sink,
            rng: Rng::new(scenario.seed),
            now: Time(0),
            world,
            desks: BTreeMap::new(),
            queue: BTreeMap::new(),
            next_job: 0,
            changes_left: scenario.changes.len(),
            aligning: false,
            down: false,
            dying: None,
            settled: false,
            waiting: BTreeMap::new(),
            reasons: Vec::new(),
            outcome,
        }
    }

    fn at(&mut self, time: Time, job: Job) {
        self.next_job += 1;
        self.queue.insert((time.max(self.now), self.next_job), job);
    }

    fn after(&mut self, length: Millis, job: Job) {
        self.at(self.now + length, job);
    }

    fn tell(&mut self, what: What) {
        (self.sink)(Event { t: self.now.0, what });
    }

    fn play(mut self) -> Outcome {
        self.begin();
        let end = loop {
            let Some(((time, _), job)) = self.queue.pop_first() else { break self.idle_end() };
            if time > Time(0) + self.scenario.limit || self.next_job > MOST_JOBS {
                break End::TimedOut;
            }
            self.now = time;
            self.happen(job);
            self.judge();
            let more = self.queue.first_key_value().is_some_and(|((next, _), _)| *next == time);
            if !more && self.is_over() {
                break self.good_end();
            }
        };
        self.close(end)
    }

    /// Everybody has arrived, and nothing more is to happen.
    fn is_over(&self) -> bool {
        let faults = &self.scenario.faults;
        let struck = faults.strikes.iter().map(|it| it.after).max().unwrap_or_default();
        let cut = faults.outages.iter().map(|it| it.after + it.length).max().unwrap_or_default();
        let quiet = self.now >= Time(0) + faults.until.max(struck).max(cut);
        quiet && !self.down && self.is_at_rest()
    }

    fn is_at_rest(&self) -> bool {
        self.settled && self.changes_left == 0 && self.world.has_arrived()
    }

    fn good_end(&self) -> End {
        let wanted = self.world.wanted();
        let old = self.world.total(|w| w.total().saturating_sub(w.of_template(wanted)));
        if old > 0 { End::PartitionReached } else { End::Complete }
    }

    /// Nothing will ever happen again.
    fn idle_end(&self) -> End {
        match self.world.wish.strategy.paused {
            _ if self.is_at_rest() => self.good_end(),
            Some(true) => End::Paused,
            _ => End::Stuck,
        }
    }

    fn close(mut self, end: End) -> Outcome {
        let since = std::mem::take(&mut self.waiting);
        for ((code, _), since) in since {
            self.count_wait(code, since);
        }
        self.tell(What::End { outcome: end });
        let duration = self.now.since(Time(0));
        Outcome { end, duration, reasons: self.reasons, ..self.outcome }
    }

    fn count_wait(&mut self, code: Code, since: Time) {
        let waited = self.outcome.waits.entry(code).or_default();
        *waited = *waited + self.now.since(since);
    }

    /// Measures and judges this instant.
    fn judge(&mut self) {
        let outcome = &mut self.outcome;
        outcome.least_available = outcome.least_available.min(self.world.total(W::available));
        outcome.most_pods = outcome.most_pods.max(self.world.total(W::total));
        let Some(breach) = self.world.judge() else { return };
        if outcome.broken.iter().all(|(_, known)| known.bound != breach.bound) {
            outcome.broken.push((self.now, breach.clone()));
            self.tell(What::Broken { promise: breach.bound, detail: breach.detail });
        }
    }
}

/// The world at the beginning.
fn stand<W: Workload>(start: &Start, first: Option<&Wish>) -> World<W> {
    match start {
        Start::Complete(wish) => World::running(wish.clone(), W::running),
        Start::Nothing => {
            let nobody = |wish: &Wish| Wish { clusters: Vec::<Target>::new(), ..wish.clone() };
            let wish = first.map_or_else(|| unwanted(Kind::Deployment), nobody);
            World::running(wish, W::running)
        }
        Start::Ledger { ledger, wish, old, unreachable } => {
            let mut world = World::running(Wish { clusters: Vec::new(), ..wish.clone() }, W::running);
            for (cluster, entry) in &ledger.members {
                let workload = entry.seen.as_ref().map(|seen| {
                    let spec = workload::Spec {
                        template: workload::template(&seen.template),
                        replicas: seen.replicas,
                        strategy: in_force(entry, seen),
                        lease: seen.acknowledged,
                    };
                    // What stands beside the template in force is another one, though nobody knows which.
                    let old = if *old == spec.template { Template::MAX } else { *old };
                    W::standing(spec, &Standing::seen(seen, old))
                });
                let lost = workload.as_ref().map_or(0, |w| w.total().saturating_sub(w.available()));
                let arrived = None;
                let reachable = !unreachable.contains(cluster);
                let site = Site { workload, arrived, reachable, lost, ..Site::default() };
                world.sites.insert(cluster.clone(), site);
            }
            world.ledger = ledger.clone();
            // From here on reports are counted anew.
            let seen = world.ledger.members.values_mut().filter_map(|entry| entry.seen.as_mut());
            seen.for_each(|seen| seen.sequence = 0);
            world.change(|it| it.clone_from(wish));
            world
        }
    }
}

/// The strategy a member has: what it says, or what the lease says that it acknowledged.
fn in_force(entry: &align::Entry, seen: &align::Observation) -> align::RollingStrategy {
    let lease = entry.live.iter().find(|lease| Some(lease.id) == seen.acknowledged);
    lease.map_or_else(|| seen.strategy.clone(), |lease| lease.strategy.clone())
}

fn unwanted(kind: Kind) -> Wish {
    Wish {
        kind,
        template: workload::hash(0),
        strategy: align::RollingStrategy::default(),
        split: align::SplitMode::default(),
        clusters: Vec::new(),
        held: BTreeMap::new(),
    }
}
