//! A surge that somebody deletes is tried again, at once and then less and less often, and it is said why.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::blocked::Reason;
use lockstep_core::model::Spec;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::status::Phase;
use lockstep_core::verbs;
use support::{at, rev, role, set};

fn single() -> Spec {
    set(1, vec![within(role("r", 3, "A"), 0, 1)])
}

/// In the middle of a rollout whose surge never gets ready.
fn stuck(spec: &Spec) -> Desk {
    let mut desk = Desk::complete(spec);
    desk.bad = vec![rev("B")];
    desk.wish(&at(spec, "B")).run();
    desk
}

#[test]
fn a_deleted_surge_comes_back_at_once_and_then_backs_off() {
    let mut desk = stuck(&single());
    assert_eq!(desk.evict(0, "r", 3).run(), "+3", "at once");
    for delay in [30, 60, 120, 240, 480, 600] {
        assert_eq!(desk.evict(0, "r", 3).wait(delay - 1).plan(), "");
        assert_eq!(desk.reasons(), [Reason::RestartBackoff], "{:?}", desk.blocked());
        assert_eq!(desk.wait(1).plan(), "+3", "after {delay} s");
        desk.plan();
    }
    assert_eq!(desk.line(0, "r"), "AAAB", "nothing old went");
}

#[test]
fn what_waits_is_said_with_its_name_and_its_rule() {
    let mut desk = stuck(&single());
    desk.evict(0, "r", 3).run();
    desk.evict(0, "r", 3).plan();
    let said = desk.blocked();
    let expected = "surge llama-0/r-3 was deleted 2 times in a row and waits before it is made anew";
    assert_eq!((said[0].message.as_str(), said[0].what.as_str()), (expected, "llama-0/r-3"));
    assert_eq!(said[0].rule, "roles[r].updateStrategy.maxSurge");
    let due = desk.last.as_ref().and_then(|plan| plan.wake);
    assert_eq!(due.map(|due| due.since(desk.now).0), Some(30_000), "and it wakes by itself");
}

#[test]
fn a_surge_that_stood_for_long_is_tried_at_once_again() {
    let mut desk = stuck(&single());
    for _ in 0..2 {
        assert_eq!(desk.evict(0, "r", 3).run(), "+3");
        desk.wait(631).run();
    }
}

#[test]
fn another_target_begins_anew_and_so_does_a_retry() {
    let spec = single();
    let mut desk = stuck(&spec);
    desk.evict(0, "r", 3).run();
    assert_eq!(desk.evict(0, "r", 3).run(), "");
    let mut other = desk.clone();
    assert_eq!(other.wish(&at(&spec, "C")).plan(), "+3", "it is another surge");
    let passes = other.run();
    assert!(passes.ends_with("-3"), "{passes}");
    assert!(other.seen.memory.surges.is_empty(), "nothing is left of it");
    assert_eq!(verbs::back_offs(&desk.seen.memory), 1);
    verbs::retry(&mut desk.seen.memory, desk.now);
    assert_eq!(desk.run(), "+3");
}

#[test]
fn what_the_engine_removes_itself_is_not_missed() {
    let spec = single();
    let mut desk = Desk::complete(&spec);
    for to in ["B", "A", "B", "A"] {
        assert_eq!(desk.wish(&at(&spec, to)).run(), "+3 | -2 | +2 | -1 | +1 | -0 | +0 | -3", "to {to}");
        assert!(desk.seen.memory.surges.is_empty());
    }
    // A target that changes back and forth takes its surge away each time.
    desk.bad = vec![rev("B"), rev("C")];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "+3");
    assert_eq!(desk.wish(&at(&spec, "C")).run(), "x3 | +3");
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "x3 | +3");
}

#[test]
fn other_instances_come_back_at_once_as_ever() {
    let mut desk = stuck(&single());
    for _ in 0..4 {
        assert_eq!(desk.evict(0, "r", 1).run(), "+1");
    }
    assert_eq!(desk.evict(0, "r", 3).run(), "+3");
    assert_eq!(desk.evict(0, "r", 3).evict(0, "r", 0).run(), "+0@A", "while the surge waits");
}

#[test]
fn a_surge_group_backs_off_too() {
    let spec = groups(2, GroupRecreate, 0, 1, vec![role("r", 1, "A"), role("q", 1, "A")]);
    let mut desk = stuck(&spec);
    let lose = |desk: &mut Desk| {
        desk.evict(2, "r", 0).evict(2, "q", 0);
    };
    lose(&mut desk);
    assert_eq!(desk.run(), "+2/r-0 +2/q-0", "at once");
    lose(&mut desk);
    assert_eq!(desk.wait(29).plan(), "");
    assert_eq!(desk.reasons(), [Reason::RestartBackoff], "{:?}", desk.blocked());
    assert_eq!(desk.blocked()[0].what, "llama-2");
    assert_eq!(desk.wait(1).plan(), "+2/r-0 +2/q-0");
    desk.bad.clear();
    desk.run();
    assert_eq!(desk.phase(), Phase::Complete);
}
