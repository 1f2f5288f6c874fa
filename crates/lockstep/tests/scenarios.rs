//! Rollouts on a real control plane, carried out by the operator and judged by the promises on what its pods did.

#![allow(clippy::expect_used)]

mod cluster;
mod rows;

use cluster::with_operator;
use futures::future::join_all;
use lockstep_testkit::Cluster;
use lockstep_testkit::scenario::World;
use rows::{Row, changes_of_mind, groups, within_a_group};

/// Plays all rows at once, each in a namespace of its own.
async fn play(rows: Vec<Row>) {
    let Some((cluster, mut operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let world = World::Cluster(&cluster);
    let played = rows.iter().map(|(name, scenario, check)| {
        let world = &world;
        async move { (*name, scenario.play(world).await, *check) }
    });
    let played = join_all(played).await;
    assert_eq!(operator.ended(), None);
    for (name, verdict, check) in played {
        println!("{name}");
        let verdict = verdict.unwrap_or_else(|error| panic!("{name}: {error}"));
        verdict.assert_kept();
        check(&verdict);
    }
}

#[tokio::test]
async fn roles_roll_within_their_rules() {
    play(within_a_group()).await;
}

#[tokio::test]
async fn groups_roll_one_after_the_other_or_are_recreated() {
    play(groups()).await;
}

#[tokio::test]
async fn whoever_changes_their_mind_gets_what_they_asked_for_last() {
    play(changes_of_mind()).await;
}
