//! Rollouts over several clusters of one process, in virtual time: the same aligner, the same ledger and the same judge
//! as on real Karmada, with a stand-in that spreads.
//!
//! `LOCKSTEP_CASE=<name>` plays one case alone. `LOCKSTEP_LONG=<n>` plays n seeds, `LOCKSTEP_FROM=<seed>` begins elsewhere, `LOCKSTEP_SEED=<seed>` plays one alone
//! and prints its plan and what happened.

#![allow(clippy::expect_used)]

mod host;
#[path = "../federation/policies.rs"]
mod policies;
mod seeded;
mod sets;
#[path = "../federation/told.rs"]
mod told;
mod world;

use lockstep_sandbox::cluster::faults::Profile;
use lockstep_testkit::embedded::in_virtual_time;
use lockstep_testkit::federation::case::{CASES, Case, Kind, MORE};
use lockstep_testkit::federation::{Ways, play};
use lockstep_testkit::seeds::{number, play_all};

use crate::seeded::Plan;
use crate::world::World;

/// How many seeds the ordinary run plays.
const SEEDS: u64 = 20;

fn cases() -> impl Iterator<Item = &'static Case<'static>> {
    let only = std::env::var("LOCKSTEP_CASE").ok();
    let is_asked = move |case: &&Case<'_>| only.as_deref().is_none_or(|only| only == case.name);
    CASES.iter().chain(MORE).filter(|case| case.kind == Kind::Deployment).filter(is_asked)
}

#[test]
fn deployments_keep_their_own_numbers() {
    for case in cases() {
        let played = in_virtual_time(async {
            let world = World::start(case.split.len(), &Ways::default()).await;
            let _aligner = world.aligner(world.client());
            play(case, world.federation()).await.expect("played")
        });
        println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
        played.assert_kept();
    }
}

#[test]
fn policies_say_who_begins_and_when() {
    in_virtual_time(async {
        let world = World::start(2, &Ways::default()).await;
        let _aligner = world.aligner(world.client());
        policies::one_after_the_other(world.federation()).await;
        policies::nothing_begins_while_one_is_short_of_pods(world.federation()).await;
    });
}

/// Without us what Karmada does breaks them: the judge says so.
#[test]
fn without_an_aligner_they_are_broken() {
    for case in cases().filter(|case| case.broken_alone) {
        let played = in_virtual_time(async {
            let world = World::without_us(case.split.len()).await;
            play(case, world.federation()).await.expect("played")
        });
        assert!(!played.verdict.breaches.is_empty(), "{}: {}", case.name, played.end);
    }
}

/// One after the other dies with its n-th write, until one is left alone. The first writes of each are those of the
/// customizations.
#[test]
fn killed_with_any_write_it_goes_on() {
    for writes in [1, 5, 8, 12, 17, 23, 30, 38] {
        in_virtual_time(async {
            let world = World::start(2, &Ways::default()).await;
            let kill = async {
                for life in 0..12 {
                    let (client, link) = world.federation().client_through(Profile::default(), life);
                    let _aligner = world.aligner(client);
                    link.kill_after(writes);
                    link.dead().await;
                }
                let _aligner = world.aligner(world.client());
                std::future::pending::<()>().await
            };
            tokio::select! {
                biased;
                played = play(&CASES[0], world.federation()) => played.expect("played").assert_kept(),
                () = kill => unreachable!("the last aligner never dies"),
            }
        });
    }
}

#[test]
fn no_promise_is_broken_whatever_goes_wrong() {
    if let Some(seed) = number("LOCKSTEP_SEED") {
        let plan = Plan::draw(seed);
        println!("{plan:#?}");
        let played = plan.play();
        for event in &played.verdict.events {
            println!("{event:?}");
        }
        return played.assert_kept();
    }
    let (count, from) = (number("LOCKSTEP_LONG").unwrap_or(SEEDS), number("LOCKSTEP_FROM").unwrap_or(0));
    let began = std::time::Instant::now();
    let wrong = play_all(from, count, |seed| {
        let played = Plan::draw(seed).play();
        let breaches = played.verdict.breaches.iter().map(ToString::to_string);
        let faults: Vec<String> =
            breaches.chain(played.missed.map(|missed| format!("{missed}: {}", played.end))).collect();
        (!faults.is_empty()).then(|| faults.join("\n"))
    });
    println!("{count} seeds from {from} in {:?}", began.elapsed());
    let seeds: Vec<&u64> = wrong.keys().collect();
    assert!(wrong.is_empty(), "went wrong: seeds {seeds:?}");
}
