//! The real operator on the embedded cluster, with misfortunes between them, by seed: random sets, random changes of
//! mind, a way to the API server that loses, delays and refuses, operators that die in the middle of a write and
//! leaders that are cut off. The promises hold, every rollout ends, and the same seed gives the same history, byte for
//! byte.
//!
//! The ordinary run plays a few dozen, each twice. `LOCKSTEP_LONG=<n>` plays n once, `LOCKSTEP_FROM=<seed>` begins
//! elsewhere. A failing seed is printed: `LOCKSTEP_SEED=<seed>` plays it alone and prints what happened.

#![allow(clippy::expect_used)]

mod cluster;
mod inside;
mod seeded;

use std::time::Instant;

use seeded::{Run, play};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What is wrong with a run, if anything is.
fn fault(run: &Run) -> Option<String> {
    match &run.verdict {
        Ok(verdict) if verdict.is_kept() => None,
        Ok(verdict) => Some(verdict.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

fn show(seed: u64) {
    let run = play(seed);
    println!("{}", run.plan);
    for line in &run.history {
        println!("{}", line.chars().take(600).collect::<String>());
    }
    if let Ok(verdict) = &run.verdict {
        println!("{}", verdict.jsonl());
    }
    assert_eq!(fault(&run), None, "seed {seed}");
}

/// The same seed, the same history.
fn assert_repeats(seed: u64, run: &Run) {
    let again = play(seed);
    let differ = run.history.iter().zip(&again.history).position(|(one, other)| one != other);
    if let Some(at) = differ {
        panic!("seed {seed} differs at change {at}:\n{}\n{}", run.history[at], again.history[at]);
    }
    assert_eq!(run.history.len(), again.history.len(), "seed {seed}");
}

#[test]
fn no_promise_is_broken_whatever_goes_wrong() {
    if let Some(seed) = number("LOCKSTEP_SEED") {
        return show(seed);
    }
    let (long, from) = (number("LOCKSTEP_LONG"), number("LOCKSTEP_FROM").unwrap_or(0));
    let began = Instant::now();
    let mut wrong = Vec::new();
    let count = long.unwrap_or(24);
    for seed in from..from + count {
        let run = play(seed);
        if let Some(fault) = fault(&run) {
            eprintln!("seed {seed}: {}\n{}", run.plan, fault.lines().take(3).collect::<Vec<_>>().join("\n"));
            wrong.push(seed);
        }
        if long.is_none() {
            assert_repeats(seed, &run);
        }
    }
    println!("{count} seeds from {from} in {:?}", began.elapsed());
    assert!(wrong.is_empty(), "broken promises with seeds {wrong:?}");
}
