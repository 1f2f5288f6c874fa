//! A world small enough to try everything in: pods, what the shell has seen of them, and what the engine
//! remembers, with every time told as how many ticks it lies back.
#![allow(dead_code)]

pub mod engine;
pub mod follow;
pub mod promise;
pub mod step;

use std::sync::RwLock;

use lockstep_core::model::{Role, Spec};
use lockstep_core::names::Uid;
use lockstep_core::revision::Revision;

use engine::Engine;
use follow::Followed;

/// What a pod is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Only in a view: we created it and have not seen it yet.
    InFlight,
    Starting,
    Ready,
    /// Was ready, and will be again unless it is replaced.
    Unready,
    Failed,
    Terminating,
}

/// A pod. One that has been ready counts as older than ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pod {
    /// The role's revision, by position in [`Lab::revisions`].
    pub revision: u8,
    /// The set's revision, by position in [`Lab::sets`].
    pub set: u8,
    pub phase: Phase,
    /// Ticks since it was created.
    pub age: u8,
    /// Ticks since the phase began.
    pub since: u8,
}

/// A pod's name, as it is and as the shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Slot {
    pub world: Option<Pod>,
    pub view: Option<Pod>,
}

impl Slot {
    pub fn is_stale(&self) -> bool {
        self.world != self.view
    }
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub slots: Vec<Slot>,
    /// Which memory, by [`Engine`].
    pub memory: u64,
    /// Which of the wishes is in force.
    pub wish: u8,
    /// Per role: the last revision the engine saw complete; `None`: it has forgotten.
    pub stable: Vec<Option<u8>>,
    /// Per group and role: the target, and how many were at it at best.
    pub best: Vec<(u8, u8)>,
    /// How much may still go wrong.
    pub faults: u8,
    pub broken: Option<String>,
}

/// What may go wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// How often in one run.
    pub most: u8,
    /// A ready pod stops being ready.
    pub crash: bool,
    /// A pod is evicted.
    pub evict: bool,
    /// A pod ends for good.
    pub fail: bool,
    /// The controller dies in the middle of its writes.
    pub restart: bool,
    /// The memory in status is lost.
    pub forget: bool,
}

/// What is done wrong on purpose, to see that it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// The shell plans on what it has seen alone, without its own writes.
    ForgetsItsWrites,
    /// A delete that is not paid for goes through although the pod has changed.
    DeletesBlindly,
    /// The engine plans for another wish than the one that is judged by.
    Believes(Box<Spec>),
}

/// Where a pod belongs.
#[derive(Debug, Clone)]
pub struct Place {
    pub group: u32,
    pub role: usize,
    pub instance: u32,
    pub index: u32,
    pub uid: Uid,
}

/// A small configuration: what is wished for, and what may happen.
pub struct Lab {
    /// What stands complete at first, then what is wished for in turn; the last may come at any moment.
    pub wishes: Vec<Spec>,
    pub faults: Faults,
    /// News of so many pods may be on its way at once.
    pub stale: usize,
    /// Pods of this revision never become ready.
    pub bad: Option<u8>,
    pub flaw: Option<Flaw>,
    /// How many ticks of eleven seconds are told apart.
    pub ticks: u8,
    pub places: Vec<Place>,
    pub revisions: Vec<Revision>,
    pub sets: Vec<Revision>,
    pub engine: Engine,
    pub followed: Followed,
}

impl Lab {
    /// From the first wish, complete, to the second; a third may come at any moment.
    pub fn new(wishes: Vec<Spec>, faults: Faults, stale: usize) -> Self {
        let mut revisions: Vec<Revision> =
            wishes.iter().flat_map(|wish| wish.roles.iter().map(|role| role.revision)).collect();
        revisions.sort();
        revisions.dedup();
        let sets = all_sets(&wishes[0].roles, &revisions);
        let places = places(&wishes);
        let ticks = if wishes.iter().any(|w| w.roles.iter().any(|r| r.min_ready.0 > 0)) { 2 } else { 1 };
        Self {
            wishes,
            faults,
            stale,
            bad: None,
            flaw: None,
            ticks,
            places,
            revisions,
            sets,
            engine: Engine::default(),
            followed: Followed::default(),
        }
    }

    /// The same with a flaw.
    pub fn with(mut self, flaw: Flaw) -> Self {
        if let Flaw::Believes(wish) = &flaw {
            let wishes: Vec<Spec> = self.wishes.iter().chain([wish.as_ref()]).cloned().collect();
            self.places = places(&wishes);
        }
        self.flaw = Some(flaw);
        self
    }

    pub fn wish(&self, state: &State) -> &Spec {
        &self.wishes[usize::from(state.wish)]
    }

    pub fn revision(&self, revision: Revision) -> u8 {
        self.revisions.iter().position(|r| *r == revision).unwrap() as u8
    }

    pub fn set(&self, revision: Revision) -> u8 {
        self.sets.iter().position(|r| *r == revision).unwrap() as u8
    }

    /// The slots of an instance.
    pub fn instance(&self, group: u32, role: usize, instance: u32) -> impl Iterator<Item = usize> + '_ {
        let here = move |place: &Place| (place.group, place.role, place.instance) == (group, role, instance);
        (0..self.places.len()).filter(move |slot| here(&self.places[*slot]))
    }

    /// The ordinals a role could have pods at.
    pub fn ordinals(&self, group: u32, role: usize) -> impl Iterator<Item = u32> + '_ {
        let first = move |place: &&Place| place.group == group && place.role == role && place.index == 0;
        self.places.iter().filter(first).map(|place| place.instance)
    }

    /// The groups that could have pods.
    pub fn groups(&self) -> u32 {
        self.places.last().map_or(0, |place| place.group + 1)
    }
}

/// The revisions a set can have: every choice of its roles' revisions.
fn all_sets(roles: &[Role], revisions: &[Revision]) -> Vec<Revision> {
    let mut choices: Vec<Vec<Revision>> = vec![Vec::new()];
    for _ in roles {
        let longer = |choice: &Vec<Revision>| {
            let choice = choice.clone();
            revisions.iter().map(move |revision| [choice.clone(), vec![*revision]].concat())
        };
        choices = choices.iter().flat_map(longer).collect();
    }
    let named = |choice: &Vec<Revision>| {
        Revision::of_roles(roles.iter().zip(choice).map(|(role, revision)| (&role.name, *revision)))
    };
    choices.iter().map(named).collect()
}

fn places(wishes: &[Spec]) -> Vec<Place> {
    let most = |of: &dyn Fn(&Spec) -> u32| wishes.iter().map(of).max().unwrap();
    // One more than may ever be used, so that using it is seen.
    let groups = most(&|spec| match spec.strategy.limits(spec.replicas).surge {
        0 => spec.replicas,
        surge => spec.replicas + surge + 1,
    });
    let mut found = Vec::new();
    for group in 0..groups {
        for (role, of) in wishes[0].roles.iter().enumerate() {
            let ordinals = most(&|spec| {
                let role = &spec.roles[role];
                match lockstep_core::coordinate::limits(spec, role).0.surge {
                    0 => role.replicas,
                    surge => role.replicas + surge + 1,
                }
            });
            for instance in 0..ordinals {
                for index in 0..of.pods() {
                    let uid = Uid::new(&format!("{group}-{role}-{instance}-{index}"));
                    found.push(Place { group, role, instance, index, uid });
                }
            }
        }
    }
    found
}

/// A lock whose poison is a failed test anyway.
pub fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap()
}

pub fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap()
}
