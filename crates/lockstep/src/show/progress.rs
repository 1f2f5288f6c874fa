//! Where a rollout stands, in one line, and whether it is at its end.

use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use lockstep_core::time::Time;

use super::words;
use crate::exit::Exit;
use crate::input::live_set::LiveSet;

/// How a rollout ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything is at the revision wished for.
    Complete,
    /// What may move has moved.
    PartitionReached,
    /// The deadline has passed without progress.
    Stalled,
    /// It went back.
    RolledBack,
    /// The spec is wrong, and nothing moves.
    Refused,
}

impl From<Ended> for Exit {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Complete | Ended::PartitionReached => Self::Fine,
            Ended::Stalled | Ended::RolledBack | Ended::Refused => Self::Stalled,
        }
    }
}

/// Whether a rollout is at its end, and at which.
pub fn ended(set: &LiveSet, now: Time) -> Option<Ended> {
    if !set.is_seen() {
        return None;
    }
    if set.refusal().is_some() {
        return Some(Ended::Refused);
    }
    match set.status.rollout.phase.as_str() {
        "Complete" => Some(Ended::Complete),
        "PartitionReached" => Some(Ended::PartitionReached),
        "RolledBack" => Some(Ended::RolledBack),
        // Somebody said `retry`, and the operator has not looked yet.
        "Stalled" if has_time(set, now) => None,
        "Stalled" => Some(Ended::Stalled),
        _ => None,
    }
}

/// By what is remembered, the deadline lies ahead.
fn has_time(set: &LiveSet, now: Time) -> bool {
    let best = set.memory().ok().flatten().and_then(|memory| memory.best);
    best.is_some_and(|best| best.since + set.progress_deadline() > now)
}

/// Where it stands.
pub fn line(set: &LiveSet, now: Time) -> String {
    let (name, status) = (&set.name, &set.status);
    if set.is_seen()
        && let Some(why) = set.refusal()
    {
        return format!("{name}: the spec is refused, and nothing moves: {why}");
    }
    if status.rollout.phase.is_empty() {
        return format!("{name}: the operator has not looked at it yet");
    }
    if !set.is_seen() {
        let (wished, seen) = (set.generation(), status.observed_generation);
        return format!(
            "{name}: the operator has not seen the change yet (generation {wished}, seen {seen})"
        );
    }
    let counts = counts(status);
    let waiting = set.waiting().map(|what| format!("; waiting: {what}")).unwrap_or_default();
    let text = match status.rollout.phase.as_str() {
        "Complete" => format!("complete at {}: {counts}", status.revision.update),
        "PartitionReached" => format!("partition reached: {counts}; the partition keeps the rest"),
        "Paused" => format!("paused: {counts}; `lockstep resume {name}` lets it go on"),
        "Stalled" if has_time(set, now) => format!("tried again: {counts}{waiting}"),
        "Stalled" => format!("stalled: {counts}{waiting}; see `lockstep why {name}`"),
        "RollingBack" => format!("rolling back to {}: {counts}{waiting}", status.revision.update),
        "RolledBack" => format!(
            "rolled back to {}, though the spec wishes for another: {counts}; see `lockstep why {name}`",
            status.revision.update
        ),
        _ => format!("progressing: {counts}{waiting}"),
    };
    format!("{name}: {text}")
}

/// `5 of 12 instances updated, 4 of them ready; 1 of 2 groups ready`.
fn counts(status: &LockstepSetStatus) -> String {
    let sum =
        |of: fn(&RoleStatus) -> u32| -> u64 { status.roles.iter().map(|role| u64::from(of(role))).sum() };
    let (updated, ready) = (sum(|role| role.updated), sum(|role| role.updated_ready));
    let all = words::count(sum(|role| role.replicas), "instance");
    let groups = words::count(status.replicas, "group");
    let ready = match (updated, ready) {
        (0, _) => String::new(),
        (all, ready) if all == ready => ", all of them ready".to_owned(),
        (_, ready) => format!(", {ready} of them ready"),
    };
    format!("{updated} of {all} updated{ready}; {} of {groups} ready", status.ready_replicas)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Time = Time(10_000_000);

    fn set(phase: &str) -> LiveSet {
        let object = json!({
            "metadata": {"name": "llama", "namespace": "ml", "generation": 7},
            "spec": {"progressDeadlineSeconds": 60, "roles": []},
            "status": {
                "observedGeneration": 7, "replicas": 2, "readyReplicas": 1,
                "revision": {"stable": "6f2c9", "update": "a41d0"},
                "roles": [{"name": "decode", "replicas": 4, "updated": 2, "updatedReady": 2},
                          {"name": "prefill", "replicas": 8, "updated": 3, "updatedReady": 2}],
                "rollout": {"phase": phase, "waitingFor": "prefill-2 is not available yet"},
            },
        });
        LiveSet::of(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn only_an_end_is_an_end() {
        for (phase, exit) in [
            ("Complete", Some(Exit::Fine)),
            ("PartitionReached", Some(Exit::Fine)),
            ("Stalled", Some(Exit::Stalled)),
            ("RolledBack", Some(Exit::Stalled)),
            ("RollingBack", None),
            ("Progressing", None),
            ("Paused", None),
            ("", None),
        ] {
            assert_eq!(ended(&set(phase), NOW).map(Exit::from), exit, "{phase}");
        }
    }

    #[test]
    fn what_the_operator_has_not_seen_is_no_end() {
        let mut set = set("Complete");
        set.object.metadata.generation = Some(8);
        assert_eq!(ended(&set, NOW), None);
        assert_eq!(line(&set, NOW), "llama: the operator has not seen the change yet (generation 8, seen 7)");
    }

    #[test]
    fn a_stall_that_was_retried_is_no_end() {
        let mut set = set("Stalled");
        let best = |since: u64| {
            json!({"best": {"target": "a41d0", "updated": 0, "surge": 0, "pauses": 0,
                            "since": since, "started": 0}})
        };
        set.status.memory = best(NOW.0 - 60_000);
        assert_eq!(ended(&set, NOW), Some(Ended::Stalled));
        set.status.memory = best(NOW.0 - 59_999);
        assert_eq!(ended(&set, NOW), None);
        assert!(line(&set, NOW).starts_with("llama: tried again"));
    }

    /// What is left of an earlier rollout is no end of this one.
    #[test]
    fn a_spec_that_is_refused_is_not_complete() {
        let mut set = set("Complete");
        let condition = json!({
            "type": "Stalled", "status": "True", "reason": "InvalidSpec", "message": "spec.roles: required",
            "lastTransitionTime": "2026-01-31T12:00:00Z",
        });
        set.status.conditions = vec![serde_json::from_value(condition).unwrap()];
        assert_eq!(ended(&set, NOW).map(Exit::from), Some(Exit::Stalled));
        assert_eq!(line(&set, NOW), "llama: the spec is refused, and nothing moves: spec.roles: required");
    }

    #[test]
    fn lines() {
        let counts = "5 of 12 instances updated, 4 of them ready; 1 of 2 groups ready";
        let waiting = "waiting: prefill-2 is not available yet";
        for (phase, text) in [
            ("Progressing", format!("llama: progressing: {counts}; {waiting}")),
            ("Complete", format!("llama: complete at a41d0: {counts}")),
            ("Stalled", format!("llama: stalled: {counts}; {waiting}; see `lockstep why llama`")),
            ("Paused", format!("llama: paused: {counts}; `lockstep resume llama` lets it go on")),
            (
                "RolledBack",
                format!(
                    "llama: rolled back to a41d0, though the spec wishes for another: {counts}; see `lockstep why llama`"
                ),
            ),
            ("", "llama: the operator has not looked at it yet".to_owned()),
        ] {
            assert_eq!(line(&set(phase), NOW), text);
        }
    }
}
