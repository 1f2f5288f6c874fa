//! The status of a PodCliqueSet, and of what stands beside it.

use std::collections::BTreeMap;

use lockstep_api::GangScheduler;
use lockstep_api::status::{LockstepSetStatus, NAME_TAKEN};
use serde_json::{Map, Value, json};

use super::counts::{Counts, Share};
use super::form::{Form, Part};
use super::identity::{MANAGED_BY, PART_OF};
use super::progress::{self, is_under_way};
use super::{children, placement, read};
use crate::findings::Findings;
use crate::raised::condition;
use crate::{Lowered, Raised, Seen, World};

/// No more gangs than this are listed: a status is read as a whole.
const MOST_GANGS: u32 = 100;

/// What to say.
pub(super) fn raise(object: &Value, seen: &Seen<'_>, world: &World) -> Raised {
    let before = &object["status"];
    match (read::spec(object), seen.lowered) {
        (Ok(spec), Ok(lowered)) => {
            let form = Form::of(object, &spec, &mut Findings::new(object));
            let name = |it: &'_ Value| {
                Some((it["kind"].as_str()?.to_owned(), it["metadata"]["name"].as_str()?.to_owned()))
            };
            let standing = world.objects.iter().filter_map(|it| Some((name(it)?, it))).collect();
            let teller = Teller { object, form: &form, seen, lowered, world, standing };
            Raised { status: teller.status(), beside: teller.beside() }
        }
        (_, lowered) => {
            let mut status = before.as_object().cloned().unwrap_or_default();
            let problems = lowered.err().unwrap_or_default();
            let said = problems.iter().map(|problem| ("ERR_INVALID_SPEC", problem.to_string()));
            status.insert("lastErrors".to_owned(), errors(before, said, seen.now));
            Raised { status: Value::Object(status), beside: Vec::new() }
        }
    }
}

/// What is wrong, with the time at which it was first seen.
fn errors(before: &Value, said: impl Iterator<Item = (&'static str, String)>, now: &str) -> Value {
    let error = |(code, description): (&str, String)| {
        let known = before["lastErrors"].as_array().into_iter().flatten();
        let since = known.clone().find(|old| old["description"] == description.as_str());
        let since = since.map_or(json!(now), |old| old["observedAt"].clone());
        json!({"code": code, "description": description, "observedAt": since})
    };
    said.map(error).collect()
}

struct Teller<'a> {
    object: &'a Value,
    form: &'a Form<'a>,
    seen: &'a Seen<'a>,
    lowered: &'a Lowered,
    world: &'a World,
    /// What stands beside it, by kind and name.
    standing: BTreeMap<(String, String), &'a Value>,
}

impl Teller<'_> {
    fn counts(&self) -> Counts<'_> {
        Counts { set: &self.lowered.set, status: self.seen.status }
    }

    /// The generation that everything speaks of.
    fn generation(&self, object: &Value) -> i64 {
        let (field, of) =
            if self.seen.current { ("generation", "metadata") } else { ("observedGeneration", "status") };
        object[of][field].as_i64().unwrap_or_default()
    }

    fn status(&self) -> Value {
        let LockstepSetStatus { replicas, ready_replicas, updated_replicas, .. } = self.seen.status;
        let mut status = json!({
            "observedGeneration": self.generation(self.object),
            "replicas": replicas,
            "availableReplicas": ready_replicas,
            "updatedReplicas": updated_replicas,
            "hpaPodSelector": format!("{}={},{PART_OF}={}", MANAGED_BY.0, MANAGED_BY.1, self.form.name),
            "podGangStatuses": self.gangs(),
            "conditions": self.conditions(),
        });
        let update = &self.seen.status.revision.update;
        if !update.is_empty() {
            status["currentGenerationHash"] = json!(update);
        }
        let tally = progress::tally(self.form, &self.counts());
        if let Some(mut told) = progress::told(&self.object["status"], self.form, self.seen) {
            told.extend(tally);
            status["updateProgress"] = Value::Object(told);
        }
        let lacks = self.seen.lacks();
        if !lacks.is_empty() {
            let code =
                |reason: &str| if reason == NAME_TAKEN { "ERR_NAME_TAKEN" } else { "ERR_WRITE_FAILED" };
            let said = lacks.into_iter().map(|(reason, message)| (code(&reason), message));
            status["lastErrors"] = errors(&self.object["status"], said, self.seen.now);
        }
        status
    }

    fn conditions(&self) -> Vec<Value> {
        let before = &self.object["status"];
        let seen = (self.seen.now, self.generation(self.object));
        let rollout = &self.seen.status.rollout;
        let under_way = is_under_way(self.seen.status);
        let reason = match rollout.phase.as_str() {
            "Stalled" => "ProgressDeadlineExceeded",
            _ if under_way => "UpdateInProgress",
            "Complete" | "PartitionReached" | "RolledBack" => "UpdateCompleted",
            _ if self.seen.status.revision.stable.is_none() => "FirstStart",
            _ => "UpdateCompleted",
        };
        let waits = lockstep_api::Problem {
            path: String::new(),
            value: None,
            message: rollout.waiting_for.clone(),
            line: None,
        };
        let waits = self.lowered.places.translate(&waits).message;
        let mut all = vec![condition(before, "UpdateInProgress", under_way, reason, &waits, seen)];
        let (gangs, reason, message) = match self.lowered.set.spec.gang.scheduler {
            GangScheduler::None => {
                (false, "NotServed", "the cluster schedules no gangs: pods are scheduled one by one")
            }
            GangScheduler::PodGroup => (true, "PodGroup", "by Kubernetes' own PodGroups"),
            GangScheduler::PodGang => (true, "PodGang", "by PodGangs"),
            GangScheduler::Volcano => (true, "Volcano", "by Volcano's PodGroups"),
        };
        all.push(condition(before, "GangScheduling", gangs, reason, message, seen));
        let known = placement::known(self.form, self.world);
        if known.asked {
            let (reason, message) = match known.missing.first() {
                None => {
                    let mut said = vec!["all domains have a node label".to_owned()];
                    let yielding = placement::yielding(self.form, self.world).into_iter();
                    said.extend(yielding.map(|(at, why)| format!("{at}: {why}")));
                    ("AllClusterTopologyLevelsAvailable", said.join("; "))
                }
                Some((_, why)) if why.starts_with("ClusterTopologyBinding") => {
                    ("ClusterTopologyLevelsUnavailable", why.clone())
                }
                Some((_, why)) => ("ClusterTopologyNotFound", why.clone()),
            };
            let missing = !known.missing.is_empty();
            all.push(condition(before, "TopologyLevelsUnavailable", missing, reason, &message, seen));
        }
        all.extend(self.seen.children(before, self.generation(self.object)));
        all
    }

    /// The base gang of each replica.
    fn gangs(&self) -> Vec<Value> {
        let counts = self.counts();
        let phase = |replica: u32| {
            let shares: Vec<Share> = self.form.parts.iter().map(|part| counts.of(part, replica)).collect();
            if !shares.iter().any(Share::is_breached) {
                "Running"
            } else if shares.iter().any(|share| share.ready > 0) {
                "Starting"
            } else {
                "Pending"
            }
        };
        let gang =
            |replica| json!({"name": format!("{}-{replica}", self.form.name), "phase": phase(replica)});
        (0..self.form.spec.replicas.min(MOST_GANGS)).map(gang).collect()
    }

    fn beside(&self) -> Vec<Value> {
        let counts = self.counts();
        let each = |part| (0..self.form.spec.replicas).map(move |replica| (part, replica));
        let all = self.form.parts.iter().flat_map(each);
        all.map(|(part, replica)| self.child(part, replica, counts.of(part, replica))).collect()
    }

    fn child(&self, part: &Part<'_>, replica: u32, share: Share) -> Value {
        let name = children::name(self.form, replica, part);
        let kind = children::kind(part);
        let nothing = json!({});
        let standing = self.standing.get(&(kind.kind.to_owned(), name.clone())).copied().unwrap_or(&nothing);
        let mut status = Map::new();
        let mut put = |field: &str, value: Value| status.insert(field.to_owned(), value);
        put("observedGeneration", standing["metadata"]["generation"].as_i64().unwrap_or_default().into());
        put("replicas", share.wished.into());
        put("updatedReplicas", share.updated.into());
        put("scheduledReplicas", share.scheduled.into());
        put("conditions", self.child_conditions(part, share, &standing["status"]).into());
        let selector = children::selector(self.form, replica, part);
        if part.group.is_some() {
            put("availableReplicas", share.available.into());
            put("selector", selector.into());
        } else {
            put("readyReplicas", share.ready.into());
            put("scheduleGatedReplicas", share.gated.into());
            put("hpaPodSelector", selector.into());
        }
        if share.is_updated() && !self.seen.status.revision.update.is_empty() {
            put("currentPodCliqueSetGenerationHash", json!(self.seen.status.revision.update));
            let role = self.seen.status.roles.iter().find(|role| role.name == part.name);
            if let (Some(role), None) = (role, part.group) {
                put("currentPodTemplateHash", json!(role.revision.update));
            }
        }
        json!({
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "metadata": {"name": name},
            "status": status,
        })
    }

    fn child_conditions(&self, part: &Part<'_>, share: Share, before: &Value) -> Vec<Value> {
        let seen = (self.seen.now, before["observedGeneration"].as_i64().unwrap_or_default());
        let group = part.group.is_some();
        let reason = match (share.is_breached(), group) {
            (true, false) => "InsufficientReadyPods",
            (false, false) => "SufficientReadyPods",
            (true, true) => "InsufficientAvailablePodCliqueScalingGroupReplicas",
            (false, true) => "SufficientAvailablePodCliqueScalingGroupReplicas",
        };
        let message = format!("{} of {} available, {} needed", share.available, share.wished, share.minimum);
        let mut all =
            vec![condition(before, "MinAvailableBreached", share.is_breached(), reason, &message, seen)];
        if !group {
            let scheduled = share.scheduled >= share.minimum;
            let reason = if scheduled { "SufficientScheduledPods" } else { "InsufficientScheduledPods" };
            let message = format!("{} of {} are scheduled", share.scheduled, share.wished);
            all.push(condition(before, "PodCliqueScheduled", scheduled, reason, &message, seen));
        }
        all
    }
}
