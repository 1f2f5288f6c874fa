//! What goes wrong on the way to an API server, from a seed.

use lockstep_core::simulate::rng::Rng;
use lockstep_sandbox::cluster::faults::{Chance, Fault, Lists, Profile, Span, Watches};

/// A way on which things go wrong, for ever or for at most so many milliseconds.
pub fn way(rng: &mut Rng, longest: u64) -> Profile {
    let mut profile = Profile::default();
    if rng.chance(60) {
        profile.travel = Span::new(0, rng.between(1, 400));
    }
    if rng.chance(50) {
        profile.watches = watches(rng);
    }
    if rng.chance(60) {
        profile.writes = chances(rng, true);
    }
    if rng.chance(40) {
        profile.reads = chances(rng, false);
    }
    if rng.chance(30) {
        profile.lists = Lists { stale: between(rng, 100, 1_000), behind: rng.between(1, 60) };
    }
    if rng.chance(50) {
        profile.lasts = Some(rng.between(5_000, longest));
    }
    profile
}

fn between(rng: &mut Rng, low: u64, high: u64) -> u32 {
    u32::try_from(rng.between(low, high)).unwrap_or_default()
}

fn watches(rng: &mut Rng) -> Watches {
    let live = rng.chance(50).then(|| Span::new(500, rng.between(2_000, 30_000)));
    let held = between(rng, 0, 150);
    Watches { held, held_for: Span::new(10, rng.between(50, 4_000)), live }
}

fn chances(rng: &mut Rng, writes: bool) -> Vec<Chance> {
    let mut chances = Vec::new();
    let mut add = |rng: &mut Rng, fault: Fault| {
        if rng.chance(50) {
            chances.push(Chance::of(between(rng, 5, 80), fault));
        }
    };
    add(rng, Fault::Busy);
    for applied in if writes { &[false, true][..] } else { &[false][..] } {
        let applied = *applied;
        add(rng, Fault::Failed { applied });
        add(rng, Fault::TimedOut { applied });
        add(rng, Fault::Reset { applied });
    }
    if writes {
        add(rng, Fault::Conflict);
    }
    let late = Span::new(0, rng.between(100, 5_000));
    add(rng, Fault::Late(late));
    if rng.chance(30) {
        let applied = rng.chance(50);
        chances.push(Chance::of(between(rng, 2, 15), Fault::Silent { applied }));
    }
    chances
}
