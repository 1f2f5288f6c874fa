//! Large sets are proved with fewer pods and fewer waves than they have: the verdict is that of the long way.
//!
//! `LOCKSTEP_LONG=<n>` compares n of each kind, `LOCKSTEP_FROM=<seed>` begins elsewhere.

#![allow(clippy::disallowed_methods, reason = "a test may be told what to play")]

mod support;

use lockstep_core::model::Spec;
use lockstep_core::number::IntOrPercent;
use lockstep_core::prove::{Proof, hurried, prove, prove_slowly};
use support::{Generator, Taste, at, role, set, skew};

const SMALL: Taste = Taste {
    max_roles: 4,
    max_instances: 30,
    max_groups: 6,
    faults: false,
    lag: false,
    changes: false,
    gangs: true,
    stages: false,
};

fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Compares verdicts, in a word, and says how many rollouts there were that do not finish.
fn agree(count: u64, taste: Taste, quick: impl Fn(Option<&Spec>, &Spec) -> Proof) -> u64 {
    let word = |proof: &Proof| match proof {
        Proof::Finishes => "finishes",
        Proof::Blocked(_) => "blocked",
        Proof::TooLarge => "too large",
    };
    let first = told("LOCKSTEP_FROM").unwrap_or(0);
    let mut blocked = 0;
    for seed in first..first + told("LOCKSTEP_LONG").unwrap_or(count) {
        let mut generator = Generator::new(seed, taste);
        let from = generator.spec();
        // Half of them change their sizes and limits too.
        let to = if seed % 2 == 0 { at(&from, "B") } else { at(&resized(&from, &mut generator), "B") };
        for from in [None, Some(&from)] {
            let (long, short) = (prove_slowly(from, &to), quick(from, &to));
            assert_eq!(word(&short), word(&long), "seed {seed}: {short:?}\n{long:?}\n{from:#?}\n{to:#?}");
            blocked += u64::from(matches!(long, Proof::Blocked(_)));
        }
    }
    blocked
}

/// The roles of one set, as large as those of another, within its limits.
fn resized(from: &Spec, generator: &mut Generator) -> Spec {
    let other = generator.spec();
    let mut to = from.clone();
    for (role, other) in to.roles.iter_mut().zip(&other.roles) {
        role.replicas = other.replicas;
        role.strategy = other.strategy;
        role.min_available = other.min_available;
    }
    Spec { replicas: other.replicas, strategy: other.strategy, ..to }
}

#[test]
fn however_many_move_at_once() {
    for waves in [1, 2, 5] {
        let quick = |from: Option<&Spec>, to: &Spec| {
            prove_slowly(from.map(|from| hurried(from, waves)).as_ref(), &hurried(to, waves))
        };
        let blocked = agree(1_000, SMALL, quick);
        assert!(told("LOCKSTEP_LONG").is_some() || blocked > 10, "only {blocked} do not finish");
    }
}

#[test]
fn what_would_take_too_long_is_not_claimed_to_be_known() {
    let mut from = set(1, vec![role("a", 5_000, "A"), role("b", 5_000, "A")]);
    from.rules = vec![skew("in-step", &["a", "b"], IntOrPercent::Int(1))];
    assert_eq!(prove(Some(&from), &at(&from, "B")), Proof::TooLarge);
}

#[test]
fn as_admission_does_it() {
    let large = Taste { max_roles: 3, max_instances: 300, max_groups: 2, ..SMALL };
    agree(150, large, prove);
}
