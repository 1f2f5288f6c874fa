//! Builders of specs, as short as the tables they stand in.

use lockstep_core::model::*;
use lockstep_core::names::{MemberName, RoleName, RuleName};
use lockstep_core::number::IntOrPercent;
use lockstep_core::time::Millis;

use crate::support::set;

/// Limits of a role: `(maxUnavailable, maxSurge)`.
pub fn within(mut role: Role, unavailable: u32, surge: u32) -> Role {
    role.strategy.max_unavailable = IntOrPercent::Int(unavailable);
    role.strategy.max_surge = IntOrPercent::Int(surge);
    role
}

pub fn ascending(mut role: Role) -> Role {
    role.strategy.order = Order::Ascending;
    role
}

/// A role that keeps so many old.
pub fn keeping(mut role: Role, partition: IntOrPercent) -> Role {
    role.strategy.partition = partition;
    role
}

/// A role of instances with a leader and workers.
pub fn with_workers(mut role: Role, workers: u32) -> Role {
    let member = |name, count| Member { name: MemberName::new(name), count, min_available: count };
    role.members = vec![member("leader", 1), member("worker", workers)];
    role.restart.kind = RestartKind::Instance;
    role
}

/// A set of one group.
pub fn one_group(roles: Vec<Role>, rules: Vec<Rule>) -> Spec {
    Spec { rules, ..set(1, roles) }
}

/// Groups that move in a way, within limits.
pub fn groups(replicas: u32, kind: StrategyKind, unavailable: u32, surge: u32, roles: Vec<Role>) -> Spec {
    let mut spec = set(replicas, roles);
    spec.strategy.kind = kind;
    spec.strategy.max_unavailable = IntOrPercent::Int(unavailable);
    spec.strategy.max_surge = IntOrPercent::Int(surge);
    spec
}

pub fn update(role: &str, to: IntOrPercent) -> Step {
    Step::Update { role: RoleName::new(role), to }
}

pub fn pause(duration: Option<Millis>) -> Step {
    Step::Pause { duration }
}

pub fn ordered(name: &str, steps: Vec<Step>) -> Rule {
    Rule { name: RuleName::new(name), kind: RuleKind::Steps(steps) }
}
