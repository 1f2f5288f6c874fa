//! A small cluster around one or two budgets: several webhook replicas with caches that lag and clocks that
//! differ, a controller that lags and forgets, owners that rebuild, deletes that fail, replicas that die
//! between two writes.
//!
//! What is true is kept apart from what anybody sees. A unit is *up* while enough of its pods are ready and
//! no admitted removal of them is under way. When an admission takes a unit from up to down, the unit is
//! *ours* until it is up again, and of those there may never be more than the budget allows.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use lockstep_core::budget::*;
use lockstep_core::snapshot::Uid;
use lockstep_core::time::Time;

mod client;
mod truth;

use super::Random;
use client::{Client, Stage};
use truth::place;

/// A protocol with something left out, to see that the model would notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// Replicas decide from whatever they have.
    OldViews,
    /// Only paid removals are written down.
    FreeUnwritten,
    /// A unit is called broken from a cache.
    BrokenUnproved,
    /// The last write wins: no compare-and-swap.
    NoCompare,
    /// Units are expected only while they are seen.
    NoMemory,
    /// Promises lapse by a cache in which every pod stays.
    LapseUnproved,
    /// Promises lapse after 20 seconds instead of 120.
    EarlyLapse,
}

#[derive(Debug, Clone)]
pub struct Setup {
    pub groups: u32,
    pub size: u32,
    pub specs: Vec<BudgetSpec>,
    pub replicas: usize,
    /// Ready pods may lose readiness by themselves.
    pub blinks: bool,
    /// The owner deletes the rest of a group that lost a pod.
    pub recreates: bool,
    /// The owner's scale counts groups; else they have to be remembered.
    pub counted: bool,
    /// How many pods in a hundred are not ready yet at the beginning.
    pub unready: u64,
    /// New requests keep coming.
    pub spawn: bool,
    /// How often, in a hundred times, a cache that could catch up does not.
    pub lag: u64,
    /// A pod that is deleted takes up to so long to be gone. Longer than a promise lasts, it stands in every cache that
    /// stands still.
    pub linger: u64,
    /// How many times faster than usual requests follow one another.
    pub pace: u64,
    pub flaw: Flaw,
}

#[derive(Debug, Clone)]
struct Actual {
    pod: Pod,
    version: u64,
    /// When it is gone, comes back, or becomes ready.
    due: u64,
}

#[derive(Debug, Clone)]
struct Steward {
    seen: usize,
    memory: Controller,
    pending: Option<(usize, Budget, u64)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub admitted: u64,
    pub paid: u64,
    pub refused: u64,
    pub conflicts: u64,
    pub landed: u64,
    pub given_back: u64,
    pub lapsed: u64,
    pub most_ours: u32,
}

pub struct World {
    setup: Setup,
    pub random: Random,
    now: u64,
    version: u64,
    pods: BTreeMap<Uid, Actual>,
    absent: Vec<(String, String, u64)>,
    views: Vec<Rc<View>>,
    budgets: Vec<(Budget, u64)>,
    replicas: Vec<(usize, i64)>,
    controller: (Steward, i64),
    clients: Vec<Client>,
    /// By budget: units an admission took down.
    ours: Vec<BTreeSet<UnitKey>>,
    /// By budget: units that were down by themselves, and when last. A list that shows them broken may still
    /// be in somebody's hands for a while; what it leads to is nobody's fault.
    excused: Vec<BTreeMap<UnitKey, u64>>,
    births: u64,
    pub tally: Tally,
}

const SKEW: u64 = 14_000;
const REQUEST: u64 = 55_000;

impl World {
    pub fn new(setup: Setup, seed: u64) -> Self {
        let mut random = Random(seed);
        let budgets = setup.specs.iter().enumerate().map(|(k, spec)| {
            (Budget { name: format!("budget-{k}"), spec: spec.clone(), ..Budget::default() }, 0)
        });
        let mut skew = || random.below(2 * SKEW) as i64 - SKEW as i64;
        let mut world = Self {
            now: 1_000_000,
            version: 0,
            pods: BTreeMap::new(),
            absent: Vec::new(),
            views: Vec::new(),
            budgets: budgets.collect(),
            replicas: (0..setup.replicas).map(|_| (0, skew())).collect(),
            controller: (Steward { seen: 0, memory: Controller::default(), pending: None }, skew()),
            clients: Vec::new(),
            ours: vec![BTreeSet::new(); setup.specs.len()],
            excused: vec![BTreeMap::new(); setup.specs.len()],
            births: 0,
            tally: Tally::default(),
            random,
            setup,
        };
        for g in 0..world.setup.groups {
            for k in 0..world.setup.size {
                let ready = !world.random.chance(world.setup.unready);
                world.create(format!("{g}-{k}"), g.to_string(), ready);
            }
        }
        for (spec, excused) in world.setup.specs.iter().zip(&mut world.excused) {
            let unready = world.pods.values().filter(|actual| !actual.pod.ready);
            excused.extend(unready.map(|actual| (place(&actual.pod, spec), world.now)));
        }
        world.commit();
        // Before anybody asks, the controller has counted once.
        let view = world.views[0].clone();
        for (budget, _) in &mut world.budgets {
            Controller::default().prune(budget, &view, Time(world.now)).unwrap();
        }
        world
    }

    fn create(&mut self, name: String, group: String, ready: bool) {
        self.births += 1;
        let mut pod = super::pod(&name, Some(&group));
        pod.uid = Uid::new(&format!("{name}#{}", self.births));
        pod.ready = ready;
        let due = self.now + self.random.below(20_000);
        self.pods.insert(pod.uid.clone(), Actual { pod, version: self.version + 1, due });
    }

    /// Pods have changed: a new version of the world for others to see.
    fn commit(&mut self) {
        self.version += 1;
        let root = if self.setup.counted {
            super::counted(self.setup.groups)
        } else {
            super::uncounted(self.setup.groups * self.setup.size)
        };
        self.views.push(Rc::new(View {
            pods: self.pods.values().map(|actual| actual.pod.clone()).collect(),
            roots: [("lws".to_owned(), root)].into(),
            version: Version(self.version),
            since: Version(self.version),
            live: false,
        }));
        self.settle();
    }

    fn clock(&self, skew: i64) -> Time {
        Time(self.now.saturating_add_signed(skew))
    }

    pub fn ask(&mut self, pod: Uid, operation: Operation, insists: bool) {
        let Some(shown) = self.pods.get(&pod).cloned() else { return };
        let replica = self.random.index(self.replicas.len());
        self.clients.push(Client {
            pod,
            operation,
            replica,
            shown,
            budget: 0,
            stage: Stage::ReadBudget,
            written: Vec::new(),
            live: false,
            due: self.now,
            deadline: self.now + REQUEST,
            insists,
            instance: Vec::new(),
            promised: BTreeMap::new(),
        });
    }

    /// The rollout's own shell wants to delete a whole group, as a replica among others would.
    fn roll(&mut self) {
        let group = self.random.below(u64::from(self.setup.groups)).to_string();
        let standing = self.pods.values().filter(|actual| actual.pod.stands());
        let instance: Vec<Uid> = standing
            .filter(|actual| actual.pod.group.as_ref() == Some(&group))
            .map(|actual| actual.pod.uid.clone())
            .collect();
        if let Some(first) = instance.first() {
            self.ask(first.clone(), Operation::Delete, false);
            if let Some(client) = self.clients.last_mut() {
                client.instance = instance;
            }
        }
    }

    pub fn pods(&self) -> Vec<Uid> {
        self.pods.keys().cloned().collect()
    }

    pub fn idle(&self) -> bool {
        self.clients.is_empty()
    }

    /// One thing happens somewhere.
    pub fn tick(&mut self) -> Result<(), String> {
        let pause = match self.random.below(100) {
            0..70 => self.random.below(40),
            70..95 => self.random.below(400),
            95..99 => self.random.below(4_000),
            _ => self.random.below(30_000),
        };
        self.now += pause / self.setup.pace;
        match self.random.below(100) {
            0..45 => self.step_client()?,
            45..55 => self.live(),
            55..65 => self.catch_up(),
            65..80 => self.control(),
            80..84 if self.setup.blinks => self.blink(),
            84..92 if self.setup.spawn => self.spawn(),
            _ => self.step_client()?,
        }
        Ok(())
    }

    fn spawn(&mut self) {
        if self.clients.len() >= 12 || self.pods.is_empty() {
            return;
        }
        if self.random.chance(15) {
            return self.roll();
        }
        let pods = self.pods();
        let pick = self.random.index(pods.len());
        let operation = if self.random.chance(60) { Operation::Evict } else { Operation::Delete };
        // Often the same pod, or its neighbour, through another replica.
        for step in 0..=self.random.below(3) {
            let at = (pick + self.random.below(step + 1) as usize) % pods.len();
            self.ask(pods[at].clone(), operation, false);
        }
    }

    /// Pods end, come back and become ready.
    fn live(&mut self) {
        let now = self.now;
        let mut changed = false;
        for uid in self.pods() {
            let Some(actual) = self.pods.get_mut(&uid) else { continue };
            if actual.due > now {
                continue;
            }
            if actual.pod.terminating {
                let back = now + self.random.below(10_000);
                let actual = self.pods.remove(&uid).unwrap();
                self.absent.push((actual.pod.name, actual.pod.group.unwrap(), back));
                changed = true;
            } else if !actual.pod.ready {
                actual.pod.ready = true;
                actual.version = self.version + 1;
                changed = true;
            }
        }
        let (back, absent): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.absent).into_iter().partition(|(_, _, due)| *due <= now);
        self.absent = absent;
        for (name, group, _) in back {
            self.create(name, group, false);
            changed = true;
        }
        if changed {
            self.commit();
        }
    }

    fn blink(&mut self) {
        let pods = self.pods();
        let Some(uid) = pods.get(self.random.index(pods.len())) else {
            return;
        };
        let (now, pause, version) = (self.now, self.random.below(20_000), self.version + 1);
        let Some(actual) = self.pods.get_mut(uid).filter(|actual| actual.pod.stands()) else { return };
        (actual.pod.ready, actual.due, actual.version) = (false, now + pause, version);
        for (spec, excused) in self.setup.specs.iter().zip(&mut self.excused) {
            excused.insert(place(&actual.pod, spec), now);
        }
        self.commit();
    }

    /// Caches move towards the present.
    fn catch_up(&mut self) {
        if self.random.chance(self.setup.lag) {
            return;
        }
        let newest = self.views.len() - 1;
        let which = self.random.index(self.replicas.len() + 1);
        let seen = match self.replicas.get_mut(which) {
            Some((seen, _)) => seen,
            None => &mut self.controller.0.seen,
        };
        *seen += self.random.index(newest - *seen + 1);
    }

    fn control(&mut self) {
        let clock = self.clock(self.controller.1);
        let compare = self.setup.flaw != Flaw::NoCompare;
        let early = self.setup.flaw == Flaw::EarlyLapse;
        let (steward, _) = &mut self.controller;
        if self.random.below(100 * self.setup.pace) == 0 {
            // It restarts: what it had not written is lost, and so is when it first saw what.
            *steward = Steward { seen: steward.seen, memory: Controller::default(), pending: None };
            return;
        }
        if let Some((k, budget, version)) = steward.pending.take() {
            let current = &mut self.budgets[k];
            if current.1 == version || !compare {
                if current.0.state != budget.state {
                    *current = (budget, current.1 + 1);
                }
            } else {
                self.tally.conflicts += 1;
            }
            return;
        }
        let k = self.random.index(self.budgets.len());
        let (mut budget, version) = self.budgets[k].clone();
        if self.setup.flaw == Flaw::NoMemory {
            budget.state.memory = Memory::default();
        }
        let mut view = self.views[steward.seen].clone();
        let clock = if early { Time(clock.0.saturating_mul(6)) } else { clock };
        let due =
            steward.memory.prune(&mut budget.clone(), &view, clock).is_ok_and(|pruned| pruned.overdue > 0);
        if due || self.setup.flaw == Flaw::LapseUnproved {
            let newest = if due && self.setup.flaw != Flaw::LapseUnproved {
                self.views.len() - 1
            } else {
                steward.seen
            };
            view = Rc::new(View { live: true, ..View::clone(&self.views[newest]) });
        }
        if let Ok(pruned) = steward.memory.prune(&mut budget, &view, clock) {
            self.tally.lapsed += pruned.lapsed.len() as u64;
            steward.pending = Some((k, budget, version));
        }
    }
}

trait Stands {
    fn stands(&self) -> bool;
}

impl Stands for Pod {
    fn stands(&self) -> bool {
        !self.terminating
    }
}
