//! Whether rollouts of a set can finish, and if not, which rules block each other and what to change.
//!
//! Found out by playing them (`lockstep_core::prove`), and said in the same words wherever somebody asks: by the
//! command line before anything happens, and by admission when it is about to.

pub mod conflict;
pub mod stage;

use lockstep_core::model::Spec;
use lockstep_core::prove::{Proof, WAVES, hurried, prove};
use lockstep_core::revision::Revision;
use lockstep_core::simulate::{Scenario, run};
use lockstep_core::time::Millis;
use serde_json::json;

pub use self::conflict::Conflict;
use self::stage::Stage;
use crate::{LockstepSet, Problem};

/// What playing rollouts came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They finish.
    Finish,
    /// One does not.
    Blocked {
        /// Which: `a first start`.
        what: &'static str,
        /// Why.
        conflict: Conflict,
    },
    /// Nobody knows: the set is too large to be played.
    TooLarge,
}

impl Verdict {
    /// What there is to say, if there is something, and where: at the first rule that takes part.
    pub fn problem(&self) -> Option<Problem> {
        let (path, message) = match self {
            Self::Finish => return None,
            Self::TooLarge => {
                let message =
                    "too large for its rules to be tried out; nobody knows whether a rollout finishes";
                ("spec".to_owned(), message.to_owned())
            }
            Self::Blocked { what, conflict } => {
                let rule = conflict.rules.first();
                let path = rule.map_or("spec".to_owned(), |rule| format!("spec.coordination[{rule}]"));
                (path, format!("{what} cannot finish: {}", conflict.message))
            }
        };
        Some(Problem { path, value: None, message, line: None })
    }
}

/// Whether a first start and an update of every role finish.
pub fn every_rollout(set: &LockstepSet, spec: &Spec) -> Verdict {
    match rollout("a first start", None, set, spec) {
        Verdict::Finish => rollout("an update of every role", Some(&other_revision(spec)), set, spec),
        other => other,
    }
}

/// Whether the rollout from what stands (or from nothing) to this set finishes.
pub fn rollout(what: &'static str, from: Option<&Spec>, set: &LockstepSet, spec: &Spec) -> Verdict {
    match prove(from, spec) {
        Proof::Finishes => Verdict::Finish,
        Proof::TooLarge => Verdict::TooLarge,
        Proof::Blocked(_) => Verdict::Blocked { what, conflict: explain(from, set, spec) },
    }
}

/// The same set with every role at another revision.
fn other_revision(spec: &Spec) -> Spec {
    let mut before = spec.clone();
    for role in &mut before.roles {
        role.revision = Revision::of(&json!({"before": role.revision}));
    }
    before
}

/// Plays it again, to see where it comes to rest: the same place, however many move at once.
fn explain(from: Option<&Spec>, set: &LockstepSet, spec: &Spec) -> Conflict {
    let to = Spec { paused: false, ..hurried(spec, WAVES) };
    let scenario = Scenario {
        initial: from.map(|from| hurried(from, WAVES)),
        changes: vec![(Millis(0), to.clone())],
        most_plans: 100_000,
        ..Scenario::ideal(to.clone(), to)
    };
    let mut stage = Stage::default();
    let outcome = run(&scenario, &mut |event| stage.see(&event));
    conflict::explain(set, spec, &stage, &outcome.blocked)
}
