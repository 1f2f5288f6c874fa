//! Events: every transition of a set, in the words of its status. Pure.

use std::collections::BTreeSet;

use lockstep_api::status::{BlockedStatus, CHILDREN, LockstepSetStatus};

/// Something worth an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// It needs somebody's eye.
    pub warning: bool,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

/// Waits that pass by themselves: status shows them, an event for each would drown the others.
const ORDINARY: [&str; 10] = [
    "NotReadyYet",
    "StepNotReady",
    "SkewHeld",
    "BudgetExhausted",
    "GroupsExhausted",
    "WaitingForTermination",
    "Unproven",
    "ScalingHeld",
    "StartOrder",
    "GangNotScheduled",
];

/// What happened between two statuses.
pub fn notes(before: &LockstepSetStatus, after: &LockstepSetStatus) -> Vec<Note> {
    let mut notes = Vec::new();
    note_phase(before, after, &mut notes);
    note_groups(before, after, &mut notes);
    note_steps(before, after, &mut notes);
    note_blocks(before, after, &mut notes);
    note_restarts(before, after, &mut notes);
    note_children(before, after, &mut notes);
    notes
}

fn note_phase(before: &LockstepSetStatus, after: &LockstepSetStatus, notes: &mut Vec<Note>) {
    let (was, is) = (before.rollout.phase.as_str(), after.rollout.phase.as_str());
    let update = &after.revision.update;
    if before.revision.update != *update && !update.is_empty() {
        let message = match before.revision.stable.as_deref() {
            None => format!("rolls to {update}"),
            Some(stable) if stable == update => format!("goes back to {update}"),
            Some(stable) => format!("rolls from {stable} to {update}"),
        };
        notes.push(Note { warning: false, reason: "RolloutStarted".into(), message });
    }
    // What is wrong with a spec is told by its own name.
    let refused = after.is_refused();
    if was == is || refused {
        return;
    }
    let why = after.rollout.blocked.first().map(|first| first.message.as_str()).unwrap_or_default();
    let message = match is {
        "Complete" => format!("everything is at {update} and available"),
        "PartitionReached" => "what may move has moved; the partition keeps the rest".to_owned(),
        "RolledBack" => {
            format!("all of it is back at {update}, which stood complete; the spec still wishes for another")
        }
        "RollingBack" => format!("goes back to {update}"),
        _ if why.is_empty() => format!("on its way to {update}"),
        _ => why.to_owned(),
    };
    let warning = matches!(is, "Stalled" | "RollingBack" | "RolledBack");
    notes.push(Note { warning, reason: is.to_owned(), message });
}

fn note_groups(before: &LockstepSetStatus, after: &LockstepSetStatus, notes: &mut Vec<Note>) {
    let set =
        |status: &LockstepSetStatus| status.rollout.groups_in_update.iter().copied().collect::<BTreeSet<_>>();
    let (was, is) = (set(before), set(after));
    for group in is.difference(&was) {
        let message = format!("group {group} is being updated");
        notes.push(Note { warning: false, reason: "GroupOpened".into(), message });
    }
    for group in was.difference(&is) {
        let message = format!("group {group} is no longer being updated");
        notes.push(Note { warning: false, reason: "GroupDone".into(), message });
    }
}

fn note_steps(before: &LockstepSetStatus, after: &LockstepSetStatus, notes: &mut Vec<Note>) {
    for rule in &after.rollout.coordination {
        let Some(step) = rule.step else { continue };
        let earlier =
            before.rollout.coordination.iter().find(|it| it.rule == rule.rule && it.group == rule.group);
        if earlier.and_then(|earlier| earlier.step) != Some(step) {
            // The text itself says which step of how many.
            let message = format!("group {}, {}: {}", rule.group, rule.rule, rule.text);
            notes.push(Note { warning: false, reason: "Step".into(), message });
        }
    }
}

fn note_blocks(before: &LockstepSetStatus, after: &LockstepSetStatus, notes: &mut Vec<Note>) {
    let same = |a: &BlockedStatus, b: &BlockedStatus| a.what == b.what && a.reason == b.reason;
    for block in &after.rollout.blocked {
        let known = before.rollout.blocked.iter().any(|earlier| same(earlier, block));
        if !known && !ORDINARY.contains(&block.reason.as_str()) {
            let warning = !matches!(
                block.reason.as_str(),
                "PauseStep" | "Paused" | "OnDelete" | "BatchNotReady" | "RoleRemoval"
            );
            notes.push(Note {
                warning,
                reason: block.reason.clone(),
                message: format!("{}: {}", block.what, block.message),
            });
        }
    }
}

fn note_restarts(before: &LockstepSetStatus, after: &LockstepSetStatus, notes: &mut Vec<Note>) {
    for restart in &after.restarts {
        let earlier = before.restarts.iter().find(|earlier| earlier.what == restart.what);
        if earlier.map_or(0, |earlier| earlier.count) < restart.count {
            let message = format!("{} is restarted as a whole, {} in a row", restart.what, restart.count);
            notes.push(Note { warning: true, reason: "Restarted".into(), message });
        }
    }
}

/// What belongs beside the set and is not there.
fn note_children(before: &LockstepSetStatus, after: &LockstepSetStatus, notes: &mut Vec<Note>) {
    let lacks = |status: &LockstepSetStatus| {
        let said = status.conditions.iter().find(|it| it.type_ == CHILDREN && it.status == "False");
        said.map(|it| (it.reason.clone(), it.message.clone()))
    };
    if let Some((reason, message)) = lacks(after).filter(|now| lacks(before).as_ref() != Some(now)) {
        notes.push(Note { warning: true, reason, message });
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::status::{CoordinationStatus, RevisionStatus, RolloutStatus};

    use super::*;

    #[test]
    fn a_rollout_goes_on_or_back() {
        let at = |stable: Option<&str>, update: &str| {
            let revision = RevisionStatus { stable: stable.map(str::to_owned), update: update.to_owned() };
            LockstepSetStatus { revision, ..LockstepSetStatus::default() }
        };
        for (before, after, told) in [
            (at(None, ""), at(None, "a1"), "rolls to a1"),
            (at(Some("a1"), "a1"), at(Some("a1"), "b2"), "rolls from a1 to b2"),
            (at(Some("a1"), "b2"), at(Some("a1"), "a1"), "goes back to a1"),
        ] {
            assert_eq!(notes(&before, &after)[0].message, told);
        }
    }

    #[test]
    fn a_step_is_told_when_it_begins_and_counted_once() {
        let at = |step: u32, text: &str| {
            let rule = CoordinationStatus {
                group: 1,
                rule: "canary".to_owned(),
                step: Some(step),
                of: Some(3),
                text: text.to_owned(),
            };
            let rollout = RolloutStatus { coordination: vec![rule], ..RolloutStatus::default() };
            LockstepSetStatus { rollout, ..LockstepSetStatus::default() }
        };
        let (first, pause) = (at(1, "step 1/3: decode 0 of 1 updated and ready"), at(2, "step 2/3: pause"));
        let told =
            |before, after| notes(before, after).into_iter().map(|note| note.message).collect::<Vec<_>>();
        assert_eq!(told(&first, &pause), ["group 1, canary: step 2/3: pause"]);
        assert!(told(&pause, &pause).is_empty());
    }
}
