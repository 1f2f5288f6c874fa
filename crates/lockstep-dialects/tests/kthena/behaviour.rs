//! The sequences that the proposal promises, step for step.

use std::collections::BTreeMap;

use lockstep_core::blocked::Reason;
use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{End, Event, What};
use lockstep_core::simulate::{Outcome, Scenario, run};
use lockstep_core::time::Millis;
use lockstep_dialects::World;

use crate::common::*;

fn spec(yaml: &str) -> Spec {
    lockstep_api::lower(&lowered(yaml, &World::default()).set)
}

/// What happened after the last change, as far as people ask.
#[derive(Default)]
struct Story {
    /// Instances that were created, in order: `2/decode-1`.
    created: Vec<String>,
    /// Those that were taken down and are not ready again.
    down: Vec<String>,
    /// The most of them at one time.
    most_down: usize,
    targets: BTreeMap<RoleName, Revision>,
}

impl Story {
    fn see(&mut self, event: &Event) {
        match &event.what {
            What::Spec(wish) if wish.targets != self.targets => {
                *self = Self { targets: wish.targets.clone(), ..Self::default() };
            }
            What::Create { of, .. } => self.created.push(of.to_string()),
            What::Delete { of, .. } => {
                self.down.push(of.to_string());
                self.most_down = self.most_down.max(self.down.len());
            }
            What::Ready { of, .. } => self.down.retain(|it| *it != of.to_string()),
            _ => {}
        }
    }
}

fn play(scenario: &Scenario) -> (Story, Outcome) {
    let mut story = Story::default();
    let outcome = run(scenario, &mut |event| story.see(&event));
    (story, outcome)
}

/// From one manifest to another.
fn change(from: &str, to: &str) -> (Story, Outcome) {
    play(&Scenario::ideal(spec(from), spec(to)))
}

/// From one manifest to the same with another image.
fn update(yaml: &str) -> (Story, Outcome) {
    change(yaml, &yaml.replace("vllm:1", "vllm:2"))
}

/// The replacements of the proposal, in the groups given.
fn six(groups: &[u32]) -> Vec<String> {
    let six = ["decode-1", "prefill-3", "prefill-2", "prefill-1", "prefill-0", "decode-0"];
    groups.iter().flat_map(|group| six.map(|it| format!("{group}/{it}"))).collect()
}

fn with_workers(yaml: &str) -> String {
    let workers =
        "workerReplicas: 2\n        workerTemplate: {spec: {containers: [{name: w, image: 'vllm:1'}]}}";
    yaml.replace("workerReplicas: 0", workers)
}

#[test]
fn six_replacements_in_order_in_every_group() {
    for yaml in [ORDERED, &with_workers(ORDERED)] {
        let (story, outcome) = update(yaml);
        assert_eq!(outcome.end, End::Complete);
        assert_eq!(story.created, six(&[2, 1, 0]));
        assert_eq!(story.most_down, 1);
    }
}

#[test]
fn a_partition_keeps_groups_as_they_are() {
    for (partition, groups, end) in [
        ("1", vec![2, 1], End::PartitionReached),
        ("34%", vec![2], End::PartitionReached),
        ("3", vec![], End::PartitionReached),
        ("7", vec![], End::PartitionReached),
    ] {
        let (story, outcome) = update(&ORDERED.replace("partition: 0", &format!("partition: {partition}")));
        assert_eq!((story.created, outcome.end), (six(&groups), end), "partition {partition}");
    }
}

#[test]
fn a_step_that_never_gets_ready_holds_the_rest() {
    let (before, after) = (spec(ORDERED), spec(&ORDERED.replace("vllm:1", "vllm:2")));
    let mut scenario = Scenario::ideal(before, after);
    let prefill = scenario.changes[0].1.roles[0].revision;
    scenario.faults.never_ready = vec![prefill];
    scenario.limit = Millis::minutes(60);
    let (story, outcome) = play(&scenario);
    // The decode canary, the prefill canary, and nothing beyond.
    assert_eq!(story.created, ["2/decode-1", "2/prefill-3"]);
    assert!(!outcome.end.is_good());
    let blocked = outcome.blocked.iter().find(|block| block.reason == Reason::StepNotReady);
    let said = &blocked.expect("the step is to blame").message;
    assert!(said.starts_with("step 2/4: prefill 0 of 1 updated and ready"), "{said}");
}

#[test]
fn a_role_that_did_not_change_meets_its_steps_at_once() {
    // Only decode, which is the second role, has another image.
    let at = ORDERED.rfind("vllm:1").expect("it is there");
    let (story, outcome) = change(ORDERED, &format!("{}vllm:2{}", &ORDERED[..at], &ORDERED[at + 6..]));
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(
        story.created,
        ["2/decode-1", "2/decode-0", "1/decode-1", "1/decode-0", "0/decode-1", "0/decode-0"]
    );
}

#[test]
fn a_role_that_no_step_names_follows_at_the_end() {
    let router =
        "roles:\n      - {name: router, entryTemplate: {spec: {containers: [{name: r, image: 'vllm:1'}]}}}";
    let (story, outcome) = update(&ORDERED.replace("roles:", router));
    assert_eq!(outcome.end, End::Complete);
    let mut expected = six(&[2]);
    expected.push("2/router-0".to_owned());
    assert_eq!(&story.created[..7], expected);
}

#[test]
fn a_role_may_ask_for_more_than_one_at_a_time() {
    let (story, outcome) =
        update(&ORDERED.replace("replicas: 4\n", "replicas: 4\n        maxUnavailable: 3\n"));
    assert_eq!((outcome.end, story.most_down), (End::Complete, 3));
    let group: Vec<&str> = story.created[..6].iter().map(String::as_str).collect();
    assert_eq!((group[0], group[1], group[5]), ("2/decode-1", "2/prefill-3", "2/decode-0"));
}

#[test]
fn without_an_order_whole_groups_are_replaced() {
    let at = ORDERED.find("\n      roleUpgrade:").expect("it is there");
    let end = ORDERED.find("  template:").expect("it is there");
    let whole = format!("{}{}", &ORDERED[..at], &ORDERED[end..]);
    for yaml in [whole.clone(), with_workers(&whole)] {
        let (story, outcome) = update(&yaml);
        assert_eq!(outcome.end, End::Complete);
        let groups: Vec<&str> = story.created.iter().map(|it| &it[..1]).collect();
        assert_eq!(groups.concat(), "222222111111000000");
        assert_eq!(story.most_down, 6);
    }
    // Also if only one of its roles changed.
    let last = whole.rfind("vllm:1").expect("it is there");
    let (story, _) = change(&whole, &format!("{}vllm:2{}", &whole[..last], &whole[last + 6..]));
    assert_eq!(story.created.len(), 18);
}

#[test]
fn groups_beyond_those_wished_for_come_first_and_go_last() {
    let yaml = MINIMAL.replace(
        "spec:\n  template:",
        "spec:\n  replicas: 2\n  rolloutStrategy:\n    rollingUpdateConfiguration: {maxUnavailable: 0, maxSurge: 1}\n  template:",
    );
    let (story, outcome) = update(&yaml);
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(story.created, ["2/server-0", "1/server-0", "0/server-0"]);
}

#[test]
fn roles_may_roll_side_by_side() {
    let at = ORDERED.find("    rollingUpdateConfiguration:").expect("it is there");
    let end = ORDERED.find("  template:").expect("it is there");
    let head = ORDERED[..at].replace("ServingGroupRollingUpdate", "RoleRollingUpdate");
    let free = format!("{head}{}", &ORDERED[end..]);
    let (story, outcome) = update(&free);
    assert_eq!((outcome.end, story.created.len()), (End::Complete, 18));
    // One of each role.
    assert_eq!(story.most_down, 2);

    let together =
        "    roleCoordination: {maxSkew: 25%, dependencies: [{role: prefill, dependsOn: [decode]}]}\n";
    let (story, outcome) = update(&format!("{head}{together}{}", &ORDERED[end..]));
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(&story.created[..2], ["2/decode-1", "2/prefill-3"]);
    assert_eq!(story.created.len(), 18);
}
