//! What a person may say to a rollout in progress, as changes of the memory: the spec is never rewritten.

use crate::model::{RuleKind, Spec, Step};
use crate::observe::Aims;
use crate::snapshot::{Memory, Override, OverrideBy, Promotion};
use crate::surge;
use crate::time::Time;

/// Lets the pauses that hold now pass, for all groups or for one. Returns how many there were.
pub fn promote(spec: &Spec, memory: &mut Memory, group: Option<u32>, now: Time) -> usize {
    let target = Aims::of(spec, memory).set_target;
    // Whoever is there, or goes back, waits in no pause.
    if memory.overridden.is_some() || memory.complete.as_ref().is_some_and(|set| set.revision == target) {
        return 0;
    }
    let mut said = Vec::new();
    for rule in &spec.rules {
        let RuleKind::Steps(steps) = &rule.kind else { continue };
        for (index, step) in steps.iter().enumerate() {
            let Step::Pause { duration } = step else { continue };
            let key = format!("{target}/{}/{index}", rule.name);
            // One whose time is over holds nobody any more.
            let holds = |since: &Time| duration.is_none_or(|length| *since + length > now);
            let held = memory.groups.iter().any(|(g, known)| {
                group.is_none_or(|only| only == *g) && known.pauses.get(&key).is_some_and(holds)
            });
            if held {
                let step = u32::try_from(index).unwrap_or(u32::MAX);
                said.push(Promotion { target, rule: rule.name.clone(), step, group });
            }
        }
    }
    memory.promoted.retain(|promotion| promotion.target == target);
    said.into_iter().filter(|promotion| memory.promoted.insert(promotion.clone())).count()
}

/// Sends everything back to the last complete set, until the spec's revision changes.
pub fn abort(spec: &Spec, memory: &mut Memory) {
    memory.overridden = Some(Override { spec: spec.revision(), by: OverrideBy::Abort });
    memory.best = None;
}

/// How many back-offs there are to clear.
pub fn back_offs(memory: &Memory) -> usize {
    memory.restarts.len() + surge::lost(&memory.surges)
}

/// Clears the stall and the back-off.
pub fn retry(memory: &mut Memory, now: Time) {
    if let Some(best) = &mut memory.best {
        best.since = now;
    }
    memory.restarts.clear();
    surge::forget(&mut memory.surges);
}
