//! Whole rollouts of one role, as exact sequences: `-3` deleted on the account, `x3` deleted free, `+3`
//! created new, `+3@A` created old, `|` between two plans.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::blocked::Reason;
use lockstep_core::model::*;
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::plan::DeleteWhy;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::simulate::Scenario;
use lockstep_core::simulate::faults::Span;
use lockstep_core::simulate::trace::{By, End, What};
use lockstep_core::status::Phase;
use lockstep_core::time::Millis;
use support::{at, play, role, set, skew, steps};

fn single(desired: u32, unavailable: u32, surge: u32) -> Spec {
    set(1, vec![within(role("r", desired, "A"), unavailable, surge)])
}

/// The whole rollout from A to B.
fn rollout(spec: &Spec) -> (String, Desk) {
    let mut desk = Desk::complete(spec);
    let passes = desk.wish(&at(spec, "B")).run();
    (passes, desk)
}

#[test]
fn whole_rollouts_in_order() {
    let asc = |spec: Spec| Spec { roles: spec.roles.into_iter().map(ascending).collect(), ..spec };
    for (why, spec, passes, floor) in [
        ("nine steps", asc(single(3, 0, 1)), "+3 | -0 | +0 | -1 | +1 | -2 | +2 | -3", 3),
        ("R4 U1 S1", single(4, 1, 1), "-3 +4 | +3 | -2 -1 | +1 +2 | -0 -4 | +0", 3),
        ("R4 U0 S1", single(4, 0, 1), "+4 | -3 | +3 | -2 | +2 | -1 | +1 | -0 | +0 | -4", 4),
        ("R4 U2", single(4, 2, 0), "-3 -2 | +2 +3 | -1 -0 | +0 +1", 2),
        ("R1 S1 U0", single(1, 0, 1), "+1 | -0 | +0 | -1", 1),
        ("R1 U1", single(1, 1, 0), "-0 | +0", 0),
    ] {
        let (found, desk) = rollout(&spec);
        assert_eq!(found, passes, "{why}");
        assert_eq!((desk.lowest("r"), desk.phase()), (floor, Phase::Complete), "{why}");
        assert_eq!(desk.line(0, "r"), "B".repeat(spec.roles[0].replicas as usize), "{why}: no holes");
    }
}

#[test]
fn the_same_rollouts_in_the_model_world_keep_every_promise() {
    for (desired, unavailable, surge) in [(3, 0, 1), (4, 1, 1), (4, 0, 1), (4, 2, 0), (1, 0, 1), (7, 3, 4)] {
        let spec = single(desired, unavailable, surge);
        let (outcome, events, broken) = play(&Scenario::ideal(spec.clone(), at(&spec, "B")));
        assert_eq!((outcome.end, broken), (End::Complete, vec![]));
        let created = |event: &&What| matches!(event, What::Create { of, .. } if of.instance < desired);
        let after = events.iter().filter(|event| event.t >= outcome.began.0).map(|event| &event.what);
        assert_eq!(after.filter(created).count(), desired as usize, "each is replaced once");
    }
}

#[test]
fn lws_figure_with_a_broken_ordinal() {
    let spec = single(4, 2, 0);
    let mut desk = Desk::complete(&spec);
    desk.unready(0, "r", 1).wait(11);
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "x1 -3");
}

fn pcsg(min_available: u32) -> Spec {
    let mut prefill = ascending(within(with_workers(role("prefill", 3, "A"), 2), 0, 1));
    prefill.min_available = Some(Int(min_available));
    let mut spec = set(1, vec![prefill]);
    spec.gang.scheduler = GangScheduler::PodGang;
    spec
}

#[test]
fn pcsg_of_three_moves_like_a_clique_and_the_surge_is_never_gated() {
    for min_available in [3, 2] {
        let spec = pcsg(min_available);
        let mut desk = Desk::empty(&spec);
        desk.run();
        let first = (0..3).map(|i| match i < min_available {
            true => format!("prefill-{i}: base {}", 3 * min_available),
            false => format!("prefill-{i}: own 3*"),
        });
        assert_eq!(desk.gangs, first.collect::<Vec<_>>(), "base by index");
        desk.wait(60).plan();
        desk.forget();
        let passes = desk.wish(&at(&spec, "B")).run();
        assert_eq!(passes, "+3 | -0 | +0 | -1 | +1 | -2 | +2 | -3");
        assert_eq!(desk.gangs[0], "prefill-3: own 3", "the surge has a gang of its own");
        assert!(desk.creates.iter().all(|create| !create.gated));
        assert_eq!(desk.lowest("prefill"), 3);
    }
}

#[test]
fn partition_by_percentage_in_a_whole_rollout() {
    for (desired, partition, moved) in [
        (200, Percent(80), 160..200),
        (100, Percent(80), 80..100),
        (10, Percent(99), 9..10),
        (10, Percent(100), 0..0),
    ] {
        let spec = set(1, vec![keeping(within(role("r", desired, "A"), desired, 0), partition)]);
        let (_, desk) = rollout(&spec);
        let expected: String = (0..desired).map(|i| if moved.contains(&i) { "B" } else { "A" }).collect();
        assert_eq!(desk.line(0, "r"), expected);
        assert_eq!(desk.phase(), Phase::PartitionReached);
    }
}

#[test]
fn a_bad_image_takes_one_stalls_and_the_fix_replaces_it_free() {
    let spec = single(4, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![support::rev("B")];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-3 | +3");
    assert_eq!(desk.wait(599).run(), "");
    assert_eq!(desk.phase(), Phase::Progressing);
    assert_eq!(desk.wait(1).run(), "");
    assert_eq!((desk.phase(), desk.reasons()), (Phase::Stalled, vec![Reason::NotReadyYet]));
    assert_eq!((desk.line(0, "r"), desk.lowest("r")), ("AAAB".to_owned(), 3));
    let fix = desk.wish(&at(&spec, "C")).run();
    assert_eq!(fix, "x3 | +3 | -2 | +2 | -1 | +1 | -0 | +0");
    assert_eq!((desk.lowest("r"), desk.phase()), (3, Phase::Complete));
}

#[test]
fn a_bad_image_in_the_surge_is_removed_free_by_the_fix() {
    let spec = single(3, 0, 1);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![support::rev("B")];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "+3");
    assert_eq!(desk.wait(600).run(), "");
    assert_eq!((desk.phase(), desk.line(0, "r")), (Phase::Stalled, "AAAB".to_owned()));
    let fix = desk.wish(&at(&spec, "C")).run();
    assert_eq!(fix, "x3 | +3 | -2 | +2 | -1 | +1 | -0 | +0 | -3");
    assert_eq!(desk.lowest("r"), 3);
}

#[test]
fn a_surge_without_a_node_is_named() {
    let spec = single(3, 0, 1);
    let mut desk = Desk::complete(&spec);
    desk.homeless = vec![("r", 3)];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "+3");
    assert_eq!(desk.wait(600).run(), "");
    assert_eq!((desk.phase(), desk.reasons()), (Phase::Stalled, vec![Reason::SurgeUnschedulable]));
}

#[test]
fn slow_termination_under_a_ceiling_of_one_takes_one() {
    let rules = vec![ordered("canary", vec![update("r", Int(1)), pause(None)])];
    let spec = one_group(vec![within(role("r", 4, "A"), 2, 0)], rules);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "-3");
    for _ in 0..4 {
        assert_eq!(desk.wait(1).plan(), "");
    }
    assert_eq!(desk.run(), "+3");

    let mut slow = Scenario::ideal(spec.clone(), at(&spec, "B"));
    slow.nature.termination = Span::fixed(Millis::seconds(4));
    slow.nature.promote = false;
    let (outcome, events, broken) = play(&slow);
    let by_us = |what: &&What| matches!(what, What::Delete { by: By::Engine, .. });
    assert_eq!((outcome.end, broken), (End::Paused, vec![]));
    assert_eq!(events.iter().map(|event| &event.what).filter(by_us).count(), 1);
}

#[test]
fn a_pod_stuck_in_termination_is_waited_for() {
    let spec = single(4, 1, 0);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "-3");
    for _ in 0..10 {
        assert_eq!(desk.wait(60).plan(), "");
    }
    assert_eq!((desk.phase(), desk.reasons()), (Phase::Stalled, vec![Reason::WaitingForTermination]));
}

#[test]
fn scaling_from_ten_to_five_in_mid_rollout() {
    let spec = single(10, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 5);
    desk.start();
    desk.forget();
    let passes = desk.wish(&at(&single(5, 1, 0), "B")).run();
    assert!(passes.starts_with("-9 -8 -7 -6 -5 -4 | +4"), "{passes}");
    assert_eq!((desk.lowest("r"), desk.line(0, "r")), (4, "BBBBB".to_owned()));
}

#[test]
fn a_pod_deleted_by_hand_comes_back_without_surge() {
    let (_, mut desk) = rollout(&single(3, 0, 1));
    assert_eq!(desk.evict(0, "r", 1).run(), "+1");
    assert_eq!(desk.line(0, "r"), "BBB");
}

#[test]
fn a_partitioned_ordinal_returns_at_the_stable_revision() {
    let spec = set(1, vec![keeping(role("r", 3, "A"), Int(2))]);
    let (passes, mut desk) = rollout(&spec);
    assert_eq!((passes.as_str(), desk.phase()), ("-2 | +2", Phase::PartitionReached));
    desk.wait(3600);
    assert_eq!(desk.wish(&at(&spec, "C")).run(), "-2 | +2");
    assert_eq!(desk.evict(0, "r", 0).run(), "+0@A");
    assert_eq!(desk.line(0, "r"), "AAC");
}

#[test]
fn a_revert_takes_the_canary_back() {
    let spec = set(1, vec![keeping(role("r", 2, "A"), Int(1))]);
    let (passes, mut desk) = rollout(&spec);
    assert_eq!(passes, "-1 | +1");
    assert_eq!(desk.wish(&spec).run(), "-1 | +1");
    assert_eq!((desk.line(0, "r"), desk.phase()), ("AA".to_owned(), Phase::Complete));
}

#[test]
fn an_eviction_beside_a_bad_image_returns_old() {
    let spec = single(2, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![support::rev("B")];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-1 | +1");
    assert_eq!(desk.wait(60).evict(0, "r", 0).run(), "+0@A");
    assert_eq!(desk.line(0, "r"), "AB");
}

#[test]
fn a_full_surge_under_a_canary_of_one_makes_two_pods() {
    let rules = vec![ordered("canary", vec![update("r", Int(1)), pause(None)])];
    let mut spec = one_group(vec![within(role("r", 4, "A"), 0, 0)], rules);
    spec.roles[0].strategy.max_surge = Percent(100);
    let (passes, desk) = rollout(&spec);
    assert_eq!(passes, "+4 | -3 | +3");
    assert_eq!((desk.creates.len(), desk.reasons()), (2, vec![Reason::PauseStep]));
}

#[test]
fn step_three_reached_an_evicted_prefill_returns_updated() {
    let plan = steps(
        "order",
        &[("decode", Int(1)), ("prefill", Int(1)), ("prefill", Percent(100)), ("decode", Percent(100))],
    );
    let spec = one_group(vec![role("prefill", 4, "A"), role("decode", 2, "A")], vec![plan]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "prefill", "B") == 2);
    desk.start();
    desk.plan();
    desk.reap();
    desk.unready(0, "decode", 1).evict(0, "prefill", 2);
    let first = desk.plan();
    assert!(first.contains("+prefill-2") && !first.contains("+prefill-2@A"), "{first}");
}

#[test]
fn one_to_one_at_five_percent_with_steps_is_admitted() {
    for first in ["r0", "r1"] {
        let rules = vec![skew("skew", &["r0", "r1"], Percent(5)), steps("order", &[(first, Percent(75))])];
        let spec = one_group(vec![role("r0", 1, "A"), role("r1", 1, "A")], rules);
        assert_eq!(prove(Some(&spec), &at(&spec, "B")), Proof::Finishes);
        assert_eq!(rollout(&spec).1.phase(), Phase::Complete);
    }
}

#[test]
fn a_free_delete_says_so_and_unready_pods_go_first() {
    let spec = set(1, vec![with_workers(role("r", 2, "A"), 2)]);
    let mut desk = Desk::complete(&spec);
    desk.each(|_, _, i, pod| {
        if i == 0 && pod.member.as_str() == "worker" && pod.index == 1 {
            pod.unready = Some(lockstep_core::time::Time(0));
            pod.ready = None;
        }
    });
    let broken = desk.seen.groups[0].roles[0].instances[0].pods[2].uid.clone();
    desk.wish(&at(&spec, "B")).plan();
    let delete = &desk.deletes[0];
    assert_eq!((delete.of.instance, delete.paid, delete.why), (0, false, DeleteWhy::Repair));
    assert_eq!((delete.uids.len(), &delete.uids[0]), (3, &broken));
}
