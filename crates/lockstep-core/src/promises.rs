//! What always holds, as checks over a trace. Read this first.
//!
//! Nothing here knows how the planner works: a trace says what was wished for and what happened to every
//! instance, and every promise is recomputed from that alone. What the engine could not know yet, because
//! its view lagged, is held in its favour; losses caused by the world are not its doing, its own moves are.

pub(crate) mod history;
mod instance;
mod judge;
mod members;
mod pauses;
mod rules;
mod stable;

use std::fmt;

use self::judge::Judge;
use crate::simulate::trace::{Event, What};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// When, in milliseconds.
    pub t: u64,
    /// Which promise.
    pub promise: Promise,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} ms: {:?}: {}", self.t, self.promise, self.detail)
    }
}

/// The promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// The engine never deletes an available instance when that leaves fewer than `d - maxUnavailable`.
    Floor,
    /// The same over groups: opened or recreated only while enough others are available.
    GroupFloor,
    /// The engine creates nothing at an ordinal of `d + maxSurge` or above.
    SurgeCeiling,
    /// No move takes the updated fractions further apart than `max(maxSkew, 1/d)`.
    SkewBound,
    /// No role goes beyond what the steps have reached.
    StepOrder,
    /// Inside an instance nothing starts before what it starts after had its minimum ready.
    MemberOrder,
    /// A pause lasts as long as it says, or for ever if it does not say, unless it is promoted or the rollout goes back.
    PauseLength,
    /// Below the partition nothing is created at the new revision.
    PartitionUntouched,
    /// A revision that is available nowhere takes at most `max(1, maxUnavailable)` instances.
    Containment,
    /// Two revisions never stand in one recreated group.
    RecreateBarrier,
    /// What is updated by hand is left to the hand: the engine deletes nothing of it for an update.
    ByHand,
    /// While the set is paused nothing moves towards the target.
    Paused,
    /// A role that left the wish goes only where all others are updated and available.
    RemovedRole,
    /// At the end the ordinals are exactly those wished for.
    NoHoles,
    /// Once the faults have stopped, the rollout comes to its end.
    Convergence,
}

impl Promise {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Floor,
        Self::GroupFloor,
        Self::SurgeCeiling,
        Self::SkewBound,
        Self::StepOrder,
        Self::MemberOrder,
        Self::PauseLength,
        Self::PartitionUntouched,
        Self::Containment,
        Self::RecreateBarrier,
        Self::ByHand,
        Self::Paused,
        Self::RemovedRole,
        Self::NoHoles,
        Self::Convergence,
    ];
}

/// Checks a trace, event by event.
#[derive(Debug, Default)]
pub struct Checker {
    judge: Judge,
    /// Those who judge by wishes that are over. The engine may act on one until it has heard of the next.
    former: Vec<Former>,
    broken: Vec<Broken>,
}

/// A judge by a wish that is over, and since when the engine knows that it is.
#[derive(Debug)]
struct Former {
    judge: Judge,
    over: Option<u64>,
}

impl Checker {
    /// What was broken so far.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }

    /// Takes the next event. What the engine does must be right by the present wish, or by one that it could still
    /// believe in when it decided.
    pub fn see(&mut self, event: &Event) {
        if let What::Spec(wish) = &event.what {
            self.turn(event.t, wish.unheard);
            self.broken.extend(self.judge.see(event));
            return;
        }
        let broken = self.judge.see(event);
        let decided = event.t.saturating_sub(self.judge.lag());
        let mut excused = false;
        for former in &mut self.former {
            let right = former.judge.see(event).is_empty();
            excused |= right && former.over.is_none_or(|over| decided <= over);
        }
        if !excused || matches!(event.what, What::End { .. }) {
            self.broken.extend(broken);
        }
    }

    /// Another wish begins, or the engine has heard of it.
    fn turn(&mut self, t: u64, unheard: bool) {
        if unheard && self.judge.has_wish() {
            self.former.push(Former { judge: self.judge.clone(), over: None });
        }
        if unheard {
            return;
        }
        for former in self.former.iter_mut().filter(|former| former.over.is_none()) {
            former.over = Some(t);
            // What became stable while the engine went by the old wish, it may believe in.
            self.judge.allow_beliefs(t, &mut former.judge);
        }
    }
}
