//! The real operator on the embedded cluster, with misfortunes between them, by seed: random sets, random changes of
//! mind, a way to the API server that loses, delays and refuses, operators that die in the middle of a write and
//! leaders that are cut off, images that never start, nodes that fall silent. The promises hold, every rollout ends,
//! and the same seed gives the same history, byte for byte.
//!
//! The ordinary run plays some, a part of them twice. `LOCKSTEP_LONG=<n>` plays n once, `LOCKSTEP_FROM=<seed>` begins
//! elsewhere. A failing seed is printed: `LOCKSTEP_SEED=<seed>` plays it alone and prints its plan and what happened.
//! A plan that found something is kept as a file beside this one, because another generator draws other plans;
//! `LOCKSTEP_PLAN=<file>` plays one.

#![allow(clippy::expect_used)]

mod cluster;
mod inside;
mod seeded;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use lockstep_core::number::IntOrPercent;
use lockstep_testkit::seeds::{number, play_all};
use seeded::{Plan, Run};

/// How many seeds the ordinary run plays, and which of them twice.
const SEEDS: u64 = 200;
const TWICE: u64 = 8;

fn show(plan: &Plan) {
    println!("{plan}");
    let run = plan.play(true);
    for line in &run.history {
        println!("{line}");
    }
    if let Ok(verdict) = &run.verdict {
        println!("{}", verdict.jsonl());
    }
    assert_eq!(run.fault(), None);
}

/// The same plan, the same history; where it differs, if it does.
fn differs(plan: &Plan, run: &Run) -> Option<String> {
    let again = plan.play(true);
    let differ = run.history.iter().zip(&again.history).position(|(one, other)| one != other);
    match differ {
        Some(at) => Some(format!("differs at change {at}:\n{}\n{}", run.history[at], again.history[at])),
        None if run.history.len() != again.history.len() => Some("one goes on for longer".to_owned()),
        None => None,
    }
}

/// What is wrong with a seed, if anything is.
fn try_seed(seed: u64, twice: bool) -> Option<String> {
    let plan = Plan::draw(seed);
    let run = plan.play(twice);
    run.fault().or_else(|| if twice { differs(&plan, &run) } else { None })
}

#[test]
fn no_promise_is_broken_whatever_goes_wrong() {
    if let Some(seed) = number("LOCKSTEP_SEED") {
        return show(&Plan::draw(seed));
    }
    let (long, from) = (number("LOCKSTEP_LONG"), number("LOCKSTEP_FROM").unwrap_or(0));
    let began = Instant::now();
    let count = long.unwrap_or(SEEDS);
    let wrong = play_all(from, count, |seed| try_seed(seed, long.is_none() && seed % TWICE == 0));
    println!("{count} seeds from {from} in {:?}", began.elapsed());
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for class in (from..from + count).flat_map(|seed| Plan::draw(seed).classes()) {
        *classes.entry(class).or_default() += 1;
    }
    println!("{classes:?}");
    let seeds: Vec<&u64> = wrong.keys().collect();
    assert!(wrong.is_empty(), "went wrong: seeds {seeds:?}");
}

/// Plans that found something once.
#[test]
fn what_once_went_wrong_goes_well() {
    if let Ok(path) = std::env::var("LOCKSTEP_PLAN") {
        return show(&read(Path::new(&path)));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut count = 0;
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "json")) {
        assert_eq!(read(&path).play(false).fault(), None, "{}", path.display());
        count += 1;
    }
    assert!(count > 0, "nothing was kept");
}

/// Why a surge goes no guess ever says.
#[test]
fn the_recorder_is_told_why() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/surge-asked-to-go.json");
    let verdict = read(&path).play(false).verdict.expect("played");
    assert!(verdict.jsonl().contains("\"SurgeDone\""), "guessed");
}

fn read(path: &Path) -> Plan {
    let text = std::fs::read_to_string(path).expect("a plan");
    serde_json::from_str(&text).expect("a plan")
}

#[test]
fn the_judge_can_say_no() {
    let verdict = Plan::draw(0).play(false).verdict.expect("played");
    let broken = verdict.judged_against(|spec| {
        for role in &mut spec.roles {
            role.strategy.max_unavailable = IntOrPercent::Int(0);
            role.strategy.max_surge = IntOrPercent::Int(0);
        }
    });
    assert!(!broken.is_empty(), "nobody can roll like that");
}
