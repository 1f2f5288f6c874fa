//! What can happen next.

use super::engine::Act;
use super::promise::Watch;
use super::{Flaw, Lab, Phase, Pod, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The engine plans on what it sees and does all of it.
    Plan,
    /// It does the first so many acts and dies; the next one starts from a list.
    DieAfter(usize),
    /// News of a pod arrives.
    Deliver(usize),
    /// A terminating pod is gone.
    Gone(usize),
    Ready(usize),
    Crash(usize),
    Evict(usize),
    Fail(usize),
    /// The memory in status is lost.
    Forget,
    /// Somebody makes the next wish.
    Change,
    /// Eleven seconds pass.
    Tick,
}

impl Lab {
    /// Everything that can happen in a state.
    pub fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        steps.push(Step::Plan);
        let stale = state.slots.iter().filter(|slot| slot.is_stale()).count();
        let faulty = state.faults > 0;
        for (at, slot) in state.slots.iter().enumerate() {
            if slot.is_stale() {
                steps.push(Step::Deliver(at));
            }
            let Some(pod) = slot.world else { continue };
            if stale >= self.stale.max(1) && !slot.is_stale() {
                continue;
            }
            match pod.phase {
                Phase::Terminating => steps.push(Step::Gone(at)),
                Phase::Starting | Phase::Unready if self.can_be_ready(pod) => steps.push(Step::Ready(at)),
                Phase::Ready if faulty && self.faults.crash => steps.push(Step::Crash(at)),
                _ => {}
            }
            let stands = pod.phase != Phase::Terminating;
            if faulty && stands && self.faults.evict {
                steps.push(Step::Evict(at));
            }
            if faulty && stands && self.faults.fail && pod.phase != Phase::Failed {
                steps.push(Step::Fail(at));
            }
        }
        if faulty && self.faults.restart {
            steps.extend((0..self.decide(state).acts.len()).map(Step::DieAfter));
        }
        if faulty && self.faults.forget {
            steps.push(Step::Forget);
        }
        if usize::from(state.wish) + 1 < self.wishes.len() {
            steps.push(Step::Change);
        }
        steps.push(Step::Tick);
    }

    /// Whether the pod's revision works at all.
    pub fn can_be_ready(&self, pod: Pod) -> bool {
        self.bad != Some(pod.revision)
    }

    /// The state after a step.
    pub fn after(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Plan => self.plan(&mut next, usize::MAX),
            Step::DieAfter(acts) => {
                next.faults -= 1;
                self.plan(&mut next, acts);
                next.slots.iter_mut().for_each(|slot| slot.view = slot.world);
            }
            Step::Deliver(at) => next.slots[at].view = next.slots[at].world,
            Step::Gone(at) => next.slots[at].world = None,
            Step::Ready(at) => self.turn(&mut next, at, Phase::Ready),
            Step::Crash(at) => {
                next.faults -= 1;
                self.turn(&mut next, at, Phase::Unready);
            }
            Step::Evict(at) => {
                next.faults -= 1;
                self.turn(&mut next, at, Phase::Terminating);
            }
            Step::Fail(at) => {
                next.faults -= 1;
                self.turn(&mut next, at, Phase::Failed);
            }
            Step::Forget => {
                next.faults -= 1;
                next.memory = self.no_memory();
                next.stable.fill(None);
            }
            Step::Change => next.wish += 1,
            Step::Tick => self.tick(&mut next),
        }
        if self.stale == 0 {
            next.slots.iter_mut().for_each(|slot| slot.view = slot.world);
        }
        if next.broken.is_none() {
            next.broken = self.undisturbed(&next);
        }
        next
    }

    fn turn(&self, state: &mut State, at: usize, phase: Phase) {
        let Some(pod) = &mut state.slots[at].world else { return };
        pod.phase = phase;
        pod.since = 0;
        match phase {
            Phase::Ready => {
                pod.age = self.ticks;
                // How long it is ready matters only where it must be for a time.
                pod.since = if self.ticks > 1 { 0 } else { self.ticks };
            }
            Phase::Terminating => pod.age = 0,
            _ => {}
        }
    }

    fn tick(&self, state: &mut State) {
        state.memory = self.older(state.memory);
        let pods = state.slots.iter_mut().flat_map(|slot| [&mut slot.world, &mut slot.view]).flatten();
        for pod in pods.filter(|pod| pod.phase != Phase::Terminating) {
            pod.age = (pod.age + 1).min(self.ticks);
            pod.since = (pod.since + 1).min(self.ticks);
        }
    }

    /// The engine plans and does the first so many acts, each judged as it is done.
    pub fn plan(&self, state: &mut State, most: usize) {
        let decision = self.decide(state);
        state.memory = decision.memory;
        self.recall(state);
        let stable = self.complete_in_view(state);
        let mut watch = Watch::default();
        for act in decision.acts.iter().take(most) {
            let judged = self.judge(state, act, &mut watch);
            if state.broken.is_none() {
                state.broken = judged;
            }
            let works_unseen = self.works_unseen(state, act);
            self.perform(state, act);
            if works_unseen && !self.works_unseen(state, act) && state.broken.is_none() {
                state.broken = Some(format!("floor: it worked by now: {act:?}"));
            }
        }
        for (role, complete) in stable.into_iter().enumerate() {
            if complete {
                state.stable[role] = Some(self.revision(self.wish(state).roles[role].revision));
            }
        }
    }

    fn perform(&self, state: &mut State, act: &Act) {
        match act {
            Act::Create { slots, pod, .. } => {
                for &at in slots {
                    let slot = &mut state.slots[at];
                    // An API server refuses a name that is taken.
                    if slot.world.is_none() {
                        slot.world = Some(*pod);
                        if self.flaw != Some(Flaw::ForgetsItsWrites) {
                            slot.view = Some(Pod { phase: Phase::InFlight, ..*pod });
                        }
                    }
                }
            }
            Act::Delete { slots, paid, .. } => {
                for &at in slots {
                    let slot = &mut state.slots[at];
                    let (Some(world), Some(_)) = (slot.world, slot.view) else { continue };
                    // What is not paid for goes only as it was seen, and so do those after it.
                    if !paid && slot.is_stale() && self.flaw != Some(Flaw::DeletesBlindly) {
                        return;
                    }
                    let leaving = Some(Pod { phase: Phase::Terminating, age: 0, since: 0, ..world });
                    slot.world = leaving;
                    if self.flaw != Some(Flaw::ForgetsItsWrites) {
                        slot.view = leaving;
                    }
                }
            }
        }
    }
}
