//! What every instance did over time: one lane each, cut into stretches.

use std::collections::BTreeMap;

use lockstep_core::model::Spec;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{Event, Subject, What};

/// What an instance is doing during a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Ready at a revision that is on its way out.
    Old,
    /// Ready at the revision wished for.
    New,
    /// Held by a gate of ours.
    Gated,
    /// There, and not ready.
    Starting,
    /// On its way out.
    Terminating,
}

/// A stretch of time in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// From, in milliseconds since the change.
    pub from: u64,
    /// To.
    pub to: u64,
    /// What.
    pub doing: Doing,
}

/// Everything one instance did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Which instance.
    pub of: Subject,
    /// It is beyond what is wished for.
    pub surge: bool,
    /// What it did.
    pub stretches: Vec<Stretch>,
}

/// The lanes of a trace, from the change on, and how long they are.
pub fn lanes(events: &[Event], to: &Spec, began: u64) -> (Vec<Lane>, u64) {
    let mut open: BTreeMap<Subject, (u64, Doing)> = BTreeMap::new();
    let mut lanes: BTreeMap<Subject, Vec<Stretch>> = BTreeMap::new();
    let mut end = began;
    for event in events {
        end = event.t;
        let Some((of, doing)) = turn(&event.what, to) else { continue };
        if let Some((since, was)) = open.remove(&of) {
            cut(lanes.entry(of.clone()).or_default(), since, event.t, was, began);
        }
        if let Some(doing) = doing {
            open.insert(of, (event.t, doing));
        }
    }
    // A little more, so that the last state is seen.
    let end = end + (end - began) / 40;
    for (of, (since, doing)) in open {
        cut(lanes.entry(of).or_default(), since, end, doing, began);
    }
    let wished =
        |of: &Subject| of.group < to.replicas && to.role(&of.role).is_some_and(|r| of.instance < r.replicas);
    let rank = |of: &Subject| {
        (of.group, to.role_index(&of.role).unwrap_or(usize::MAX), of.role.clone(), of.instance)
    };
    let mut lanes: Vec<Lane> = lanes
        .into_iter()
        .filter(|(_, stretches)| !stretches.is_empty())
        .map(|(of, stretches)| Lane { surge: !wished(&of), of, stretches })
        .collect();
    lanes.sort_by_key(|lane| rank(&lane.of));
    (lanes, end.saturating_sub(began))
}

/// What an event makes of an instance; nothing if it is gone.
fn turn(what: &What, to: &Spec) -> Option<(Subject, Option<Doing>)> {
    let ready = |of: &Subject, revision: Revision| {
        let new = to.role(&of.role).is_some_and(|role| role.revision == revision);
        if new { Doing::New } else { Doing::Old }
    };
    let (of, doing) = match what {
        What::Create { of, .. } | What::Unready { of, .. } | What::Ungate { of, .. } => {
            (of, Some(Doing::Starting))
        }
        What::Gate { of, .. } => (of, Some(Doing::Gated)),
        What::Ready { of, revision } => (of, Some(ready(of, *revision))),
        What::Delete { of, .. } => (of, Some(Doing::Terminating)),
        What::Gone { of, .. } => (of, None),
        _ => return None,
    };
    Some((of.clone(), doing))
}

fn cut(lane: &mut Vec<Stretch>, from: u64, to: u64, doing: Doing, began: u64) {
    let (from, to) = (from.max(began) - began, to.max(began) - began);
    if from == to {
        return;
    }
    match lane.last_mut() {
        Some(last) if last.doing == doing && last.to == from => last.to = to,
        _ => lane.push(Stretch { from, to, doing }),
    }
}
