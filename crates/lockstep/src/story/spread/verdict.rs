//! Whether a rollout over clusters can finish, and if not, why.

use lockstep_core::align::{Code, RollingStrategy};
use lockstep_core::number::IntOrPercent;
use lockstep_core::simulate::federation::Outcome;
use lockstep_core::simulate::trace::End;

use crate::input::spread::Change;

/// Why it cannot finish.
pub fn refused(change: &Change, outcome: &Outcome) -> Option<String> {
    let wish = &change.to.wish;
    let changes = change.from.as_ref().is_none_or(|it| it.wish.template != wish.template);
    nothing_may_move(change, &wish.strategy)
        .or_else(|| all_kept(change, outcome).filter(|_| changes && change.from.is_some()))
        .or_else(|| exceeded(outcome))
        .or_else(|| matches!(outcome.end, End::Stuck | End::TimedOut | End::Paused).then(|| waits(outcome)))
}

/// Neither may a pod be unavailable nor may one be too many.
fn nothing_may_move(change: &Change, strategy: &RollingStrategy) -> Option<String> {
    let kind = change.workload.kind;
    let zero = |value: IntOrPercent| matches!(value, IntOrPercent::Int(0) | IntOrPercent::Percent(0));
    let path = &kind.max_unavailable;
    if !strategy.max_unavailable.is_some_and(zero) {
        return None;
    }
    let Some(surge) = kind.max_surge.as_ref().filter(|_| kind.like.has_surge()) else {
        return Some(format!("{path} 0 lets nothing move, and is refused where it is applied. Raise it."));
    };
    let said = strategy.max_surge;
    // A Deployment has surge unless it says otherwise.
    let none = said.map_or(kind.like != lockstep_core::align::Kind::Deployment, zero);
    none.then(|| {
        format!(
            "{path} 0 and {surge} 0 let nothing move, and are refused together where they are applied. \
             Raise one of them."
        )
    })
}

/// The partition keeps everything old.
fn all_kept(change: &Change, outcome: &Outcome) -> Option<String> {
    let totals = outcome.totals;
    let path = change.workload.kind.partition.as_ref()?;
    let said = change.to.wish.strategy.partition?;
    (totals.partition >= totals.replicas && totals.replicas > 0).then(|| {
        format!(
            "{path} {said} keeps all {} pods old, so nothing becomes new. Lower it below {}.",
            totals.replicas, totals.replicas
        )
    })
}

fn exceeded(outcome: &Outcome) -> Option<String> {
    outcome.reasons.iter().find(|it| it.code == Code::PartitionExceeded).map(ToString::to_string)
}

fn waits(outcome: &Outcome) -> String {
    let said: Vec<String> = outcome.reasons.iter().map(ToString::to_string).collect();
    if said.is_empty() { "it does not come to its end in a year".to_owned() } else { said.join("\n") }
}
