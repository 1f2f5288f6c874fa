//! What the proposal of Kthena prints: six steps in each serving group.

use lockstep_core::simulate::trace::{By, End, Event, What};
use serde_json::{Value, json};

use crate::manifest::{behaving, with_tag, yaml};
use crate::row::{Deed, Row};
use crate::story::{Story, condition};

const ORDERED: &str = include_str!("../../../lockstep-dialects/tests/manifests/kthena/ordered.yaml");

/// Three groups with the proposal's rollout strategy. Nobody plays Volcano here.
fn ordered() -> Value {
    let mut object = yaml(ORDERED);
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    metadata.remove("namespace");
    object["spec"].as_object_mut().expect("a spec").remove("schedulerName");
    object
}

/// The same, with two workers to an entry pod.
fn with_workers(object: &Value) -> Value {
    let mut object = object.clone();
    for role in object["spec"]["template"]["roles"].as_array_mut().expect("roles") {
        role["workerReplicas"] = json!(2);
        role["workerTemplate"] = role["entryTemplate"].clone();
    }
    object
}

fn with_partition(partition: u32) -> Value {
    let mut object = ordered();
    object["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"] = json!(partition);
    object
}

/// As before the proposal.
fn without_order() -> Value {
    let mut object = ordered();
    let configuration = &mut object["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"];
    configuration.as_object_mut().expect("a configuration").remove("roleUpgrade");
    object
}

/// Only prefill, the first role, has another image.
fn only_prefill(object: &Value, tag: &str) -> Value {
    let mut changed = with_tag(object, tag);
    changed["spec"]["template"]["roles"][1] = object["spec"]["template"]["roles"][1].clone();
    changed
}

fn with_steps(steps: Value) -> Value {
    let mut object = ordered();
    object["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["roleUpgrade"]["steps"] = steps;
    object
}

/// "1. Upgrade 1 D replica (canary)" to "6. Upgrade remaining D replicas", in these groups.
fn six(groups: &[u32]) -> Vec<String> {
    let six = ["decode-1", "prefill-3", "prefill-2", "prefill-1", "prefill-0", "decode-0"];
    groups.iter().flat_map(|group| six.map(|it| format!("{group}/{it}"))).collect()
}

/// One after the other: each is ready before the next goes.
fn one_by_one(story: &Story, groups: &[u32]) {
    let steps: Vec<String> = six(groups)
        .iter()
        .flat_map(|it| {
            let name = it.split_once('/').expect("a group").1;
            ["delete", "gone", "create", "ready"].map(|verb| format!("{verb} {name}"))
        })
        .collect();
    assert_eq!(story.steps(crate::story::Unit::Instance), steps);
    assert_eq!(story.created(), six(groups));
    assert_eq!(story.most_down(), groups.len().min(1));
}

/// One group that takes its time: what passes in less than a second is not told.
fn slow(object: &Value) -> Value {
    let mut object = behaving(object, None, "ready-after", "1200ms");
    object["spec"]["replicas"] = json!(1);
    object
}

fn every_step_was_told(story: &Story) {
    one_by_one(story, &[0]);
    for step in [
        "step 1/4: decode 0 of 1 updated and ready",
        "step 2/4: prefill 0 of 1",
        "step 3/4: prefill",
        "step 4/4: decode 1 of 2",
    ] {
        let said = |(reason, note): &(String, String)| {
            reason == "Step" && note.starts_with("group 0") && note.contains(step)
        };
        assert!(story.told.iter().any(said), "{step}: {:#?}", story.told);
    }
}

pub fn rows() -> Vec<Row> {
    let rollout =
        |name, object: Value, check| Row::rollout(name, object.clone(), with_tag(&object, "2"), check);
    let kept = |name, partition, check| {
        let object = with_partition(partition);
        let deeds = vec![
            Deed::Apply(object.clone(), End::Complete),
            Deed::Apply(with_tag(&object, "2"), End::PartitionReached),
        ];
        Row::new(name, deeds, check)
    };
    vec![
        rollout("six steps in each group", ordered(), |story| one_by_one(story, &[2, 1, 0])),
        rollout("six steps, told one by one", slow(&ordered()), every_step_was_told),
        rollout("six steps, with workers", with_workers(&ordered()), |story| one_by_one(story, &[2, 1, 0])),
        kept("a partition of 1", 1, |story| one_by_one(story, &[2, 1])),
        kept("a partition of all", 3, |story| one_by_one(story, &[])),
        Row::rollout("one role alone", ordered(), only_prefill(&ordered(), "2"), |story| {
            let four = |group| [3, 2, 1, 0].map(|i| format!("{group}/prefill-{i}"));
            assert_eq!(story.created(), [2, 1, 0].map(four).concat());
        }),
        rollout("as before the proposal", without_order(), |story| {
            let groups: String = story.created().iter().map(|it| &it[..1]).collect();
            assert_eq!(groups, "222222111111000000");
            assert!(!story.ever_mixed());
        }),
        rollout("as before the proposal, with workers", with_workers(&without_order()), |story| {
            assert_eq!(story.created().len(), 18);
            assert!(!story.ever_mixed());
        }),
        stalled(),
        stalled_for_good().long(),
        refused(),
    ]
}

/// "If readiness cannot be achieved, the rollout will stall": the step, its target and how much of it is met are said,
/// nothing later moves, and a good image goes on.
fn stalled() -> Row {
    let bad = behaving(&with_tag(&ordered(), "2"), Some("prefill"), "image", "missing");
    let says = |status: &Value| {
        let said = condition(status, "UpdateInProgress", "True").unwrap_or_default();
        let canary_is_gone = status["availableReplicas"] == 2;
        canary_is_gone && said.contains("group 2: step 2/4: prefill 0 of 1 updated and ready")
    };
    let deeds = vec![
        Deed::Apply(ordered(), End::Complete),
        Deed::Begin(bad),
        Deed::Until("the step that waits is named", says),
        Deed::Happened("the canary of the step goes", |events| {
            moved(events).contains(&"2/prefill-3".to_owned())
        }),
        Deed::Apply(with_tag(&ordered(), "3"), End::Complete),
        Deed::Until("it is updated", |status| {
            status["updatedReplicas"] == 3 && condition(status, "UpdateInProgress", "False").is_some()
        }),
    ];
    Row::new("a step that never gets ready", deeds, |story| {
        let moved = moved(&story.events[..story.changed]);
        assert_eq!(moved, ["2/decode-1", "2/prefill-3"], "nothing beyond the step");
    })
}

/// What the engine has moved.
fn moved(events: &[Event]) -> Vec<String> {
    let of = |event: &Event| match &event.what {
        What::Delete { of, by: By::Engine, .. } => Some(of.to_string()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// The same after ten minutes: the step is in conditions and events, and the way out is the same.
fn stalled_for_good() -> Row {
    let bad = behaving(&with_tag(&ordered(), "2"), Some("prefill"), "image", "missing");
    let says = |status: &Value| {
        let said = condition(status, "Progressing", "False").unwrap_or_default();
        said.contains("group 2: step 2/4: prefill 0 of 1 updated and ready")
    };
    let deeds = vec![
        Deed::Apply(ordered(), End::Complete),
        Deed::Apply(bad, End::Stuck),
        Deed::Until("the step that waits is named", says),
        Deed::Apply(with_tag(&ordered(), "3"), End::Complete),
    ];
    Row::new("a step that is given up on", deeds, |story| {
        // The canaries again, and then as always.
        assert_eq!(story.created(), six(&[2, 1, 0]));
        let told =
            |word: &str| story.told.iter().any(|(reason, note)| reason == word && note.contains("prefill"));
        assert!(told("Stalled") && told("Step"), "{:#?}", story.told);
    })
}

/// "Reject invalid configurations via webhook validation."
fn refused() -> Row {
    let deeds = vec![
        Deed::Begin(ordered()),
        Deed::Refused(
            with_steps(json!([{"role": "encode", "updateTo": 1}])),
            &["roleUpgrade.steps[0].role", "encode"],
        ),
        Deed::Refused(
            with_steps(json!([{"role": "decode", "updateTo": 0}])),
            &["roleUpgrade.steps[0].updateTo"],
        ),
        Deed::Refused(
            with_steps(json!([{"role": "decode", "updateTo": 3}])),
            &["roleUpgrade.steps[0].updateTo"],
        ),
        Deed::Refused(
            with_steps(json!([{"role": "decode", "updateTo": "101%"}])),
            &["roleUpgrade.steps[0].updateTo"],
        ),
        Deed::Refused(
            with_steps(json!([{"role": "prefill", "updateTo": 3}, {"role": "prefill", "updateTo": "50%"}])),
            &["roleUpgrade.steps[1].updateTo"],
        ),
        Deed::Apply(ordered(), End::Complete),
    ];
    Row::new("steps that cannot be", deeds, |_| {})
}
