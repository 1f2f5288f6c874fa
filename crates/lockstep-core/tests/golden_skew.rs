//! Skew: updated fractions stay close together, and nothing waits in a circle.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use golden_support::ceilings::{self, NONE, ceilings, held_by};
use lockstep_core::blocked::Reason;
use lockstep_core::coordinate::scaling::{self, Growth};
use lockstep_core::coordinate::{self, Progress};
use lockstep_core::model::*;
use lockstep_core::names::RoleName;
use lockstep_core::number::{IntOrPercent, IntOrPercent::*, Limits};
use lockstep_core::simulate::Scenario;
use lockstep_core::simulate::trace::End;
use lockstep_core::status::Phase;
use support::{at, play, rev, role, skew};

/// Roles `r0`, `r1`, … of these sizes under one rule over all of them.
fn spanned(sizes: &[u32], max_skew: IntOrPercent) -> Spec {
    let names: Vec<String> = (0..sizes.len()).map(|i| format!("r{i}")).collect();
    let roles = names.iter().zip(sizes).map(|(name, size)| role(name, *size, "A")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    one_group(roles, vec![skew("together", &names, max_skew)])
}

#[test]
fn ceilings_are_the_least_of_the_others_and_the_skew() {
    for (why, sizes, ready, max_skew, expected) in [
        ("prefill waits, decode may go to 6", vec![40, 20], vec![10, 3], Percent(5), vec![8, 6]),
        ("the start of 200/100", vec![200, 100], vec![0, 0], Percent(1), vec![2, 1]),
        ("1/1: the slowest may have one", vec![1, 1], vec![0, 0], Percent(10), vec![1, 1]),
        ("100% never waits", vec![10, 10], vec![0, 0], Percent(100), vec![10, 10]),
        ("every slowest may have one", vec![3, 7], vec![0, 0], Percent(1), vec![1, 1]),
        ("ahead it waits", vec![3, 7], vec![1, 0], Percent(1), vec![0, 2]),
        ("absolute: of the smallest role", vec![40, 20], vec![0, 0], Int(2), vec![4, 2]),
        ("finished holds nobody", vec![4, 2], vec![4, 0], Percent(1), vec![NONE, NONE]),
        ("of three, the least counts", vec![10, 10, 10], vec![5, 3, 4], Percent(20), vec![5, 6, 5]),
        ("a role without instances is ignored", vec![4, 0], vec![1, 0], Percent(1), vec![NONE, NONE]),
        ("and not the smallest either", vec![40, 0, 20], vec![0, 0, 0], Int(1), vec![2, NONE, 1]),
    ] {
        assert_eq!(ceilings(&spanned(&sizes, max_skew), &ready), expected, "{why}");
    }
}

#[test]
fn growth_stays_close_by_the_same_formula() {
    for (why, sizes, there, max_skew, expected) in [
        ("the slowest may have one more", vec![4, 4], vec![0, 0], Percent(1), vec![(0, 1), (1, 1)]),
        ("ahead it waits", vec![4, 4], vec![2, 1], Percent(25), vec![(0, 2), (1, 3)]),
        ("in proportion", vec![10, 5], vec![4, 2], Percent(20), vec![(0, 6), (1, 3)]),
        ("absolute: of the smallest role", vec![10, 5], vec![0, 0], Int(2), vec![(0, 4), (1, 2)]),
        ("fully grown it holds nobody back", vec![4, 4], vec![4, 1], Percent(1), vec![]),
        (
            "of three, the least counts",
            vec![4, 4, 4],
            vec![3, 1, 2],
            Percent(50),
            vec![(0, 3), (1, 4), (2, 3)],
        ),
        ("without instances it is ignored", vec![4, 0, 2], vec![0, 0, 0], Int(1), vec![(0, 2), (2, 1)]),
        ("more than wished for is grown", vec![2, 4], vec![3, 1], Percent(1), vec![]),
    ] {
        let spec = spanned(&sizes, max_skew);
        let roles = spec.roles.iter().map(|role| role.name.clone()).collect();
        let rule = Scaling { roles, max_skew, progression: Progression::OrderReady };
        let growth = sizes.iter().zip(there).map(|(&desired, counted)| Growth { desired, counted });
        assert_eq!(scaling::ceilings(&spec, &rule, &growth.collect::<Vec<_>>()), expected, "{why}");
    }
}

#[test]
fn the_distance_is_that_of_the_slowest_unfinished_role_from_the_fastest() {
    for (sizes, ready, expected) in [
        (vec![10, 10], vec![5, 3], 200),
        (vec![10, 10, 10], vec![5, 3, 10], 700),
        (vec![10, 10], vec![10, 10], 0),
        (vec![40, 20], vec![10, 5], 0),
        (vec![40, 0, 20], vec![10, 0, 6], 50),
    ] {
        let spec = spanned(&sizes, Percent(10));
        let RuleKind::RollingUpdate(rule) = &spec.rules[0].kind else { panic!("a skew rule") };
        let progress =
            |(&desired, &ready): (&u32, &u32)| Progress { desired, eligible: desired, ready, settled: false };
        let progress: Vec<Progress> = sizes.iter().zip(&ready).map(progress).collect();
        assert_eq!(coordinate::skew::distance(&spec, rule, &progress), expected, "{ready:?} of {sizes:?}");
    }
}

#[test]
fn nobody_is_far_from_a_role_that_does_not_change() {
    let spec = spanned(&[4, 2], Percent(50));
    let RuleKind::RollingUpdate(rule) = &spec.rules[0].kind else { panic!("a skew rule") };
    let progress =
        |desired: u32, ready: u32, settled: bool| Progress { desired, eligible: desired, ready, settled };
    let distance = |progress: &[Progress]| coordinate::skew::distance(&spec, rule, progress);
    assert_eq!(distance(&[progress(4, 0, false), progress(2, 2, true)]), 0);
    assert_eq!(distance(&[progress(4, 0, false), progress(2, 2, false)]), 1000);
}

#[test]
fn a_settled_role_counts_as_finished_even_while_broken() {
    let spec = spanned(&[4, 4], Percent(1));
    let progress = |settled| Progress { desired: 4, eligible: 4, ready: 0, settled };
    assert_eq!(ceilings::of(&spec, &[progress(true), progress(false)]), [NONE, NONE]);
}

/// How many plans began to move something, each round ready before the next.
fn rounds(spec: &Spec) -> usize {
    let mut desk = Desk::complete(spec);
    let passes = desk.wish(&at(spec, "B")).run();
    assert_eq!(desk.phase(), Phase::Complete);
    passes.split(" | ").filter(|pass| pass.starts_with('-')).count()
}

#[test]
fn rounds_of_two_hundred_and_one_hundred() {
    for (percent, expected) in [(1, 100), (5, 20), (10, 10)] {
        let mut spec = spanned(&[200, 100], Percent(percent));
        spec.roles.iter_mut().for_each(|role| role.strategy.max_unavailable = Percent(percent));
        assert_eq!(rounds(&spec), expected, "at {percent}%");
    }
}

#[test]
fn small_roles_finish_and_a_wide_skew_never_waits() {
    assert_eq!(rounds(&spanned(&[1, 1], Percent(10))), 1);
    let mut wide = spanned(&[10, 10], Percent(100));
    wide.roles.iter_mut().for_each(|role| role.strategy.max_unavailable = Percent(100));
    assert_eq!(rounds(&wide), 1);
    let mut desk = Desk::complete(&wide);
    desk.wish(&at(&wide, "B")).run_until(|desk| {
        assert!(!desk.reasons().contains(&Reason::SkewHeld));
        false
    });
}

/// Asserts that two roles are within the skew, counting what is at `revision`.
fn close(desk: &Desk, (one, other): (&str, &str), revision: &str, percent: u64) {
    let size = |name: &str| u64::from(desk.spec.role(&RoleName::new(name)).map_or(0, |role| role.replicas));
    let (d, e) = (size(one), size(other));
    let (c, f) = (u64::from(desk.at(0, one, revision)), u64::from(desk.at(0, other, revision)));
    if c == d || f == e {
        return;
    }
    let apart = (c * e).abs_diff(f * d) * 100;
    let bound = (percent * d * e).max(100 * d.max(e));
    assert!(apart <= bound, "{one} {c}/{d}, {other} {f}/{e}, at most {percent}%");
}

#[test]
fn every_state_of_forty_to_twenty_stays_within_the_skew() {
    for (percent, unavailable) in [(5, 10), (10, 10), (10, 100), (25, 25), (1, 50)] {
        let mut spec = spanned(&[40, 20], Percent(percent));
        spec.roles.iter_mut().for_each(|role| role.strategy.max_unavailable = Percent(unavailable));
        let mut desk = Desk::complete(&spec);
        desk.wish(&at(&spec, "B")).run_until(|desk| {
            close(desk, ("r0", "r1"), "B", u64::from(percent));
            false
        });
        assert_eq!(desk.phase(), Phase::Complete);
        let (outcome, _, broken) = play(&Scenario::ideal(spec.clone(), at(&spec, "B")));
        assert_eq!((outcome.end, broken), (End::Complete, vec![]));
    }
}

#[test]
fn the_five_stages_of_the_table() {
    let mut spec = spanned(&[40, 20], Percent(5));
    spec.roles[0].strategy.max_unavailable = Int(10);
    spec.roles[1].strategy.max_unavailable = Int(5);
    for (stage, updated, next) in [
        ("1: begin", (0, 0), (2, 1)),
        ("2: prefill stops, decode goes on", (10, 3), (10, 6)),
        ("3: both go on", (10, 5), (12, 6)),
        ("4: decode is ahead, prefill goes on", (15, 8), (18, 8)),
        ("5: complete", (40, 20), (40, 20)),
    ] {
        let mut desk = Desk::complete(&spec);
        desk.wish(&at(&spec, "B"));
        desk.place("r0", 40 - updated.0..40, "B").place("r1", 20 - updated.1..20, "B");
        let moved = |desk: &Desk| (desk.at(0, "r0", "B"), desk.at(0, "r1", "B"));
        assert_eq!(moved(&desk), updated);
        desk.plan();
        desk.reap();
        desk.plan();
        assert_eq!(moved(&desk), next, "stage {stage}");
    }
}

#[test]
fn a_stuck_role_stops_the_others_within_the_bound() {
    let mut spec = spanned(&[8, 4], Percent(25));
    spec.roles[0].strategy.max_unavailable = Int(8);
    let mut desk = Desk::complete(&spec);
    let mut to = at(&spec, "B");
    to.roles[1].revision = rev("X");
    desk.bad = vec![rev("X")];
    desk.wish(&to).run();
    assert_eq!((desk.at(0, "r0", "B"), desk.at(0, "r1", "X")), (2, 1));
    assert!(desk.reasons().contains(&Reason::SkewHeld));
}

#[test]
fn the_strictest_rule_holds_and_of_two_alike_the_first() {
    let mut spec = spanned(&[8, 4], Percent(25));
    for (why, skews, rule) in [
        ("the second is stricter", [50, 25], 1),
        ("the first is stricter", [25, 50], 0),
        ("they are alike", [25, 25], 0),
    ] {
        spec.rules = skews.map(|percent| skew("rule", &["r0", "r1"], Percent(percent))).to_vec();
        assert_eq!(held_by(&spec, &[2, 0]), [Some(rule); 2], "{why}");
    }
}

#[test]
fn past_the_deadline_both_roles_return_within_the_skew() {
    let mut spec = spanned(&[8, 4], Percent(25));
    spec.on_failure = OnFailure::Rollback;
    spec.roles[0].strategy.max_unavailable = Int(2);
    let mut desk = Desk::complete(&spec);
    let mut to = at(&spec, "B");
    to.roles[1].revision = rev("X");
    desk.wish(&to).run_until(|desk| desk.at(0, "r1", "X") == 2);
    desk.bad = vec![rev("X")];
    desk.run();
    assert_eq!(desk.wait(599).run(), "");
    assert_eq!(desk.phase(), Phase::Progressing);
    desk.wait(1).run_until(|desk| {
        close(desk, ("r0", "r1"), "A", 25);
        false
    });
    desk.wait(1).run_until(|desk| {
        close(desk, ("r0", "r1"), "A", 25);
        false
    });
    assert_eq!(desk.phase(), Phase::RolledBack);
    assert_eq!((desk.line(0, "r0"), desk.line(0, "r1")), ("AAAAAAAA".to_owned(), "AAAA".to_owned()));
    assert!(desk.lowest("r0") >= 6 && desk.lowest("r1") >= 2);
    desk.wait(3600);
    assert_eq!(desk.run(), "", "held until the spec's revision changes");
    desk.bad.clear();
    desk.wish(&at(&spec, "C")).run();
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn by_default_a_stalled_rollout_is_held() {
    let spec = spanned(&[4, 4], Percent(25));
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    desk.wish(&at(&spec, "B")).run();
    let before = desk.line(0, "r0");
    assert_eq!(desk.wait(6000).run(), "");
    assert_eq!((desk.phase(), desk.line(0, "r0")), (Phase::Stalled, before));
}

#[test]
fn overlapping_rules_do_not_deadlock() {
    let sizes = [3, 7, 5, 11];
    let mut spec = spanned(&sizes, Percent(10));
    spec.rules = vec![
        skew("ab", &["r0", "r1"], Percent(10)),
        skew("bc", &["r1", "r2"], Percent(1)),
        skew("cd", &["r2", "r3"], Int(1)),
        skew("da", &["r3", "r0"], Percent(25)),
    ];
    let (outcome, _, broken) = play(&Scenario::ideal(spec.clone(), at(&spec, "B")));
    assert_eq!((outcome.end, broken), (End::Complete, vec![]));
}

#[test]
fn a_rule_overrides_its_roles_and_the_strictest_rule_wins() {
    let with =
        |name: &str, roles: &[&str], unavailable: Option<IntOrPercent>, partition: Option<IntOrPercent>| {
            let mut rule = skew(name, roles, Percent(100));
            if let RuleKind::RollingUpdate(skew) = &mut rule.kind {
                (skew.max_unavailable, skew.partition) = (unavailable, partition);
            }
            rule
        };
    let roles = || vec![within(role("a", 10, "A"), 1, 2), keeping(role("b", 20, "A"), Int(3))];
    for (why, rules, a, b) in [
        ("no rule", vec![], (1, 2, 0), (1, 0, 3)),
        (
            "one rule, percentages of each",
            vec![with("x", &["a", "b"], Some(Percent(30)), Some(Percent(80)))],
            (3, 2, 8),
            (6, 0, 16),
        ),
        (
            "a rule may be laxer than the role",
            vec![with("x", &["b"], Some(Int(5)), Some(Int(0)))],
            (1, 2, 0),
            (5, 0, 0),
        ),
        (
            "two rules, the strictest",
            vec![
                with("x", &["a"], Some(Int(4)), Some(Int(2))),
                with("y", &["a"], Some(Int(2)), Some(Int(5))),
            ],
            (2, 2, 5),
            (1, 0, 3),
        ),
        ("a rule that says nothing", vec![with("x", &["a", "b"], None, None)], (1, 2, 0), (1, 0, 3)),
    ] {
        let spec = one_group(roles(), rules);
        for (index, (unavailable, surge, partition)) in [a, b].into_iter().enumerate() {
            let found = coordinate::limits(&spec, &spec.roles[index]);
            assert_eq!(
                found,
                (Limits { unavailable, surge }, partition),
                "{why}: {}",
                spec.roles[index].name
            );
        }
    }
}

#[test]
fn a_partition_of_the_rule_pauses_all_of_its_roles() {
    let mut spec = spanned(&[10, 5], Percent(20));
    if let RuleKind::RollingUpdate(skew) = &mut spec.rules[0].kind {
        (skew.max_unavailable, skew.partition) = (Some(Percent(20)), Some(Percent(80)));
    }
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!((desk.line(0, "r0"), desk.line(0, "r1")), ("AAAAAAAABB".to_owned(), "AAAAB".to_owned()));
    assert_eq!(desk.phase(), Phase::PartitionReached);
}
