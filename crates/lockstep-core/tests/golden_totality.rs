//! Any snapshot, however odd, has exactly one plan.

mod golden_support;
mod support;

use golden_support::{Desk, nonsense};
use lockstep_core::plan::plan;
use lockstep_core::simulate::rng::Rng;
use lockstep_core::time::{Millis, Time};
use support::{Generator, Taste, at};

const TASTE: Taste = Taste {
    max_roles: 3,
    max_instances: 6,
    max_groups: 3,
    faults: true,
    lag: false,
    changes: false,
    gangs: true,
    stages: true,
};

#[test]
fn nonsense_never_panics_and_equal_inputs_give_equal_bytes() {
    let broken = nonsense::broken(0..4_000, false);
    assert!(broken.is_empty(), "seeds {broken:?}");
}

#[test]
fn the_order_of_a_snapshot_does_not_matter() {
    for seed in 0..500 {
        let mut desk = Desk::empty(&Generator::new(seed, TASTE).spec());
        desk.run();
        desk.wish(&at(&desk.spec.clone(), "B"));
        for _ in 0..seed % 6 {
            desk.plan();
            desk.reap();
        }
        let mut turned = desk.seen.clone();
        turned.groups.reverse();
        for group in &mut turned.groups {
            group.roles.reverse();
            group.roles.iter_mut().for_each(|role| role.instances.reverse());
        }
        let [one, other] = [&desk.seen, &turned].map(|seen| plan(&desk.spec, seen, desk.now));
        assert_eq!(
            serde_json::to_string(&one).unwrap(),
            serde_json::to_string(&other).unwrap(),
            "seed {seed}"
        );
    }
}

/// Something happens to one pod.
fn mishap(desk: &mut Desk, rng: &mut Rng) {
    let (now, mut left) = (desk.now, rng.below(12));
    let what = rng.below(5);
    desk.each(|_, _, _, pod| {
        if left == 0 && !pod.terminating {
            match what {
                0 => pod.terminating = true,
                1 => pod.failed = true,
                2 => pod.restarts += 1,
                _ => (),
            }
            if what != 0 && pod.ready.take().is_some() {
                pod.unready = Some(now);
            }
        }
        left = left.wrapping_sub(1);
    });
}

#[test]
fn nobody_sleeps_past_the_moment_something_is_due() {
    for seed in 0..1_500 {
        let mut rng = Rng::new(seed);
        let mut desk = Desk::empty(&Generator::new(seed, TASTE).spec());
        desk.run();
        desk.wish(&at(&desk.spec.clone(), "B"));
        for _ in 0..rng.below(12) {
            desk.plan();
            mishap(&mut desk, &mut rng);
            desk.wait(rng.below(40));
            let _ = rng.chance(60) && (desk.reap() || desk.start());
        }
        while !desk.plan().is_empty() {}
        let wake = desk.last.as_ref().unwrap().wake;
        let until = wake.map_or(desk.now + Millis::minutes(60 * 24 * 30), |wake| Time(wake.0 - 1));
        let early = plan(&desk.spec, &desk.seen, until);
        assert!(early.actions.is_empty(), "seed {seed}: woken at {wake:?}, due before: {:?}", early.actions);
    }
}
