//! What the proposal promises, played in a model world.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::proof::stage::Stage;
use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::simulate::trace::{End, What};
use lockstep_core::simulate::{Scenario, run};

use crate::common::{first, group};

fn spec(text: &str) -> Spec {
    lockstep_api::lower(&first(text).set)
}

/// The largest distance between the updated shares of two roles while a rollout lasts, in thousandths; the fewest
/// available instances of each; and which ordinals were replaced.
struct Played {
    end: End,
    widest: u32,
    fewest: BTreeMap<String, u32>,
    replaced: BTreeMap<String, BTreeSet<u32>>,
    waves: usize,
}

fn play(from: &str, to: &str) -> Played {
    let (from, to) = (spec(from), spec(to));
    let mut stage = Stage::default();
    let mut played = Played {
        end: End::Complete,
        widest: 0,
        fewest: BTreeMap::new(),
        replaced: BTreeMap::new(),
        waves: 0,
    };
    let roles = to.roles.clone();
    let mut started = false;
    let mut last = 0;
    let outcome = run(&Scenario::ideal(from, to), &mut |event| {
        stage.see(&event);
        if let What::Delete { of, .. } = &event.what {
            started = true;
            played.replaced.entry(of.role.to_string()).or_default().insert(of.instance);
            if event.t != last {
                (played.waves, last) = (played.waves + 1, event.t);
            }
        }
        if !started {
            return;
        }
        let share = |role: &lockstep_core::model::Role| stage.updated(0, role) * 1000 / role.replicas;
        let shares: Vec<u32> = roles.iter().map(share).collect();
        let (low, high) = (shares.iter().min().copied(), shares.iter().max().copied());
        played.widest = played.widest.max(high.unwrap_or(0) - low.unwrap_or(0));
        for role in &roles {
            let fewest = played.fewest.entry(role.name.to_string()).or_insert(u32::MAX);
            *fewest = (*fewest).min(stage.available(0, role));
        }
    });
    played.end = outcome.end;
    played
}

const TOGETHER: &str = "coordination: [{name: pd, type: RollingUpdate, roles: [prefill, decode], strategy: {maxUnavailable: 25%, maxSkew: SKEW}}]";

/// 40 and 20 in every state of the table: both shares stay within the skew, and both arrive.
#[test]
fn forty_to_twenty() {
    for (skew, bound) in [("5%", 50), ("10%", 100), ("25%", 250)] {
        let rule = TOGETHER.replace("SKEW", skew);
        let roles = [("prefill", 40), ("decode", 20)];
        let played = play(&group(&rule, &roles, "engine:1"), &group(&rule, &roles, "engine:2"));
        assert_eq!(played.end, End::Complete, "{skew}");
        assert!(played.widest <= bound, "{skew}: {} thousandths apart", played.widest);
        assert!(played.fewest["prefill"] >= 30 && played.fewest["decode"] >= 15, "{:?}", played.fewest);
        assert_eq!((played.replaced["prefill"].len(), played.replaced["decode"].len()), (40, 20));
    }
}

/// 200 and 100, as printed: 199 to 160 and 99 to 80 move, within 1%, at most 10 and 5 down.
#[test]
fn two_hundred_and_one_hundred() {
    let text = include_str!("../manifests/rbg/seed-partition.yaml");
    let played = play(text, &text.replace("engine:1", "engine:2"));
    assert_eq!(played.end, End::PartitionReached);
    assert_eq!(played.replaced["prefill"], (160..200).collect());
    assert_eq!(played.replaced["decode"], (80..100).collect());
    assert!(played.widest <= 10, "{} thousandths apart", played.widest);
    assert!(played.fewest["prefill"] >= 190 && played.fewest["decode"] >= 95, "{:?}", played.fewest);
    // One percent at a time: each wave is ready before the next.
    assert_eq!(played.waves, 20);
}

/// Decode cannot become ready: prefill stops within the skew, so that both can go back together.
#[test]
fn one_that_is_stuck_holds_the_other() {
    let rule = TOGETHER.replace("SKEW", "10%");
    let roles = [("prefill", 40), ("decode", 20)];
    let (from, to) = (spec(&group(&rule, &roles, "engine:1")), spec(&group(&rule, &roles, "engine:2")));
    let decode = RoleName::new("decode");
    let bad = to.role(&decode).map(|role| role.revision).expect("decode");
    let mut scenario = Scenario::ideal(from, to);
    scenario.faults.never_ready = vec![bad];
    let mut stage = Stage::default();
    run(&scenario, &mut |event| stage.see(&event));
    let spec = stage.spec().expect("spec").clone();
    let updated = |name: &str| stage.updated(0, spec.role(&RoleName::new(name)).expect("role"));
    assert!((1..=4).contains(&updated("prefill")), "{}", updated("prefill"));
    assert!((1..=5).contains(&updated("decode")), "{}", updated("decode"));
}

/// Batches of two prefill and one decode; the next is held until the whole of the one before was ready.
#[test]
fn two_to_one_in_turn() {
    let to = spec(include_str!("../manifests/rbg/seed-affinity.yaml"));
    let mut scenario = Scenario::ideal(to.clone(), to);
    scenario.initial = None;
    let batch =
        |role: &RoleName, instance: u32| if role.as_str() == "prefill" { instance / 2 } else { instance };
    let (mut ready, mut begun) = (BTreeMap::<u32, u32>::new(), Vec::new());
    let mut gated = BTreeSet::new();
    let outcome = run(&scenario, &mut |event| match event.what {
        What::Gate { of, .. } => {
            gated.insert(of);
        }
        What::Scheduled { of, .. } => {
            let batch = batch(&of.role, of.instance);
            if batch > 0 {
                assert_eq!(
                    ready.get(&(batch - 1)),
                    Some(&3),
                    "batch {batch} before batch {} was ready",
                    batch - 1
                );
            }
            begun.push(batch);
        }
        What::Ready { of, .. } => *ready.entry(batch(&of.role, of.instance)).or_default() += 1,
        _ => {}
    });
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(begun, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!(gated.len(), 6);
}

/// Summary of the proposal: roles that a rule does not name roll by their own strategies.
#[test]
fn a_role_outside_the_rule_rolls_freely() {
    let rule = TOGETHER.replace("SKEW", "5%");
    let roles = [("prefill", 8), ("decode", 4), ("router", 3)];
    let played = play(&group(&rule, &roles, "engine:1"), &group(&rule, &roles, "engine:2"));
    assert_eq!(played.end, End::Complete);
    assert_eq!(played.fewest["router"], 2);
    assert_eq!(played.replaced["router"].len(), 3);
}
