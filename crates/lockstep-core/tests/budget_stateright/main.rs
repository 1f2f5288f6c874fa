//! Every order of events around small budgets, driving the protocol itself: two replicas of the webhook and
//! the controller, each with a view of the pods that may be old, requests step by step, deletes that fail,
//! pods that come back, promises that lapse. Admitted removals never take down more units than a budget
//! allows, and what was let go and stayed can be removed again.
//!
//! `LOCKSTEP_LONG` set to anything adds the larger ones. `--nocapture` shows the number of states.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

mod follow;
mod keeper;
mod request;
mod setup;
mod state;
mod steps;
mod tally;
mod truth;

use lockstep_core::budget::Operation::{Delete, Evict};
use setup::{BEHIND, Flaw, Setup, grouped, per_pod};
use stateright::{Checker, HasDiscoveries, Model};
use steps::{BUDGET, FLOOR, Protocol, Step};
use tally::{Event, Tally};

fn protocol(setup: Setup) -> Protocol {
    Protocol { setup, tally: Tally::default() }
}

/// Tries everything, prints how much that was, and says how often what happened.
fn check(name: &str, setup: Setup) -> Tally {
    let started = std::time::Instant::now();
    let checker = protocol(setup).checker().threads(threads()).spawn_bfs().join();
    let (unique, all) = (checker.unique_state_count(), checker.state_count());
    let tally = checker.model().tally.clone();
    println!("{name}: {unique} states, {all} steps, {:?}\n    {tally:?}", started.elapsed());
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        tell(path.into_actions());
        panic!("{name}: not so: {property}");
    }
    for event in [Event::Admitted, Event::Landed, Event::Lost] {
        assert!(tally.of(event) > 0, "{name}: {event:?} never comes about");
    }
    tally
}

fn tell(steps: Vec<Step>) {
    steps.iter().for_each(|step| println!("    {step:?}"));
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn long() -> bool {
    std::env::var_os("LOCKSTEP_LONG").is_some()
}

/// So many groups of one pod, of which one may be down.
fn singles(groups: usize, requests: u8) -> Setup {
    Setup::new(&vec![1; groups], &[grouped(1, 1)], requests)
}

/// So many groups of two pods that need both, of which one may be down.
fn pairs(groups: usize, requests: u8) -> Setup {
    Setup::new(&vec![2; groups], &[grouped(1, 2)], requests)
}

/// The same pods by group and one by one.
fn counted_twice(requests: u8) -> Setup {
    Setup::new(&[2, 2], &[grouped(1, 2), per_pod(1)], requests)
}

fn by_all_means(setup: Setup) -> Setup {
    Setup { operations: vec![Evict, Delete], ..setup }
}

/// Time enough for a promise to lapse and for somebody to rely on that.
fn for_long(setup: Setup) -> Setup {
    Setup { ticks: 4, behind: BEHIND, ..setup }
}

#[test]
fn requests_that_meet() {
    let tally = check("2 of 1, 3 evictions", singles(2, 3));
    assert!(tally.of(Event::Refused) > 0 && tally.of(Event::Conflicts) > 0 && tally.of(Event::Kept) > 0);
    check("2 of 1, 2 removals", by_all_means(singles(2, 2)));
    check("2 of 1, remembered, 2 evictions", Setup { gaps: true, counted: false, ..singles(2, 2) });
    check("3 of 1, 2 evictions", singles(3, 2));
    check("2 of 2, 2 removals", by_all_means(pairs(2, 2)));
}

#[test]
fn surplus_is_free_once() {
    check("2+1 that need 1, 2 removals", by_all_means(Setup::new(&[2, 1], &[grouped(1, 1)], 2)));
    let none = Setup::new(&[2], &[grouped(0, 1)], 2);
    check("1 of 2 that needs 1, none may be down, 2 removals", by_all_means(none));
}

#[test]
fn promises_that_lapse() {
    let tally = check("2 of 1, 2 evictions, time", Setup { cached: true, ..for_long(singles(2, 2)) });
    assert!(tally.of(Event::Lapsed) > 0 && tally.of(Event::Lost) > 0);
    let tally = check("2 of 2, 2 evictions, time", Setup { ticks: 3, ..pairs(2, 2) });
    assert!(tally.of(Event::Lapsed) > 0);
}

#[test]
fn two_budgets_and_what_is_given_back() {
    let tally = check("2 of 2, by group and by pod, 2 evictions", counted_twice(2));
    assert!(tally.of(Event::GivenBack) > 0);
}

#[test]
fn units_that_fail_by_themselves() {
    check("2 of 2, one not ready, 2 evictions", Setup { unready: vec![0], lag: 2, ..pairs(2, 2) });
    check("2 of 1, a blink, 2 evictions", Setup { blinks: 1, lag: 2, ..singles(2, 2) });
}

#[test]
fn larger_budgets() {
    if !long() {
        return;
    }
    check("2 of 1, 3 removals", by_all_means(singles(2, 3)));
    check("2 of 1, remembered, 3 evictions", Setup { gaps: true, counted: false, ..singles(2, 3) });
    check("2+1 that need 1, 3 evictions", Setup::new(&[2, 1], &[grouped(1, 1)], 3));
    check("3 of 1, 3 evictions", singles(3, 3));
    check("3 of 1 of which 2 may be down, 3 evictions", Setup::new(&[1; 3], &[grouped(2, 1)], 3));
    check("2 of 2, 3 evictions", pairs(2, 3));
    check("2 of 1, 3 evictions, time", Setup { ticks: 3, ..singles(2, 3) });
    check("2 of 2, 2 removals, time", Setup { ticks: 3, ..by_all_means(pairs(2, 2)) });
    check("2 of 2, 2 removals, long", Setup { cached: true, ..for_long(by_all_means(pairs(2, 2))) });
    check("2 of 2, by group and by pod, 2 removals", by_all_means(counted_twice(2)));
    check("2 of 2, by group and by pod, 2 evictions, time", Setup { ticks: 3, ..counted_twice(2) });
    check("2 of 2, one of each not ready, 2 evictions", Setup { unready: vec![0, 2], lag: 3, ..pairs(2, 2) });
    check("2 of 2, a blink, 2 evictions", Setup { blinks: 1, lag: 4, ..pairs(2, 2) });
    check("2 of 1, 2 blinks, 2 evictions", Setup { blinks: 2, lag: 4, ..singles(2, 2) });
}

/// The model has teeth: every part of the protocol that is left out is missed.
#[test]
fn a_protocol_with_a_hole_is_caught() {
    let broken = Setup { unready: vec![0, 2], ..pairs(2, 2) };
    for (flaw, setup) in [
        (Flaw::OldViews, singles(2, 2)),
        (Flaw::FreeUnwritten, Setup::new(&[2], &[grouped(0, 1)], 2)),
        (Flaw::NoCompare, singles(2, 2)),
        (Flaw::BrokenUnproved, broken),
        (Flaw::EarlyLapse, Setup { ticks: 1, ..singles(2, 2) }),
        (Flaw::LapseUnproved, Setup { ticks: 3, ..singles(2, 2) }),
        (Flaw::OldPod, singles(2, 3)),
        (Flaw::NoMemory, Setup { gaps: true, counted: false, ..singles(2, 2) }),
    ] {
        let wanted = HasDiscoveries::AnyOf([BUDGET, FLOOR].into());
        let flawed = protocol(Setup { flaw: Some(flaw), ..setup });
        let checker = flawed.checker().finish_when(wanted).spawn_bfs().join();
        let states = checker.unique_state_count();
        let mut found = checker.discoveries();
        let (what, path) = [BUDGET, FLOOR]
            .into_iter()
            .find_map(|what| Some((what, found.remove(what)?)))
            .unwrap_or_else(|| panic!("{flaw:?} goes unnoticed in {states} states"));
        println!("{flaw:?}: not so after {states} states: {what}");
        tell(path.into_actions());
    }
}
