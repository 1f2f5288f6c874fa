//! A rollout over several clusters, in words.

use std::fmt::Write;

use lockstep_api::federation::{FederatedRollout, FederatedRolloutStatus, MemberStatus};
use lockstep_federation::outlook::sentence;

use super::columns::{Line, lay_out};
use super::words;
use crate::exit::Exit;
use crate::screen::Paint;

/// How it ended, if it is at its end. A template that nobody has looked at yet is no end.
pub fn ended(rollout: &FederatedRollout, generation: Option<i64>) -> Option<Exit> {
    let status = seen(rollout, generation)?;
    let stalled = status.conditions.iter().any(|it| it.type_ == "Stalled" && it.status == "True");
    match status.phase.as_str() {
        "Complete" => Some(Exit::Fine),
        _ if stalled => Some(Exit::Stalled),
        _ => None,
    }
}

/// What is said of the template of this generation; nothing while nobody has looked at it.
pub fn seen(rollout: &FederatedRollout, generation: Option<i64>) -> Option<&FederatedRolloutStatus> {
    let is_seen =
        |it: &&FederatedRolloutStatus| !it.phase.is_empty() && generation <= Some(it.template_generation);
    rollout.status.as_ref().filter(is_seen)
}

/// One line: `deployment/web: rolling: 4 of 10 pods new (member1 4/4, member2 0/6); waiting: …`.
pub fn line(called: &str, rollout: &FederatedRollout, generation: Option<i64>) -> String {
    let Some(status) = seen(rollout, generation) else {
        return format!("{called}: the change has not been looked at yet");
    };
    let counts = counts(status);
    let waiting = match status.waiting_for.as_str() {
        "" => String::new(),
        what => format!("; waiting: {what}"),
    };
    match status.phase.as_str() {
        "Complete" => format!("{called}: complete: {counts}"),
        "Paused" => format!("{called}: paused: {counts}; `lockstep resume {called}` lets it go on"),
        _ => format!("{called}: rolling: {counts}{waiting}"),
    }
}

fn counts(status: &FederatedRolloutStatus) -> String {
    let sum =
        |of: fn(&MemberStatus) -> u32| -> u64 { status.members.iter().map(|it| u64::from(of(it))).sum() };
    let each =
        status.members.iter().map(|it| format!("{} {}/{}", it.cluster, it.updated_available, it.target));
    let pods = words::count(sum(|it| it.target), "pod");
    let each = each.collect::<Vec<_>>().join(", ");
    format!("{} of {pods} new and available ({each})", sum(|it| it.updated_available))
}

/// The whole answer: cluster by cluster, then everything that holds it.
pub fn explain(called: &str, rollout: &FederatedRollout, generation: Option<i64>, paint: Paint) -> String {
    let mut text = line(called, rollout, generation) + "\n";
    let Some(status) = rollout.status.as_ref().filter(|it| !it.members.is_empty()) else { return text };
    let totals = &status.totals;
    let kept = match totals.partition {
        0 => String::new(),
        kept => format!("; {kept} stay old"),
    };
    let _ = writeln!(
        text,
        "Of {} over all clusters {} may be unavailable and {} too many at any time{kept}.\n",
        words::count(totals.replicas, "pod"),
        totals.max_unavailable,
        totals.max_surge
    );
    let row = |it: &MemberStatus| {
        let acknowledged = it.acknowledged.map_or("none".to_owned(), |id| id.to_string());
        let cells = [
            it.cluster.clone(),
            it.replicas.to_string(),
            format!("{}/{}", it.updated, it.target),
            it.updated_available.to_string(),
            format!("{} unavailable, {} surge", it.max_unavailable, it.max_surge),
            format!("{acknowledged} of {}", it.lease),
        ];
        Line::plain(cells.to_vec())
    };
    let rows: Vec<Line> = status.members.iter().map(row).collect();
    let header = ["CLUSTER", "REPLICAS", "NEW", "NEW AVAILABLE", "GRANTED", "LEASE"];
    text.push_str(&lay_out(&header, &rows, paint));
    if !status.reasons.is_empty() {
        text.push('\n');
    }
    for reason in &status.reasons {
        let _ = writeln!(text, "{}: {}", reason.code, sentence(reason));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rollout(phase: &str) -> FederatedRollout {
        let status = json!({
            "phase": phase, "templateGeneration": 3, "waitingFor": "member2: may not roll yet",
            "totals": {"replicas": 10, "maxUnavailable": 2, "maxSurge": 1, "partition": 0},
            "members": [
                {"cluster": "member1", "replicas": 4, "target": 4, "updated": 4, "updatedAvailable": 3,
                 "lease": 13, "acknowledged": 13, "maxUnavailable": 2, "maxSurge": 1},
                {"cluster": "member2", "replicas": 6, "target": 6, "lease": 12},
            ],
            "reasons": [{"code": "WaitingForBudget", "cluster": "member2", "message": "may not roll yet"}],
        });
        FederatedRollout { status: serde_json::from_value(status).unwrap(), ..FederatedRollout::default() }
    }

    #[test]
    fn lines() {
        let counts = "3 of 10 pods new and available (member1 3/4, member2 0/6)";
        for (phase, text) in [
            ("Rolling", format!("deployment/web: rolling: {counts}; waiting: member2: may not roll yet")),
            ("Complete", format!("deployment/web: complete: {counts}")),
            (
                "Paused",
                format!("deployment/web: paused: {counts}; `lockstep resume deployment/web` lets it go on"),
            ),
        ] {
            assert_eq!(line("deployment/web", &rollout(phase), Some(3)), text);
        }
    }

    #[test]
    fn what_nobody_has_seen_is_no_end() {
        assert_eq!(ended(&rollout("Complete"), Some(3)), Some(Exit::Fine));
        assert_eq!(ended(&rollout("Rolling"), Some(3)), None);
        assert_eq!(ended(&rollout("Complete"), Some(4)), None);
        assert_eq!(
            line("deployment/web", &rollout("Complete"), Some(4)),
            "deployment/web: the change has not been looked at yet"
        );
    }

    #[test]
    fn a_rollout_that_only_a_person_can_mend_is_at_its_end() {
        let mut stuck = rollout("Rolling");
        let condition = json!({"type": "Stalled", "status": "True", "reason": "ClusterUnreachable", "message": "",
                               "lastTransitionTime": "2026-01-31T12:00:00Z"});
        stuck.status.as_mut().unwrap().conditions = vec![serde_json::from_value(condition).unwrap()];
        assert_eq!(ended(&stuck, Some(3)), Some(Exit::Stalled));
    }

    #[test]
    fn why_tells_cluster_by_cluster() {
        let text = explain("deployment/web", &rollout("Rolling"), Some(3), Paint::PLAIN);
        let told: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            told,
            [
                "Of 10 pods over all clusters 2 may be unavailable and 1 too many at any time.",
                "",
                "CLUSTER   REPLICAS   NEW   NEW AVAILABLE   GRANTED                  LEASE",
                "member1   4          4/4   3               2 unavailable, 1 surge   13 of 13",
                "member2   6          0/6   0               0 unavailable, 0 surge   none of 12",
                "",
                "WaitingForBudget: member2: may not roll yet",
            ]
        );
    }
}
