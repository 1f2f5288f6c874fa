//! What waits on purpose is no failure; what is built anew is built as a whole; a stall names its blocker.

mod golden_support;
mod support;

use std::collections::BTreeMap;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::blocked::Reason;
use lockstep_core::model::*;
use lockstep_core::names::{RoleName, RuleName};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::time::Millis;
use support::{at, role, set};

#[test]
fn a_pod_stuck_in_termination_is_named_under_a_step_too() {
    let rules = vec![ordered("canary", vec![update("r", Int(1)), pause(None)])];
    let spec = one_group(vec![within(role("r", 4, "A"), 2, 0)], rules);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "-3");
    desk.wait(700).plan();
    assert!(desk.reasons().contains(&Reason::WaitingForTermination), "{:?}", desk.blocked());
}

#[test]
fn shrinking_before_the_base_was_scheduled_does_not_count_as_scheduled() {
    let mut prefill = with_workers(role("prefill", 3, "A"), 2);
    prefill.min_available = Some(Int(2));
    let mut spec = set(1, vec![prefill, role("decode", 2, "A")]);
    spec.gang.scheduler = GangScheduler::PodGroup;
    let mut desk = Desk::empty(&spec);
    desk.homeless = vec![("prefill", 0), ("prefill", 1), ("decode", 0), ("decode", 1)];
    desk.plan();
    desk.evict(0, "decode", 0);
    desk.forget();
    spec.roles[0].replicas = 1;
    desk.wish(&spec).plan();
    assert_eq!(desk.gangs, ["decode-0: base 5"]);
}

fn affinity(prefill: u32, decode: u32) -> Spec {
    let ratios = BTreeMap::from([(RoleName::new("prefill"), 2), (RoleName::new("decode"), 1)]);
    let batch_mode = BatchMode::Sequential;
    let rule = Affinity { topology_key: "kubernetes.io/hostname".to_owned(), ratios, batch_mode };
    let rule = Rule { name: RuleName::new("pair"), kind: RuleKind::AffinityScheduling(rule) };
    one_group(vec![role("prefill", prefill, "A"), role("decode", decode, "A")], vec![rule])
}

#[test]
fn a_batch_that_does_not_fit_is_named() {
    let mut desk = Desk::empty(&affinity(6, 3));
    desk.homeless = vec![("prefill", 3)];
    desk.run();
    desk.wait(60).run();
    assert!(desk.reasons().contains(&Reason::BatchUnschedulable), "{:?}", desk.blocked());
}

#[test]
fn status_shows_the_current_batch_of_the_total() {
    let mut desk = Desk::empty(&affinity(6, 3));
    desk.homeless = vec![("prefill", 3)];
    desk.run();
    desk.wait(60).run();
    let shown: Vec<_> =
        desk.last.as_ref().unwrap().status.coordination.iter().map(|c| (c.step, c.of)).collect();
    assert_eq!(shown, [(Some(2), Some(3))]);
}

#[test]
fn status_names_unpinned_batches() {
    let mut desk = Desk::empty(&affinity(5, 2));
    desk.plan();
    let shown = format!("{:?}", desk.last.as_ref().unwrap().status.coordination);
    assert!(shown.contains("preferred") || shown.contains("unpinned"), "{shown}");
}

#[test]
fn gang_termination_pays_only_for_what_was_available() {
    let mut spec = set(1, vec![within(role("r", 2, "A"), 2, 0)]);
    spec.gang.termination_delay = Some(Millis::seconds(60));
    let mut desk = Desk::complete(&spec);
    desk.unready(0, "r", 0).plan();
    assert_eq!(desk.wait(60).plan(), "x0 -1");
}

#[test]
fn numbers_at_the_end_of_their_range_never_panic() {
    let broken = golden_support::nonsense::broken(0..4_000, true);
    assert!(broken.is_empty(), "seeds {broken:?}");
}

#[test]
fn the_clock_of_gang_termination_does_not_run_during_an_update() {
    let mut spec = set(1, vec![keeping(within(role("r", 2, "A"), 2, 0), Int(1))]);
    spec.gang.termination_delay = Some(Millis::seconds(60));
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![support::rev("B")];
    desk.wish(&at(&spec, "B")).run();
    desk.unready(0, "r", 0).plan();
    assert_eq!(desk.wait(1000).run(), "", "in update");
    desk.bad.clear();
    assert_eq!(desk.run(), "", "the update is over: the clock begins");
    assert_eq!(desk.wait(59).run(), "");
    desk.wait(1).plan();
    assert_eq!(desk.deletes.last().unwrap().why, lockstep_core::plan::DeleteWhy::GangTermination);
}

#[test]
fn failures_of_a_group_are_forgotten_after_a_quiet_time() {
    let mut spec = set(1, vec![role("r", 1, "A")]);
    spec.roles[0].restart.kind = RestartKind::Group;
    let mut desk = Desk::complete(&spec);
    desk.crash(0, "r", 0).run();
    desk.wait(7200).plan();
    assert!(desk.seen.memory.restarts.is_empty(), "{:?}", desk.seen.memory.restarts);
}

fn canary(duration: Option<Millis>) -> Spec {
    let plan = vec![update("r", Int(1)), pause(duration), update("r", Percent(100))];
    let mut spec = one_group(vec![role("r", 3, "A")], vec![ordered("canary", plan)]);
    spec.on_failure = OnFailure::Rollback;
    spec
}

#[test]
fn a_pause_longer_than_the_deadline_is_no_failure() {
    let spec = canary(Some(Millis::minutes(20)));
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 | +2");
    assert_eq!(desk.wait(1200).run(), "-1 | +1 | -0 | +0");
}

#[test]
fn a_promotion_after_a_long_wait_is_no_failure() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    assert_eq!(desk.wish(&to).run(), "-2 | +2");
    desk.wait(86_400);
    lockstep_core::verbs::promote(&to, &mut desk.seen.memory, None, desk.now);
    assert_eq!(desk.run(), "-1 | +1 | -0 | +0");
}

#[test]
fn a_set_resumed_after_a_long_wait_is_no_failure() {
    let mut spec = set(1, vec![role("r", 3, "A")]);
    spec.on_failure = OnFailure::Rollback;
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 1);
    desk.start();
    desk.wish(&Spec { paused: true, ..at(&spec, "B") }).run();
    desk.wait(86_400);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-1 | +1 | -0 | +0");
}

#[test]
fn a_blink_long_after_the_partition_was_reached_is_no_failure() {
    let mut spec = set(1, vec![keeping(role("r", 3, "A"), Int(2))]);
    spec.on_failure = OnFailure::Rollback;
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 | +2");
    desk.wait(86_400).unready(0, "r", 2).plan();
    assert_ne!(desk.phase(), lockstep_core::status::Phase::Stalled);
    desk.wait(2).back(0, "r", 2);
    assert_eq!(desk.run(), "");
    assert_eq!(desk.line(0, "r"), "AAB");
}

#[test]
fn a_stall_always_names_its_blocker() {
    let cases = [(1, 1, 0), (3, 1, 0), (3, 3, 0), (3, 0, 3)];
    for (desired, unavailable, surge) in cases {
        let spec = set(1, vec![within(role("r", desired, "A"), unavailable, surge)]);
        let mut desk = Desk::complete(&spec);
        desk.bad = vec![support::rev("B")];
        desk.wish(&at(&spec, "B")).run();
        desk.wait(601).plan();
        assert_eq!(desk.phase(), lockstep_core::status::Phase::Stalled);
        assert!(!desk.blocked().is_empty(), "d{desired} U{unavailable} S{surge}");
    }
}

#[test]
fn a_first_start_that_stalls_names_its_blocker() {
    for homeless in [vec![], vec![("r", 0)]] {
        let mut desk = Desk::empty(&set(1, vec![role("r", 2, "A")]));
        desk.bad = vec![support::rev("A")];
        desk.homeless = homeless.clone();
        desk.run();
        desk.wait(601).plan();
        assert_eq!(desk.phase(), lockstep_core::status::Phase::Stalled);
        assert!(!desk.blocked().is_empty(), "{homeless:?}");
    }
}

#[test]
fn an_abort_does_not_wait_in_the_pause_it_leaves() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run();
    lockstep_core::verbs::abort(&to, &mut desk.seen.memory);
    desk.run();
    assert_eq!(
        (desk.line(0, "r"), desk.phase()),
        ("AAA".to_owned(), lockstep_core::status::Phase::RolledBack)
    );
}

#[test]
fn gang_termination_builds_the_group_anew_as_a_whole() {
    let mut spec = set(1, vec![role("r", 1, "A"), role("s", 1, "A")]);
    spec.gang.termination_delay = Some(Millis::seconds(60));
    let mut desk = Desk::complete(&spec);
    let before = desk.seen.memory.groups[&0].incarnation;
    desk.unready(0, "r", 0).unready(0, "s", 0).plan();
    desk.wait(60).plan();
    desk.reap_role("r");
    assert_eq!(desk.plan(), "", "s is still on its way out");
    desk.reap();
    assert_eq!(desk.plan(), "+r-0 +s-0");
    assert!(desk.creates.iter().all(|create| create.incarnation == before + 1));
}

#[test]
fn each_sequential_batch_is_a_podgroup_of_its_own() {
    let mut spec = affinity(4, 2);
    spec.gang.scheduler = GangScheduler::PodGroup;
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(desk.gangs[0], "prefill-0: batch 0 3");
    assert_eq!(desk.gangs[5], "decode-1: batch 1 3*");
}

#[test]
fn a_pause_of_one_group_does_not_hide_the_stall_of_another() {
    let mut spec = canary(None);
    spec.replicas = 2;
    spec.strategy.max_unavailable = Int(2);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 1 && desk.at(1, "r", "B") == 1);
    desk.each(|g, _, _, pod| {
        if g == 1 && pod.ready.is_none() {
            pod.failed = false;
            pod.unready = Some(pod.created);
        }
    });
    desk.run();
    desk.wait(700).plan();
    assert_eq!(desk.phase(), lockstep_core::status::Phase::Stalled);
}

#[test]
fn a_rollback_does_not_wait_in_a_pause() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![support::rev("B")];
    desk.wish(&at(&spec, "B")).run();
    desk.wait(600).run();
    desk.wait(1).run();
    assert_eq!(
        (desk.line(0, "r"), desk.phase()),
        ("AAA".to_owned(), lockstep_core::status::Phase::RolledBack)
    );
}
