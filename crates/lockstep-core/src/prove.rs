//! Proof by simulation: can this rollout finish?
//!
//! Not a list of rules about rules, but the engine itself on an ideal cluster: pauses count as promoted, a
//! partition reached as the end.

mod hurry;

pub use self::hurry::{WAVES, hurried};

use crate::blocked::{Blocked, Reason};
use crate::model::{Role, Spec};
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

/// How often a pod is looked at in all plans of a proof together: about a second's work.
const MOST_LOOKS: u64 = 10_000_000;

/// Plays the rollout from one complete spec to another (or a first start) on an ideal cluster.
pub fn prove(from: Option<&Spec>, to: &Spec) -> Proof {
    let largest = instances(to).max(from.map_or(0, instances));
    if largest > MOST_INSTANCES {
        return Proof::TooLarge;
    }
    let (from, to) = (from.map(|from| hurried(from, WAVES)), hurried(to, WAVES));
    let pods = pods(&to).max(from.as_ref().map_or(0, pods)).max(1);
    let (circles, work) = (1_000 + PLANS_PER_INSTANCE * largest, MOST_LOOKS / pods);
    play(from, to, circles.min(work)).unwrap_or_else(|blocked| match work < circles {
        true => Proof::TooLarge,
        false => Proof::Blocked(blocked),
    })
}

/// The same played pod by pod and wave by wave, however long it takes: what [`prove`] is measured against.
pub fn prove_slowly(from: Option<&Spec>, to: &Spec) -> Proof {
    let largest = instances(to).max(from.map_or(0, instances));
    let plans = 1_000 + PLANS_PER_INSTANCE * largest;
    play(from.cloned(), to.clone(), plans).unwrap_or_else(Proof::Blocked)
}

fn instances(spec: &Spec) -> u64 {
    spec.roles.iter().map(|role| u64::from(role.replicas)).sum::<u64>() * u64::from(spec.replicas)
}

fn pods(spec: &Spec) -> u64 {
    let of_role = |role: &Role| u64::from(role.replicas) * u64::from(role.pods());
    spec.roles.iter().map(of_role).sum::<u64>() * u64::from(spec.replicas)
}

/// Plays a rollout with so many plans at most; what blocked it when they were used up.
fn play(from: Option<Spec>, to: Spec, most_plans: u64) -> Result<Proof, Vec<Blocked>> {
    let scenario = Scenario {
        initial: from,
        present: None,
        // A spec that is paused now must still be able to finish once it is resumed.
        changes: vec![(Millis(0), Spec { paused: false, ..to })],
        nature: Nature {
            start_up_default: Span::fixed(Millis::seconds(1)),
            termination: Span::fixed(Millis(1)),
            promote: true,
            ..Nature::default()
        },
        faults: Faults::default(),
        seed: 0,
        limit: Millis::minutes(60 * 24 * 365 * 10),
        most_plans,
    };
    let mut history = History::default();
    let mut end_at = 0;
    let Outcome { end, mut blocked, plans, .. } = run(&scenario, &mut |event| {
        end_at = event.t;
        history.follow(&event);
    });
    blocked.retain(|block| block.reason != Reason::OnDelete);
    match end {
        End::Complete | End::PartitionReached | End::RolledBack => Ok(Proof::Finishes),
        // What is updated by hand may wait for ever, but it excuses nothing else.
        End::Paused if history.left_behind(end_at, false).is_none() => Ok(Proof::Finishes),
        End::TimedOut if plans > most_plans => Err(blocked),
        End::Paused | End::Stuck | End::TimedOut => Ok(Proof::Blocked(blocked)),
    }
}
