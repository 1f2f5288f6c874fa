//! The model world: a virtual clock drives [`crate::plan::plan`] through whole rollouts.
//!
//! Seeded; the same scenario gives the same trace, byte for byte. Admission, the command line and the tests
//! all run this.

pub mod faults;
pub mod federation;
pub mod record;
pub mod rng;
pub mod trace;
pub mod view;
pub mod world;

mod happen;
mod present;
mod shell;

use std::collections::BTreeMap;

pub use self::present::Present;

use self::faults::{Faults, Nature};
use self::record::Recorder;
use self::rng::Rng;
use self::trace::{End, Event};
use self::view::View;
use self::world::{PodName, World, WorldPod};
use crate::blocked::{Blocked, Reason};
use crate::model::Spec;
use crate::names::Uid;
use crate::snapshot::Memory;
use crate::status::Status;
use crate::time::{Millis, Time};

/// A rollout to be played.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What stands at the beginning, complete; nothing: the first change is a first start.
    pub initial: Option<Spec>,
    /// What really stands at the beginning, where that is something else than all of it, complete.
    pub present: Option<Present>,
    /// What the user wishes for, and when, counted from the first of them.
    pub changes: Vec<(Millis, Spec)>,
    /// How the world behaves.
    pub nature: Nature,
    /// What goes wrong.
    pub faults: Faults,
    /// For everything that is left to chance.
    pub seed: u64,
    /// How long to play at most, counted from the first change.
    pub limit: Millis,
    /// How many plans to make at most.
    pub most_plans: u64,
}

impl Scenario {
    /// From one complete spec to another, in an ideal world.
    pub fn ideal(initial: Spec, to: Spec) -> Self {
        Self {
            initial: Some(initial),
            present: None,
            changes: vec![(Millis(0), to)],
            nature: Nature::default(),
            faults: Faults::default(),
            seed: 0,
            limit: Millis::minutes(60 * 24 * 365),
            most_plans: u64::MAX,
        }
    }
}

/// How a run went.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// How long it took from the first change.
    pub duration: Millis,
    /// When the first change came.
    pub began: Time,
    /// How long it waited, by reason, summed over what waited.
    pub waits: BTreeMap<Reason, Millis>,
    /// What was blocked at the end.
    pub blocked: Vec<Blocked>,
    /// How many plans were made.
    pub plans: u64,
    /// The memory at the end.
    pub memory: Memory,
    /// The status at the end.
    pub status: Option<Status>,
}

/// Plays a scenario. Every event goes to `sink` as it happens.
pub fn run(scenario: &Scenario, sink: &mut dyn FnMut(Event)) -> Outcome {
    let mut sim = Sim::new(scenario, sink);
    sim.begin();
    sim.play()
}

/// Something that is going to happen.
#[derive(Debug, Clone)]
enum Job {
    Change(usize),
    Ready(Uid),
    Unready(Uid),
    Fail(Uid),
    Gone(Uid),
    Deliver(PodName, Uid, Option<Box<WorldPod>>),
    Wake,
    Crash,
    FailOne,
    Evict,
    Blink,
    LoseNode,
    NodeBack(usize),
    KillController,
    LoseMemory,
    Strike(usize),
}

struct Sim<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    now: Time,
    began: Time,
    world: World,
    view: View,
    memory: Memory,
    spec: Option<&'a Spec>,
    queue: BTreeMap<(Time, u64), Job>,
    next_job: u64,
    changes_left: usize,
    delivered_until: Time,
    undelivered: usize,
    wake: Option<(Time, u64)>,
    dirty: bool,
    die_after: Option<u64>,
    plans: u64,
    status: Option<Status>,
    recorder: Recorder,
    blocked: BTreeMap<String, Blocked>,
    waits: BTreeMap<Reason, Millis>,
    sink: &'a mut dyn FnMut(Event),
}

impl<'a> Sim<'a> {
    fn new(scenario: &'a Scenario, sink: &'a mut dyn FnMut(Event)) -> Self {
        Self {
            scenario,
            rng: Rng::new(scenario.seed),
            now: Time(0),
            began: Time(0),
            world: World::new(&scenario.nature.nodes),
            view: View::default(),
            memory: Memory::default(),
            spec: None,
            queue: BTreeMap::new(),
            next_job: 0,
            changes_left: 0,
            delivered_until: Time(0),
            undelivered: 0,
            wake: None,
            dirty: false,
            die_after: None,
            plans: 0,
            status: None,
            recorder: Recorder::default(),
            blocked: BTreeMap::new(),
            waits: BTreeMap::new(),
            sink,
        }
    }

    fn at(&mut self, time: Time, job: Job) -> (Time, u64) {
        self.next_job += 1;
        let key = (time.max(self.now), self.next_job);
        self.queue.insert(key, job);
        key
    }

    fn after(&mut self, length: Millis, job: Job) {
        self.at(self.now + length, job);
    }

    fn play(mut self) -> Outcome {
        let end = loop {
            let Some(((time, _), job)) = self.queue.pop_first() else { break self.idle_end() };
            if time > self.began + self.scenario.limit || self.plans > self.scenario.most_plans {
                break End::TimedOut;
            }
            self.now = time;
            self.happen(job);
            let more = self.queue.first_key_value().is_some_and(|((next, _), _)| *next == time);
            if more {
                continue;
            }
            if let Some(end) = self.settle() {
                break end;
            }
        };
        self.close(end)
    }

    /// Lets scheduler and controller act until both are content at this moment.
    fn settle(&mut self) -> Option<End> {
        loop {
            self.schedule();
            if !self.dirty {
                return None;
            }
            if let Some(end) = self.plan() {
                return Some(end);
            }
        }
    }

    /// Nothing will ever happen again.
    fn idle_end(&self) -> End {
        let on_purpose = self.spec.is_some_and(|spec| spec.paused)
            || self
                .blocked
                .values()
                .any(|block| matches!(block.reason, Reason::PauseStep | Reason::OnDelete));
        self.good_end().unwrap_or(if on_purpose { End::Paused } else { End::Stuck })
    }

    fn close(mut self, end: End) -> Outcome {
        let blocked: Vec<Blocked> = self.blocked.values().cloned().collect();
        for block in &blocked {
            self.count_wait(block);
        }
        (self.sink)(Event::at(self.now.0, trace::What::End { outcome: end }));
        Outcome {
            end,
            duration: self.now.since(self.began),
            began: self.began,
            waits: self.waits,
            blocked,
            plans: self.plans,
            memory: self.memory,
            status: self.status,
        }
    }

    fn count_wait(&mut self, block: &Blocked) {
        let waited = self.waits.entry(block.reason).or_default();
        *waited = *waited + self.now.since(block.since);
    }
}
