//! What is true, whatever anybody sees.
//!
//! A unit is *up* while enough of its pods are ready and no admitted removal of them is under way. When an
//! admission takes a unit from up to down, the unit is *ours* until it is up again, and of those there may
//! never be more than the budget allows.

use lockstep_core::budget::Operation;

use super::setup::Setup;
use super::state::{Client, Phase, Stage, State};

impl Client {
    /// Whether the budget has let it pass.
    fn has_passed(&self, k: usize) -> bool {
        match &self.stage {
            Stage::Write(next, _) => *next > k,
            Stage::Land => true,
            _ => false,
        }
    }
}

/// The unit of a pod as a bit: a pod that is a unit by itself is the same one when it comes back.
fn bit(setup: &Setup, k: usize, slot: usize) -> usize {
    if setup.specs[k].pod_group_policy.is_some() { setup.places[slot] } else { slot }
}

impl State {
    /// All units of a budget.
    pub fn all(&self, setup: &Setup, k: usize) -> u16 {
        (0..self.seats().len()).fold(0, |all, slot| all | 1 << bit(setup, k, slot))
    }

    /// Whether an admitted removal will take the pod. A delete is admitted for the very object it was shown.
    fn is_leaving(&self, k: usize, slot: usize) -> bool {
        let seat = self.seats()[slot];
        self.clients.iter().filter(|client| client.slot == slot && client.has_passed(k)).any(|client| {
            match client.operation {
                Operation::Delete => client.shown.changed == seat.changed,
                _ => client.shown.birth == seat.birth,
            }
        })
    }

    fn up_if(&self, setup: &Setup, k: usize, counts: impl Fn(usize) -> bool) -> u16 {
        let mut ready = [0u32; 16];
        for (slot, seat) in self.seats().iter().enumerate() {
            ready[bit(setup, k, slot)] += u32::from(seat.phase == Phase::Ready && counts(slot));
        }
        let min = setup.specs[k].pod_group_policy.map_or(1, |policy| policy.min_ready_replicas);
        let up = (0..ready.len()).filter(|unit| ready[*unit] >= min);
        up.fold(0, |up, unit| up | 1 << unit)
    }

    /// The units that are up.
    pub fn up(&self, setup: &Setup, k: usize) -> u16 {
        self.up_if(setup, k, |slot| !self.is_leaving(k, slot))
    }

    /// Whether, with all promises kept, fewer units are left than must stay.
    pub fn is_overdrawn(&self, setup: &Setup, k: usize) -> bool {
        let promises = &self.budgets[k].promises;
        let left =
            self.up_if(setup, k, |slot| !promises.contains_key(&setup.uid(slot, self.seats()[slot].birth)));
        left.count_ones() < setup.expected(k) - setup.allowed(k)
    }

    /// Units that are up again are nobody's debt any more.
    pub fn settle(&mut self, setup: &Setup) {
        for k in 0..setup.specs.len() {
            let up = self.up(setup, k);
            self.ours[k] &= !up;
            self.sick[k] &= !up;
        }
    }

    /// Whether more is down by admitted removals than any budget allows.
    pub fn is_exceeded(&self, setup: &Setup) -> bool {
        (0..setup.specs.len()).any(|k| self.ours[k].count_ones() > setup.allowed(k))
    }
}
