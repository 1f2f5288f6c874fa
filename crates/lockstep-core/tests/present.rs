//! The rest of a rollout, played from what stands in its middle.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::model::{GangScheduler, Spec};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::simulate::trace::{By, End, Event, What};
use lockstep_core::simulate::{Present, Scenario, run};
use support::{at, role, set, skew};

/// Plays the rest from what a desk holds, and says what the engine replaces, in order.
fn rest(desk: &Desk, to: &Spec) -> (End, Vec<String>) {
    let present = Some(Present { snapshot: desk.seen.clone(), now: desk.now });
    let scenario = Scenario { present, ..Scenario::ideal(desk.spec.clone(), to.clone()) };
    let mut deleted = Vec::new();
    let outcome = run(&scenario, &mut |Event { what, .. }| {
        if let What::Delete { of, by: By::Engine, .. } = what {
            deleted.push(of.to_string());
        }
    });
    (outcome.end, deleted)
}

#[test]
fn what_is_updated_already_stays_and_the_rest_follows() {
    let spec = set(1, vec![role("web", 4, "A")]);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run_until(|desk| desk.at(0, "web", "B") == 2);
    assert_eq!(rest(&desk, &to), (End::Complete, vec!["0/web-1".to_owned(), "0/web-0".to_owned()]));
}

#[test]
fn one_that_is_terminating_and_one_that_starts_are_waited_for() {
    let spec = set(1, vec![within(role("web", 4, "A"), 2, 0)]);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    assert_eq!(desk.wish(&to).plan(), "-3 -2");
    // Nothing is deleted twice, and what goes comes back.
    assert_eq!(rest(&desk, &to), (End::Complete, vec!["0/web-1".to_owned(), "0/web-0".to_owned()]));
    desk.reap();
    desk.plan();
    assert_eq!(rest(&desk, &to), (End::Complete, vec!["0/web-1".to_owned(), "0/web-0".to_owned()]));
}

#[test]
fn whoever_turns_back_in_the_middle_sees_only_what_had_moved_go_back() {
    let roles = vec![role("prefill", 4, "A"), role("decode", 4, "A")];
    let mut spec = groups(2, RollingUpdate, 1, 0, roles);
    spec.rules = vec![skew("together", &["prefill", "decode"], Int(1))];
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(1, "prefill", "B") == 2);
    let (end, deleted) = rest(&desk, &spec);
    assert_eq!(end, End::Complete);
    assert!(deleted.iter().all(|of| of.starts_with("1/")), "{deleted:?}");
    assert_eq!(deleted.iter().filter(|of| of.contains("prefill")).count(), 2, "{deleted:?}");
}

#[test]
fn the_same_state_gives_the_same_rest() {
    let spec = set(2, vec![role("web", 3, "A")]);
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run_until(|desk| desk.at(1, "web", "B") == 1);
    assert_eq!(rest(&desk, &to), rest(&desk, &to));
    assert_eq!(desk.deletes.len() + rest(&desk, &to).1.len(), 6, "each is replaced once");
}

#[test]
fn what_rejoins_a_gang_of_pods_that_stand_finds_a_place() {
    let mut spec = set(1, vec![with_workers(role("web", 3, "A"), 1)]);
    spec.gang.scheduler = GangScheduler::PodGang;
    let mut desk = Desk::complete(&spec);
    let to = at(&spec, "B");
    desk.wish(&to).run_until(|desk| desk.at(0, "web", "B") == 1);
    assert_eq!(rest(&desk, &to).0, End::Complete);
}
