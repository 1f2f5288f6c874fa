//! Where an update of a PodCliqueSet stands.

use lockstep_api::status::LockstepSetStatus;
use serde_json::{Map, Value, json};

use super::counts::Counts;
use super::form::Form;
use super::spec::SetStrategyType;
use crate::Seen;

/// Whether pods go from one revision to another: a first start is no update.
pub(super) fn is_under_way(status: &LockstepSetStatus) -> bool {
    let done = ["", "Complete", "PartitionReached", "RolledBack"].contains(&status.rollout.phase.as_str());
    let revision = &status.revision;
    !done && revision.stable.as_ref().is_some_and(|stable| *stable != revision.update)
}

/// When the update began and ended, and which replicas are on their way; nothing if there never was one.
pub(super) fn told(before: &Value, form: &Form<'_>, seen: &Seen<'_>) -> Option<Map<String, Value>> {
    let known = &before["updateProgress"];
    let rollout = &seen.status.rollout;
    let mut told = Map::new();
    if !is_under_way(seen.status) {
        let began = known["updateStartedAt"].as_str()?;
        let ended = known["updateEndedAt"].as_str().unwrap_or(seen.now);
        told.insert("updateStartedAt".to_owned(), json!(began));
        told.insert("updateEndedAt".to_owned(), json!(ended));
        return Some(told);
    }
    let still = known["updateEndedAt"].is_null().then(|| known["updateStartedAt"].as_str()).flatten();
    let began = rollout.started_at.as_deref().or(still).unwrap_or(seen.now);
    told.insert("updateStartedAt".to_owned(), json!(began));
    if form.strategy() == SetStrategyType::OnDelete {
        // There is nothing left for us to do.
        told.insert("updateEndedAt".to_owned(), json!(began));
        return Some(told);
    }
    let mine = |replica: &u32| {
        let listed = known["currentlyUpdating"].as_array().into_iter().flatten();
        let since = listed.clone().find(|it| it["replicaIndex"] == *replica);
        let since = since.map_or(json!(seen.now), |it| it["updateStartedAt"].clone());
        json!({"replicaIndex": replica, "updateStartedAt": since})
    };
    let moving: Vec<Value> = rollout.groups_in_update.iter().map(mine).collect();
    if !moving.is_empty() {
        told.insert("currentlyUpdating".to_owned(), Value::Array(moving));
    }
    Some(told)
}

/// How many cliques and scaling groups there are, and how many are at the revision wished for.
pub(super) fn tally(form: &Form<'_>, counts: &Counts<'_>) -> Map<String, Value> {
    let (mut cliques, mut updated_cliques, mut groups, mut updated_groups) = (0u64, 0u64, 0u64, 0u64);
    for part in &form.parts {
        for replica in 0..form.spec.replicas {
            let share = counts.of(part, replica);
            if part.group.is_none() {
                cliques += 1;
                updated_cliques += u64::from(share.is_updated());
            } else {
                let each = u64::try_from(part.cliques.len()).unwrap_or(u64::MAX);
                cliques += each * u64::from(share.wished);
                updated_cliques += each * u64::from(share.updated);
                groups += 1;
                updated_groups += u64::from(share.is_updated());
            }
        }
    }
    let fields = [
        ("totalPodCliquesCount", cliques),
        ("updatedPodCliquesCount", updated_cliques),
        ("totalPodCliqueScalingGroupsCount", groups),
        ("updatedPodCliqueScalingGroupsCount", updated_groups),
    ];
    fields.into_iter().map(|(field, count)| (field.to_owned(), json!(count))).collect()
}
