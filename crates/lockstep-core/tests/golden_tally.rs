//! Groups as they are added up over clusters: standing, reliable, begun, done, under way.

#![allow(clippy::unwrap_used)]

mod golden_support;
mod support;

use std::cell::RefCell;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::model::*;
use lockstep_core::number::IntOrPercent::Int;
use support::{at, rev, role};

fn pair() -> Vec<Role> {
    vec![role("prefill", 2, "A"), role("decode", 1, "A")]
}

fn tally(desk: &Desk) -> String {
    let it = desk.last.as_ref().unwrap().status.tally;
    let new = if it.creates_updated { "+" } else { "" };
    format!("{}/{}/{}/{}/{}{new}", it.standing, it.reliable, it.begun, it.done, it.under_way)
}

/// What is said on the way, each once in a row.
fn told(desk: &mut Desk, stop: impl Fn(&Desk) -> bool) -> String {
    let told: RefCell<Vec<String>> = RefCell::default();
    desk.run_until(|desk| {
        let (mut told, now) = (told.borrow_mut(), tally(desk));
        if told.last() != Some(&now) {
            told.push(now);
        }
        stop(desk)
    });
    told.into_inner().join(" ")
}

#[test]
fn one_on_its_way_is_not_counted_on() {
    for (why, spec, words) in [
        (
            "in place",
            groups(2, RollingUpdate, 1, 0, pair()),
            "2/2/0/0/0 2/1/1/0/1 2/2/1/1/0 2/1/2/1/1 2/2/2/2/0",
        ),
        (
            "recreated",
            groups(2, GroupRecreate, 1, 0, pair()),
            "2/2/0/0/0 1/1/0/0/0 2/1/1/0/1 2/2/1/1/0 1/1/1/1/0 2/1/2/1/1 2/2/2/2/0",
        ),
        (
            "by surge, which is no progress",
            groups(2, RollingUpdate, 0, 1, pair()),
            "2/2/0/0/0 3/2/0/0/0 3/3/0/0/0 3/2/1/0/1 3/3/1/1/0 3/2/2/1/1 3/3/2/2/0 2/2/2/2/0+",
        ),
    ] {
        let mut desk = Desk::complete(&spec);
        desk.wish(&at(&spec, "B"));
        assert_eq!(told(&mut desk, |_| false), words, "{why}");
    }
}

#[test]
fn a_first_start_creates_only_new_ones() {
    let mut desk = Desk::empty(&groups(2, RollingUpdate, 1, 0, pair()));
    assert_eq!(told(&mut desk, |_| false), "0/0/0/0/0+ 2/0/2/0/0+ 2/2/2/2/0+");
}

#[test]
fn held_halfway_it_stays_what_it_was() {
    let spec = groups(2, RollingUpdate, 1, 0, pair());
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(1, "decode", "B") == 1);
    let mut held = at(&spec, "B");
    held.paused = true;
    // The group that is half rolled becomes available, and is not reliable.
    assert_eq!(desk.wish(&held).run(), "");
    assert_eq!(tally(&desk), "2/1/1/0/1");
    assert_eq!(desk.evict(1, "decode", 0).evict(0, "decode", 0).run(), "+0/decode-0@A +1/decode-0");
    assert_eq!(tally(&desk), "2/1/1/0/1");
}

#[test]
fn what_a_partition_keeps_is_not_begun() {
    let mut to = at(&groups(3, RollingUpdate, 1, 0, pair()), "B");
    to.strategy.partition = Int(2);
    let mut desk = Desk::complete(&at(&to, "A"));
    assert_eq!(told(desk.wish(&to), |_| false), "3/3/0/0/0 3/2/1/0/1 3/3/1/1/0");
}

/// On the way back nothing is new, and what is not back yet is not old.
#[test]
fn taken_back_it_is_never_done() {
    let mut spec = groups(2, RollingUpdate, 1, 0, pair());
    spec.on_failure = OnFailure::Rollback;
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    desk.wish(&at(&spec, "B")).run();
    assert_eq!(tally(&desk), "2/1/1/0/1");
    desk.wait(600).plan();
    assert_eq!(told(&mut desk, |_| false), "2/1/1/0/1 2/1/1/0/0 2/1/0/0/0 2/2/0/0/0");
}
