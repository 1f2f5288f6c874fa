//! What must be provable, what proves nothing, and what is no failure.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use lockstep_core::model::{OnFailure, Rule, RuleKind, Spec, Step, StrategyKind};
use lockstep_core::names::{RoleName, RuleName};
use lockstep_core::number::IntOrPercent::{Int, Percent};
use lockstep_core::plan::plan;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::simulate::Scenario;
use lockstep_core::simulate::trace::{End, What};
use lockstep_core::snapshot::{CompleteSet, Memory, RoleMemory, Snapshot};
use lockstep_core::time::Time;
use support::{at, play, rev, role, set, skew, steps};

#[test]
fn a_surge_group_is_given_back_although_a_role_keeps_some_old() {
    for (groups, unavailable) in [(1, 0), (2, 0), (2, 1)] {
        let mut spec = set(groups, vec![role("w", 2, "A")]);
        spec.roles[0].strategy.partition = Int(1);
        spec.strategy.max_unavailable = Int(unavailable);
        spec.strategy.max_surge = Int(1);
        assert_eq!(prove(Some(&spec), &at(&spec, "B")), Proof::Finishes, "{groups} groups, U{unavailable}");
        let (outcome, _, broken) = play(&Scenario::ideal(spec.clone(), at(&spec, "B")));
        assert_eq!((outcome.end, broken), (End::PartitionReached, vec![]));
    }
}

#[test]
fn a_revision_that_nothing_runs_at_is_not_stable() {
    let mut spec = set(1, vec![role("w", 0, "B")]);
    let name = RoleName::new("w");
    let stable = RoleMemory { stable: Some(rev("A")), max_unavailable: 1 };
    let complete = CompleteSet { revision: rev("set"), roles: [(name.clone(), rev("A"))].into() };
    let memory = Memory {
        roles: [(name.clone(), stable)].into(),
        complete: Some(complete.clone()),
        ..Memory::default()
    };
    for groups in [1, 0] {
        spec.replicas = groups;
        let snapshot = Snapshot { memory: memory.clone(), ..Snapshot::default() };
        let after = plan(&spec, &snapshot, Time(1)).memory;
        assert_eq!(after.roles.get(&name).unwrap().stable, Some(rev("A")));
        assert_eq!(after.complete, Some(complete.clone()));
    }
}

#[test]
fn a_plan_that_begins_with_a_pause_is_no_failure() {
    let mut spec = set(1, vec![role("w", 2, "A")]);
    spec.on_failure = OnFailure::Rollback;
    let steps = vec![Step::Pause { duration: None }, Step::Update { role: "w".into(), to: Percent(100) }];
    spec.rules = vec![Rule { name: RuleName::new("wait-first"), kind: RuleKind::Steps(steps) }];
    let mut scenario = Scenario::ideal(spec.clone(), at(&spec, "B"));
    scenario.nature.promote = false;
    let (outcome, _, broken) = play(&scenario);
    assert_eq!((outcome.end, broken), (End::Paused, vec![]));
    assert_eq!(outcome.memory.overridden, None);
}

#[test]
fn a_role_that_waits_to_be_deleted_does_not_roll_the_others_back() {
    let mut spec = set(1, vec![role("by-hand", 2, "A"), role("rolls", 2, "A")]);
    spec.on_failure = OnFailure::Rollback;
    spec.roles[0].strategy.kind = StrategyKind::OnDelete;
    let (outcome, events, broken) = play(&Scenario::ideal(spec.clone(), at(&spec, "B")));
    assert_eq!((outcome.end, broken), (End::Paused, vec![]));
    assert_eq!(outcome.memory.overridden, None);
    let deleted =
        events.iter().filter(|e| matches!(&e.what, What::Delete { of, .. } if of.role.as_str() == "by-hand"));
    assert_eq!(deleted.count(), 0);
}

#[test]
fn a_role_updated_by_hand_excuses_no_conflict_of_the_others() {
    let mut spec = set(1, vec![role("by-hand", 2, "A"), role("prefill", 4, "A"), role("decode", 4, "A")]);
    spec.roles[0].strategy.kind = StrategyKind::OnDelete;
    assert_eq!(prove(Some(&spec), &at(&spec, "B")), Proof::Finishes);
    let mut order = steps("order", &[("prefill", Percent(100)), ("decode", Percent(100))]);
    spec.rules = vec![skew("pair", &["prefill", "decode"], Percent(1)), order.clone()];
    let refused = |spec: &Spec| match prove(Some(spec), &at(spec, "B")) {
        Proof::Blocked(by) => by.iter().all(|block| block.rule.starts_with("coordination[")),
        _ => false,
    };
    assert!(refused(&spec));
    if let RuleKind::Steps(steps) = &mut order.kind {
        steps.insert(0, Step::Pause { duration: None });
    }
    spec.rules[1] = order;
    assert!(refused(&spec), "a pause is promoted and holds nobody either");
}
