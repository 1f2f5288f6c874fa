//! What is said of a ModelServing.

use lockstep_api::status::{
    BlockedStatus, CoordinationStatus, LockstepSetStatus, RevisionStatus, RoleStatus, RolloutStatus,
};
use lockstep_dialects::{Raised, Seen, World};
use serde_json::{Value, json};

use crate::common::*;

const NOW: &str = "2026-08-01T10:00:00Z";

fn counts(ready: u32, updated: u32, phase: &str) -> LockstepSetStatus {
    LockstepSetStatus {
        replicas: 3,
        ready_replicas: ready,
        updated_replicas: updated,
        revision: RevisionStatus { stable: Some("aaa".to_owned()), update: "bbb".to_owned() },
        rollout: RolloutStatus { phase: phase.to_owned(), ..RolloutStatus::default() },
        ..LockstepSetStatus::default()
    }
}

/// An update in its second step.
fn second_step() -> LockstepSetStatus {
    let mut status = counts(2, 0, "Progressing");
    let text = "step 2/4: prefill 0 of 1 updated and ready".to_owned();
    status.rollout.groups_in_update = vec![2];
    status.rollout.coordination = vec![CoordinationStatus {
        group: 2,
        rule: "role-upgrade".to_owned(),
        step: Some(2),
        of: Some(4),
        text: text.clone(),
    }];
    status.rollout.blocked = vec![BlockedStatus {
        what: "llama-2/decode-0".to_owned(),
        reason: "StepNotReady".to_owned(),
        message: text,
        ..BlockedStatus::default()
    }];
    status
}

fn raise(object: &Value, status: &LockstepSetStatus, current: bool, world: &World) -> Raised {
    let lowered = dialect().lower(object, world);
    let lowered = lowered.as_ref().map_err(Vec::as_slice);
    dialect().raise(object, &Seen { lowered, status, current, lacking: &[], now: NOW }, world)
}

fn said(status: &LockstepSetStatus) -> Value {
    let mut object = object(ORDERED);
    object["metadata"]["generation"] = json!(4);
    raise(&object, status, true, &World::default()).status
}

/// `Available=False GroupsNotReady: 2 of 3 groups are ready`.
fn conditions(status: &Value) -> Vec<String> {
    let one = |it: &Value| {
        let text = |field: &str| it[field].as_str().unwrap_or_default().to_owned();
        format!("{}={} {}: {}", text("type"), text("status"), text("reason"), text("message"))
    };
    status["conditions"].as_array().into_iter().flatten().map(one).collect()
}

#[test]
fn every_field_is_there() {
    let status = said(&counts(3, 1, "PartitionReached"));
    let fields = json!({
        "observedGeneration": 4,
        "replicas": 3,
        "currentReplicas": 2,
        "updatedReplicas": 1,
        "availableReplicas": 3,
        "currentRevision": "aaa",
        "updateRevision": "bbb",
        "labelSelector": "modelserving.volcano.sh/entry=true,modelserving.volcano.sh/name=llama,\
                          modelserving.volcano.sh/role=prefill,modelserving.volcano.sh/role-id=prefill-0",
    });
    for (field, value) in fields.as_object().into_iter().flatten() {
        assert_eq!(&status[field], value, "{field}");
    }
    let mut complete = counts(3, 3, "Complete");
    complete.revision.stable = Some("bbb".to_owned());
    assert_eq!(said(&complete)["currentReplicas"], 3);
}

#[test]
fn conditions_say_where_it_stands() {
    let mut complete = counts(3, 3, "Complete");
    complete.revision.stable = Some("bbb".to_owned());
    let mut starting = counts(1, 1, "Progressing");
    starting.revision.stable = None;
    let mut stalled = second_step();
    stalled.rollout.phase = "Stalled".to_owned();
    let cases: [(LockstepSetStatus, [&str; 3]); 6] = [
        (
            complete,
            [
                "Available=True AllGroupsReady: 3 of 3 groups are ready",
                "Progressing=False AllGroupsSettled: nothing is left to do",
                "UpdateInProgress=False NoUpdate: 3 of 3 groups are updated",
            ],
        ),
        (
            starting,
            [
                "Available=False GroupsNotReady: 1 of 3 groups are ready",
                "Progressing=True GroupProgressing: 1 of 3 groups are ready",
                "UpdateInProgress=False NoUpdate: 1 of 3 groups are updated",
            ],
        ),
        (
            second_step(),
            [
                "Available=False GroupsNotReady: 2 of 3 groups are ready",
                "Progressing=True GroupProgressing: group 2: step 2/4: prefill 0 of 1 updated and ready",
                "UpdateInProgress=True GroupsUpdating: 0 of 3 groups are updated; group 2: step 2/4: prefill 0 of 1 \
                 updated and ready",
            ],
        ),
        (
            stalled,
            [
                "Available=False GroupsNotReady: 2 of 3 groups are ready",
                "Progressing=False Stalled: group 2: step 2/4: prefill 0 of 1 updated and ready",
                "UpdateInProgress=True GroupsUpdating: 0 of 3 groups are updated; group 2: step 2/4: prefill 0 of 1 \
                 updated and ready",
            ],
        ),
        (
            counts(3, 1, "PartitionReached"),
            [
                "Available=True AllGroupsReady: 3 of 3 groups are ready",
                "Progressing=False AllGroupsSettled: nothing is left to do",
                "UpdateInProgress=False PartitionReached: 1 of 3 groups are updated; the partition keeps the rest",
            ],
        ),
        (
            LockstepSetStatus::default(),
            [
                "Available=False GroupsNotReady: 0 of 0 groups are ready",
                "Progressing=True GroupProgressing: 0 of 0 groups are ready",
                "UpdateInProgress=False NoUpdate: 0 of 0 groups are updated",
            ],
        ),
    ];
    for (status, expected) in cases {
        assert_eq!(conditions(&said(&status)), expected);
    }
}

#[test]
fn a_condition_keeps_its_time_while_it_holds() {
    let mut object = object(ORDERED);
    let old = "2026-07-31T00:00:00Z";
    object["status"] = json!({"conditions": [
        {"type": "Available", "status": "True", "lastTransitionTime": old},
        {"type": "Progressing", "status": "True", "lastTransitionTime": old},
    ]});
    let status = raise(&object, &second_step(), true, &World::default()).status;
    let times: Vec<&Value> = (0..3).map(|i| &status["conditions"][i]["lastTransitionTime"]).collect();
    assert_eq!(times, [NOW, old, NOW]);
}

#[test]
fn a_spec_that_is_wrong_says_so_and_what_runs_is_still_counted() {
    let mut object = object(ORDERED);
    object["metadata"]["generation"] = json!(5);
    object["spec"]["rolloutStrategy"]["type"] = json!("RoleRollingUpdate");
    let status = raise(&object, &counts(3, 3, "Complete"), false, &World::default()).status;
    assert_eq!((&status["observedGeneration"], &status["availableReplicas"]), (&json!(5), &json!(3)));
    let said = conditions(&status);
    assert_eq!(said[0], "Available=True AllGroupsReady: 3 of 3 groups are ready");
    assert!(said[1].starts_with("Progressing=False InvalidSpec: nothing moves until the spec is mended: "));
    assert!(said[1].contains("rollingUpdateConfiguration.roleUpgrade: only with type"), "{}", said[1]);
}

#[test]
fn a_change_that_was_not_taken_up_is_not_spoken_of() {
    let mut object = object(ORDERED);
    object["metadata"]["generation"] = json!(5);
    object["status"] = json!({"observedGeneration": 4});
    let status = raise(&object, &counts(3, 3, "Complete"), false, &World::default()).status;
    assert_eq!(status["observedGeneration"], 4);
    assert!(conditions(&status)[1].starts_with("Progressing=True Observing"));
}

#[test]
fn numbers_of_roles_have_a_status_of_their_own() {
    let spec = json!({"modelServingRef": {"name": "llama"}, "roleName": "decode", "replicas": 5});
    let scale = json!({
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServingRoleReplica",
        "metadata": {"name": "llama-decode", "namespace": "models"},
        "spec": spec,
    });
    let mut status = counts(3, 3, "Complete");
    status.roles = vec![RoleStatus { name: "decode".to_owned(), replicas: 15, ..RoleStatus::default() }];
    let world = World { objects: vec![scale], ..World::default() };
    let beside = raise(&object(ORDERED), &status, true, &world).beside;
    assert_eq!(beside.len(), 1);
    assert_eq!(beside[0]["metadata"]["name"], "llama-decode");
    let selector = "modelserving.volcano.sh/name=llama,modelserving.volcano.sh/role=decode";
    assert_eq!(beside[0]["status"], json!({"replicas": 5, "labelSelector": selector}));
}

#[test]
fn whether_pods_are_scheduled_together_is_said_where_it_was_asked_for() {
    for (world, said) in [
        (World::default(), "GangScheduling=False NoGangScheduler: nothing in this cluster schedules gangs"),
        (with_volcano(), "GangScheduling=True Volcano: Volcano schedules the pods of a group together"),
    ] {
        let status = raise(&object(SEVERAL_NODES), &counts(3, 3, "Complete"), true, &world).status;
        assert_eq!(conditions(&status)[3], said);
    }
}
