//! The scenarios once more, with operator, kubelet stand-in and embedded cluster in this process and in virtual time:
//! nobody waits, and the same happens every time.

#![allow(clippy::expect_used)]

mod cluster;
mod inside;
mod rows;

use futures::future::join_all;
use inside::{Operator, nodes};
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use lockstep_testkit::scenario::World;
use rows::{Row, changes_of_mind, groups, within_a_group};

/// Plays all rows at once, each in a namespace of its own.
fn play(rows: &[Row]) {
    in_virtual_time(async {
        let embedded = Embedded::start(0, &nodes()).await.expect("an embedded cluster");
        let _operator = Operator::start(&embedded, embedded.client());
        let world = World::Embedded(&embedded);
        let played = join_all(rows.iter().map(|(_, scenario, _)| scenario.play(&world))).await;
        for ((name, _, check), verdict) in rows.iter().zip(played) {
            println!("{name}");
            let verdict = verdict.unwrap_or_else(|error| panic!("{name}: {error}"));
            verdict.assert_kept();
            check(&verdict);
        }
    });
}

#[test]
fn roles_roll_within_their_rules() {
    play(&within_a_group());
}

#[test]
fn groups_roll_one_after_the_other_or_are_recreated() {
    play(&groups());
}

#[test]
fn whoever_changes_their_mind_gets_what_they_asked_for_last() {
    play(&changes_of_mind());
}
