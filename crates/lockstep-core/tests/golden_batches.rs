//! Placement batches, and roles that grow side by side.

mod golden_support;
mod support;

use std::collections::BTreeMap;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::blocked::Reason;
use lockstep_core::model::*;
use lockstep_core::names::{RoleName, RuleName};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::snapshot::Memory;
use lockstep_core::status::Phase;
use support::role;

fn affinity(prefill: u32, decode: u32, batch_mode: BatchMode) -> Spec {
    let ratios = BTreeMap::from([(RoleName::new("prefill"), 2), (RoleName::new("decode"), 1)]);
    let rule = Affinity { topology_key: "kubernetes.io/hostname".to_owned(), ratios, batch_mode };
    let rule = Rule { name: RuleName::new("pair"), kind: RuleKind::AffinityScheduling(rule) };
    one_group(vec![role("prefill", prefill, "A"), role("decode", decode, "A")], vec![rule])
}

/// The batch of every instance that is created: `p0:0 p1:0 d0:0`; `?` where placement is only preferred.
fn batches(desk: &Desk) -> String {
    let batch = |create: &lockstep_core::plan::Create| {
        let batch = &create.batches[0];
        let preferred = if batch.required { "" } else { "?" };
        format!("{}{}:{}{preferred}", &create.of.role.as_str()[..1], create.of.instance, batch.batch)
    };
    desk.creates.iter().map(batch).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_batch_holds_instances_by_ratio() {
    for (prefill, decode, expected) in [
        (6, 3, "p0:0 p1:0 p2:1 p3:1 p4:2 p5:2 d0:0 d1:1 d2:2"),
        (5, 2, "p0:0 p1:0 p2:1 p3:1 p4:2? d0:0 d1:1"),
        (4, 4, "p0:0 p1:0 p2:1 p3:1 d0:0 d1:1 d2:2? d3:3?"),
        (1, 1, "p0:0? d0:0?"),
    ] {
        let mut desk = Desk::empty(&affinity(prefill, decode, BatchMode::Parallel));
        desk.plan();
        assert_eq!(batches(&desk), expected, "{prefill}/{decode}");
    }
}

#[test]
fn sequential_batches_wait_for_the_one_before() {
    let mut desk = Desk::empty(&affinity(6, 3, BatchMode::Sequential));
    let first = desk.plan();
    let gated: Vec<u32> = desk.creates.iter().filter(|c| c.gated).map(|c| c.of.instance).collect();
    assert_eq!(gated, [2, 3, 4, 5, 1, 2], "{first}");
    assert_eq!(desk.plan(), "", "bound is not ready");
    assert!(desk.reasons().contains(&Reason::BatchNotReady));
    desk.start();
    assert_eq!(desk.plan(), "^prefill-2 ^prefill-3 ^decode-1");
    desk.start();
    assert_eq!(desk.plan(), "^prefill-4 ^prefill-5 ^decode-2");
}

#[test]
fn parallel_batches_do_not_wait() {
    let mut desk = Desk::empty(&affinity(6, 3, BatchMode::Parallel));
    desk.plan();
    assert!(desk.creates.iter().all(|create| !create.gated));
}

#[test]
fn the_whole_batch_must_be_ready_at_one_observation() {
    let mut desk = Desk::empty(&affinity(4, 2, BatchMode::Sequential));
    desk.plan();
    desk.start();
    desk.unready(0, "prefill", 0);
    assert_eq!(desk.plan(), "");
    desk.back(0, "prefill", 0).unready(0, "decode", 0);
    assert_eq!(desk.plan(), "", "never all three at once");
    desk.back(0, "decode", 0);
    assert_eq!(desk.plan(), "^prefill-2 ^prefill-3 ^decode-1");
}

#[test]
fn a_batch_that_was_ready_once_holds_nobody_later() {
    let mut desk = Desk::complete(&affinity(4, 2, BatchMode::Sequential));
    desk.unready(0, "prefill", 0).evict(0, "decode", 1).plan();
    assert!(!desk.creates[0].gated);
}

#[test]
fn beyond_the_last_full_batch_instances_wait_for_it() {
    let mut desk = Desk::empty(&affinity(5, 2, BatchMode::Sequential));
    desk.plan();
    desk.start();
    assert_eq!(desk.plan(), "^prefill-2 ^prefill-3 ^decode-1");
    desk.start();
    assert_eq!(desk.plan(), "^prefill-4");
}

#[test]
fn far_beyond_the_last_full_batch_they_wait_for_no_more() {
    let mut desk = Desk::empty(&affinity(2, 4, BatchMode::Sequential));
    desk.plan();
    desk.start();
    assert_eq!(desk.plan(), "^decode-1 ^decode-2 ^decode-3");
}

#[test]
fn no_full_batch_no_gate() {
    for (prefill, decode) in [(1, 1), (1, 3)] {
        let mut desk = Desk::empty(&affinity(prefill, decode, BatchMode::Sequential));
        desk.plan();
        assert!(desk.creates.iter().all(|create| !create.gated), "{prefill}/{decode}");
    }
}

#[test]
fn each_sequential_batch_is_a_gang_of_its_own() {
    let mut spec = affinity(4, 2, BatchMode::Sequential);
    spec.gang.scheduler = GangScheduler::PodGang;
    let mut desk = Desk::empty(&spec);
    desk.plan();
    let expected = [
        "prefill-0: batch 0 3",
        "prefill-1: batch 0 3",
        "prefill-2: batch 1 3*",
        "prefill-3: batch 1 3*",
        "decode-0: batch 0 3",
        "decode-1: batch 1 3*",
    ];
    assert_eq!(desk.gangs, expected);
}

fn growing(prefill: u32, decode: u32, progression: Progression) -> Spec {
    let roles = ["prefill", "decode"].map(RoleName::new).to_vec();
    let rule = Scaling { roles, max_skew: Percent(25), progression };
    let rule = Rule { name: RuleName::new("grow"), kind: RuleKind::Scaling(rule) };
    one_group(vec![role("prefill", prefill, "A"), role("decode", decode, "A")], vec![rule])
}

#[test]
fn roles_that_grow_stay_within_the_skew_of_each_other() {
    let mut desk = Desk::complete(&growing(4, 2, Progression::OrderReady));
    let passes = desk.wish(&growing(8, 4, Progression::OrderReady)).run();
    assert_eq!(passes, "+prefill-4 +prefill-5 +decode-2 | +prefill-6 +prefill-7 +decode-3");
}

#[test]
fn a_role_that_does_not_start_holds_the_growth_of_the_others() {
    let mut desk = Desk::complete(&growing(4, 2, Progression::OrderReady));
    desk.homeless = vec![("decode", 2), ("decode", 3)];
    desk.wish(&growing(8, 4, Progression::OrderReady)).run();
    assert_eq!((desk.line(0, "prefill"), desk.line(0, "decode")), ("AAAAAA".to_owned(), "AAAA".to_owned()));
    assert!(desk.reasons().contains(&Reason::ScalingHeld));
}

#[test]
fn scheduled_is_enough_where_the_rule_says_so() {
    let mut desk = Desk::complete(&growing(4, 2, Progression::OrderScheduled));
    desk.wish(&growing(8, 4, Progression::OrderScheduled));
    assert_eq!(desk.plan(), "+prefill-4 +prefill-5 +decode-2");
    assert_eq!(desk.plan(), "+prefill-6 +prefill-7 +decode-3", "bound, none of them ready");
}

#[test]
fn what_had_grown_returns_at_once() {
    let mut desk = Desk::complete(&growing(8, 4, Progression::OrderReady));
    desk.evict(0, "prefill", 7).evict(0, "prefill", 6).evict(0, "prefill", 5);
    assert_eq!(desk.plan(), "+prefill-5 +prefill-6 +prefill-7");
}

#[test]
fn the_slowest_may_always_have_one_more() {
    let mut to = growing(3, 7, Progression::OrderReady);
    if let RuleKind::Scaling(rule) = &mut to.rules[0].kind {
        rule.max_skew = Percent(1);
    }
    let mut from = to.clone();
    (from.roles[0].replicas, from.roles[1].replicas) = (1, 1);
    let mut desk = Desk::complete(&from);
    desk.wish(&to).run();
    assert_eq!((desk.line(0, "prefill"), desk.line(0, "decode")), ("AAA".to_owned(), "AAAAAAA".to_owned()));
}

#[test]
fn batches_know_what_was_ready_without_memory() {
    let mut desk = Desk::complete(&affinity(6, 3, BatchMode::Sequential));
    desk.unready(0, "prefill", 0);
    desk.seen.memory = Memory::default();
    desk.evict(0, "decode", 1).plan();
    assert!(!desk.creates[0].gated, "batch 2 runs, so those before it were ready");
}

#[test]
fn growth_does_not_wait_for_what_a_gang_holds() {
    let mut x = with_workers(role("x", 4, "A"), 1);
    x.min_available = Some(Int(1));
    let growth = Scaling {
        roles: vec![RoleName::new("x"), RoleName::new("y")],
        max_skew: Percent(10),
        progression: Progression::OrderReady,
    };
    let rule = Rule { name: RuleName::new("growth"), kind: RuleKind::Scaling(growth) };
    let mut spec = one_group(vec![x, role("y", 4, "A")], vec![rule]);
    spec.gang.scheduler = GangScheduler::PodGang;
    // x-1 waits for the base gang, which is whole with y-3; y-2 must not wait for x-1.
    let mut desk = Desk::empty(&spec);
    desk.run();
    assert_eq!((desk.line(0, "x"), desk.line(0, "y")), ("AAAA".to_owned(), "AAAA".to_owned()));
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn growth_waits_for_what_a_start_order_holds() {
    let growth = Scaling {
        roles: vec![RoleName::new("x"), RoleName::new("y")],
        max_skew: Percent(25),
        progression: Progression::OrderReady,
    };
    let rule = Rule { name: RuleName::new("growth"), kind: RuleKind::Scaling(growth) };
    let mut spec = one_group(vec![role("x", 4, "A"), role("y", 4, "A"), role("z", 1, "A")], vec![rule]);
    spec.roles[0].starts_after = vec![RoleName::new("z")];
    let mut desk = Desk::empty(&spec);
    desk.homeless = vec![("z", 0)];
    desk.run();
    assert_eq!((desk.line(0, "x"), desk.line(0, "y")), ("AA".to_owned(), "A".to_owned()));
    let mut desk = Desk::empty(&spec);
    desk.run();
    assert_eq!(desk.phase(), Phase::Complete);
}
