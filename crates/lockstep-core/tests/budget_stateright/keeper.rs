//! The controller: ends promises whose pods are gone, and those that lapse.
//!
//! Reading, pruning and writing are one step here. The write is a compare-and-swap: had anybody written in
//! between, it would have come to nothing, and had nobody, the order makes no difference. A turn that ends no
//! promise is not written: all it could do is to refuse older views.

use std::sync::Arc;

use lockstep_core::budget::{BudgetState, Controller, Pruned};
use lockstep_core::time::Time;

use super::setup::{Flaw, Setup};
use super::state::State;
use super::tally::{Event, Tally};

/// What comes of one turn of the controller.
struct Turn {
    memory: Controller,
    /// How new a world it has seen by then.
    seen: u8,
    pruned: Pruned,
    state: BudgetState,
}

impl Turn {
    fn ends_something(&self) -> bool {
        !self.pruned.kept.is_empty() || !self.pruned.lapsed.is_empty()
    }
}

impl State {
    /// The views from which a turn of the controller would do something: any for ending promises, one for
    /// taking note of them.
    pub fn prunable(&self, setup: &Setup, k: usize) -> Vec<u8> {
        if self.budgets[k].promises.is_empty() {
            return Vec::new();
        }
        let mut noted = false;
        let does_something = |version: &u8| {
            self.turn(setup, k, *version).is_some_and(|turn| {
                let notes = turn.memory != self.keeper.1[k];
                turn.ends_something() || notes && !std::mem::replace(&mut noted, true)
            })
        };
        (self.keeper.0..=self.newest()).filter(does_something).collect()
    }

    /// One turn from a view of this version, or none if the view is refused.
    fn turn(&self, setup: &Setup, k: usize, version: u8) -> Option<Turn> {
        let clock = setup.clock(self.now, 0);
        let clock = if setup.has(Flaw::EarlyLapse) { Time(clock.0 * 6) } else { clock };
        let mut memory = self.keeper.1[k].clone();
        let mut look = |version: u8, live: bool| {
            let mut budget = setup.budget(k, &self.budgets[k]);
            let view = setup.view(k, self.world(version), version, live);
            let pruned = memory.prune(&mut budget, &view, clock).ok()?;
            Some((version, pruned, budget.state))
        };
        let mut looked = look(version, setup.has(Flaw::LapseUnproved))?;
        if looked.1.overdue > 0 {
            // That their pods stay is believed of a live list only.
            looked = look(self.newest(), true)?;
        }
        let (seen, pruned, state) = looked;
        Some(Turn { memory, seen, pruned, state })
    }

    pub fn prune(&mut self, setup: &Setup, k: usize, version: u8, tally: &Tally) {
        let Some(turn) = self.turn(setup, k, version) else { return };
        if turn.ends_something() {
            tally.count(Event::Lapsed, turn.pruned.lapsed.len());
            tally.count(Event::Kept, turn.pruned.kept.len());
            self.keeper.0 = turn.seen;
            self.write(k, Arc::new(turn.state), None, setup);
        }
        self.keeper.1[k] = turn.memory;
    }
}
