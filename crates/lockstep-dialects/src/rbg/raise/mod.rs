//! From the status of a set to the status that users of RoleBasedGroups know.

mod coordination;
mod others;

use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use lockstep_api::{GangScheduler, Problem};
use serde_json::{Value, json};

use super::kinds;
use super::read::{self, Group};
use crate::raised::condition;
use crate::{Findings, Lowered, Raised, Seen, World};

pub use others::policy_status;

/// What to say of an object and of those beside it.
pub(crate) fn raise(object: &Value, seen: &Seen<'_>, world: &World) -> Raised {
    let talk = Talk { object, seen, generation: object["metadata"]["generation"].as_i64().unwrap_or(0) };
    let lowered = match seen.lowered {
        Ok(lowered) => lowered,
        Err(problems) => return Raised { status: talk.refused(problems), beside: Vec::new() },
    };
    let Some(group) = read::group(object, &mut Findings::new(object)) else { return Raised::default() };
    let status = if group.names.of_set { talk.set(lowered) } else { talk.group(&group, lowered, world) };
    Raised { status, beside: talk.beside(&group, lowered, world) }
}

/// One object that is spoken of.
struct Talk<'a> {
    object: &'a Value,
    seen: &'a Seen<'a>,
    generation: i64,
}

impl Talk<'_> {
    fn before(&self) -> &Value {
        &self.object["status"]
    }

    fn status(&self) -> &LockstepSetStatus {
        self.seen.status
    }

    /// The generation that all of this speaks of.
    fn observed(&self) -> i64 {
        if self.seen.current {
            self.generation
        } else {
            self.before()["observedGeneration"].as_i64().unwrap_or(0)
        }
    }

    fn condition(&self, kind: &str, holds: bool, reason: &str, message: &str) -> Value {
        condition(self.before(), kind, holds, reason, message, (self.seen.now, self.generation))
    }

    /// The spec is wrong: nothing moves, and what was said of what runs stays.
    fn refused(&self, problems: &[Problem]) -> Value {
        let mut status = if self.before().is_object() { self.before().clone() } else { json!({}) };
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let ready = self.condition("Ready", false, "InvalidSpec", &said.join("; "));
        let kept = self.before()["conditions"].as_array().into_iter().flatten();
        let others = kept.filter(|old| old["type"] != "Ready").cloned();
        status["conditions"] = std::iter::once(ready).chain(others).collect();
        status["observedGeneration"] = json!(self.generation);
        if !kinds::GROUP_SET.is_of(self.object) && status["roleStatuses"].is_null() {
            status["roleStatuses"] = json!([]);
        }
        status
    }

    fn group(&self, group: &Group, lowered: &Lowered, world: &World) -> Value {
        let roles: Vec<Value> = self.roles(lowered).iter().map(role_status).collect();
        let mut conditions =
            vec![self.ready(lowered), self.progressing(), self.rolling("RollingUpdateInProgress")];
        conditions.push(self.restarting());
        conditions.extend(self.no_gang(lowered));
        conditions.extend(self.seen.children(self.before(), self.generation));
        let mut status = json!({
            "observedGeneration": self.observed(),
            "conditions": conditions,
            "roleStatuses": roles,
        });
        let coordination = coordination::states(self, group, lowered, world);
        if !coordination.is_empty() {
            status["coordinationState"] = json!(coordination);
        }
        status
    }

    /// The roles as they are seen, in the order of the spec.
    fn roles(&self, lowered: &Lowered) -> Vec<RoleStatus> {
        let groups = lowered.set.spec.replicas;
        let seen = |role: &lockstep_api::Role| {
            let known = self.status().roles.iter().find(|it| it.name == role.name).cloned();
            known.unwrap_or_else(|| RoleStatus {
                name: role.name.clone(),
                replicas: role.replicas.saturating_mul(groups),
                target: role.replicas.saturating_mul(groups),
                ..RoleStatus::default()
            })
        };
        lowered.set.spec.roles.iter().map(seen).collect()
    }

    fn ready(&self, lowered: &Lowered) -> Value {
        let short: Vec<String> = self
            .roles(lowered)
            .iter()
            .filter(|role| role.ready < role.replicas)
            .map(|role| format!("{} {}/{}", role.name, role.ready, role.replicas))
            .collect();
        if short.is_empty() {
            self.condition("Ready", true, "AllRolesReady", "all roles are ready")
        } else {
            let message = format!("ready so far: {}", short.join(", "));
            self.condition("Ready", false, "RolesNotReady", &message)
        }
    }

    /// Whether something is on its way, and what it waits for.
    fn progressing(&self) -> Value {
        let rollout = &self.status().rollout;
        let waits = match (rollout.waiting_for.as_str(), rollout.phase.as_str()) {
            ("", "Complete") => "nothing is left to do",
            ("", "PartitionReached") => "what may move has moved; the partition keeps the rest",
            ("", "RolledBack") => "the last update was taken back",
            ("", "Paused") => "it is paused",
            ("", "Stalled") => "no progress within the deadline",
            ("", _) => "on its way",
            (waits, _) => waits,
        };
        match rollout.phase.as_str() {
            "Stalled" => self.condition("Progressing", false, "Stalled", waits),
            "Progressing" | "RollingBack" => self.condition("Progressing", true, &rollout.phase, waits),
            "" => self.condition("Progressing", true, "Starting", "nothing is known yet"),
            phase => self.condition("Progressing", false, phase, waits),
        }
    }

    /// Whether a new revision is on its way. A first start is none.
    fn rolling(&self, kind: &str) -> Value {
        let status = self.status();
        let under_way =
            ["Progressing", "Paused", "Stalled", "RollingBack"].contains(&status.rollout.phase.as_str());
        let new = status.revision.stable.as_ref().is_some_and(|stable| *stable != status.revision.update);
        if under_way && new {
            let waits = status.rollout.waiting_for.as_str();
            let message = if waits.is_empty() { "on its way" } else { waits };
            self.condition(kind, true, &status.rollout.phase, message)
        } else {
            self.condition(kind, false, "NoUpdate", "no update is under way")
        }
    }

    fn restarting(&self) -> Value {
        let down = self.status().roles.iter().any(|role| role.ready < role.replicas);
        match self.status().restarts.first().filter(|_| down) {
            Some(restart) => {
                let message = format!("{} was restarted {} times in a row", restart.what, restart.count);
                self.condition("RestartInProgress", true, "Restarting", &message)
            }
            None => self.condition("RestartInProgress", false, "NoRestart", "nothing is being restarted"),
        }
    }

    /// A gang was asked for, and nobody schedules gangs.
    fn no_gang(&self, lowered: &Lowered) -> Option<Value> {
        if lowered.set.spec.gang.scheduler != GangScheduler::None {
            let mut said = vec!["the group is scheduled as a gang".to_owned()];
            let fewer = lowered.warnings.iter().filter(|it| it.message.starts_with(super::gang::FEWER));
            said.extend(fewer.map(ToString::to_string));
            return Some(self.condition("GangConfigured", true, "Configured", &said.join("; ")));
        }
        let asked =
            lowered.warnings.iter().find(|warning| warning.message.starts_with(super::gang::NOBODY))?;
        Some(self.condition("GangConfigured", false, "NotServed", &asked.message))
    }
}

fn role_status(role: &RoleStatus) -> Value {
    json!({
        "name": role.name,
        "replicas": role.replicas,
        "readyReplicas": role.ready,
        "updatedReplicas": role.updated,
    })
}
