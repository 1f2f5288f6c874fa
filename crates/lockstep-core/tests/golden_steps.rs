//! Ordered steps, pauses, and what a person may say to a rollout.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use golden_support::ceilings::{NONE, ceilings};
use lockstep_core::blocked::Reason;
use lockstep_core::model::*;
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::simulate::Scenario;
use lockstep_core::simulate::trace::End;
use lockstep_core::status::Phase;
use lockstep_core::time::Millis;
use lockstep_core::verbs;
use support::{at, play, rev, role, set, skew, steps};

fn pd(rules: Vec<Rule>) -> Spec {
    one_group(vec![role("prefill", 4, "A"), role("decode", 2, "A")], rules)
}

fn kthena() -> Rule {
    let (one, all) = (Int(1), Percent(100));
    steps("order", &[("decode", one), ("prefill", one), ("prefill", all), ("decode", all)])
}

/// What was replaced, in order.
fn replaced(spec: &Spec) -> (String, Desk) {
    let mut desk = Desk::complete(spec);
    desk.wish(&at(spec, "B")).run();
    let names: Vec<String> =
        desk.creates.iter().map(|c| format!("{}{}", &c.of.role.as_str()[..1], c.of.instance)).collect();
    (names.join(" "), desk)
}

#[test]
fn six_replacements_in_order_and_never_more_than_one_down() {
    let (order, desk) = replaced(&pd(vec![kthena()]));
    assert_eq!(order, "d1 p3 p2 p1 p0 d0");
    assert_eq!((desk.most_down, desk.deletes.len(), desk.phase()), (1, 6, Phase::Complete));
}

#[test]
fn ceilings_are_the_largest_targets_named_so_far() {
    let spec = pd(vec![kthena()]);
    for (ready, expected) in [
        ([0, 0], [0, 1]),
        ([0, 1], [1, 1]),
        ([1, 1], [4, 1]),
        ([3, 1], [4, 1]),
        ([4, 1], [4, 2]),
        ([4, 2], [NONE, NONE]),
        ([3, 0], [0, 1]),
    ] {
        assert_eq!(ceilings(&spec, &ready), expected, "prefill and decode at {ready:?}");
    }
    let mut more = spec.clone();
    more.roles.push(role("router", 2, "A"));
    assert_eq!(ceilings(&more, &[0, 0, 0]), [0, 1, NONE], "router is in no step");
}

#[test]
fn orders_of_replacement() {
    let all = Percent(100);
    let web = |rules| one_group(vec![role("frontend", 4, "A"), role("backend", 2, "A")], rules);
    for (why, spec, order) in [
        (
            "half a frontend, the backend, the rest",
            web(vec![steps("s", &[("frontend", Percent(50)), ("backend", all), ("frontend", all)])]),
            "f3 f2 b1 b0 f1 f0",
        ),
        ("no rule", web(vec![]), "f3 b1 f2 b0 f1 f0"),
        ("empty steps are no rule", web(vec![ordered("s", vec![])]), "f3 b1 f2 b0 f1 f0"),
        (
            "when all steps are met the rest follows",
            web(vec![steps("s", &[("backend", Int(1)), ("frontend", Int(1))])]),
            "b1 f3 f2 b0 f1 f0",
        ),
        (
            "what the steps name but not yet waits",
            web(vec![steps("s", &[("backend", all), ("frontend", Int(1))])]),
            "b1 b0 f3 f2 f1 f0",
        ),
        (
            "targets are cumulative",
            web(vec![steps("s", &[("frontend", Int(2)), ("frontend", Int(3)), ("backend", all)])]),
            "f3 f2 f1 b1 b0 f0",
        ),
    ] {
        assert_eq!(replaced(&spec).0, order, "{why}");
    }
}

#[test]
fn a_role_in_no_step_rolls_freely() {
    let mut spec = pd(vec![steps("s", &[("decode", Int(1)), ("prefill", Percent(100))])]);
    spec.roles.push(role("router", 2, "A"));
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("X")];
    let mut to = at(&spec, "B");
    to.roles[1].revision = rev("X");
    desk.wish(&to).run();
    assert_eq!((desk.line(0, "prefill"), desk.line(0, "decode")), ("AAAA".to_owned(), "AX".to_owned()));
    assert_eq!(desk.line(0, "router"), "BB");
    assert!(desk.reasons().contains(&Reason::StepNotReady));
}

#[test]
fn an_unchanged_role_meets_its_steps_at_once() {
    let spec = pd(vec![kthena()]);
    let mut desk = Desk::complete(&spec);
    desk.unready(0, "decode", 1).wait(5);
    let mut to = spec.clone();
    to.roles[0].revision = rev("B");
    assert_eq!(
        desk.wish(&to).run(),
        "-prefill-3 | +prefill-3 | -prefill-2 | +prefill-2 | -prefill-1 | +prefill-1 | -prefill-0 | +prefill-0"
    );
}

#[test]
fn a_canary_that_loses_readiness_stops_what_follows_and_undoes_nothing() {
    let spec = pd(vec![kthena()]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "prefill", "B") == 2);
    desk.start();
    desk.unready(0, "decode", 1);
    assert_eq!(desk.run(), "");
    assert!(desk.reasons().iter().all(|reason| *reason == Reason::StepNotReady));
    assert_eq!((desk.line(0, "prefill"), desk.line(0, "decode")), ("AABB".to_owned(), "AB".to_owned()));
    desk.back(0, "decode", 1);
    assert!(desk.run().starts_with("-prefill-1 | +prefill-1"));
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn steps_hold_in_every_group() {
    let mut spec = pd(vec![kthena()]);
    spec.replicas = 3;
    let (outcome, _, broken) = play(&Scenario::ideal(spec.clone(), at(&spec, "B")));
    assert_eq!((outcome.end, broken), (End::Complete, vec![]));
}

#[test]
fn prefill_to_the_end_before_decode_under_one_percent_is_a_conflict() {
    let rules = vec![
        skew("close", &["prefill", "decode"], Percent(1)),
        steps("order", &[("prefill", Percent(100)), ("decode", Percent(100))]),
    ];
    let spec = pd(rules);
    let Proof::Blocked(blocked) = prove(Some(&spec), &at(&spec, "B")) else { panic!("it cannot finish") };
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    for found in [blocked.as_slice(), desk.blocked()] {
        let conflict = found.iter().find(|b| b.reason == Reason::RulesConflict).expect("a conflict");
        for rule in ["close", "order"] {
            assert!(conflict.rule.contains(rule) && conflict.message.contains(rule), "{conflict:?}");
        }
    }
    assert_eq!((desk.at(0, "prefill", "B"), desk.at(0, "decode", "B")), (1, 0), "no promise is broken");
}

#[test]
fn steps_and_skew_that_fit_are_admitted_and_both_hold() {
    let rules = vec![
        skew("close", &["prefill", "decode"], Percent(50)),
        steps("order", &[("prefill", Percent(50)), ("decode", Percent(50)), ("prefill", Percent(100))]),
    ];
    let spec = pd(rules);
    assert_eq!(prove(Some(&spec), &at(&spec, "B")), Proof::Finishes);
    assert_eq!(replaced(&spec).0, "p3 p2 d1 p1 p0 d0");
}

fn canary(duration: Option<Millis>) -> Spec {
    let plan = vec![update("r", Int(1)), pause(duration), update("r", Percent(100))];
    one_group(vec![role("r", 3, "A")], vec![ordered("canary", plan)])
}

#[test]
fn a_pause_with_a_duration_ends_by_itself() {
    let spec = canary(Some(Millis::minutes(5)));
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 | +2");
    assert_eq!(desk.reasons(), [Reason::PauseStep]);
    assert_eq!(desk.wait(299).run(), "");
    assert_eq!(desk.wait(1).run(), "-1 | +1 | -0 | +0");
}

#[test]
fn a_pause_without_end_holds_until_promoted_and_is_no_stall() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 | +2");
    assert_eq!(desk.wait(1_000_000).run(), "");
    assert_eq!(desk.phase(), Phase::Progressing);
    let to = desk.spec.clone();
    assert_eq!(verbs::promote(&to, &mut desk.seen.memory, None, desk.now), 1);
    assert_eq!(desk.run(), "-1 | +1 | -0 | +0");
}

#[test]
fn a_promotion_belongs_to_its_revision() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run();
    verbs::promote(&to, &mut desk.seen.memory, None, desk.now);
    assert_eq!(desk.wish(&at(&spec, "C")).run(), "-2 | +2");
    assert_eq!(desk.reasons(), [Reason::PauseStep]);
}

#[test]
fn a_promotion_ends_with_its_rollout() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run();
    verbs::promote(&to, &mut desk.seen.memory, None, desk.now);
    desk.run();
    assert_eq!((desk.phase(), desk.seen.memory.promoted.len()), (Phase::Complete, 0));
    let next = at(&spec, "C");
    desk.wish(&next).run();
    verbs::promote(&next, &mut desk.seen.memory, None, desk.now);
    desk.run();
    assert_eq!(desk.wish(&to).run(), "-2 | +2", "it pauses as it did the first time");
    assert_eq!(desk.reasons(), [Reason::PauseStep]);
}

#[test]
fn nothing_is_promoted_where_no_pause_holds() {
    let spec = canary(Some(Millis::minutes(1)));
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run();
    assert_eq!(desk.reasons(), [Reason::PauseStep]);
    desk.wait(61_000);
    assert_eq!(verbs::promote(&to, &mut desk.seen.memory, None, desk.now), 0, "its time is over");
    desk.run();
    assert_eq!(desk.phase(), Phase::Complete);
    let endless = at(&canary(None), "C");
    desk.wish(&endless).run();
    assert_eq!(verbs::promote(&endless, &mut desk.seen.memory, None, desk.now), 1);
    desk.run();
    assert_eq!(desk.phase(), Phase::Complete);
    assert_eq!(verbs::promote(&endless, &mut desk.seen.memory, None, desk.now), 0, "it is complete");
}

#[test]
fn whoever_goes_back_to_what_was_complete_does_not_wait_in_a_pause() {
    let spec = canary(None);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!(desk.reasons(), [Reason::PauseStep]);
    assert_eq!(desk.wish(&spec).run(), "-2 | +2");
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn pauses_hold_per_group_and_are_promoted_one_by_one_or_all() {
    let mut spec = canary(None);
    spec.replicas = 3;
    spec.strategy.max_unavailable = Int(3);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    assert_eq!(desk.wish(&to).run(), "-0/r-2 -1/r-2 -2/r-2 | +0/r-2 +1/r-2 +2/r-2");
    assert_eq!(verbs::promote(&to, &mut desk.seen.memory, Some(1), desk.now), 1);
    assert_eq!(desk.run(), "-1/r-1 | +1/r-1 | -1/r-0 | +1/r-0");
    assert_eq!(verbs::promote(&to, &mut desk.seen.memory, None, desk.now), 1);
    desk.run();
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn paused_nothing_moves_but_recovery_and_scaling_go_on() {
    let spec = set(1, vec![within(role("r", 4, "A"), 1, 0)]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 2);
    desk.start();
    let mut held = at(&spec, "B");
    held.paused = true;
    assert_eq!(desk.wish(&held).run(), "");
    assert_eq!((desk.phase(), desk.reasons()), (Phase::Paused, vec![Reason::Paused]));
    assert_eq!(desk.evict(0, "r", 0).run(), "+0@A");
    assert_eq!(desk.evict(0, "r", 3).run(), "+3");
    held.roles[0].replicas = 5;
    assert_eq!(desk.wish(&held).run(), "+4@A");
    assert_eq!(desk.wait(10_000).run(), "");
    assert_eq!(desk.phase(), Phase::Paused, "waiting on purpose is no stall");
    held.paused = false;
    desk.wish(&held).run();
    assert_eq!((desk.line(0, "r"), desk.phase()), ("BBBBB".to_owned(), Phase::Complete));
}

#[test]
fn paused_keeps_the_surge() {
    let spec = set(1, vec![within(role("r", 3, "A"), 0, 1)]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 2);
    desk.start();
    let mut held = at(&spec, "B");
    held.paused = true;
    assert_eq!(desk.wish(&held).run(), "");
    assert_eq!(desk.line(0, "r"), "AABB");
}

#[test]
fn abort_returns_to_the_stable_revision_and_leaves_the_spec() {
    let spec = pd(vec![kthena()]);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run_until(|desk| desk.at(0, "prefill", "B") == 2);
    desk.start();
    verbs::abort(&to, &mut desk.seen.memory);
    desk.run();
    assert_eq!((desk.line(0, "prefill"), desk.line(0, "decode")), ("AAAA".to_owned(), "AA".to_owned()));
    assert_eq!((desk.phase(), desk.most_down), (Phase::RolledBack, 2), "one of each role at most");
    assert_eq!(desk.wait(3600).run(), "");
    desk.wish(&at(&spec, "C")).run();
    assert_eq!((desk.line(0, "prefill"), desk.phase()), ("CCCC".to_owned(), Phase::Complete));
}

#[test]
fn retry_clears_the_stall() {
    let spec = set(1, vec![role("r", 3, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    desk.wish(&at(&spec, "B")).run();
    desk.wait(601).plan();
    assert_eq!(desk.phase(), Phase::Stalled);
    let now = desk.now;
    verbs::retry(&mut desk.seen.memory, now);
    desk.plan();
    assert_eq!(desk.phase(), Phase::Progressing);
    desk.wait(600).plan();
    assert_eq!(desk.phase(), Phase::Stalled);
}
