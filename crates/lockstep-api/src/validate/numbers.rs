//! Numbers that must fit each other.

use lockstep_core::number::{self, IntOrPercent};

use super::{role_path, rule_path, spec};
use crate::findings::Findings;
use crate::lockstep_set::{LockstepSet, Role, UpdateType};
use crate::path::Path;

/// More pods than any cluster has, and far from the end of every counter.
const MOST_PODS: u64 = 1_000_000;

pub(super) fn check(set: &LockstepSet, found: &mut Findings) {
    let strategy = &set.spec.update_strategy;
    let path = spec().field("updateStrategy");
    budget(strategy.max_unavailable, strategy.max_surge, &path, found);
    probably_not_meant(
        strategy.max_unavailable,
        strategy.partition,
        (set.spec.replicas, "group"),
        &path,
        found,
    );
    for (i, role) in set.spec.roles.iter().enumerate() {
        let path = role_path(i);
        let strategy = role.strategy();
        let at = path.field("updateStrategy");
        budget(strategy.max_unavailable, strategy.max_surge, &at, found);
        // Groups that are recreated do not ask their roles, which is said elsewhere.
        if set.spec.update_strategy.kind != UpdateType::GroupRecreate {
            let of = (role.replicas, "instance");
            probably_not_meant(strategy.max_unavailable, strategy.partition, of, &at, found);
        }
        min_available(role, &path, found);
        members(role, &path, found);
        delays(role, &path, found);
    }
    rule_budgets(set, found);
    no_skew_at_all(set, found);
    deadline(set, found);
    total(set, found);
}

/// Neither fewer nor more than the desired ones: nothing could ever move.
fn budget(unavailable: IntOrPercent, surge: IntOrPercent, path: &Path, found: &mut Findings) {
    if !found.sound(path) {
        return;
    }
    let at = path.field("maxUnavailable");
    match (unavailable, surge) {
        (IntOrPercent::Int(0), IntOrPercent::Int(0)) => {
            found.error(&at, "nothing could move, as maxSurge is 0 too; use maxUnavailable: 1");
        }
        (
            IntOrPercent::Int(0) | IntOrPercent::Percent(0),
            IntOrPercent::Int(0) | IntOrPercent::Percent(0),
        ) => {
            found.warn(&at, "lets nothing move, nor does maxSurge; 1 is used instead");
        }
        _ => {}
    }
}

/// Numbers that make a strategy do nothing, or everything at once.
fn probably_not_meant(
    unavailable: IntOrPercent,
    partition: IntOrPercent,
    (replicas, unit): (u32, &str),
    path: &Path,
    found: &mut Findings,
) {
    if replicas == 0 || !found.sound(path) {
        return;
    }
    if number::partition(partition, replicas) >= replicas {
        let all = if replicas == 1 { format!("the one {unit}") } else { format!("all {replicas} {unit}s") };
        found.warn(&path.field("partition"), format!("keeps {all} old, so that nothing is updated"));
    }
    if matches!(unavailable, IntOrPercent::Int(n) if n > replicas) {
        let message = format!("more than there are ({replicas}): all may be down at once");
        found.warn(&path.field("maxUnavailable"), message);
    }
}

/// Accepted, and probably taken for more than it is.
fn no_skew_at_all(set: &LockstepSet, found: &mut Findings) {
    for (i, rule) in set.spec.coordination.iter().enumerate() {
        let none = |skew: IntOrPercent| matches!(skew, IntOrPercent::Int(0) | IntOrPercent::Percent(0));
        if rule.rolling_update.is_some_and(|rolling| none(rolling.max_skew)) {
            let at = found.spelled(&rule_path(i), "rollingUpdate", "skew").field("maxSkew");
            found.warn(&at, "roles cannot be equally far at every moment: each may be one instance ahead");
        }
    }
}

/// A rule's maxUnavailable takes the place of its roles', beside their own maxSurge.
fn rule_budgets(set: &LockstepSet, found: &mut Findings) {
    for (i, rule) in set.spec.coordination.iter().enumerate() {
        let Some(IntOrPercent::Int(0)) = rule.rolling_update.and_then(|rolling| rolling.max_unavailable)
        else {
            continue;
        };
        let at = found.spelled(&rule_path(i), "rollingUpdate", "skew").field("maxUnavailable");
        let stuck = set.spec.roles.iter().find(|role| {
            rule.roles.contains(&role.name) && role.strategy().max_surge == IntOrPercent::Int(0)
        });
        if let Some(role) = stuck {
            let name = &role.name;
            let message = format!("role {name} could not move, as its maxSurge is 0; use maxUnavailable: 1");
            found.error(&at, message);
        }
    }
}

fn min_available(role: &Role, path: &Path, found: &mut Findings) {
    let Some(IntOrPercent::Int(least)) = role.min_available else { return };
    if least > role.replicas && found.sound(&path.field("replicas")) {
        let message = format!("more than the role's replicas; must be from 0 to {}", role.replicas);
        found.error(&path.field("minAvailable"), message);
    }
}

fn members(role: &Role, path: &Path, found: &mut Findings) {
    for (j, member) in role.members.iter().enumerate() {
        let path = path.field("members").index(j);
        let Some(least) = member.min_available else { continue };
        if least > member.count && found.sound(&path.field("count")) {
            let message = format!("more than the member's count; must be from 1 to {}", member.count);
            found.error(&path.field("minAvailable"), message);
        }
    }
}

fn delays(role: &Role, path: &Path, found: &mut Findings) {
    let Some(policy) = role.restart_policy else { return };
    let path = path.field("restartPolicy");
    if policy.base_delay_seconds > policy.max_delay_seconds && found.sound(&path) {
        let message = format!("must not be above maxDelaySeconds, which is {}", policy.max_delay_seconds);
        found.error(&path.field("baseDelaySeconds"), message);
    }
}

/// A rollout waits minReadySeconds for each instance; a shorter deadline would call every rollout stalled.
fn deadline(set: &LockstepSet, found: &mut Findings) {
    let path = spec().field("progressDeadlineSeconds");
    let slowest = set.spec.roles.iter().enumerate().max_by_key(|(_, role)| role.min_ready_seconds);
    let Some((i, role)) = slowest else { return };
    let (deadline, ready) = (set.spec.progress_deadline_seconds, role.min_ready_seconds);
    if deadline <= ready && found.sound(&path) {
        let at = role_path(i).field("minReadySeconds");
        let default = if found.given(&path) { String::new() } else { format!("{deadline} by default; ") };
        found.error(&path, format!("{default}must be more than {at}, which is {ready}"));
    }
}

/// All pods there may ever be at once, surge included. What is scaled to nothing counts as one: it may come back.
fn total(set: &LockstepSet, found: &mut Findings) {
    let with_surge = |replicas: u32, surge: IntOrPercent| {
        u64::from(replicas.max(1)) + u64::from(surge.ceil_of(replicas).min(replicas))
    };
    let per_group = set.spec.roles.iter().fold(0u64, |sum, role| {
        let instances = with_surge(role.replicas, role.strategy().max_surge);
        sum.saturating_add(instances.saturating_mul(role.pods()))
    });
    let groups = with_surge(set.spec.replicas, set.spec.update_strategy.max_surge);
    let pods = groups.saturating_mul(per_group);
    if pods > MOST_PODS {
        let message = format!("{pods} pods with surge; a set may have up to {MOST_PODS}");
        found.error(&spec(), message);
    }
}
