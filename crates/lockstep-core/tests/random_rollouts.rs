//! Random rollouts: no promise broken, none stuck.
//!
//! The ordinary run plays more than 20,000; `LOCKSTEP_LONG=<n>` plays n of each kind, `LOCKSTEP_FROM=<seed>`
//! begins elsewhere. A failing seed is printed: `LOCKSTEP_SEED=<seed>` plays it alone and prints the trace.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail loudly and be told what to play"
)]

mod support;

use std::collections::BTreeMap;

use lockstep_core::blocked::{Blocked, Reason};
use lockstep_core::promises::Checker;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::simulate::run;
use lockstep_core::simulate::trace::End;
use support::{Generator, Taste, check};

#[derive(Debug, Default)]
struct Score {
    played: u64,
    refused: u64,
    held_by_conflict: u64,
    broken: BTreeMap<String, Vec<u64>>,
}

fn one(seed: u64, taste: Taste, score: &mut Score) {
    let scenario = Generator::new(seed, taste).scenario();
    for (_, to) in &scenario.changes {
        match prove(scenario.initial.as_ref(), to) {
            Proof::Finishes => {}
            Proof::Blocked(by) => {
                let named = |block: &Blocked| {
                    block.reason == Reason::RulesConflict || block.rule.starts_with("coordination[")
                };
                assert!(by.iter().any(named), "seed {seed} is refused for no rule: {by:?}");
                score.refused += 1;
                return;
            }
            Proof::TooLarge => {
                score.refused += 1;
                return;
            }
        }
    }
    score.played += 1;
    let (outcome, broken) = check(&scenario);
    let conflict = outcome.blocked.iter().any(|b| b.reason == Reason::RulesConflict);
    if conflict && outcome.end == End::Stuck {
        score.held_by_conflict += 1;
        return;
    }
    if let Some(first) = broken.first() {
        score.broken.entry(format!("{:?}", first.promise)).or_default().push(seed);
    }
}

fn long() -> Option<u64> {
    std::env::var("LOCKSTEP_LONG").ok()?.parse().ok()
}

fn many(name: &str, count: u64, taste: Taste) {
    if let Some(seed) = std::env::var("LOCKSTEP_SEED").ok().and_then(|s| s.parse().ok()) {
        show(seed, taste);
        return;
    }
    let count = long().unwrap_or(count);
    let mut score = Score::default();
    let mut seed = std::env::var("LOCKSTEP_FROM").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    while score.played < count {
        one(seed, taste, &mut score);
        seed += 1;
    }
    println!(
        "{name}: {} rollouts, {} refused by proof, {} held by rules that came to conflict",
        score.played, score.refused, score.held_by_conflict
    );
    let found: BTreeMap<_, _> =
        score.broken.iter().map(|(k, v)| (k, (v.len(), v.iter().take(8).collect::<Vec<_>>()))).collect();
    assert!(score.broken.is_empty(), "{name}: broken promises, with seeds: {found:?}");
}

fn show(seed: u64, taste: Taste) {
    let scenario = Generator::new(seed, taste).scenario();
    println!("{}", serde_json::to_string(&scenario.initial).unwrap());
    println!("nature {:?}\nfaults {:?}", scenario.nature, scenario.faults);
    let mut checker = Checker::default();
    let mut said = 0;
    let outcome = run(&scenario, &mut |event| {
        println!("{}", serde_json::to_string(&event).unwrap());
        checker.see(&event);
        checker.broken()[said..].iter().for_each(|broken| println!("BROKEN {broken}"));
        said = checker.broken().len();
    });
    for blocked in &outcome.blocked {
        println!("BLOCKED {blocked:?}");
    }
    println!("STATUS {}", serde_json::to_string(&outcome.status).unwrap());
    println!(
        "{:?} after {}; memory {}",
        outcome.end,
        outcome.duration,
        serde_json::to_string(&outcome.memory).unwrap()
    );
}

const SMALL: Taste = Taste {
    max_roles: 5,
    max_instances: 60,
    max_groups: 8,
    faults: false,
    lag: false,
    changes: false,
    gangs: false,
    stages: false,
};

#[test]
fn calm() {
    many("calm", 5_100, SMALL);
}

#[test]
fn the_user_changes_their_mind() {
    many("changes", 4_500, Taste { changes: true, ..SMALL });
}

#[test]
fn with_faults() {
    many("faults", 4_500, Taste { faults: true, lag: true, max_instances: 20, max_groups: 4, ..SMALL });
}

const ALL_BUT_GANGS: Taste =
    Taste { faults: true, lag: true, changes: true, max_instances: 20, max_groups: 4, ..SMALL };

#[test]
fn with_faults_and_changes() {
    many("faults and changes", 3_000, ALL_BUT_GANGS);
}

const GANGS: Taste =
    Taste { gangs: true, faults: true, changes: true, max_instances: 12, max_groups: 3, ..SMALL };

#[test]
fn gangs_batches_and_start_order() {
    many("gangs", 3_000, GANGS);
}

#[test]
fn instances_that_start_member_by_member() {
    many("stages", 400, Taste { lag: true, stages: true, ..GANGS });
}

/// Rollouts that broke something once, or were said to.
#[test]
fn seeds_that_were_broken_once() {
    let mut score = Score::default();
    for seed in [
        5_003_703, 5_004_208, 5_008_886, 5_010_731, 5_013_501, 5_015_530, 5_017_734, 5_032_706, 5_035_176,
        5_047_082, 5_053_379, 5_055_268, 5_058_420,
    ] {
        one(seed, GANGS, &mut score);
    }
    for seed in
        [20_002_111, 20_015_523, 20_018_155, 20_027_845, 30_014_296, 30_014_970, 30_017_355, 60_005_522]
    {
        one(seed, ALL_BUT_GANGS, &mut score);
    }
    assert_eq!((score.played, &score.broken), (21, &BTreeMap::new()));
}
