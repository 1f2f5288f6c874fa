//! What users of RoleBasedGroups see.

use lockstep_api::status::{BlockedStatus, LockstepSetStatus, RevisionStatus, RoleStatus};
use lockstep_dialects::rbg::{Rbg, policy_status};
use lockstep_dialects::{Dialect, Raised, Seen, World};
use serde_json::{Value, json};

use crate::common::{documents, group, world};

const RULE: &str =
    "coordination: [{name: pd, type: RollingUpdate, roles: [prefill, decode], strategy: {maxSkew: 5%}}]";

/// Replicas, ready, updated, updated and ready, target.
fn role(name: &str, [replicas, ready, updated, updated_ready, target]: [u32; 5]) -> RoleStatus {
    let name = name.to_owned();
    RoleStatus { name, replicas, ready, updated, updated_ready, target, ..RoleStatus::default() }
}

fn status(phase: &str, prefill: [u32; 5], decode: [u32; 5]) -> LockstepSetStatus {
    let mut status = LockstepSetStatus {
        roles: vec![role("prefill", prefill), role("decode", decode)],
        revision: RevisionStatus { stable: Some("a".to_owned()), update: "b".to_owned() },
        ..LockstepSetStatus::default()
    };
    status.rollout.phase = phase.to_owned();
    status.rollout.waiting_for = "something".to_owned();
    status
}

fn raise(object: &Value, status: &LockstepSetStatus, world: &World, now: &str) -> Raised {
    let lowered = Rbg.lower(object, world);
    let said = lowered.as_ref().map_err(Vec::as_slice);
    Rbg.raise(object, &Seen { lowered: said, status, current: true, lacking: &[], now }, world)
}

#[test]
fn where_each_role_of_a_coordination_stands() {
    let object = &documents(&group(RULE, &[("prefill", 40), ("decode", 20)], "engine:1"))[0];
    let held = |mut status: LockstepSetStatus| {
        let what = "pd-0/prefill-29".to_owned();
        status.rollout.blocked.push(BlockedStatus {
            what,
            reason: "SkewHeld".to_owned(),
            ..BlockedStatus::default()
        });
        status
    };
    let cases = [
        (status("Progressing", [40, 40, 0, 0, 40], [20, 19, 1, 0, 20]), ["Pending", "Updating"]),
        (held(status("Progressing", [40, 40, 10, 10, 40], [20, 20, 3, 3, 20])), ["HeldBySkew", "Updating"]),
        (
            status("PartitionReached", [40, 40, 8, 8, 8], [20, 20, 20, 20, 20]),
            ["PartitionReached", "Complete"],
        ),
        (status("Stalled", [40, 40, 4, 4, 40], [20, 15, 5, 0, 20]), ["Stalled", "Stalled"]),
        (status("RollingBack", [40, 40, 36, 36, 40], [20, 20, 20, 20, 20]), ["RollingBack", "Complete"]),
        (status("Complete", [40, 40, 40, 40, 40], [20, 20, 20, 20, 20]), ["Complete", "Complete"]),
    ];
    for (status, [prefill, decode]) in cases {
        let raised = raise(object, &status, &World::default(), "2026-01-01T00:00:00Z");
        let wanted = json!([{
            "name": "pd",
            "progress": {
                "prefill": {"strategy": "RollingUpdate", "state": prefill},
                "decode": {"strategy": "RollingUpdate", "state": decode},
            },
            "lastUpdateTime": "2026-01-01T00:00:00Z",
        }]);
        assert_eq!(raised.status["coordinationState"], wanted, "{}", status.rollout.phase);
    }
}

/// A condition that does not hold says why, too, and a gang is not said to need more than there is.
#[test]
fn nothing_is_said_without_a_reason_and_no_more_than_is_so() {
    let gang = "coordination: [{name: a, roles: [prefill], strategy: {scheduling: {gang: {minReplicas: {prefill: 5}}}}}]";
    let objects = documents(&group(gang, &[("prefill", 2)], "engine:1"));
    let mut complete = status("Complete", [2, 2, 2, 2, 2], [0, 0, 0, 0, 0]);
    complete.rollout.waiting_for = String::new();
    let raised = raise(&objects[0], &complete, &crate::common::world(&objects), "2026-01-01T00:00:00Z");
    let of = |kind: &str| {
        let all = raised.status["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|it| it["type"] == kind).expect("a condition")
    };
    assert_eq!(of("Progressing")["message"], "nothing is left to do");
    let at = "spec.coordination[0].strategy.scheduling.gang.minReplicas[prefill]";
    let fewer = "the role has 2 replicas, which the gang needs, not 5";
    let gang = of("GangConfigured");
    assert_eq!(gang["message"], format!("the group is scheduled as a gang; {at}: 5: {fewer}"));
    let all = raised.status["conditions"].as_array().cloned().unwrap_or_default();
    assert!(all.iter().all(|it| it["message"] != ""), "{all:#?}");
}

#[test]
fn times_move_only_with_what_they_speak_of() {
    let mut object = documents(&group(RULE, &[("prefill", 4), ("decode", 2)], "engine:1")).remove(0);
    let world = World::default();
    let early = status("Progressing", [4, 4, 1, 1, 4], [2, 2, 0, 0, 2]);
    object["status"] = raise(&object, &early, &world, "2026-01-01T00:00:00Z").status;
    let later = status("Progressing", [4, 4, 2, 2, 4], [2, 2, 0, 0, 2]);
    let same = raise(&object, &later, &world, "2026-01-01T00:01:00Z").status;
    assert_eq!(same["coordinationState"][0]["lastUpdateTime"], "2026-01-01T00:00:00Z");
    assert_eq!(same["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
    let moved = status("Progressing", [4, 3, 2, 2, 4], [2, 2, 1, 1, 2]);
    let moved = raise(&object, &moved, &world, "2026-01-01T00:02:00Z").status;
    assert_eq!(moved["coordinationState"][0]["lastUpdateTime"], "2026-01-01T00:02:00Z");
    assert_eq!(moved["conditions"][0]["status"], "False");
    assert_eq!(moved["conditions"][0]["lastTransitionTime"], "2026-01-01T00:02:00Z");
    assert_eq!(moved["conditions"][0]["message"], "ready so far: prefill 3/4");
}

#[test]
fn conditions_of_a_group() {
    let object = &documents(&group(RULE, &[("prefill", 4), ("decode", 2)], "engine:1"))[0];
    let conditions = |status: &LockstepSetStatus| -> Vec<String> {
        let raised = raise(object, status, &World::default(), "2026-01-01T00:00:00Z");
        let all = raised.status["conditions"].as_array().cloned().unwrap_or_default();
        all.iter()
            .map(|it| format!("{} {} {}", it["type"], it["status"], it["reason"]).replace('"', ""))
            .collect()
    };
    assert_eq!(
        conditions(&status("Progressing", [4, 4, 1, 1, 4], [2, 1, 1, 0, 2])),
        [
            "Ready False RolesNotReady",
            "Progressing True Progressing",
            "RollingUpdateInProgress True Progressing",
            "RestartInProgress False NoRestart"
        ]
    );
    assert_eq!(
        conditions(&status("Complete", [4, 4, 4, 4, 4], [2, 2, 2, 2, 2])),
        [
            "Ready True AllRolesReady",
            "Progressing False Complete",
            "RollingUpdateInProgress False NoUpdate",
            "RestartInProgress False NoRestart"
        ]
    );
}

#[test]
fn a_spec_that_is_wrong_is_said_in_ready() {
    let object = &documents(&group("", &[("prefill", 4), ("prefill", 2)], "engine:1"))[0];
    let raised = raise(object, &LockstepSetStatus::default(), &World::default(), "2026-01-01T00:00:00Z");
    let ready = &raised.status["conditions"][0];
    assert_eq!(ready["reason"], "InvalidSpec");
    assert_eq!(ready["message"], "spec.roles[1].name: \"prefill\": already the name of spec.roles[0]");
}

#[test]
fn adapters_and_policies() {
    let objects = documents(include_str!("../manifests/rbg/new-words.yaml"));
    let mut seen = LockstepSetStatus::default();
    seen.roles.push(role("prefill", [2, 1, 2, 1, 2]));
    let raised = raise(&objects[0], &seen, &world(&objects), "2026-01-01T00:00:00Z");
    let adapter = &raised.beside[0];
    assert_eq!(adapter["metadata"]["name"], "new-words-prefill");
    assert_eq!((&adapter["status"]["replicas"], &adapter["status"]["readyReplicas"]), (&json!(2), &json!(1)));
    assert_eq!(
        adapter["status"]["selector"],
        "rbg.workloads.x-k8s.io/group-name=new-words,rbg.workloads.x-k8s.io/role-name=prefill,rbg.workloads.x-k8s.io/component-index=0"
    );
    assert_eq!(raised.beside[1]["status"]["conditions"][0]["reason"], "Bound");
    let lonely = policy_status(&objects[1], false, "2026-01-01T00:00:00Z");
    assert_eq!(
        lonely["conditions"][0]["message"],
        "there is no RoleBasedGroup new-words; a policy is for the group of its own name"
    );
    assert_eq!(raised.status["coordinationState"][0]["name"], "updates");
}

#[test]
fn a_set_of_groups() {
    let object = &documents(include_str!("../manifests/rbg/sets.yaml"))[0];
    let mut seen = status("Progressing", [4, 2, 2, 1, 4], [0; 5]);
    (seen.replicas, seen.ready_replicas, seen.updated_replicas) = (2, 1, 1);
    let raised = raise(object, &seen, &World::default(), "2026-01-01T00:00:00Z").status;
    let wanted = [
        ("replicas", json!(2)),
        ("readyReplicas", json!(1)),
        ("currentReplicas", json!(1)),
        ("updatedReplicas", json!(1)),
        ("expectedUpdatedReplicas", json!(2)),
        ("currentRevision", json!("a")),
        ("updateRevision", json!("b")),
        ("selector", json!("rbg.workloads.x-k8s.io/groupset-name=many")),
    ];
    for (field, value) in wanted {
        assert_eq!(raised[field], value, "{field}");
    }
    assert_eq!(raised["conditions"][1]["type"], "Rolling");
}
