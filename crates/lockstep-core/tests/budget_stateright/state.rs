//! Everything there is at one moment: pods and their past, budgets, who knows what, and who is about to do
//! what.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lockstep_core::budget::*;

use super::setup::Setup;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    Unready,
    Ready,
    Leaving,
    Gone,
}

/// One pod's name, and what stands under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seat {
    /// Which of the pods that have had the name.
    pub birth: u8,
    pub phase: Phase,
    /// The version of the world that changed it.
    pub changed: u8,
}

/// A budget's status as somebody read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Copied {
    pub state: Arc<BudgetState>,
    /// Whether nobody has written since: what a resourceVersion says.
    pub current: bool,
}

/// What somebody is about to write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Draft {
    pub write: Write,
    pub pays: bool,
    /// The status with it; none once somebody else has written.
    pub state: Option<Arc<BudgetState>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stage {
    Asked,
    Read(Vec<Copied>),
    /// Pods were listed after the budgets were read.
    Listed(Vec<Copied>, u8),
    /// Decided, and written to the first so many budgets.
    Write(usize, Vec<Draft>),
    /// Somebody else was faster at a later budget.
    GiveBack(Vec<(usize, Write)>),
    /// Admitted; the removal itself is under way.
    Land,
}

/// Somebody who wants a pod gone, and the replica that answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client {
    pub slot: usize,
    pub operation: Operation,
    pub replica: usize,
    /// The pod as the request showed it (delete) or as it was read first of all (eviction).
    pub shown: Seat,
    /// How often time has passed since.
    pub age: u8,
    /// Whether pods have to be listed.
    pub live: bool,
    /// By budget: units that were down by themselves when the pod was read, and it was not ready. What is
    /// decided about them is nobody's fault, even if they recover before it is written.
    pub spared: Vec<u16>,
    /// The same, with those that were down by themselves when the budgets were read or since.
    pub excused: Vec<u16>,
    pub stage: Stage,
}

/// What one replica of the webhook knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replica {
    /// It will never again see the world older than this.
    pub seen: u8,
    /// By budget: its status as last read, if somebody has written since.
    pub book: Vec<Option<Arc<BudgetState>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub now: u8,
    /// Requests that may still come.
    pub requests: u8,
    pub blinks: u8,
    /// Pods that anything has happened to: all others of a unit are alike.
    pub touched: u16,
    /// The version of the oldest world that somebody may still see.
    pub base: u8,
    pub worlds: Vec<Arc<Vec<Seat>>>,
    pub budgets: Vec<Arc<BudgetState>>,
    pub replicas: Vec<Replica>,
    /// How old a world the controller may still see, and its memory by budget.
    pub keeper: (u8, Vec<Controller>),
    pub clients: Vec<Client>,
    /// By budget: units an admission took down.
    pub ours: Vec<u16>,
    /// By budget: units that are down by themselves.
    pub sick: Vec<u16>,
    /// After a payment, too few units were left that are ready and promised to nobody.
    pub overdrawn: bool,
}

impl State {
    pub fn start(setup: &Setup) -> Self {
        let phase = |slot| if setup.unready.contains(&slot) { Phase::Unready } else { Phase::Ready };
        let seats: Vec<Seat> =
            (0..setup.places.len()).map(|slot| Seat { birth: 0, phase: phase(slot), changed: 1 }).collect();
        // Before anybody asks, the controller has counted once.
        let counted: Vec<_> = (0..setup.specs.len())
            .map(|k| {
                let mut budget = setup.budget(k, &BudgetState::default());
                let view = setup.view(k, &seats, 1, false);
                Controller::default().prune(&mut budget, &view, setup.clock(0, 0)).expect("nothing is older");
                Arc::new(budget.state)
            })
            .collect();
        let budgets = setup.specs.len();
        let mut state = Self {
            now: 0,
            requests: setup.requests,
            blinks: setup.blinks,
            touched: 0,
            base: 1,
            worlds: vec![Arc::new(seats)],
            budgets: counted,
            replicas: vec![Replica { seen: 1, book: vec![None; budgets] }; 2],
            keeper: (1, vec![Controller::default(); budgets]),
            clients: Vec::new(),
            ours: vec![0; budgets],
            sick: vec![0; budgets],
            overdrawn: false,
        };
        state.sick = (0..budgets).map(|k| state.all(setup, k) & !state.up(setup, k)).collect();
        state
    }

    pub fn newest(&self) -> u8 {
        self.base + (self.worlds.len() - 1) as u8
    }

    pub fn world(&self, version: u8) -> &[Seat] {
        &self.worlds[usize::from(version - self.base)]
    }

    pub fn seats(&self) -> &[Seat] {
        self.world(self.newest())
    }

    /// What a request about this pod may rest on for being down by itself.
    pub fn spared(&self, shown: Seat) -> Vec<u16> {
        if shown.phase == Phase::Unready { self.sick.clone() } else { vec![0; self.sick.len()] }
    }

    /// A pod changes: a new version of the world for others to see.
    pub fn change(&mut self, slot: usize, change: impl FnOnce(&mut Seat)) {
        let mut seats = self.seats().to_vec();
        change(&mut seats[slot]);
        seats[slot].changed = self.newest() + 1;
        self.touched |= 1 << slot;
        self.worlds.push(Arc::new(seats));
    }

    /// A budget's status is written. Whoever has read it before has an old copy.
    pub fn write(&mut self, k: usize, state: Arc<BudgetState>, by: Option<usize>, setup: &Setup) {
        let before = std::mem::replace(&mut self.budgets[k], state);
        for client in &mut self.clients {
            match &mut client.stage {
                Stage::Read(copies) | Stage::Listed(copies, _) => copies[k].current = false,
                Stage::Write(_, drafts) if !setup.has(super::setup::Flaw::NoCompare) => {
                    drafts[k].state = None;
                }
                _ => {}
            }
        }
        for (r, replica) in self.replicas.iter_mut().enumerate().filter(|_| setup.cached) {
            if by == Some(r) {
                replica.book[k] = None;
            } else {
                replica.book[k].get_or_insert_with(|| Arc::clone(&before));
            }
        }
    }

    /// Forgets what nobody will look at again, and puts alike things in one order: fewer states, same
    /// futures.
    pub fn tidy(&mut self, setup: &Setup) {
        let newest = self.newest();
        let least = newest - self.worlds.len().saturating_sub(1).min(setup.lag) as u8;
        self.keeper.0 = self.keeper.0.max(least);
        self.replicas.iter_mut().for_each(|replica| replica.seen = replica.seen.max(least));
        for (r, replica) in self.replicas.iter_mut().enumerate() {
            let mut own = self.clients.iter().filter(|client| client.replica == r);
            if self.requests == 0 && own.all(|client| matches!(client.stage, Stage::Land)) {
                replica.seen = newest;
                replica.book.fill(None);
            }
        }
        let held = self.clients.iter().filter_map(|client| match client.stage {
            Stage::Listed(_, version) => Some(version),
            _ => None,
        });
        let seen = self.replicas.iter().map(|replica| replica.seen);
        let oldest = held.chain(seen).chain([self.keeper.0]).min().unwrap_or(newest);
        self.worlds.drain(..usize::from(oldest - self.base));
        self.base = oldest;
        self.clients.sort_by_cached_key(|client| {
            let mut hasher = DefaultHasher::new();
            client.hash(&mut hasher);
            hasher.finish()
        });
    }
}
