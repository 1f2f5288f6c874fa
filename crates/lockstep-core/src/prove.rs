//! Proof by simulation: can this rollout finish?
//!
//! Not a list of rules about rules, but the engine itself on an ideal cluster: pauses count as promoted, a
//! partition reached as the end.

use crate::blocked::{Blocked, Reason};
use crate::model::Spec;
use crate::promises::history::History;
use crate::simulate::faults::{Faults, Nature, Span};
use crate::simulate::trace::End;
use crate::simulate::{Outcome, Scenario, run};
use crate::time::Millis;

/// What a proof found.
#[derive(Debug, Clone, PartialEq)]
pub enum Proof {
    /// It finishes.
    Finishes,
    /// It does not, and this is what blocks it.
    Blocked(Vec<Blocked>),
    /// Nobody knows: the set is too large to be played within the bound.
    TooLarge,
}

/// Sets with more instances than this are not played: the proof must be quick.
const MOST_INSTANCES: u64 = 20_000;

/// A rollout takes a handful of plans for each instance; one that takes this many goes round in circles.
const PLANS_PER_INSTANCE: u64 = 60;

/// Plays the rollout from one complete spec to another (or a first start) on an ideal cluster.
pub fn prove(from: Option<&Spec>, to: &Spec) -> Proof {
    let instances = |spec: &Spec| {
        spec.roles.iter().map(|role| u64::from(role.replicas)).sum::<u64>() * u64::from(spec.replicas)
    };
    let largest = instances(to).max(from.map_or(0, instances));
    if largest > MOST_INSTANCES {
        return Proof::TooLarge;
    }
    // A spec that is paused now must still be able to finish once it is resumed.
    let resumed = Spec { paused: false, ..to.clone() };
    let scenario = Scenario {
        initial: from.cloned(),
        present: None,
        changes: vec![(Millis(0), resumed)],
        nature: Nature {
            start_up_default: Span::fixed(Millis::seconds(1)),
            termination: Span::fixed(Millis(1)),
            promote: true,
            ..Nature::default()
        },
        faults: Faults::default(),
        seed: 0,
        limit: Millis::minutes(60 * 24 * 365 * 10),
        most_plans: 1_000 + PLANS_PER_INSTANCE * largest,
    };
    let mut history = History::default();
    let mut end_at = 0;
    let Outcome { end, mut blocked, .. } = run(&scenario, &mut |event| {
        end_at = event.t;
        history.follow(&event);
    });
    match end {
        End::Complete | End::PartitionReached | End::RolledBack => Proof::Finishes,
        // What is updated by hand may wait for ever, but it excuses nothing else.
        End::Paused if history.left_behind(end_at, false).is_none() => Proof::Finishes,
        End::Paused | End::Stuck | End::TimedOut => {
            blocked.retain(|block| block.reason != Reason::OnDelete);
            Proof::Blocked(blocked)
        }
    }
}
