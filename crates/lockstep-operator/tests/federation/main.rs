//! Rollouts over several clusters on real Karmada: the numbers of the template hold over all of them.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod figures;
mod nobody_asked;
mod policies;
mod told;
mod world;

use lockstep_testkit::federation::case::{CASES, Case, Kind, MORE, OTHERS, Own, SETS, Step};
use lockstep_testkit::federation::{Builder, play, play_beside};
use serde_json::json;

use crate::world::World;

/// Those of a kind that there are members for; `LOCKSTEP_CASE=<name>` plays one alone.
fn cases(world: &World, kind: Kind) -> impl Iterator<Item = &'static Case<'static>> {
    let only = std::env::var("LOCKSTEP_CASE").ok();
    let is_asked = move |case: &&Case<'_>| only.as_deref().is_none_or(|only| only == case.name);
    let fits = move |case: &&Case<'_>| case.kind == kind && world.has_room_for(case);
    CASES.iter().chain(MORE).filter(fits).filter(is_asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada and Kruise from Go modules, some minutes: see docs/federation.md"]
async fn deployments_keep_their_own_numbers() {
    let Some(world) = World::start(|builder| builder).await else { return };
    for case in cases(&world, Kind::Deployment) {
        let played = if case.steps.iter().any(sets_a_strategy) {
            tokio::join!(play(case, world.federation()), world.until_a_rollout_says("StrategyOverridden")).0
        } else {
            play(case, world.federation()).await
        };
        let played = played.expect("played");
        println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
        played.assert_kept();
    }
    told::nothing_is_rolled_out_too_soon(&CASES[0], world.federation()).await;
    policies::one_after_the_other(world.federation()).await;
    policies::nothing_begins_while_one_is_short_of_pods(world.federation()).await;
    killed_anywhere_it_goes_on(&world).await;
    nobody_asked::works_are_as_karmada_made_them(&world).await;
}

/// Whether an override policy says how a member rolls.
fn sets_a_strategy(step: &Step<'_>) -> bool {
    matches!(step, Step::Override(_, Own::MaxUnavailable(_)))
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
    let Some(world) = World::start(Builder::kruise).await else { return };
    for case in cases(&world, Kind::CloneSet) {
        let played = play(case, world.federation()).await.expect("played");
        println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
        played.assert_kept();
    }
    each_its_share(&world).await;
}

/// A policy shares what may be new among members, instead of one after the other.
async fn each_its_share(world: &World) {
    let equals = CASES.iter().find(|case| case.kind == Kind::CloneSet && case.split == [5, 5]);
    let case = Case { name: "each-its-share", ..*equals.expect("a case of two equals") };
    let shared = policies::policy(json!({"split": "Proportional"}));
    let played = play_beside(&case, world.federation(), &shared).await.expect("played");
    played.assert_kept();
    let new: Vec<u32> = played.end.members.iter().map(|(_, counts, _)| counts.new).collect();
    assert!(new.starts_with(&[4, 3]), "{new:?}");
}

/// Prints what it costs: `cargo test -p lockstep-operator --test federation figures -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; builds Karmada from Go modules, some minutes: see docs/federation.md"]
async fn figures_of_a_rollout() {
    figures::print().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada from Go modules, some minutes: see docs/federation.md"]
async fn sets_keep_their_own_numbers() {
    let kinds = lockstep_api::crd::all().map(|(_, definition)| definition);
    let known = |builder| kinds.into_iter().fold(builder, Builder::kind);
    let Some(world) = World::start(known).await else { return };
    world.start_operators();
    told::nothing_is_rolled_out_too_soon(&SETS[0], world.federation()).await;
    play_all(&world, SETS.iter()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada from Go modules, some minutes: see docs/federation.md"]
async fn stateful_sets_keep_their_own_numbers() {
    let Some(world) = World::start(|builder| builder).await else { return };
    play_all(&world, OTHERS.iter().filter(|case| case.kind == Kind::StatefulSet)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada and LeaderWorkerSet from Go modules, some minutes: see docs/federation.md"]
async fn leader_worker_sets_keep_their_own_numbers() {
    let Some(world) = World::start(Builder::leader_worker_sets).await else { return };
    play_all(&world, OTHERS.iter().filter(|case| case.kind == Kind::LeaderWorkerSet)).await;
}

/// Plays them all, whatever becomes of one of them. `LOCKSTEP_CASE=<name>` plays one alone.
async fn play_all(world: &World, cases: impl Iterator<Item = &'static Case<'static>>) {
    let only = std::env::var("LOCKSTEP_CASE").ok();
    let mut broken = Vec::new();
    for case in cases.filter(|case| only.as_deref().is_none_or(|only| only == case.name)) {
        let played = play(case, world.federation()).await.expect("played");
        println!("{}: {:.1} s, {}", case.name, played.took.as_secs_f64(), played.end);
        let breaches = played.verdict.breaches.iter().map(ToString::to_string);
        broken.extend(breaches.chain(played.missed.clone()).map(|why| format!("{}: {why}", case.name)));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
