//! The sequences that the proposal promises, step for step.

use lockstep_core::simulate::trace::{By, End, Event, What};
use lockstep_core::time::Millis;
use serde_json::Value;

use crate::seed;
use crate::support::{Unit, began, engine, object, play, scenario, steps, with_tag, yaml};

fn rolled(object: &Value) -> Vec<Event> {
    let (events, outcome) = play(&scenario(object, &with_tag(object, "2")));
    assert_eq!(outcome.end, End::Complete, "{:?}", outcome.blocked);
    events
}

/// The least number of instances of a role that are ready at any moment of the update, surge included.
fn least_ready(events: &[Event], role: &str) -> usize {
    let began = began(events);
    let mut ready = std::collections::BTreeSet::new();
    let mut least = usize::MAX;
    for (i, event) in events.iter().enumerate() {
        match &event.what {
            What::Ready { of, .. } if of.role.as_str() == role => drop(ready.insert((of.group, of.instance))),
            What::Unready { of, .. } | What::Delete { of, .. } if of.role.as_str() == role => {
                ready.remove(&(of.group, of.instance));
            }
            _ => {}
        }
        if i >= began {
            least = least.min(ready.len());
        }
    }
    least
}

#[test]
fn a_clique_with_surge() {
    let set = object(
        "replicas: 1\ntemplate:\n  cliques:\n  - {name: a, updateStrategy: {maxUnavailable: 0, maxSurge: 1}, spec: {replicas: 3, podSpec: $P}}",
    );
    let events = rolled(&set);
    assert_eq!(
        steps(&events, Unit::Instance, 1),
        [
            "create a-3",
            "ready a-3", // 2
            "delete a-0",
            "gone a-0", // 3
            "create a-0",
            "ready a-0", // 4
            "delete a-1",
            "gone a-1", // 5
            "create a-1",
            "ready a-1", // 6
            "delete a-2",
            "gone a-2", // 7
            "create a-2",
            "ready a-2", // 8
            "delete a-3",
            "gone a-3", // 9
        ]
    );
    assert_eq!(least_ready(&events, "a"), 3);
}

#[test]
fn a_scaling_group_with_surge() {
    let spec = "replicas: 1\ntemplate:\n  cliques:\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups:\n  - {name: sg, cliqueNames: [leader, worker], replicas: 3, minAvailable: $M, updateStrategy: {maxUnavailable: 0, maxSurge: 1}}";
    for minimum in ["3", "2"] {
        let events = rolled(&object(&spec.replace("$M", minimum)));
        assert_eq!(
            steps(&events, Unit::Instance, 1),
            [
                "create sg-3",
                "ready sg-3", // 2, 3
                "delete sg-0",
                "gone sg-0",
                "create sg-0",
                "ready sg-0", // 4, 5
                "delete sg-1",
                "gone sg-1",
                "create sg-1",
                "ready sg-1", // 6, 7
                "delete sg-2",
                "gone sg-2",
                "create sg-2",
                "ready sg-2", // 8, 9
                "delete sg-3",
                "gone sg-3", // 10
            ],
            "minAvailable {minimum}"
        );
        assert_eq!(least_ready(&events, "sg"), 3);
    }
}

#[test]
fn replicas_that_are_recreated_with_surge() {
    let set = object(
        "replicas: 3\nupdateStrategy: {type: ReplicaRecreate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}\ntemplate:\n  cliques:\n  - {name: frontend, spec: {podSpec: $P}}\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups: [{name: prefill, cliqueNames: [leader, worker], replicas: 2}]",
    );
    let events = rolled(&set);
    assert_eq!(
        steps(&events, Unit::Group, 3),
        [
            "create 3", "ready 3", // 2, 3
            "delete 0", "gone 0", "create 0", "ready 0", // 4, 5
            "delete 1", "gone 1", "create 1", "ready 1", // 6, 7
            "delete 2", "gone 2", "create 2", "ready 2", // 8, 9
            "delete 3", "gone 3", // 10
        ]
    );
    never_mixed(&events);
}

/// Two revisions never meet in one replica.
fn never_mixed(events: &[Event]) {
    let mut standing = std::collections::BTreeMap::new();
    for event in events {
        match &event.what {
            What::Create { of, set_revision, .. } => drop(standing.insert(of.clone(), *set_revision)),
            What::Gone { of, .. } => drop(standing.remove(of)),
            _ => {}
        }
        for (of, revision) in &standing {
            for (other, another) in standing.iter().filter(|(other, _)| other.group == of.group) {
                assert_eq!(revision, another, "{of} beside {other}");
            }
        }
    }
}

#[test]
fn replicas_that_are_recreated_without_surge() {
    for (unavailable, expected) in [
        (1, &["delete 0", "gone 0", "create 0", "ready 0", "delete 1", "gone 1", "create 1", "ready 1"][..]),
        (2, &["delete 0", "delete 1", "gone 0", "create 0", "gone 1", "create 1", "ready 0", "ready 1"]),
    ] {
        let set = object(&format!(
            "replicas: 2\nupdateStrategy: {{type: ReplicaRecreate, rollingUpdate: {{maxUnavailable: {unavailable}}}}}\ntemplate:\n  cliques:\n  - {{name: a, spec: {{podSpec: $P}}}}\n  - {{name: b, spec: {{podSpec: $P}}}}"
        ));
        let mut got = steps(&rolled(&set), Unit::Group, 2);
        let mut expected: Vec<String> = expected.iter().map(|it| (*it).to_owned()).collect();
        if unavailable == 2 {
            // Both at once, in whatever order each step is seen.
            got.sort();
            expected.sort();
        }
        assert_eq!(got, expected);
    }
}

/// "Default Update Behavior" of the motivation: one replica after the other, inside it cliques and scaling groups side
/// by side, each one at a time.
#[test]
fn the_default() {
    let set = yaml(include_str!("../manifests/grove/default.yaml"));
    let events = rolled(&set);
    let moves: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Delete { of, by: By::Engine, .. } => Some(of.to_string()),
            _ => None,
        })
        .collect();
    let of = |group: u32, role: &str| -> Vec<&str> {
        let prefix = format!("{group}/{role}-");
        moves.iter().filter_map(|it| it.strip_prefix(&prefix)).collect()
    };
    let first_of_1 = moves.iter().position(|it| it.starts_with("1/")).expect("replica 1 moves");
    assert!(moves[first_of_1..].iter().all(|it| it.starts_with("1/")), "{moves:?}");
    for group in [0, 1] {
        assert_eq!(of(group, "frontend"), ["0", "1", "2"]);
        assert_eq!(of(group, "prefill"), ["0", "1"]);
        assert_eq!(of(group, "decode"), ["0", "1"]);
    }
    assert_eq!(least_ready(&events, "frontend"), 5);
    assert_eq!(least_ready(&events, "prefill"), 3);
}

#[test]
fn several_at_once() {
    let set = object(
        "replicas: 1\ntemplate:\n  cliques: [{name: a, spec: {podSpec: $P}}]\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [a], replicas: 4, updateStrategy: {maxUnavailable: 2}}]",
    );
    let events = rolled(&set);
    assert_eq!(least_ready(&events, "sg"), 2);
    let steps = steps(&events, Unit::Instance, 1);
    assert_eq!(steps[..2], ["delete sg-0", "delete sg-1"]);
}

#[test]
fn nothing_moves_on_delete() {
    let set = object(
        "replicas: 1\nupdateStrategy: {type: OnDelete}\ntemplate:\n  cliques: [{name: a, spec: {replicas: 2, podSpec: $P}}]",
    );
    let (events, outcome) = play(&scenario(&set, &with_tag(&set, "2")));
    assert_eq!(outcome.end, End::Paused);
    assert_eq!(steps(&events, Unit::Instance, 1), [""; 0]);
}

/// All four use cases of the proposal, from their first revision to the next.
#[test]
fn the_use_cases_finish() {
    let cases = [
        (seed::SINGLE_NODE, "agg-worker", 3),
        (seed::EXCESS_CAPACITY, "prefill", 2),
        (seed::NO_EXCESS_CAPACITY, "prefill", 1),
        (seed::MULTI_NODE, "decode", 4),
    ];
    for (spec, role, least) in cases {
        let events = rolled(&yaml(spec));
        assert_eq!(least_ready(&events, role), least, "{spec}");
    }
}

/// "Replica selection priority: unscheduled → unhealthy → ascending ordinal".
#[test]
fn what_is_unscheduled_goes_first() {
    let set = object("replicas: 3\ntemplate:\n  cliques: [{name: a, spec: {replicas: 2, podSpec: $P}}]");
    let next = with_tag(&set, "2");
    let mut scenario = scenario(&set, &next);
    // Room for five of six pods: one of the last replica finds none.
    scenario.nature.nodes = vec![5];
    scenario.initial = None;
    scenario.changes = vec![(Millis(0), engine(&set)), (Millis::minutes(60), engine(&next))];
    let (events, _) = play(&scenario);
    let moves: Vec<u32> = events[began(&events)..]
        .iter()
        .filter_map(|event| match &event.what {
            What::Delete { of, .. } => Some(of.group),
            _ => None,
        })
        .collect();
    assert_eq!(moves.first(), Some(&2), "{moves:?}");
}

/// Cliques in order at the first start, and not again in an update of which something is left.
#[test]
fn cliques_start_in_order() {
    let set = object(
        "replicas: 1\ntemplate:\n  cliqueStartupType: CliqueStartupTypeInOrder\n  cliques:\n  - {name: a, spec: {replicas: 2, podSpec: $P}}\n  - {name: b, spec: {podSpec: $P}}\n  - {name: c, spec: {podSpec: $P}}\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [b]}]",
    );
    let mut first = scenario(&set, &set);
    first.initial = None;
    let (events, outcome) = play(&first);
    assert_eq!(outcome.end, End::Complete);
    let order = |events: &[Event]| -> Vec<String> {
        let of = |event: &Event| match &event.what {
            What::Gate { of, .. } => Some(format!("gate {}", of.role)),
            What::Ungate { of, .. } => Some(format!("ungate {}", of.role)),
            What::Ready { of, .. } => Some(format!("ready {}", of.role)),
            _ => None,
        };
        events.iter().filter_map(of).collect()
    };
    assert_eq!(
        order(&events),
        ["gate sg", "gate c", "ready a", "ready a", "ungate sg", "ready sg", "ungate c", "ready c"]
    );
    let events = rolled(&set);
    let update = order(&events[began(&events)..]);
    assert!(update.iter().all(|step| step.starts_with("ready")), "{update:?}");
}

/// Cliques of a scaling group go in order in each of its replicas, whenever one starts; and what rolls keeps its limits.
#[test]
fn cliques_of_a_scaling_group_start_in_order() {
    let set = object(
        "replicas: 1\ntemplate:\n  cliqueStartupType: CliqueStartupTypeInOrder\n  cliques:\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [leader, worker], replicas: 2}]",
    );
    let events = rolled(&set);
    let members: Vec<String> = events[began(&events)..]
        .iter()
        .filter_map(|event| match &event.what {
            What::MemberFree { of, member, .. } => Some(format!("{member} {} starts", of.instance)),
            What::MemberReady { of, member, .. } => Some(format!("{member} {} ready", of.instance)),
            _ => None,
        })
        .collect();
    let one = |i: u32| {
        ["leader N starts", "leader N ready", "worker N starts", "worker N ready"]
            .map(|step| step.replace('N', &i.to_string()))
    };
    assert_eq!(members, [one(0), one(1)].concat());
}
