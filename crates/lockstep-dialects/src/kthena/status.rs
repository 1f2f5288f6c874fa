//! What is said of a ModelServing: the fields and conditions its users know, with messages that stay true.

use lockstep_api::status::{BlockedStatus, INVALID_SPEC, LockstepSetStatus};
use lockstep_api::{GangScheduler, Problem};
use serde_json::{Value, json};

use super::identity::{ENTRY, NAME, ROLE, ROLE_ID};
use super::kinds::ROLE_REPLICA;
use super::rollout;
use crate::{Places, Raised, Seen, World, condition};

/// The status of a ModelServing, and of what stands beside it for autoscalers.
pub(super) fn raise(object: &Value, seen: &Seen<'_>, world: &World) -> Raised {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Raised { status: status(object, name, seen), beside: beside(name, seen.status, world) }
}

fn status(object: &Value, name: &str, seen: &Seen<'_>) -> Value {
    let set = seen.status;
    let mut status = json!({
        "observedGeneration": observed(object, seen),
        "replicas": set.replicas,
        "currentReplicas": current(set),
        "updatedReplicas": set.updated_replicas,
        "availableReplicas": set.ready_replicas,
        "labelSelector": selector(object, name),
        "conditions": conditions(object, seen),
    });
    let revisions =
        [("currentRevision", set.revision.stable.as_ref()), ("updateRevision", Some(&set.revision.update))];
    for (field, revision) in revisions {
        if let Some(revision) = revision.filter(|revision| !revision.is_empty()) {
            status[field] = json!(revision);
        }
    }
    status
}

/// One pod of each group, so that an autoscaler that counts pods counts groups: the first entry pod of the first role.
fn selector(object: &Value, name: &str) -> String {
    let first = object.pointer("/spec/template/roles/0/name").and_then(Value::as_str);
    let role = first.map_or_else(String::new, |role| format!(",{ROLE}={role},{ROLE_ID}={role}-0"));
    format!("{ENTRY}=true,{NAME}={name}{role}")
}

/// The generation this speaks of: the object's own once it has been dealt with, else the one before.
fn observed(object: &Value, seen: &Seen<'_>) -> i64 {
    let before = object["status"]["observedGeneration"].as_i64();
    let generation = generation(object);
    if seen.current || seen.lowered.is_err() { generation } else { before.unwrap_or(0).min(generation) }
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(0)
}

/// Groups at the current revision. While there is none but the one that is wished for, those are the updated ones.
fn current(set: &LockstepSetStatus) -> u32 {
    match &set.revision.stable {
        Some(stable) if *stable != set.revision.update => set.replicas.saturating_sub(set.updated_replicas),
        _ => set.updated_replicas,
    }
}

/// A condition: type, whether it holds, reason, message.
type Claim = (&'static str, bool, &'static str, String);

fn conditions(object: &Value, seen: &Seen<'_>) -> Value {
    let said = match seen.lowered {
        Ok(lowered) => {
            let gang = object.pointer("/spec/template/gangPolicy").filter(|policy| !policy.is_null());
            let gang = gang.map(|_| scheduled_together(lowered.set.spec.gang.scheduler));
            claims(seen, &lowered.places).into_iter().chain(gang).collect()
        }
        Err(problems) => refused(seen.status, problems),
    };
    let when = (seen.now, observed(object, seen));
    let put = |(kind, holds, reason, message): Claim| {
        condition(&object["status"], kind, holds, reason, &message, when)
    };
    let children = seen.lowered.ok().and_then(|_| seen.children(&object["status"], when.1));
    said.into_iter().map(put).chain(children).collect()
}

fn claims(seen: &Seen<'_>, places: &Places) -> Vec<Claim> {
    let set = seen.status;
    let moving =
        !seen.current || matches!(set.rollout.phase.as_str(), "" | "Progressing" | "RollingBack" | "Paused");
    let why = || {
        progress(set, places)
            .unwrap_or_else(|| format!("{} of {} groups are ready", set.ready_replicas, set.replicas))
    };
    let progressing = match set.rollout.phase.as_str() {
        _ if !seen.current => (true, "Observing", "the latest change has not been taken up yet".to_owned()),
        "Stalled" => (false, "Stalled", why()),
        "RolledBack" => (false, "RolledBack", "the last update was taken back".to_owned()),
        _ if moving => (true, "GroupProgressing", why()),
        _ => (false, "AllGroupsSettled", "nothing is left to do".to_owned()),
    };
    let (holds, reason, message) = progressing;
    vec![available(set), ("Progressing", holds, reason, message), updating(set, places)]
}

fn available(set: &LockstepSetStatus) -> Claim {
    let message = format!("{} of {} groups are ready", set.ready_replicas, set.replicas);
    // Nothing has been seen before there is a revision.
    let all = !set.revision.update.is_empty() && set.ready_replicas >= set.replicas;
    ("Available", all, if all { "AllGroupsReady" } else { "GroupsNotReady" }, message)
}

/// Whether anybody does what a gang policy asks for.
fn scheduled_together(scheduler: GangScheduler) -> Claim {
    let (holds, reason, message) = match scheduler {
        GangScheduler::None => (false, "NoGangScheduler", "nothing in this cluster schedules gangs"),
        GangScheduler::Volcano => (true, "Volcano", "Volcano schedules the pods of a group together"),
        _ => (true, "PodGroup", "the pods of a group are scheduled together"),
    };
    ("GangScheduling", holds, reason, message.to_owned())
}

/// An update is under way from the time a group has to move until the last has, or the partition holds the rest.
fn updating(set: &LockstepSetStatus, places: &Places) -> Claim {
    let kind = "UpdateInProgress";
    let moved = format!("{} of {} groups are updated", set.updated_replicas, set.replicas);
    let first_start = set.revision.stable.is_none();
    let under_way =
        matches!(set.rollout.phase.as_str(), "Progressing" | "RollingBack" | "Paused" | "Stalled");
    let outdated = set.updated_replicas < set.replicas || !set.rollout.groups_in_update.is_empty();
    match set.rollout.phase.as_str() {
        "PartitionReached" => {
            (kind, false, "PartitionReached", format!("{moved}; the partition keeps the rest"))
        }
        "RolledBack" => (kind, false, "RolledBack", format!("{moved}; the last update was taken back")),
        _ if under_way && outdated && !first_start => {
            let why = progress(set, places).map(|why| format!("{moved}; {why}"));
            (kind, true, "GroupsUpdating", why.unwrap_or(moved))
        }
        _ => (kind, false, "NoUpdate", moved),
    }
}

/// Where the rollout stands: each group's step, else what it waits for.
fn progress(set: &LockstepSetStatus, places: &Places) -> Option<String> {
    let rollout = &set.rollout;
    let steps = rollout.coordination.iter().filter(|it| it.rule == rollout::RULE && it.step.is_some());
    let steps: Vec<String> = steps.map(|it| format!("group {}: {}", it.group, it.text)).collect();
    // A step says what it waits for itself.
    let cause = rollout.blocked.iter().find(|block| steps.is_empty() || block.reason != "StepNotReady");
    let cause = cause.map(|block| sentence(block, places));
    let all: Vec<String> = steps.into_iter().chain(cause).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn sentence(block: &BlockedStatus, places: &Places) -> String {
    let problem = Problem { path: String::new(), value: None, message: block.message.clone(), line: None };
    let message = places.translate(&problem).message;
    if message.contains(&block.what) { message } else { format!("{}: {message}", block.what) }
}

/// The manifest is wrong: what runs stays as it is.
fn refused(set: &LockstepSetStatus, problems: &[Problem]) -> Vec<Claim> {
    let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let nothing = || format!("nothing moves until the spec is mended: {}", all.join("; "));
    vec![
        available(set),
        ("Progressing", false, INVALID_SPEC, nothing()),
        ("UpdateInProgress", false, INVALID_SPEC, nothing()),
    ]
}

/// Numbers of roles that autoscalers set: how many there are, and which pods they are.
fn beside(name: &str, set: &LockstepSetStatus, world: &World) -> Vec<Value> {
    let ours = world.of(&ROLE_REPLICA).filter(|it| it["spec"]["modelServingRef"]["name"] == name);
    let said = |it: &Value| {
        let role = it["spec"]["roleName"].as_str()?;
        let groups = set.replicas.max(1);
        let known = set.roles.iter().find(|known| known.name == role)?;
        Some(json!({
            "apiVersion": ROLE_REPLICA.api_version(),
            "kind": ROLE_REPLICA.kind,
            "metadata": {"name": it["metadata"]["name"], "namespace": it["metadata"]["namespace"]},
            "status": {
                "replicas": known.replicas / groups,
                "labelSelector": format!("{NAME}={name},{ROLE}={role}"),
            },
        }))
    };
    ours.filter_map(said).collect()
}
