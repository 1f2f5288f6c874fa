//! What becomes of a state if from here on nothing goes wrong and nobody asks for anything.

use std::sync::Arc;

use lockstep_core::budget::*;

use super::setup::Setup;
use super::state::{Phase, Seat, State};

impl State {
    /// Requests under way are lost and every pod becomes ready: then promises end, kept or lapsed, all units
    /// are available, and each pod may go again wherever the budgets allow one unit.
    pub fn recovers(&self, setup: &Setup) -> bool {
        let version = self.newest() + 1;
        let healed = |seat: &Seat| Seat {
            birth: seat.birth + u8::from(matches!(seat.phase, Phase::Leaving | Phase::Gone)),
            phase: Phase::Ready,
            changed: version,
        };
        let seats: Vec<Seat> = self.seats().iter().map(healed).collect();
        let mut budgets = Vec::new();
        for k in 0..setup.specs.len() {
            let view = setup.view(k, &seats, version, true);
            let mut budget = setup.budget(k, &self.budgets[k]);
            let mut memory = self.keeper.1[k].clone();
            for later in [0, 3] {
                let now = setup.clock(self.now + later, 0);
                if memory.prune(&mut budget, &view, now).is_err() {
                    return false;
                }
            }
            budgets.push(Arc::new(budget.state));
        }
        let now = setup.clock(self.now + 3, 0);
        let spare = (0..setup.specs.len()).all(|k| setup.allowed(k) > 0);
        budgets.iter().enumerate().all(|(k, state)| {
            let view = setup.view(k, &seats, version, true);
            let account = account(&setup.budget(k, state), &view, now);
            let whole = state.promises.is_empty() && account.available() == setup.expected(k);
            let may_go = |pod: &Pod| {
                let request = Request { pod: pod.uid.clone(), operation: Operation::Evict };
                decide(&account, &request, now).is_admitted()
            };
            whole && (!spare || view.pods.iter().all(may_go))
        })
    }
}
