//! Whether a rollout still arrives: a fair continuation in which nothing more goes wrong, to its end.

use std::collections::HashSet;
use std::sync::RwLock;

use lockstep_core::status;

use super::engine::fingerprint;
use super::step::Step;
use super::{Lab, Phase, State, read, write};

/// States that are known to arrive, for each kind of continuation.
#[derive(Default)]
pub struct Followed([RwLock<HashSet<u64>>; 2]);

/// What becomes of pods that stopped being ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sick {
    /// They recover.
    Recover,
    /// Those at the first revision that may move never do: only the rollout can repair them.
    OldStay,
}

const ROUNDS: usize = 80;

impl Lab {
    /// Whether the rollout comes to its end from here.
    pub fn arrives(&self, state: &State, sick: Sick) -> bool {
        let works = |revision| self.bad != Some(revision) && (sick == Sick::Recover || revision != 0);
        let target_works = self.wish(state).roles.iter().all(|role| works(self.revision(role.revision)));
        if state.broken.is_some() || !target_works {
            return true;
        }
        let known = &self.followed.0[sick as usize];
        let mut path = Vec::new();
        let mut state = state.clone();
        for _ in 0..ROUNDS {
            let key = fingerprint(&state);
            if read(known).contains(&key) || self.is_at_rest(&state) {
                path.push(key);
                write(known).extend(path);
                return true;
            }
            path.push(key);
            state = self.round(&state, sick);
        }
        false
    }

    /// The engine acts, and everything that was on its way arrives.
    pub fn round(&self, state: &State, sick: Sick) -> State {
        let mut next = self.after(state, Step::Plan);
        for at in 0..next.slots.len() {
            let Some(pod) = next.slots[at].world else { continue };
            let lost = sick == Sick::OldStay && pod.revision == 0 && !self.is_kept(state, at);
            match pod.phase {
                Phase::Terminating => next = self.after(&next, Step::Gone(at)),
                Phase::Starting if self.can_be_ready(pod) => next = self.after(&next, Step::Ready(at)),
                Phase::Unready if !lost => next = self.after(&next, Step::Ready(at)),
                _ => {}
            }
        }
        next.slots.iter_mut().for_each(|slot| slot.view = slot.world);
        self.after(&next, Step::Tick)
    }

    /// Below a partition.
    fn is_kept(&self, state: &State, at: usize) -> bool {
        let (spec, place) = (self.wish(state), &self.places[at]);
        let kept = lockstep_core::coordinate::limits(spec, &spec.roles[place.role]).1;
        place.group < spec.strategy.kept(spec.replicas) || place.instance < kept
    }

    /// Everything is as wished for, and the engine knows and is content.
    pub fn is_at_rest(&self, state: &State) -> bool {
        let spec = self.wish(state);
        let right = (0..self.places.len()).all(|at| {
            let (place, slot) = (&self.places[at], &state.slots[at]);
            let role = &spec.roles[place.role];
            let wished = place.group < spec.replicas && place.instance < role.replicas;
            match slot.world {
                None => !wished,
                Some(pod) => {
                    let new = pod.revision == self.revision(role.revision);
                    let works = pod.phase == Phase::Ready;
                    wished && works && !slot.is_stale() && (new || self.is_kept(state, at))
                }
            }
        });
        let done = |phase| matches!(phase, status::Phase::Complete | status::Phase::PartitionReached);
        right && {
            let decision = self.decide(state);
            decision.acts.is_empty() && done(decision.phase)
        }
    }
}
