//! Random worlds: whatever replicas, caches, clocks, crashes and failed deletes do, admitted removals never
//! take away more units than the budget allows.
//!
//! `LOCKSTEP_LONG=<n>` runs n worlds instead of the usual few thousand, `LOCKSTEP_SEED=<s>` starts at s.

mod budget_support;

use budget_support::world::*;
use budget_support::*;
use lockstep_core::budget::*;
use lockstep_core::number::IntOrPercent::{Int, Percent};

fn spec(random: &mut Random, groups: u32, size: u32) -> BudgetSpec {
    let max = match random.below(4) {
        0 => Percent(30),
        1 => Int(2),
        _ => Int(1),
    };
    let min_ready_replicas = 1 + random.below(u64::from(size)) as u32;
    let by_pods = random.chance(20);
    BudgetSpec {
        max_unavailable: Some(max),
        min_available: random.chance(20).then(|| Int(random.below(u64::from(groups)) as u32)),
        pod_group_policy: (!by_pods).then_some(GroupPolicy { min_ready_replicas }),
        ..BudgetSpec::default()
    }
}

fn setup(seed: u64, flaw: Flaw) -> Setup {
    let mut random = Random(seed ^ 0x5eed);
    let groups = 2 + random.below(4) as u32;
    let size = 1 + random.below(4) as u32;
    let first = spec(&mut random, groups, size);
    let mut specs = vec![first];
    if random.chance(30) {
        specs.push(spec(&mut random, groups, size));
    }
    // A scale that counts groups does not count pods.
    let by_pods = specs.iter().any(|spec| spec.pod_group_policy.is_none());
    Setup {
        groups,
        size,
        specs,
        replicas: 1 + random.below(4) as usize,
        blinks: random.chance(30),
        recreates: random.chance(40),
        counted: !by_pods && random.chance(50),
        unready: 5,
        spawn: true,
        lag: [0, 50, 90][random.below(3) as usize],
        linger: [15_000, 15_000, 300_000][random.below(3) as usize],
        pace: 1,
        flaw,
    }
}

fn run(seed: u64, flaw: Flaw, ticks: u32) -> Result<Tally, String> {
    let mut setup = setup(seed, flaw);
    if flaw == Flaw::BrokenUnproved {
        // Takes a cache that shows as broken what has been whole for longer than any request lasts.
        (setup.lag, setup.unready, setup.blinks) = (97, 25, false);
    }
    if flaw == Flaw::LapseUnproved {
        // Takes two caches that show as standing what has been on its way out for longer than a promise lasts.
        (setup.lag, setup.linger, setup.blinks) = (97, 400_000, false);
    }
    let mut world = World::new(setup.clone(), seed);
    for tick in 0..ticks {
        world.tick().map_err(|why| format!("seed {seed}, tick {tick}: {why}\n{setup:#?}"))?;
    }
    Ok(world.tally)
}

#[test]
#[allow(clippy::disallowed_methods)]
fn admitted_removals_never_exceed_the_budget() {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (runs, first) = (number("LOCKSTEP_LONG").unwrap_or(2_000), number("LOCKSTEP_SEED").unwrap_or(0));
    let mut sum = Tally::default();
    for seed in first..first + runs {
        let tally = run(seed, Flaw::None, 1_500).unwrap_or_else(|why| panic!("{why}"));
        sum.admitted += tally.admitted;
        sum.paid += tally.paid;
        sum.refused += tally.refused;
        sum.conflicts += tally.conflicts;
        sum.landed += tally.landed;
        sum.given_back += tally.given_back;
        sum.lapsed += tally.lapsed;
        sum.most_ours = sum.most_ours.max(tally.most_ours);
    }
    println!("{runs} worlds: {sum:?}");
    assert!(sum.paid > runs && sum.refused > runs && sum.conflicts > runs / 4 && sum.lapsed > runs / 100);
    assert!(sum.given_back > 0);
}

/// Worlds that once broke something, each with what it showed.
#[test]
fn seeds_that_once_failed() {
    // The caches of the controller and of a replica stood still for more than the lapse. Since then this world has
    // taken another course; the hole is found by `LapseUnproved` below, and by `budget_stateright`.
    run(42_355, Flaw::None, 1_500).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_same_seed_gives_the_same_world() {
    for seed in 0..20 {
        assert_eq!(run(seed, Flaw::None, 1_500), run(seed, Flaw::None, 1_500));
    }
}

/// The model has teeth: every part of the protocol it leaves out is missed.
#[test]
fn a_protocol_with_a_hole_is_caught() {
    for flaw in [
        Flaw::OldViews,
        Flaw::FreeUnwritten,
        Flaw::BrokenUnproved,
        Flaw::NoCompare,
        Flaw::NoMemory,
        Flaw::LapseUnproved,
        Flaw::EarlyLapse,
    ] {
        let caught = (0..2_000).find(|seed| run(*seed, flaw, 1_500).is_err());
        println!("{flaw:?}: seed {caught:?}");
        assert!(caught.is_some(), "{flaw:?} goes unnoticed");
    }
}

#[test]
fn a_thousand_evictions_at_once_against_one() {
    for seed in 0..2 {
        let setup = Setup {
            groups: 12,
            size: 3,
            specs: vec![grouped(1, 3)],
            replicas: 3,
            blinks: false,
            recreates: false,
            counted: true,
            unready: 0,
            spawn: false,
            lag: 50,
            linger: 15_000,
            pace: 30,
            flaw: Flaw::None,
        };
        let mut world = World::new(setup, seed);
        let pods = world.pods();
        for k in 0..1_000 {
            world.ask(pods[k % pods.len()].clone(), Operation::Evict, true);
        }
        let mut ticks = 0u32;
        while !world.idle() && ticks < 150_000 {
            world.tick().unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            ticks += 1;
        }
        println!("seed {seed}: {ticks} ticks, {:?}", world.tally);
        assert_eq!(world.tally.most_ours, 1);
        assert!(world.tally.landed > 20, "and the drain goes on");
    }
}
