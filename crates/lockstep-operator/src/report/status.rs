//! From a plan to the status of a set. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lockstep_api::label;
use lockstep_api::status::{
    BlockedStatus, CoordinationStatus, GroupRoleStatus, GroupStatus, GroupTally, INVALID_SPEC,
    LockstepSetStatus, RestartStatus, RevisionStatus, RoleStatus, RolloutStatus,
};
use lockstep_core::blocked::{Blocked, Reason};
use lockstep_core::model::{Role, RuleKind, Spec};
use lockstep_core::names::RoleName;
use lockstep_core::plan::Plan;
use lockstep_core::revision::Revision;
use lockstep_core::snapshot::{Memory, RestartMemory};
use lockstep_core::status::{self, Phase, Revisions};
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
    /// Names of services that somebody else has.
    pub taken: &'a [String],
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
            tally: Some(tally(said.tally)),
            selector: selector(self.wish),
            revision: revisions(said.revision),
            roles: said.roles.iter().map(role).collect(),
            groups: said.groups.iter().map(|of| self.group(of)).collect(),
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
        status.conditions.extend(conditions::children(
            self.taken,
            &self.wish.status.conditions,
            self.wish.generation,
            self.now,
        ));
        // A memory always is JSON; if it ever were not, it would count as lost.
        status.memory = serde_json::to_value(&self.plan.memory).unwrap_or_default();
        status
    }

    /// How far the roles under each skew rule are apart, over all groups, as a part of one.
    pub fn skews(&self) -> impl Iterator<Item = (&str, f64)> {
        let share = |name: &RoleName| {
            let role = self.plan.status.roles.iter().find(|role| role.name == *name)?;
            (role.replicas > 0).then(|| f64::from(role.updated_ready) / f64::from(role.replicas))
        };
        self.spec.rules.iter().filter_map(move |rule| {
            let RuleKind::RollingUpdate(skew) = &rule.kind else { return None };
            let shares = || skew.roles.iter().filter_map(share);
            let apart = shares().fold(0.0, f64::max) - shares().fold(1.0, f64::min);
            Some((rule.name.as_str(), apart.max(0.0)))
        })
    }

    fn group(&self, said: &lockstep_core::status::GroupStatus) -> GroupStatus {
        let role = |(role, counts): (&Role, &lockstep_core::status::GroupRoleStatus)| GroupRoleStatus {
            name: role.name.to_string(),
            scheduled: counts.scheduled,
            ready: counts.ready,
            available: counts.available,
            updated: counts.updated,
            gated: counts.gated,
        };
        let roles = self.spec.roles.iter().zip(&said.roles).map(role).collect();
        GroupStatus { group: said.group, roles }
    }

    fn rollout(&self) -> RolloutStatus {
        let said = &self.plan.status;
        let best = self.plan.memory.best.as_ref();
        let under_way = !matches!(said.phase, Phase::Complete | Phase::RolledBack);
        let deadline = best.filter(|best| said.phase == Phase::Progressing && !best.waiting);
        let blocked = self.blocked();
        RolloutStatus {
            phase: format!("{:?}", said.phase),
            phase_since: phase_since(&self.wish.status.rollout, said.phase, self.now),
            started_at: best.filter(|_| under_way).map(|best| stamp(best.started)),
            deadline: deadline.map(|best| stamp(best.since + self.spec.progress_deadline)),
            waiting_for: blocked.first().map(headline).unwrap_or_default(),
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
        // Causes first: a group that waits for another is none.
        let waits = |block: &&Blocked| block.reason == Reason::GroupsExhausted;
        let (groups, causes): (Vec<_>, Vec<_>) = self.plan.blocked.iter().partition(waits);
        let said = causes.into_iter().chain(groups).map(|block| BlockedStatus {
            what: block.what.clone(),
            reason: block.reason.to_string(),
            rule: block.rule.clone(),
            since: stamp(block.since),
            message: block.message.clone(),
        });
        troubles.chain(said).take(MOST).collect()
    }

    fn revisions(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let text = |(set, roles): (&Revision, &BTreeMap<_, _>)| {
            let roles = roles
                .iter()
                .map(|(role, revision): (&RoleName, &Revision)| (role.to_string(), revision.to_string()));
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

/// The status of a set that cannot be read: the counts stay as they were, and nothing moves.
pub fn invalid(wish: &Wish, message: String, now: Time) -> LockstepSetStatus {
    let mut status = wish.status.clone();
    status.observed_generation = wish.generation;
    status.selector = selector(wish);
    let before = wish.status.rollout.blocked.iter().find(|block| block.reason == INVALID_SPEC);
    let blocked = BlockedStatus {
        what: wish.set.name.clone(),
        reason: INVALID_SPEC.to_owned(),
        rule: String::new(),
        since: before.map_or_else(|| stamp(now), |block| block.since.clone()),
        message: message.clone(),
    };
    status.rollout = RolloutStatus {
        phase: format!("{:?}", Phase::Stalled),
        phase_since: phase_since(&wish.status.rollout, Phase::Stalled, now),
        deadline: None,
        waiting_for: message.lines().next().unwrap_or_default().to_owned(),
        blocked: vec![blocked],
        ..wish.status.rollout.clone()
    };
    status.conditions = conditions::invalid(message, &wish.status.conditions, wish.generation, now);
    status
}

/// The status of a set whose pods are still being taken over from another operator.
pub fn held(wish: &Wish, now: Time) -> LockstepSetStatus {
    const REASON: &str = "Migrating";
    let message = "its pods are being taken over from another operator; `lockstep migrate` goes on with it";
    let before = wish.status.rollout.blocked.iter().find(|block| block.reason == REASON);
    let blocked = BlockedStatus {
        what: wish.set.name.clone(),
        reason: REASON.to_owned(),
        rule: String::new(),
        since: before.map_or_else(|| stamp(now), |block| block.since.clone()),
        message: message.to_owned(),
    };
    let outlook =
        Outlook { phase: Phase::Paused, reason: Some(REASON.to_owned()), message: Some(message.to_owned()) };
    let mut status = wish.status.clone();
    status.observed_generation = wish.generation;
    status.selector = selector(wish);
    status.rollout = RolloutStatus {
        phase: format!("{:?}", Phase::Paused),
        phase_since: phase_since(&wish.status.rollout, Phase::Paused, now),
        deadline: None,
        waiting_for: message.split("; ").next().unwrap_or_default().to_owned(),
        blocked: vec![blocked],
        ..wish.status.rollout.clone()
    };
    status.conditions = conditions::of(&outlook, &wish.status.conditions, wish.generation, now);
    status
}

/// A phase that goes on keeps its time; nobody knows it of one that began before it was written down.
fn phase_since(before: &RolloutStatus, phase: Phase, now: Time) -> Option<String> {
    if before.phase == format!("{phase:?}") { before.phase_since.clone() } else { Some(stamp(now)) }
}

fn selector(wish: &Wish) -> String {
    format!("{}={}", label::SET, wish.set.name)
}

/// What is waited for, in a few words: the first part of the sentence, with the group if it does not name it.
fn headline(block: &BlockedStatus) -> String {
    let text = block.message.split("; ").next().unwrap_or_default();
    let (group, instance) = block.what.split_once('/').unwrap_or_default();
    let role = instance.rsplit_once('-').map_or(instance, |(role, _)| role);
    let speaks_of_one = !role.is_empty() && text.starts_with(&format!("{role}-"));
    match () {
        () if speaks_of_one => format!("{group}/{text}"),
        () if group.is_empty() || text.contains(group) => text.to_owned(),
        () => format!("{group}: {text}"),
    }
}

fn revisions(said: Revisions) -> RevisionStatus {
    RevisionStatus {
        stable: said.stable.map(|revision| revision.to_string()),
        update: said.update.to_string(),
    }
}

fn tally(said: status::GroupTally) -> GroupTally {
    let status::GroupTally { standing, reliable, begun, done, under_way, creates_updated } = said;
    GroupTally { standing, reliable, begun, done, under_way, creates_updated }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_in_a_few_words() {
        let rows = [
            (
                "llama-1/web-2",
                "web-3 is not available yet; at most 1 of 4 may be unavailable",
                "llama-1/web-3 is not available yet",
            ),
            (
                "llama-0",
                "llama-0 waits for llama-1; at most 1 of 2 groups may be unavailable",
                "llama-0 waits for llama-1",
            ),
            ("llama", "create pod x: quota exceeded", "create pod x: quota exceeded"),
            (
                "llama-1/web-2",
                "step 2/3: pause, until it is promoted",
                "llama-1: step 2/3: pause, until it is promoted",
            ),
        ];
        for (what, message, wanted) in rows {
            let block =
                BlockedStatus { what: what.into(), message: message.into(), ..BlockedStatus::default() };
            assert_eq!(headline(&block), wanted);
        }
    }

    #[test]
    fn a_phase_has_a_time_of_its_own() {
        let before = |phase: &str, since: Option<&str>| RolloutStatus {
            phase: phase.to_owned(),
            phase_since: since.map(str::to_owned),
            started_at: Some("1970-01-01T00:00:01Z".to_owned()),
            ..RolloutStatus::default()
        };
        for (phase, since, is, at) in [
            ("", None, Phase::Progressing, Some("1970-01-01T00:00:09Z")),
            ("Progressing", Some("then"), Phase::Progressing, Some("then")),
            ("Progressing", Some("then"), Phase::Paused, Some("1970-01-01T00:00:09Z")),
            ("Paused", None, Phase::Paused, None),
        ] {
            assert_eq!(phase_since(&before(phase, since), is, Time(9_000)).as_deref(), at, "{phase}");
        }
    }

    #[test]
    fn times_as_kubernetes_writes_them() {
        assert_eq!(stamp(Time(1_767_225_600_123)), "2026-01-01T00:00:00Z");
    }
}
