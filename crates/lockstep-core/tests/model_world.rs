//! The model world strikes what it is told to, and the promises see through traces written by hand.

mod golden_support;
mod support;

use golden_support::build::*;
use lockstep_core::model::*;
use lockstep_core::names::RoleName;
use lockstep_core::number::IntOrPercent::Int;
use lockstep_core::promises::{Checker, Promise};
use lockstep_core::simulate::Scenario;
use lockstep_core::simulate::faults::{Blow, Strike};
use lockstep_core::simulate::trace::{By, End, Event, SpecEvent, Subject, What};
use lockstep_core::time::Millis;
use support::{at, play, rev, role, set};

fn of(group: u32, instance: u32) -> Subject {
    Subject { group, role: RoleName::new("r"), instance }
}

/// The engine deletes an instance, the first pod first.
struct Delete(u32, u32, &'static str);

/// What an engine breaks that does this to a set of two-pod instances on their way from A to B.
fn breaks(spec: &Spec, acts: &[Delete]) -> Vec<Promise> {
    let (a, b) = (rev("A"), rev("B"));
    let wish = |target| SpecEvent {
        spec: spec.clone(),
        targets: [(RoleName::new("r"), target)].into(),
        stable: [(RoleName::new("r"), a)].into(),
        lag: 0,
        own: 0,
        unheard: false,
        anew: false,
    };
    let mut events = vec![What::Spec(Box::new(wish(a)))];
    for group in 0..spec.replicas {
        for i in 0..spec.roles[0].replicas {
            let of = of(group, i);
            let why = "Recover".to_owned();
            events.push(What::Create { of: of.clone(), revision: a, set_revision: a, why });
            events.push(What::Ready { of, revision: a });
        }
    }
    events.push(What::Spec(Box::new(wish(b))));
    for Delete(group, i, why) in acts {
        let (of, why) = (of(*group, *i), (*why).to_owned());
        events.push(What::Unready { of: of.clone(), revision: a, by: By::Engine });
        events.push(What::Delete { of, revision: a, by: By::Engine, why });
    }
    let mut checker = Checker::default();
    events.into_iter().zip(1..).for_each(|(what, t)| checker.see(&Event::at(t, what)));
    let mut broken: Vec<Promise> = checker.broken().iter().map(|broken| broken.promise).collect();
    broken.dedup();
    broken
}

#[test]
fn an_instance_of_several_pods_goes_with_the_first_of_them() {
    let spec = set(1, vec![within(with_workers(role("r", 3, "A"), 1), 1, 0)]);
    let update = |i| Delete(0, i, "Update");
    assert_eq!(breaks(&spec, &[update(2)]), []);
    assert_eq!(breaks(&spec, &[update(2), update(1)]), [Promise::Floor]);
}

#[test]
fn an_instance_of_several_pods_below_the_partition_stays() {
    let role = keeping(within(with_workers(role("r", 3, "A"), 1), 1, 0), Int(1));
    assert_eq!(breaks(&set(1, vec![role]), &[Delete(0, 0, "Update")]), [Promise::PartitionUntouched]);
}

#[test]
fn a_group_of_such_instances_goes_with_the_first_of_them() {
    let roles = vec![with_workers(role("r", 2, "A"), 1)];
    let spec = groups(2, StrategyKind::GroupRecreate, 1, 0, roles);
    let whole = |group| [Delete(group, 0, "Recreate"), Delete(group, 1, "Recreate")];
    assert_eq!(breaks(&spec, &whole(1)), []);
    let both: Vec<Delete> = whole(1).into_iter().chain(whole(0)).collect();
    assert_eq!(breaks(&spec, &both), [Promise::GroupFloor]);
}

#[test]
fn what_is_updated_by_hand_goes_for_no_reason_but_repair() {
    let mut spec = set(1, vec![with_workers(role("r", 3, "A"), 1)]);
    spec.roles[0].strategy.kind = StrategyKind::OnDelete;
    for why in ["Update", "Repair", "Excess", "SurgeDone", "SurgeOutdated"] {
        assert_eq!(breaks(&spec, &[Delete(0, 2, why)]), [Promise::ByHand], "{why}");
    }
    for why in ["Restart", "FailedPod", "Mixed", "GangTermination"] {
        assert_eq!(breaks(&spec, &[Delete(0, 2, why)]), [], "{why}");
    }
}

#[test]
fn while_it_is_paused_nothing_goes_but_for_repair() {
    let mut spec = set(1, vec![with_workers(role("r", 3, "A"), 1)]);
    spec.paused = true;
    assert_eq!(breaks(&spec, &[Delete(0, 2, "Update")]), [Promise::Paused]);
    for why in ["Restart", "FailedPod", "Mixed"] {
        assert_eq!(breaks(&spec, &[Delete(0, 2, why)]), [], "{why}");
    }
    let mut spec = groups(2, StrategyKind::GroupRecreate, 1, 0, spec.roles);
    spec.paused = true;
    assert_eq!(breaks(&spec, &[Delete(1, 2, "Recreate")]), [Promise::Paused]);
}

fn struck(spec: &Spec, after: Millis, by: Blow) -> Scenario {
    let mut scenario = Scenario::ideal(spec.clone(), at(spec, "B"));
    scenario.faults.strikes = vec![Strike { after, of: of(0, 1), by }];
    scenario
}

#[test]
fn a_strike_comes_though_the_rollout_is_over() {
    let spec = set(1, vec![role("r", 2, "A")]);
    let (outcome, events, broken) = play(&struck(&spec, Millis::minutes(120), Blow::Evict));
    assert_eq!((outcome.end, broken), (End::Complete, vec![]));
    let evicted =
        |event: &&Event| matches!(&event.what, What::Delete { of: o, by: By::World, .. } if *o == of(0, 1));
    assert_eq!(events.iter().filter(evicted).count(), 1);
}

#[test]
fn a_crash_heals_nothing() {
    let spec = set(1, vec![role("r", 2, "A")]);
    let mut scenario = struck(&spec, Millis::minutes(5), Blow::Crash);
    scenario.faults.never_ready = vec![rev("B")];
    let (outcome, events, _) = play(&scenario);
    assert_eq!(outcome.end, End::Stuck);
    let ready = |event: &&Event| matches!(event.what, What::Ready { revision, .. } if revision == rev("B"));
    assert_eq!(events.iter().filter(ready).count(), 0);
}
