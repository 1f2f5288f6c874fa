//! One level, row by row: what stands, and what is done about it.

mod golden_support;
mod support;

use golden_support::row::{holds, level, moves, table, units};
use lockstep_core::model::Order;
use lockstep_core::number::{self, IntOrPercent, IntOrPercent::*};
use lockstep_core::roll::{Hold, Pace, Roll, Tally, roll};
use lockstep_core::time::{Millis, Time};

fn kept(partition: u32, ask: Roll) -> Roll {
    Roll { partition, ..ask }
}

fn ceiling(limit: u32, ask: Roll) -> Roll {
    Roll { ceiling: Some(limit), ..ask }
}

fn reached(count: u32, ask: Roll) -> Roll {
    Roll { reached: count, ..ask }
}

fn ascending(ask: Roll) -> Roll {
    Roll { order: Order::Ascending, ..ask }
}

fn paused(ask: Roll) -> Roll {
    Roll { pace: Pace::Paused, ..ask }
}

/// The revision has proved itself elsewhere: it is the stable one.
fn proven(ask: Roll) -> Roll {
    Roll { unproven: false, ..ask }
}

#[test]
fn rule_1_what_is_gone_returns_new_if_it_has_a_slot() {
    table(&[
        ("all slots", level(4, 2, 0), "AABB", "-1 -0"),
        ("a slot", level(4, 1, 0), "AA.B", "+2B"),
        ("a closed group has none", ceiling(0, level(4, 1, 0)), "AA.A", "+2A"),
        ("two gone, one slot", ceiling(1, level(4, 1, 0)), "A.A.", "+1A +3B"),
        ("two gone, one slot, from below", ascending(ceiling(1, level(4, 1, 0))), "A.A.", "+1B +3A"),
        ("below the partition old", kept(2, level(4, 1, 0)), ".ABB", "+0A"),
        ("the step reopened, it had been updated", reached(2, ceiling(1, level(4, 2, 0))), "AA.B", "+2B"),
        ("it had not", reached(1, ceiling(1, level(4, 2, 0))), "AA.B", "+2A"),
        ("one on its way out has the slot", ceiling(1, level(4, 2, 0)), "AA.-", "+2A"),
        ("a slot held is room taken", ceiling(2, level(4, 2, 0)), "AA.A", "-3 +2B"),
        ("scaling out is the same", ceiling(2, level(6, 1, 0)), "AABB", "+4A +5A"),
        ("scaling out with slots left", level(6, 1, 0), "AABB", "+4B +5B"),
        ("mixed is of no use", level(4, 1, 0), "AAmA", "x2"),
        ("mixed has a slot like one on its way out", ceiling(1, level(4, 2, 0)), "A.mA", "x2 +1A"),
        ("mixed in the room for surge", level(2, 0, 1), "AAm", "x2"),
        ("mixed and in excess goes once", level(2, 1, 0), "AAm", "x2 -1"),
    ]);
}

#[test]
fn the_first_start_knows_no_partition_ceiling_or_containment() {
    let first = Roll { has_old: false, ..kept(2, ceiling(0, level(4, 1, 0))) };
    assert_eq!(moves(&first, "...."), "+0B +1B +2B +3B");
    assert_eq!(moves(&first, "bb.."), "+2B +3B");
    assert_eq!(moves(&first, "cccc"), "x3 x2 x1 x0", "what never worked is moved whatever the rules say");
}

#[test]
fn the_counts_of_a_level() {
    let mut standing = units("BBBbA-BnC");
    standing[1].serves = true;
    standing[3].serves = true;
    let expected = Tally {
        updated: 2,
        updated_ready: 1,
        updated_available: 1,
        available: 6,
        ready: 4,
        leaving: 1,
        on_the_way: 2,
        outdated: 1,
        surge: 2,
        surge_available: 1,
        proven: true,
        serving: 2,
        updated_below: 2,
        standing: 5,
    };
    assert_eq!(kept(2, level(6, 1, 2)).tally(&standing), expected);
    let one_more = kept(2, level(6, 1, 1)).tally(&standing);
    assert_eq!((one_more.surge, one_more.surge_available), (1, 1), "beyond its room nothing is surge");
}

#[test]
fn rule_2_excess_goes() {
    table(&[
        ("not available free, available on the account", level(2, 1, 0), "AABb", "x3 -2 -1"),
        ("from the highest, as far as the account goes", level(5, 1, 0), "ABaaaBBB", "-7 x4 x3 x2"),
        ("scaled from ten to five", level(5, 1, 0), "AAAAABBBBB", "-9 -8 -7 -6 -5 -4"),
        (
            "scaled from ten to five, all but the new broken",
            level(5, 1, 0),
            "aaaaaBBBBB",
            "-9 x4 x3 x2 x1 x0",
        ),
        ("room for surge is not excess", level(2, 0, 1), "AAB", "-1"),
        ("excess stands in for nobody", level(2, 0, 1), "AA.B", "-3 +2s"),
    ]);
}

#[test]
fn rule_3_what_is_broken_moves_free() {
    table(&[
        ("broken first, then one on the account", level(4, 2, 0), "AaAA", "x1 -3"),
        ("unscheduled, then not ready, then by ordinal", ceiling(1, level(4, 1, 0)), "uaaA", "x0"),
        ("not ready, by ordinal", ceiling(1, level(4, 1, 0)), "aaaA", "x2"),
        ("as many as the grant, once proven", level(4, 1, 0), "aaaB", "x2 x1 x0"),
        ("no more than the grant", ceiling(2, level(4, 1, 0)), "aaaB", "x2"),
        ("unproven, as many as may be down", level(4, 2, 0), "aaaa", "x3 x2"),
        ("a blink is not broken", level(4, 1, 0), "AffB", ""),
        ("held by our own gate: it never started", level(4, 1, 0), "AAgA", "x2"),
        ("below the partition, at neither revision", kept(2, level(4, 1, 0)), "cAAB", "x0"),
        ("below the partition, old", kept(2, level(4, 1, 0)), "aAAB", ""),
        ("flapping for ever, none available", level(4, 1, 0), "ffff", "x3"),
        ("flapping for ever, enough available", level(4, 1, 0), "AAAf", "x3"),
        ("flapping, too few available", level(4, 1, 0), "AAff", ""),
        ("flapping, something in motion", level(4, 1, 0), "fffb", ""),
        ("flapping, something in motion, and room", level(4, 2, 0), "fffb", ""),
        ("flapping, no grant", ceiling(0, level(4, 1, 0)), "ffff", ""),
        ("flapping beside updated ones that work", level(4, 2, 0), "AfBB", "x1 -0"),
        ("flapping below the partition", kept(2, level(4, 1, 0)), "ffBB", ""),
        ("without a node first, from below too", ascending(ceiling(1, level(4, 1, 0))), "aauA", "x2"),
        ("then by ordinal, from below", ascending(ceiling(1, level(4, 1, 0))), "aaaA", "x0"),
    ]);
    let aged = |min_ready| Roll { min_ready: Millis(min_ready), ..level(4, 1, 0) };
    assert_eq!(moves(&aged(990_000), "ffff"), "", "not older than minReadySeconds and ten seconds");
    assert_eq!(moves(&aged(989_999), "ffff"), "x3", "older by a millisecond");
    let mut broken = units("aaaA");
    for (unit, created) in broken.iter_mut().zip([7, 5, 5, 0]) {
        unit.created = Time(created);
    }
    let oldest = Roll { order: Order::OldestFirst, ..ceiling(1, level(4, 1, 0)) };
    assert_eq!(golden_support::row::text(&roll(&oldest, &broken, &mut |_| true)), "x1", "ties ascending");
    broken[0].unscheduled = true;
    assert_eq!(
        golden_support::row::text(&roll(&oldest, &broken, &mut |_| true)),
        "x0",
        "without a node first"
    );
}

#[test]
fn rule_4_available_units_on_one_account() {
    table(&[
        ("one", level(4, 1, 0), "AAAA", "-3"),
        ("from below", ascending(level(4, 1, 0)), "AAAA", "-0"),
        ("two", level(4, 2, 0), "AAAA", "-3 -2"),
        ("none may be down", level(4, 0, 1), "AAAA", "+4s"),
        ("the surge pays", level(4, 0, 1), "AAAAB", "-3"),
        ("a broken new one costs", level(4, 2, 0), "AAAb", "-2"),
        ("one below the partition costs", kept(1, level(4, 1, 0)), "aAAA", ""),
        ("under a ceiling of one", ceiling(1, level(4, 2, 0)), "AAAA", "-3"),
        ("on its way out it is no room again", ceiling(1, level(4, 2, 0)), "AAA-", ""),
        ("gone it is no room again", ceiling(1, level(4, 2, 0)), "AAA.", "+3B"),
        ("another revision is outdated too", level(4, 2, 0), "ACBB", "-1 -0"),
    ]);
    let mut old = units("AAAA");
    for (unit, created) in old.iter_mut().zip([5, 3, 3, 9]) {
        unit.created = Time(created);
    }
    let ask = Roll { order: Order::OldestFirst, ..level(4, 3, 0) };
    let found = roll(&ask, &old, &mut |_| true);
    assert_eq!(found.remove.iter().map(|r| r.ordinal).collect::<Vec<_>>(), [1, 2, 0], "ties ascending");
}

#[test]
fn rule_5_surge_stands_in_and_leaves_no_hole() {
    table(&[
        ("one beyond", level(4, 1, 1), "AAAA", "-3 +4s"),
        ("reclaimed when one is left unfinished", level(4, 1, 1), "ABBBB", "-0 -4"),
        ("kept while two are", level(4, 1, 1), "AABBB", "-1 -0"),
        ("U0: kept to the last", level(4, 0, 1), "ABBBB", "-0"),
        ("U0: reclaimed last", level(4, 0, 1), "BBBBB", "-4"),
        ("not available goes free", level(4, 1, 1), "BBBAb", "-3 x4"),
        ("a canary of one brings one, not four", ceiling(1, level(4, 0, 4)), "AAAA", "+4s"),
        ("and no more after it", ceiling(1, level(4, 0, 4)), "AAABB", ""),
        ("the lowest names that are free", level(4, 0, 2), "AAAA-", "+5s"),
        ("outdated and broken goes free", level(3, 0, 1), "AAAc", "x3"),
        ("outdated and available waits for the account", level(3, 0, 1), "AAAC", "-2"),
        ("outdated and available in the end", level(3, 0, 1), "BBBC", "-3"),
        ("nothing outdated, no surge", level(3, 0, 1), "B.B", "+1B"),
        ("no grant and none live, though one is in motion", ceiling(1, level(4, 0, 1)), "AAA-", ""),
        ("one live, and two in motion", ceiling(2, level(4, 0, 2)), "AA--B", "+5s"),
        ("nothing outdated, no more surge", level(3, 0, 2), "B..B", "+1B +2B"),
        ("no grant, no surge", ceiling(0, level(3, 0, 1)), "AAA", ""),
        ("reclaimed from the highest", level(4, 0, 3), "BBBABBB", "-3 -6 -5"),
        ("as many as are too many", level(4, 0, 3), "BBBAbbb", "x6 x5"),
        ("excess is not reclaimed a second time", level(4, 1, 1), "BBBBBB", "-5 -4"),
        ("R1 S1 U0", level(1, 0, 1), "A", "+1s"),
        ("R1 S1 U0, the surge is there", level(1, 0, 1), "AB", "-0"),
    ]);
}

#[test]
fn containment_keeps_an_unproven_revision_where_it_is() {
    table(&[
        ("one is out with it, another is lost", level(2, 1, 0), ".b", "+0A"),
        ("U2: one more may try", level(4, 2, 0), "A..b", "+1A +2B"),
        ("one on its way out counts", level(4, 1, 0), "AA.-", "+2A"),
        ("available once, all return new", level(4, 1, 0), "B..b", "+1B +2B"),
        ("available as surge is available", level(3, 1, 1), "..bB", "+0B +1B"),
        ("broken old ones wait too", level(4, 1, 0), "aaab", ""),
        ("the stable revision is not contained", proven(level(4, 1, 0)), "...b", "+0B +1B +2B"),
    ]);
    assert_eq!(holds(&level(4, 1, 0), "aaab"), [Hold::Containment]);
}

#[test]
fn paused_recovers_as_it_was_and_keeps_the_surge() {
    table(&[
        ("nothing moves", paused(level(4, 2, 1)), "AAAA", ""),
        ("old returns old", paused(reached(2, level(4, 1, 0))), "A.BB", "+1A"),
        ("new returns new", paused(reached(2, level(4, 1, 0))), "AA.B", "+2B"),
        ("scaling out goes on", paused(reached(1, level(5, 1, 0))), "AAAB", "+4A"),
        ("scaling in goes on", paused(reached(1, level(3, 1, 0))), "AAAB", "-3"),
        ("surge is kept", paused(reached(3, level(4, 1, 1))), "ABBBB", ""),
        ("until nothing is left for it to do", paused(reached(4, level(4, 1, 1))), "BBBBB", "-4"),
        ("broken old ones stay", paused(level(4, 2, 0)), "AaAA", ""),
    ]);
}

#[test]
fn on_delete_returns_new_what_somebody_deleted() {
    let ask = Roll { pace: Pace::OnDelete, ..level(4, 2, 2) };
    assert_eq!(moves(&ask, "AAAA"), "");
    assert_eq!(moves(&ask, "A.A."), "+1B +3B");
    assert_eq!(moves(&ask, "Aaua"), "");
    let one = Roll { pace: Pace::OnDelete, ..level(4, 1, 0) };
    let covered = Roll { pace: Pace::OnDelete, ..level(4, 0, 2) };
    assert_eq!(moves(&covered, "AA..B"), "+2B +3B", "no surge stands in for it");
    assert_eq!(moves(&ceiling(0, ask), "A.A."), "+1B +3B", "no rule over roles has a say");
    assert_eq!(moves(&kept(2, ask), "cCaA"), "", "nor is anything repaired below the partition");
    assert_eq!(moves(&one, "b..."), "+1B +2B +3B", "whoever deletes knows what they are doing");
}

#[test]
fn where_another_level_decides_only_what_is_lost_returns() {
    let fixed = |ask| Roll { pace: Pace::Fixed, ..ask };
    table(&[
        ("nothing moves", fixed(level(4, 2, 1)), "AAaA", ""),
        ("what is lost returns", fixed(proven(level(4, 1, 0))), "B.BB", "+1B"),
        ("scaling in goes on", fixed(level(2, 1, 0)), "BBBB", "-3 -2"),
        ("at neither revision it stays, too", fixed(kept(4, level(4, 1, 0))), "cAAA", ""),
    ]);
    assert_eq!(holds(&fixed(level(4, 2, 1)), "AAAA"), [], "it is not this level that holds");
}

#[test]
fn a_level_says_what_it_waits_for() {
    let closed = ceiling(0, level(4, 1, 0));
    for (why, ask, letters, expected) in [
        ("nothing to do", level(4, 1, 0), "BBBB", vec![]),
        ("a new one starts", level(4, 1, 0), "AAAb", vec![(2, Hold::NotReadyYet, Some(3))]),
        ("an old one ends", level(4, 1, 0), "AAA-", vec![(2, Hold::Termination, Some(3))]),
        ("starting says more than ending", level(4, 2, 0), "AAb-", vec![(1, Hold::NotReadyYet, Some(2))]),
        ("a broken one below the partition", kept(1, level(4, 1, 0)), "aAAA", vec![(3, Hold::Budget, None)]),
        ("the ceiling", closed, "AAAA", vec![(3, Hold::Ceiling, None)]),
        ("the ceiling, for broken ones", closed, "aaaA", vec![(2, Hold::Ceiling, None)]),
        ("unproven", level(4, 1, 0), "aaab", vec![(2, Hold::Containment, Some(3))]),
        ("the surge has no node", level(4, 0, 1), "AAAAn", vec![(3, Hold::SurgeUnscheduled, Some(4))]),
        ("the surge starts", level(4, 0, 1), "AAAAb", vec![(3, Hold::SurgeNotReady, Some(4))]),
        ("the last surge is the one", level(4, 0, 2), "AAAabb", vec![(2, Hold::SurgeNotReady, Some(5))]),
        (
            "beyond its room nothing is the surge",
            level(4, 0, 1),
            "AAAAbb",
            vec![(3, Hold::SurgeNotReady, Some(4))],
        ),
        ("one starts beside the surge", level(4, 0, 1), "AAbAb", vec![(3, Hold::NotReadyYet, Some(2))]),
        ("one ends beside the surge", level(4, 0, 1), "AA-Ab", vec![(3, Hold::Termination, Some(2))]),
        ("excess, once", level(3, 0, 0), "AAaBb", vec![(3, Hold::Budget, None)]),
        ("another reason beside it", level(3, 0, 0), "AAbB", vec![(3, Hold::NotReadyYet, Some(2))]),
    ] {
        let found = roll(&ask, &units(letters), &mut |_| true).held;
        let found: Vec<_> = found.iter().map(|held| (held.ordinal, held.by, held.waits_for)).collect();
        assert_eq!(found, expected, "{why}: {letters}");
    }
}

#[test]
fn partition_by_percentage_moves_the_highest() {
    for (value, desired, moved) in [
        (Percent(80), 200, 160..200),
        (Percent(80), 100, 80..100),
        (Percent(99), 10, 9..10),
        (Percent(100), 10, 10..10),
        (Int(4), 10, 4..10),
    ] {
        assert_eq!(removed(value, desired), moved.rev().collect::<Vec<u32>>(), "{value} of {desired}");
    }
}

fn removed(partition: IntOrPercent, desired: u32) -> Vec<u32> {
    let ask = kept(number::partition(partition, desired), level(desired, desired, 0));
    let found = roll(&ask, &units(&"A".repeat(desired as usize)), &mut |_| true);
    found.remove.iter().map(|removal| removal.ordinal).collect()
}

#[test]
fn outside_budgets_have_the_last_word() {
    let found = roll(&level(4, 2, 0), &units("AAAA"), &mut |ordinal| ordinal != 3);
    assert_eq!(golden_support::row::text(&found), "-2 -1");
    assert!(found.held.iter().any(|held| held.ordinal == 3 && held.by == Hold::OutsideBudget));
}

#[test]
fn broken_groups_that_still_serve_go_one_by_one() {
    let mut short = units("aaa");
    short.iter_mut().for_each(|unit| unit.serves = true);
    let found = roll(&proven(level(3, 1, 0)), &short, &mut |_| true);
    assert_eq!(golden_support::row::text(&found), "x2");
    assert_eq!(
        found.held.iter().map(|held| (held.ordinal, held.by)).collect::<Vec<_>>(),
        [(1, Hold::Serving)]
    );
    short[1].serves = false;
    let found = roll(&proven(level(3, 1, 0)), &short, &mut |_| true);
    assert_eq!(golden_support::row::text(&found), "x1", "two serve, and two must");
}

#[test]
fn a_surplus_group_that_still_serves_stays_while_too_few_others_do() {
    // One stands in at a revision that is no longer wished for; all four are short of an instance, and three must serve.
    let mut short = units("aaac");
    short.iter_mut().for_each(|unit| unit.serves = true);
    let found = roll(&proven(level(3, 0, 1)), &short, &mut |_| true);
    assert_eq!(golden_support::row::text(&found), "x2");
    assert!(found.held.iter().any(|held| held.by == Hold::Serving));
    // One beyond all room goes before anything moves, and none of the others then.
    let mut short = units("aaa.c");
    short.iter_mut().for_each(|unit| unit.serves = true);
    let found = roll(&proven(level(3, 0, 1)), &short, &mut |_| true);
    assert_eq!(golden_support::row::text(&found), "x4 +3s");
}

#[test]
fn a_surplus_group_that_is_available_goes_on_the_account_alone() {
    // The others have their minimum, of which the role that does not serve is no part.
    let mut full = units("BBB");
    full[2].serves = true;
    let found = roll(&proven(level(2, 0, 1)), &full, &mut |_| true);
    assert_eq!(golden_support::row::text(&found), "-2");
}

#[test]
fn no_level_deletes_more_available_units_than_its_account() {
    let letters = ['A', 'a', 'B', 'b', 'C', '.', '-'];
    let mut row = [0usize; 5];
    loop {
        let text: String = row.iter().map(|i| letters[*i]).collect();
        for (unavailable, surge) in [(1, 0), (0, 1), (2, 1)] {
            for ask in
                [level(4, unavailable, surge), level(3, unavailable, surge), level(5, unavailable, surge)]
            {
                let standing = units(&text);
                let found = roll(&ask, &standing, &mut |_| true);
                let available = standing.iter().filter(|unit| unit.available).count();
                let taken = found
                    .remove
                    .iter()
                    .filter(|r| standing.iter().any(|u| u.available && u.ordinal == r.ordinal));
                let left = available - taken.count();
                let floor = available.min((ask.desired - unavailable) as usize);
                assert!(left >= floor, "{text} under {ask:?}: {left} left");
            }
        }
        let Some(next) = row.iter().position(|i| *i + 1 < letters.len()) else { return };
        row[..next].fill(0);
        row[next] += 1;
    }
}
