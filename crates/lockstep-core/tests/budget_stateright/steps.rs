//! What may happen next, and what comes of it.

use lockstep_core::budget::Operation;
use stateright::{Model, Property};

use super::setup::Setup;
use super::state::{Client, Phase, Stage, State};
use super::tally::{Event, Tally};

/// What must hold in every state.
pub const BUDGET: &str = "no budget is exceeded";
pub const FLOOR: &str = "enough is left after a payment";

/// One thing happens somewhere. Clients are told apart by their place in the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Ask {
        slot: usize,
        operation: Operation,
        replica: usize,
    },
    Read {
        client: usize,
        cached: bool,
    },
    List(usize),
    Look {
        client: usize,
        version: u8,
    },
    Decide(usize),
    Write(usize),
    GiveBack(usize),
    Land(usize),
    /// The replica dies, or the delete fails elsewhere.
    Lose(usize),
    Prune {
        budget: usize,
        version: u8,
    },
    /// A pod ends, comes back, or becomes ready.
    Live(usize),
    Blink(usize),
    Tick,
}

pub struct Protocol {
    pub setup: Setup,
    pub tally: Tally,
}

impl Protocol {
    /// Pods to which nothing has happened yet are alike, and so are units of them: only the first is asked
    /// for.
    fn is_first(&self, state: &State, slot: usize) -> bool {
        let places = &self.setup.places;
        let touched = |slot: usize| state.touched & 1 << slot != 0;
        let unready = |slot: usize| self.setup.unready.contains(&slot);
        let of = |unit: usize| (0..places.len()).filter(move |slot| places[*slot] == unit);
        let alike = |unit: usize| of(unit).map(unready).eq(of(places[slot]).map(unready));
        let fresh = |unit: usize| !of(unit).any(touched);
        let sibling =
            of(places[slot]).any(|other| other < slot && unready(other) == unready(slot) && !touched(other));
        let cousin = fresh(places[slot]) && (0..places[slot]).any(|unit| alike(unit) && fresh(unit));
        touched(slot) || !sibling && !cousin
    }

    fn requests(&self, state: &State, steps: &mut Vec<Step>) {
        for (slot, seat) in state.seats().iter().enumerate() {
            let stands = matches!(seat.phase, Phase::Ready | Phase::Unready);
            if !stands || !self.is_first(state, slot) {
                continue;
            }
            for operation in self.setup.operations.iter().copied() {
                // Replicas with the same clock are alike as well.
                let first = state.requests == self.setup.requests && self.setup.behind == 0;
                let replicas = 0..if first { 1 } else { 2 };
                steps.extend(replicas.map(|replica| Step::Ask { slot, operation, replica }));
            }
        }
    }

    fn continuations(&self, state: &State, n: usize, steps: &mut Vec<Step>) {
        let client = &state.clients[n];
        match &client.stage {
            Stage::Asked => {
                steps.push(Step::Read { client: n, cached: false });
                if !client.live && state.replicas[client.replica].book.iter().any(Option::is_some) {
                    steps.push(Step::Read { client: n, cached: true });
                }
            }
            Stage::Read(_) if client.live => steps.push(Step::List(n)),
            Stage::Read(_) => {
                let versions = state.replicas[client.replica].seen..=state.newest();
                steps.extend(versions.map(|version| Step::Look { client: n, version }));
            }
            Stage::Listed(..) => steps.push(Step::Decide(n)),
            // To lose what has written nothing is the same as never to hear of it again.
            Stage::Write(0, _) => steps.push(Step::Write(n)),
            Stage::Write(..) => steps.extend([Step::Write(n), Step::Lose(n)]),
            Stage::GiveBack(_) => steps.extend([Step::GiveBack(n), Step::Lose(n)]),
            Stage::Land => steps.extend([Step::Land(n), Step::Lose(n)]),
        }
    }

    fn lives(&self, state: &State, steps: &mut Vec<Step>) {
        for (slot, seat) in state.seats().iter().enumerate() {
            if seat.phase != Phase::Ready {
                steps.push(Step::Live(slot));
            } else if state.blinks > 0 && self.is_first(state, slot) {
                steps.push(Step::Blink(slot));
            }
        }
    }

    fn live(&self, state: &mut State, slot: usize) {
        let gaps = self.setup.gaps;
        state.change(slot, |seat| match seat.phase {
            Phase::Leaving if gaps => seat.phase = Phase::Gone,
            Phase::Leaving | Phase::Gone => (seat.birth, seat.phase) = (seat.birth + 1, Phase::Unready),
            Phase::Unready | Phase::Ready => seat.phase = Phase::Ready,
        });
    }

    fn blink(&self, state: &mut State, slot: usize) {
        let budgets = 0..self.setup.specs.len();
        let before: Vec<u16> = budgets.clone().map(|k| state.up(&self.setup, k)).collect();
        state.blinks -= 1;
        state.change(slot, |seat| seat.phase = Phase::Unready);
        for k in budgets {
            state.sick[k] |= before[k] & !state.up(&self.setup, k);
            let deciding = |client: &&mut Client| matches!(client.stage, Stage::Read(_) | Stage::Listed(..));
            let sick = state.sick[k];
            state.clients.iter_mut().filter(deciding).for_each(|client| client.excused[k] |= sick);
        }
    }

    /// Time passes. No request lives through it twice.
    fn tick(state: &mut State) {
        state.now += 1;
        state.clients.retain(|client| client.age == 0);
        state.clients.iter_mut().for_each(|client| client.age += 1);
    }

    fn after(&self, state: &State, step: &Step) -> State {
        let (setup, tally) = (&self.setup, &self.tally);
        let mut next = state.clone();
        match *step {
            Step::Ask { slot, operation, replica } => {
                next.requests -= 1;
                next.touched |= 1 << slot;
                next.clients.push(Client {
                    slot,
                    operation,
                    replica,
                    shown: state.seats()[slot],
                    age: 0,
                    live: false,
                    spared: state.spared(state.seats()[slot]),
                    excused: vec![0; setup.specs.len()],
                    stage: Stage::Asked,
                });
            }
            Step::Prune { budget, version } => next.prune(setup, budget, version, tally),
            Step::Live(slot) => self.live(&mut next, slot),
            Step::Blink(slot) => self.blink(&mut next, slot),
            Step::Tick => Self::tick(&mut next),
            Step::Read { client: n, .. }
            | Step::List(n)
            | Step::Look { client: n, .. }
            | Step::Decide(n)
            | Step::Write(n)
            | Step::GiveBack(n)
            | Step::Land(n)
            | Step::Lose(n) => {
                let client = next.clients.remove(n);
                let client = self.advance(&mut next, client, step);
                next.clients.extend(client);
            }
        }
        next.settle(setup);
        next.tidy(setup);
        next
    }

    fn advance(&self, state: &mut State, client: Client, step: &Step) -> Option<Client> {
        let (setup, tally) = (&self.setup, &self.tally);
        match *step {
            Step::Read { cached, .. } => state.read(client, cached),
            Step::List(_) => state.list(client),
            Step::Look { version, .. } => state.look(client, version, setup, tally),
            Step::Decide(_) => {
                let Stage::Listed(copies, version) = client.stage.clone() else { return None };
                state.decide(client, &copies, version, true, setup, tally)
            }
            Step::Write(_) => state.compare_and_swap(client, setup, tally),
            Step::GiveBack(_) => state.give_back(client, setup, tally),
            Step::Land(_) => state.land(client, tally),
            _ => {
                tally.count(Event::Lost, 1);
                None
            }
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(&self.setup)]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.requests > 0 {
            self.requests(state, steps);
        }
        for n in 0..state.clients.len() {
            self.continuations(state, n, steps);
        }
        self.lives(state, steps);
        for budget in 0..self.setup.specs.len() {
            let versions = state.prunable(&self.setup, budget).into_iter();
            steps.extend(versions.map(|version| Step::Prune { budget, version }));
        }
        let waits = !state.clients.is_empty() || state.budgets.iter().any(|b| !b.promises.is_empty());
        if waits && state.now < self.setup.ticks {
            steps.push(Step::Tick);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        if state.overdrawn || state.is_exceeded(&self.setup) {
            return None;
        }
        let next = self.after(state, &step);
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(BUDGET, |m: &Self, s: &State| !s.is_exceeded(&m.setup)),
            Property::always(FLOOR, |_, s: &State| !s.overdrawn),
            Property::always("what stays can be removed again", |m: &Self, s: &State| s.recovers(&m.setup)),
        ]
    }
}
