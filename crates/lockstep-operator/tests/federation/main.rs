//! Rollouts over several clusters on real Karmada: the numbers of the template hold over all of them.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod nobody_asked;
mod world;

use lockstep_testkit::federation::case::{CASES, Kind};
use lockstep_testkit::federation::play;

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada and Kruise from Go modules, some minutes: see docs/federation.md"]
async fn deployments_keep_their_own_numbers() {
    let Some(world) = World::start(false).await else { return };
    nobody_asked::works_are_as_karmada_made_them(&world).await;
    for case in CASES.iter().filter(|case| case.kind == Kind::Deployment && world.has_room_for(case)) {
        let played = play(case, world.federation()).await.expect("played");
        println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
        played.assert_kept();
    }
    killed_anywhere_it_goes_on(&world).await;
}

/// Another process takes over a third of a second after the last one did.
async fn killed_anywhere_it_goes_on(world: &World) {
    let case = CASES.iter().find(|case| case.name == "deployment").expect("the first case");
    let played = tokio::select! {
        played = play(case, world.federation()) => played.expect("played"),
        () = world.kill_over_and_over() => return,
    };
    println!("{}, killed over and over: {:.1} s", case.name, played.took.as_secs_f64());
    played.assert_kept();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada and Kruise from Go modules, some minutes: see docs/federation.md"]
async fn clone_sets_keep_their_own_numbers() {
    let Some(world) = World::start(true).await else { return };
    for case in CASES.iter().filter(|case| case.kind == Kind::CloneSet && world.has_room_for(case)) {
        let played = play(case, world.federation()).await.expect("played");
        println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
        played.assert_kept();
    }
}
