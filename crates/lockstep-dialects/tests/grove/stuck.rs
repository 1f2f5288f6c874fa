//! The stuck scenarios of the proposal: what is said of each, and the way out.

use lockstep_core::blocked::Reason;
use lockstep_core::simulate::Scenario;
use lockstep_core::simulate::trace::{End, Event, What};
use lockstep_core::time::Millis;
use serde_json::{Value, json};

use crate::support::{Unit, began, engine, object, play, scenario, steps, with_tag};

const CLIQUE: &str = "replicas: 1\ntemplate:\n  cliques:\n  - {name: a, spec: {replicas: 3, podSpec: $P, updateStrategy: {maxUnavailable: 0, maxSurge: 1}}}";
const GROUP: &str = "replicas: 1\ntemplate:\n  cliques:\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups:\n  - {name: sg, cliqueNames: [leader, worker], replicas: 3, minAvailable: 3, updateStrategy: {maxUnavailable: 0, maxSurge: 1}}";
const RECREATE: &str = "replicas: 2\nupdateStrategy: {type: ReplicaRecreate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}\ntemplate:\n  cliques:\n  - {name: a, spec: {podSpec: $P}}\n  - {name: b, spec: {podSpec: $P}}";

/// The reasons that stood when something else was wished for, or at the end.
fn reasons(events: &[Event]) -> Vec<Reason> {
    let mut all: Vec<Reason> = Vec::new();
    for event in events {
        if let What::Blocked { reason, .. } = event.what
            && !all.contains(&reason)
        {
            all.push(reason);
        }
    }
    all
}

fn stuck(scenario: &Scenario, reason: Reason) -> Vec<Event> {
    let (events, outcome) = play(scenario);
    assert!(!outcome.end.is_good(), "{:?}", outcome.end);
    assert!(outcome.blocked.iter().any(|it| it.reason == reason), "{:?}", outcome.blocked);
    events
}

/// The same, and an hour later something else is wished for.
fn then(scenario: &Scenario, next: &Value) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.changes.push((Millis::minutes(60), engine(next)));
    scenario
}

fn without_surge(object: &Value, path: &str) -> Value {
    let mut object = object.clone();
    *object.pointer_mut(path).expect(path) = json!({"maxUnavailable": 1, "maxSurge": 0});
    object
}

const OF_CLIQUE: &str = "/spec/template/cliques/0/spec/updateStrategy";
const OF_GROUP: &str = "/spec/template/podCliqueScalingGroups/0/updateStrategy";
const OF_SET: &str = "/spec/updateStrategy/rollingUpdate";

/// "Surge pod cannot be scheduled", "Surge replica cannot be scheduled", "Gang scheduling amplification", "Surge replica
/// is unscheduled": no room on the nodes. Nothing old is touched; taking the surge back goes on.
#[test]
fn no_room_for_the_surge() {
    for (spec, nodes, place) in
        [(CLIQUE, vec![3], OF_CLIQUE), (GROUP, vec![9, 2], OF_GROUP), (RECREATE, vec![5], OF_SET)]
    {
        let old = object(spec);
        let new = with_tag(&old, "2");
        let mut scenario = scenario(&old, &new);
        scenario.nature.nodes = nodes;
        let events = stuck(&scenario, Reason::SurgeUnschedulable);
        let deletes = events.iter().filter(|event| matches!(event.what, What::Delete { .. })).count();
        assert_eq!(deletes, 0, "{spec}");
        let (events, outcome) = play(&then(&scenario, &without_surge(&new, place)));
        assert_eq!(outcome.end, End::Complete, "{spec} {:?}", reasons(&events));
    }
}

/// "Surge pod scheduled but not ready", "Surge replica scheduled but not ready", "Surge replica has MinAvailable
/// breached": a bad image. Nothing old is touched; a good image replaces the surge and goes on.
#[test]
fn a_surge_that_never_becomes_ready() {
    for spec in [CLIQUE, GROUP, RECREATE] {
        let old = object(spec);
        let new = with_tag(&old, "bad");
        let mut scenario = scenario(&old, &new);
        scenario.faults.never_ready = engine(&new).roles.iter().map(|role| role.revision).collect();
        let (events, outcome) = play(&scenario);
        assert!(!outcome.end.is_good(), "{:?}", outcome.end);
        assert!(!outcome.blocked.is_empty());
        let deletes = events.iter().filter(|event| matches!(event.what, What::Delete { .. })).count();
        assert_eq!(deletes, 0, "{spec}");
        let (events, outcome) = play(&then(&scenario, &with_tag(&old, "good")));
        assert_eq!(outcome.end, End::Complete, "{spec} {:?}", reasons(&events));
        // And back to where it came from.
        let (events, outcome) = play(&then(&scenario, &old));
        assert_eq!(outcome.end, End::Complete, "{spec} {:?}", reasons(&events));
    }
}

/// "Base PodGang update blocks surge scaled PodGang": a surge is never held by the base's update, gangs or not.
#[test]
fn the_base_gang_holds_no_surge() {
    let old = object(GROUP);
    let new = with_tag(&old, "2");
    let served = lockstep_dialects::Served { pod_groups: true, ..lockstep_dialects::Served::default() };
    let world = lockstep_dialects::World { served, ..lockstep_dialects::World::default() };
    let spec = |object: &Value| lockstep_api::lower(&crate::support::lower_in(object, &world).set);
    let (events, outcome) = play(&Scenario::ideal(spec(&old), spec(&new)));
    assert_eq!(outcome.end, End::Complete);
    let gated = events[began(&events)..].iter().any(|event| matches!(event.what, What::Gate { .. }));
    assert!(!gated, "the base gang was scheduled once: nothing waits for it any more");
    assert_eq!(steps(&events, Unit::Instance, 1)[..2], ["create sg-3", "ready sg-3"]);
}

/// "Existing replicas are unhealthy": the old revision is not ready, or not for long. What does not work is moved at no
/// cost, so that even `maxUnavailable: 0` is no way into a corner.
#[test]
fn unhealthy_replicas_are_moved() {
    let old = object(RECREATE);
    let new = with_tag(&old, "2");
    let revisions =
        |object: &Value| engine(object).roles.iter().map(|role| role.revision).collect::<Vec<_>>();
    let mut never = Scenario { initial: None, ..scenario(&old, &old) };
    never.faults.never_ready = revisions(&old);
    let (_, outcome) = play(&never);
    assert!(!outcome.end.is_good(), "{:?}", outcome.end);
    let (events, outcome) = play(&then(&never, &new));
    assert_eq!(outcome.end, End::Complete, "{:?}", reasons(&events));

    let mut flapping = scenario(&old, &new);
    flapping.faults.flapping = revisions(&old);
    let (events, outcome) = play(&flapping);
    assert_eq!(outcome.end, End::Complete, "{:?}", reasons(&events));
}
