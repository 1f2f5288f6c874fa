//! From a validated set to the engine's own model.

use lockstep_core::model;
use lockstep_core::names::{MemberName, RoleName, RuleName};
use lockstep_core::time::Millis;

use crate::coordination::{AffinityScheduling, BatchMode, Coordination, Progression, Step};
use crate::lockstep_set::{
    GangScheduler, LockstepSet, OnFailure, Order, RestartType, Role, RoleUpdateType, UpdateStrategy,
    UpdateType,
};
use crate::valid::Valid;
use crate::{revision, validate};

/// What the engine is to do with a set.
pub fn lower(set: &Valid) -> model::Spec {
    let spec = &set.spec;
    let nodes = validate::nodes(set);
    let roles = spec.roles.iter().enumerate();
    model::Spec {
        name: set.metadata.name.clone(),
        replicas: spec.replicas,
        strategy: set_strategy(&spec.update_strategy),
        roles: roles.map(|(i, role)| lower_role(set, role, waits_for(set, &nodes, i))).collect(),
        rules: spec.coordination.iter().flat_map(rules).collect(),
        gang: model::Gang {
            scheduler: gang_scheduler(spec.gang.scheduler),
            termination_delay: spec.gang.termination_delay.map(|delay| delay.0),
        },
        on_failure: match spec.on_failure {
            OnFailure::Hold => model::OnFailure::Hold,
            OnFailure::Rollback => model::OnFailure::Rollback,
        },
        progress_deadline: seconds(spec.progress_deadline_seconds),
        paused: spec.paused,
    }
}

fn seconds(n: u32) -> Millis {
    Millis::seconds(u64::from(n))
}

fn names(names: &[String]) -> Vec<RoleName> {
    names.iter().map(|name| RoleName::new(name)).collect()
}

fn order(order: Order) -> model::Order {
    match order {
        Order::Descending => model::Order::Descending,
        Order::Ascending => model::Order::Ascending,
        Order::OldestFirst => model::Order::OldestFirst,
    }
}

fn gang_scheduler(scheduler: GangScheduler) -> model::GangScheduler {
    match scheduler {
        GangScheduler::None => model::GangScheduler::None,
        GangScheduler::PodGroup => model::GangScheduler::PodGroup,
        GangScheduler::PodGang => model::GangScheduler::PodGang,
        GangScheduler::Volcano => model::GangScheduler::Volcano,
    }
}

fn set_strategy(strategy: &UpdateStrategy) -> model::SetStrategy {
    model::SetStrategy {
        kind: match strategy.kind {
            UpdateType::RollingUpdate => model::StrategyKind::RollingUpdate,
            UpdateType::GroupRecreate => model::StrategyKind::GroupRecreate,
            UpdateType::OnDelete => model::StrategyKind::OnDelete,
        },
        max_unavailable: strategy.max_unavailable,
        max_surge: strategy.max_surge,
        partition: strategy.partition,
        order: order(strategy.order),
    }
}

fn role_strategy(role: &Role) -> model::RoleStrategy {
    let strategy = role.strategy();
    model::RoleStrategy {
        kind: match strategy.kind {
            RoleUpdateType::RollingUpdate => model::StrategyKind::RollingUpdate,
            RoleUpdateType::OnDelete => model::StrategyKind::OnDelete,
        },
        max_unavailable: strategy.max_unavailable,
        max_surge: strategy.max_surge,
        partition: strategy.partition,
        order: order(strategy.order),
    }
}

/// The roles that role `i` waits for at the start: those it names, but for those it shares a node with.
fn waits_for(set: &LockstepSet, nodes: &[usize], i: usize) -> Vec<RoleName> {
    let roles = &set.spec.roles;
    let node_of = |name: &str| roles.iter().position(|role| role.name == name).map(|i| nodes[i]);
    let named = roles[i].starts_after.iter();
    named.filter(|name| node_of(name) != Some(nodes[i])).map(|name| RoleName::new(name)).collect()
}

fn lower_role(set: &LockstepSet, role: &Role, starts_after: Vec<RoleName>) -> model::Role {
    let policy = role.restart_policy.unwrap_or_default();
    model::Role {
        name: RoleName::new(&role.name),
        replicas: role.replicas,
        revision: revision::of(set, role),
        min_available: role.min_available,
        min_ready: seconds(role.min_ready_seconds),
        starts_after,
        member_order: role.members.iter().filter_map(member_order).collect(),
        strategy: role_strategy(role),
        restart: model::Restart {
            kind: match role.restart_type() {
                RestartType::None => model::RestartKind::None,
                RestartType::Instance => model::RestartKind::Instance,
                RestartType::Group => model::RestartKind::Group,
            },
            base_delay: seconds(policy.base_delay_seconds),
            max_delay: seconds(policy.max_delay_seconds),
            grace: seconds(policy.grace_period_seconds),
        },
        members: role.parts().into_iter().map(member).collect(),
    }
}

/// Which members one starts after, if any.
fn member_order(member: &crate::lockstep_set::Member) -> Option<(MemberName, Vec<MemberName>)> {
    let named: Vec<MemberName> = member.starts_after.iter().map(|name| MemberName::new(name)).collect();
    (!named.is_empty()).then(|| (MemberName::new(&member.name), named))
}

fn member(member: crate::lockstep_set::Member) -> model::Member {
    model::Member {
        name: MemberName::new(&member.name),
        count: member.count,
        min_available: member.min_available.unwrap_or(member.count),
    }
}

/// A rule of several kinds becomes one rule of each kind, all of the same name. A list of no steps is no rule.
fn rules(rule: &Coordination) -> Vec<model::Rule> {
    let rolling_update = rule.rolling_update.map(|rolling| {
        model::RuleKind::RollingUpdate(model::Skew {
            roles: names(&rule.roles),
            max_skew: rolling.max_skew,
            max_unavailable: rolling.max_unavailable,
            partition: rolling.partition,
        })
    });
    let steps = rule.steps.as_ref().filter(|steps| !steps.is_empty());
    let steps = steps.map(|steps| model::RuleKind::Steps(steps.iter().map(step).collect()));
    let affinity =
        rule.affinity_scheduling.as_ref().map(|a| model::RuleKind::AffinityScheduling(affinity(a)));
    let scaling = rule.scaling.map(|scaling| {
        model::RuleKind::Scaling(model::Scaling {
            roles: names(&rule.roles),
            max_skew: scaling.max_skew,
            progression: match scaling.progression {
                Progression::OrderScheduled => model::Progression::OrderScheduled,
                Progression::OrderReady => model::Progression::OrderReady,
            },
        })
    });
    let kinds = [rolling_update, steps, affinity, scaling].into_iter().flatten();
    kinds.map(|kind| model::Rule { name: RuleName::new(&rule.name), kind }).collect()
}

fn step(step: &Step) -> model::Step {
    match step {
        Step::Update(update) => {
            model::Step::Update { role: RoleName::new(&update.role), to: update.update_to }
        }
        Step::Pause(step) => model::Step::Pause { duration: step.pause.duration.map(|duration| duration.0) },
    }
}

fn affinity(affinity: &AffinityScheduling) -> model::Affinity {
    model::Affinity {
        topology_key: affinity.topology_key.clone(),
        ratios: affinity.ratios.iter().map(|(role, n)| (RoleName::new(role), *n)).collect(),
        batch_mode: match affinity.batch_mode {
            BatchMode::Sequential => model::BatchMode::Sequential,
            BatchMode::Parallel => model::BatchMode::Parallel,
        },
    }
}
