//! From a plan to the status of a set. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lockstep_api::label;
use lockstep_api::status::{
    BlockedStatus, CoordinationStatus, LockstepSetStatus, RestartStatus, RevisionStatus, RoleStatus,
    RolloutStatus,
};
use lockstep_core::model::Spec;
use lockstep_core::plan::Plan;
use lockstep_core::snapshot::{Memory, RestartMemory};
use lockstep_core::status::{Phase, Revisions};
use lockstep_core::time::Time;

use super::conditions::{self, Outlook};
use crate::set::Wish;

/// Lists in status are no longer than this, whatever the size of the set.
const MOST: usize = 20;

/// A write that failed, for people to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Why, in one word: CreateFailed, DeleteFailed and the like.
    pub reason: &'static str,
    /// What the API server said.
    pub message: String,
    /// Since when.
    pub since: Time,
}

/// What a status is made of.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The set.
    pub wish: &'a Wish,
    /// The spec the plan was made for.
    pub spec: &'a Spec,
    /// The plan.
    pub plan: &'a Plan,
    /// What could not be written.
    pub troubles: &'a [Trouble],
    /// What time it is.
    pub now: Time,
}

impl Report<'_> {
    /// The status.
    pub fn status(&self) -> LockstepSetStatus {
        let said = &self.plan.status;
        let rollout = self.rollout();
        let outlook = self.outlook(&rollout);
        let mut status = LockstepSetStatus {
            observed_generation: self.wish.generation,
            replicas: said.replicas,
            ready_replicas: said.ready,
            updated_replicas: said.updated,
            selector: selector(self.wish),
            revision: revisions(said.revision),
            roles: said.roles.iter().map(role).collect(),
            revisions: self.revisions(),
            rollout,
            restarts: restarts(self.spec, &self.plan.memory),
            conditions: conditions::of(
                &outlook,
                &self.wish.status.conditions,
                self.wish.generation,
                self.now,
            ),
            memory: serde_json::Value::Null,
        };
        // A memory always is JSON; if it ever were not, it would count as lost.
        status.memory = serde_json::to_value(&self.plan.memory).unwrap_or_default();
        status
    }

    fn rollout(&self) -> RolloutStatus {
        let said = &self.plan.status;
        let best = self.plan.memory.best.as_ref();
        let under_way = !matches!(said.phase, Phase::Complete | Phase::RolledBack);
        let deadline = best.filter(|best| said.phase == Phase::Progressing && !best.waiting);
        let blocked = self.blocked();
        RolloutStatus {
            phase: format!("{:?}", said.phase),
            started_at: best.filter(|_| under_way).map(|best| stamp(best.started)),
            deadline: deadline.map(|best| stamp(best.since + self.spec.progress_deadline)),
            waiting_for: blocked.first().map(|first| headline(&first.message)).unwrap_or_default(),
            groups_in_update: said.groups_in_update.iter().copied().take(MOST).collect(),
            coordination: said.coordination.iter().take(MOST).map(coordination).collect(),
            blocked,
        }
    }

    fn blocked(&self) -> Vec<BlockedStatus> {
        let troubles = self.troubles.iter().map(|trouble| BlockedStatus {
            what: self.wish.set.name.clone(),
            reason: trouble.reason.to_owned(),
            rule: String::new(),
            since: stamp(trouble.since),
            message: trouble.message.clone(),
        });
        let said = self.plan.blocked.iter().map(|block| BlockedStatus {
            what: block.what.clone(),
            reason: block.reason.to_string(),
            rule: block.rule.clone(),
            since: stamp(block.since),
            message: block.message.clone(),
        });
        troubles.chain(said).take(MOST).collect()
    }

    fn revisions(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let text = |(set, roles): (&lockstep_core::revision::Revision, &BTreeMap<_, _>)| {
            let roles = roles.iter().map(
                |(role, revision): (&lockstep_core::names::RoleName, &lockstep_core::revision::Revision)| {
                    (role.to_string(), revision.to_string())
                },
            );
            (set.to_string(), roles.collect())
        };
        self.plan.memory.sets.iter().map(text).collect()
    }

    fn outlook(&self, rollout: &RolloutStatus) -> Outlook {
        let phase = self.plan.status.phase;
        let reason = rollout.blocked.first().map(|first| first.reason.clone());
        let message = rollout.blocked.first().map(|first| first.message.clone());
        Outlook { phase, reason, message }
    }
}

/// The status of a set that cannot be read: what was said before stays, and nothing moves.
pub fn invalid(wish: &Wish, message: String, now: Time) -> LockstepSetStatus {
    let mut status = wish.status.clone();
    status.observed_generation = wish.generation;
    status.selector = selector(wish);
    status.conditions = conditions::invalid(message, &wish.status.conditions, wish.generation, now);
    status
}

fn selector(wish: &Wish) -> String {
    format!("{}={}", label::SET, wish.set.name)
}

/// The first part of a sentence: what is waited for, without by which rule.
fn headline(message: &str) -> String {
    message.split("; ").next().unwrap_or_default().to_owned()
}

fn revisions(said: Revisions) -> RevisionStatus {
    RevisionStatus {
        stable: said.stable.map(|revision| revision.to_string()),
        update: said.update.to_string(),
    }
}

fn role(said: &lockstep_core::status::RoleStatus) -> RoleStatus {
    RoleStatus {
        name: said.name.to_string(),
        replicas: said.replicas,
        ready: said.ready,
        available: said.available,
        updated: said.updated,
        updated_ready: said.updated_ready,
        target: said.target,
        revision: revisions(said.revision),
    }
}

fn coordination(said: &lockstep_core::status::CoordinationStatus) -> CoordinationStatus {
    CoordinationStatus {
        group: said.group,
        rule: said.rule.to_string(),
        step: said.step,
        of: said.of,
        text: said.text.clone(),
    }
}

/// What was restarted lately, by the names the user knows.
fn restarts(spec: &Spec, memory: &Memory) -> Vec<RestartStatus> {
    let name = |key: &str| {
        let mut parts = key.splitn(3, '/');
        let group = parts.next().unwrap_or_default();
        match (parts.next(), parts.next()) {
            (Some(role), Some(instance)) => format!("{}-{group}/{role}-{instance}", spec.name),
            _ => format!("{}-{group}", spec.name),
        }
    };
    let mut all: Vec<(&String, &RestartMemory)> = memory.restarts.iter().collect();
    all.sort_by_key(|(key, restarts)| (std::cmp::Reverse(restarts.count), *key));
    all.into_iter()
        .take(MOST)
        .map(|(key, restarts)| RestartStatus {
            what: name(key),
            count: restarts.count,
            last: stamp(restarts.last),
        })
        .collect()
}

/// A time as Kubernetes writes it.
pub(super) fn stamp(time: Time) -> String {
    let seconds = i64::try_from(time.0 / 1000).unwrap_or_default();
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
