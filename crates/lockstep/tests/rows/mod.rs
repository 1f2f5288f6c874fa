//! The table of scenarios, wherever they are played.

#![allow(clippy::expect_used)]

use std::time::Duration;

use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::{By, End, What};
use lockstep_testkit::scenario::{Scenario, Verdict};

use crate::cluster::{START, gang, role, set};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn given(from: &str) -> Scenario {
    let (shortest, longest) = START;
    Scenario::given(from).expect("a scenario").starting_in(shortest, longest).terminating_in(shortest)
}

fn rollout(from: &str, to: &str) -> Scenario {
    given(from).change(Duration::ZERO, to).expect("a change")
}

/// A scenario, what it is called, and what else has to be so.
pub type Row = (&'static str, Scenario, fn(&Verdict));

fn fine(_: &Verdict) {}

fn creates(verdict: &Verdict) -> usize {
    verdict.events.iter().filter(|event| matches!(event.what, What::Create { .. })).count()
}

/// Which instances the engine deleted, in order.
fn deleted(verdict: &Verdict) -> Vec<String> {
    let of = |what: &What| match what {
        What::Delete { of, by: By::Engine, .. } => Some(of.to_string()),
        _ => None,
    };
    verdict.events.iter().filter_map(|event| of(&event.what)).collect()
}

/// Roles within their rules.
pub fn within_a_group() -> Vec<Row> {
    let two = |image: &str, rule: &str, more: &str| {
        set(rule, &[role("prefill", 8, image, more), role("decode", 4, image, more)])
    };
    let skew = "coordination:\n- name: together\n  roles: [prefill, decode]\n  rollingUpdate: {maxSkew: 25%, maxUnavailable: 25%}\n";
    let steps = "coordination:\n- name: steps\n  steps: [{role: decode, updateTo: 1}, {role: prefill, updateTo: 1}, {role: prefill, updateTo: 100%}, {role: decode, updateTo: 100%}]\n";
    let kthena = |image: &str| set(steps, &[role("prefill", 4, image, ""), role("decode", 2, image, "")]);
    let clique = |image: &str| {
        set(
            "",
            &[role("web", 3, image, "updateStrategy: {maxUnavailable: 0, maxSurge: 1, order: Ascending}")],
        )
    };
    let kept = |image: &str, partition: u32| {
        set(
            "",
            &[role(
                "web",
                6,
                image,
                &format!("updateStrategy: {{maxUnavailable: 2, partition: {partition}}}"),
            )],
        )
    };
    let workers = |image: &str| set("", &[gang("prefill", 3, 2, image, ""), role("decode", 2, image, "")]);
    vec![
        ("skew", rollout(&two("1", skew, ""), &two("2", skew, "")), fine),
        ("steps", rollout(&kthena("1"), &kthena("2")), |verdict| {
            let order =
                ["0/decode-1", "0/prefill-3", "0/prefill-2", "0/prefill-1", "0/prefill-0", "0/decode-0"];
            assert_eq!(deleted(verdict), order);
        }),
        ("surge of a role", rollout(&clique("1"), &clique("2")), |verdict| {
            assert_eq!(deleted(verdict), ["0/web-0", "0/web-1", "0/web-2", "0/web-3"]);
            assert_eq!(creates(verdict), 3 + 4);
        }),
        ("partition", rollout(&kept("1", 4), &kept("2", 4)).ends(End::PartitionReached), |verdict| {
            assert_eq!(deleted(verdict).len(), 2);
        }),
        (
            "partition, then released",
            rollout(&kept("1", 4), &kept("2", 4)).change(seconds(4), &kept("2", 0)).expect("a change"),
            |verdict| {
                assert_eq!(deleted(verdict).len(), 6);
            },
        ),
        ("leader and workers", rollout(&workers("1"), &workers("2")), |verdict| {
            assert_eq!(deleted(verdict).len(), 5);
        }),
    ]
}

/// Groups, one after the other or recreated.
pub fn groups() -> Vec<Row> {
    let of = |strategy: &str, groups: u32, image: &str| {
        set(
            &format!("replicas: {groups}\nupdateStrategy: {strategy}"),
            &[role("prefill", 2, image, ""), role("decode", 1, image, "")],
        )
    };
    let row = |strategy: &str, groups| rollout(&of(strategy, groups, "1"), &of(strategy, groups, "2"));
    vec![
        ("groups, one after the other", row("{maxUnavailable: 1}", 3), |verdict| {
            let order: Vec<char> = deleted(verdict).iter().filter_map(|name| name.chars().next()).collect();
            assert_eq!(order, ['2', '2', '2', '1', '1', '1', '0', '0', '0']);
        }),
        ("groups with surge", row("{maxUnavailable: 0, maxSurge: 1}", 2), fine),
        ("recreated groups", row("{type: GroupRecreate, maxUnavailable: 1}", 3), |verdict| {
            assert_eq!(deleted(verdict).len(), 9);
        }),
        (
            "recreated groups with surge",
            row("{type: GroupRecreate, maxUnavailable: 0, maxSurge: 1, order: Ascending}", 2),
            |verdict| {
                assert_eq!(deleted(verdict).len(), 6 + 3);
            },
        ),
        ("groups kept by a partition", row("{partition: 1}", 2).ends(End::PartitionReached), |verdict| {
            assert!(deleted(verdict).iter().all(|name| name.starts_with('1')));
        }),
    ]
}

/// Whoever changes their mind.
pub fn changes_of_mind() -> Vec<Row> {
    let web =
        |replicas: u32, image: &str| set("progressDeadlineSeconds: 5", &[role("web", replicas, image, "")]);
    let careful =
        |image: &str| set("progressDeadlineSeconds: 12\nonFailure: Rollback", &[role("web", 4, image, "")]);
    let more = |image: &str| set("", &[role("web", 3, image, ""), role("cache", 2, image, "")]);
    let less = |image: &str| set("", &[role("web", 3, image, "")]);
    let two_groups = |image: &str| set("replicas: 2", &[role("web", 4, image, "")]);
    let soon = Duration::from_millis(900);
    vec![
        (
            "a bad image",
            rollout(&web(4, "1"), &web(4, "missing")).ends(End::Stuck).within(seconds(40)),
            |verdict| {
                assert_eq!(deleted(verdict), ["0/web-3"]);
            },
        ),
        (
            "a bad image, fixed",
            rollout(&web(4, "1"), &web(4, "missing")).change(seconds(7), &web(4, "2")).expect("a change"),
            |verdict| {
                assert_eq!(deleted(verdict).len(), 5);
            },
        ),
        (
            "a bad image, rolled back",
            rollout(&careful("1"), &careful("missing")).ends(End::RolledBack).within(seconds(60)),
            |verdict| {
                assert_eq!(deleted(verdict), ["0/web-3", "0/web-3"]);
            },
        ),
        ("reverted", rollout(&web(6, "1"), &web(6, "2")).change(soon, &web(6, "1")).expect("a change"), fine),
        (
            "scaled up",
            rollout(&web(6, "1"), &web(6, "2")).change(soon, &web(9, "2")).expect("a change"),
            fine,
        ),
        (
            "scaled down",
            rollout(&web(8, "1"), &web(8, "2")).change(soon, &web(4, "2")).expect("a change"),
            fine,
        ),
        ("a role added", rollout(&less("1"), &more("1")), |verdict| assert!(deleted(verdict).is_empty())),
        ("a role removed", rollout(&more("1"), &less("2")), |verdict| assert_eq!(deleted(verdict).len(), 5)),
        (
            "evicted where nothing moved yet",
            rollout(&two_groups("1"), &two_groups("2")).strike(soon, "web", 0, Blow::Evict),
            |verdict| {
                let made = verdict.events.iter().filter_map(|event| match &event.what {
                    What::Create { of, revision, .. } if of.to_string() == "0/web-0" => Some(*revision),
                    _ => None,
                });
                let made: Vec<_> = made.collect();
                assert_eq!(made.len(), 3, "at first, after the eviction, and updated");
                assert_eq!(made[0], made[1], "it returns as it was");
            },
        ),
    ]
}
