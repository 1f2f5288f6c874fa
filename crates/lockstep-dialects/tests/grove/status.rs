//! What is said of a PodCliqueSet and its parts.

use lockstep_api::status::{GroupRoleStatus, GroupStatus, LockstepSetStatus, RoleStatus};
use lockstep_dialects::{Lack, Seen, World};
use serde_json::{Value, json};

use crate::support::{grove, lower, object};

const SPEC: &str = "replicas: 2\ntemplate:\n  cliques:\n  - {name: a, spec: {replicas: 3, minAvailable: 2, podSpec: $P}}\n  - {name: b, spec: {podSpec: $P}}\n  - {name: c, spec: {podSpec: $P}}\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [b, c], replicas: 2, minAvailable: 2}]";

fn role(name: &str, ready: u32, updated: u32) -> RoleStatus {
    RoleStatus { name: name.to_owned(), ready, available: ready, updated, ..RoleStatus::default() }
}

fn status(phase: &str, stable: &str, roles: Vec<RoleStatus>, moving: &[u32]) -> LockstepSetStatus {
    let mut status = LockstepSetStatus { replicas: 2, roles, ..LockstepSetStatus::default() };
    status.revision.update = "new".to_owned();
    status.revision.stable = Some(stable.to_owned());
    status.rollout.phase = phase.to_owned();
    status.rollout.groups_in_update = moving.to_vec();
    status
}

/// A group that is not whole: of each role how many are scheduled, ready, updated and gated.
fn group(group: u32, roles: &[(&str, [u32; 4])]) -> GroupStatus {
    let role = |(name, [scheduled, ready, updated, gated]): &(&str, [u32; 4])| GroupRoleStatus {
        name: (*name).to_owned(),
        scheduled: *scheduled,
        ready: *ready,
        available: *ready,
        updated: *updated,
        gated: *gated,
    };
    GroupStatus { group, roles: roles.iter().map(role).collect() }
}

struct Told {
    status: Value,
    beside: Vec<Value>,
}

fn raise(object: &Value, status: &LockstepSetStatus, now: &str) -> Told {
    let lowered = lower(object);
    let world = World { objects: lowered.beside.clone(), ..World::default() };
    let seen = Seen { lowered: Ok(&lowered), status, current: true, lacking: &[], now };
    let raised = grove().raise(object, &seen, &world);
    Told { status: raised.status, beside: raised.beside }
}

fn of<'a>(told: &'a Told, name: &str) -> &'a Value {
    &told.beside.iter().find(|it| it["metadata"]["name"] == name).expect(name)["status"]
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    status["conditions"].as_array().expect("conditions").iter().find(|it| it["type"] == kind).expect(kind)
}

fn standing() -> Value {
    let mut object = object(SPEC);
    object["metadata"]["generation"] = json!(4);
    object
}

#[test]
fn complete() {
    let mut status = status("Complete", "new", vec![role("a", 6, 6), role("sg", 4, 4)], &[]);
    (status.ready_replicas, status.updated_replicas) = (2, 2);
    let told = raise(&standing(), &status, "2026-01-01T00:00:00Z");
    let fields = ["observedGeneration", "replicas", "availableReplicas", "updatedReplicas"];
    assert_eq!(fields.map(|field| told.status[field].clone()), [4, 2, 2, 2].map(|it| json!(it)));
    assert_eq!(told.status["currentGenerationHash"], "new");
    assert_eq!(told.status["updateProgress"], Value::Null, "a first start is no update");
    assert_eq!(
        told.status["podGangStatuses"],
        json!([{"name": "simple-0", "phase": "Running"}, {"name": "simple-1", "phase": "Running"}])
    );
    assert_eq!(condition(&told.status, "UpdateInProgress")["status"], "False");
    assert_eq!(condition(&told.status, "GangScheduling")["reason"], "NotServed");
    let clique = of(&told, "simple-1-a");
    let fields =
        ["replicas", "readyReplicas", "updatedReplicas", "scheduledReplicas", "scheduleGatedReplicas"];
    assert_eq!(fields.map(|field| clique[field].clone()), [3, 3, 3, 3, 0].map(|it| json!(it)));
    assert_eq!(clique["hpaPodSelector"], "app.kubernetes.io/part-of=simple,grove.io/podclique=simple-1-a");
    assert_eq!(condition(clique, "MinAvailableBreached")["status"], "False");
    let group = of(&told, "simple-0-sg");
    let fields = ["replicas", "availableReplicas", "updatedReplicas", "scheduledReplicas"];
    assert_eq!(fields.map(|field| group[field].clone()), [2, 2, 2, 2].map(|it| json!(it)));
    assert_eq!(
        group["selector"],
        "app.kubernetes.io/part-of=simple,grove.io/podcliquescalinggroup=simple-0-sg,grove.io/podcliquescalinggroup-pod-index=0"
    );
}

#[test]
fn an_update_from_its_beginning_to_its_end() {
    let mut object = standing();
    let mut under_way = status("Progressing", "old", vec![role("a", 5, 1), role("sg", 3, 0)], &[0]);
    (under_way.ready_replicas, under_way.updated_replicas) = (1, 0);
    under_way.groups = vec![
        group(0, &[("a", [3, 2, 1, 0]), ("sg", [1, 1, 0, 1])]),
        group(1, &[("a", [3, 3, 0, 0]), ("sg", [2, 2, 0, 0])]),
    ];
    under_way.rollout.started_at = Some("2026-01-01T00:00:00Z".to_owned());
    let told = raise(&object, &under_way, "2026-01-01T00:01:00Z");
    assert_eq!(
        told.status["updateProgress"],
        json!({
            "updateStartedAt": "2026-01-01T00:00:00Z",
            "currentlyUpdating": [{"replicaIndex": 0, "updateStartedAt": "2026-01-01T00:01:00Z"}],
            "totalPodCliquesCount": 10,
            "updatedPodCliquesCount": 0,
            "totalPodCliqueScalingGroupsCount": 2,
            "updatedPodCliqueScalingGroupsCount": 0,
        })
    );
    // Each replica has its own counts.
    let fields = ["readyReplicas", "scheduledReplicas", "updatedReplicas"];
    for (name, counts) in [("simple-0-a", [2, 3, 1]), ("simple-1-a", [3, 3, 0])] {
        assert_eq!(fields.map(|field| of(&told, name)[field].clone()), counts.map(|it| json!(it)), "{name}");
    }
    assert_eq!(condition(of(&told, "simple-0-a"), "MinAvailableBreached")["status"], "False");
    assert_eq!(condition(of(&told, "simple-0-sg"), "MinAvailableBreached")["status"], "True");
    assert_eq!(told.status["podGangStatuses"][0]["phase"], "Starting");
    let since = condition(&told.status, "UpdateInProgress");
    assert_eq!(
        (&since["status"], &since["lastTransitionTime"]),
        (&json!("True"), &json!("2026-01-01T00:01:00Z"))
    );

    object["status"] = told.status;
    let told = raise(&object, &under_way, "2026-01-01T00:02:00Z");
    assert_eq!(told.status, object["status"], "nothing changed, nothing is said");

    let complete = status("Complete", "new", vec![role("a", 6, 6), role("sg", 4, 4)], &[]);
    let told = raise(&object, &complete, "2026-01-01T00:09:00Z");
    let progress = &told.status["updateProgress"];
    assert_eq!(
        (&progress["updateStartedAt"], &progress["updateEndedAt"], &progress["currentlyUpdating"]),
        (&json!("2026-01-01T00:00:00Z"), &json!("2026-01-01T00:09:00Z"), &Value::Null)
    );
    assert_eq!(
        (&progress["updatedPodCliquesCount"], &progress["totalPodCliquesCount"]),
        (&json!(10), &json!(10))
    );
    object["status"] = told.status;
    let told = raise(&object, &complete, "2026-01-01T00:10:00Z");
    assert_eq!(told.status, object["status"]);
}

#[test]
fn what_is_not_listed_is_whole_or_filled_from_the_lowest() {
    let counts = |status: &LockstepSetStatus| {
        let told = raise(&standing(), status, "2026-01-01T00:00:00Z");
        ["simple-0-a", "simple-1-a"].map(|name| {
            let fields = ["readyReplicas", "scheduleGatedReplicas", "updatedReplicas"];
            fields.map(|field| of(&told, name)[field].as_u64().expect(field))
        })
    };
    let mut listed = status("Progressing", "old", vec![role("a", 4, 3)], &[0]);
    listed.groups = vec![group(0, &[("a", [1, 1, 0, 2]), ("sg", [0, 0, 0, 0])])];
    assert_eq!(counts(&listed), [[1, 2, 0], [3, 0, 3]]);
    assert_eq!(counts(&status("Progressing", "old", vec![role("a", 4, 3)], &[0])), [[3, 0, 3], [1, 0, 0]]);
    assert_eq!(counts(&LockstepSetStatus::default()), [[0, 0, 0], [0, 0, 0]]);
}

#[test]
fn stalled() {
    let mut stalled = status("Stalled", "old", vec![role("a", 5, 1)], &[0]);
    stalled.rollout.waiting_for = "spec.roles[0].updateStrategy lets nothing move".to_owned();
    let told = raise(&standing(), &stalled, "2026-01-01T00:00:00Z");
    let condition = condition(&told.status, "UpdateInProgress");
    assert_eq!(condition["reason"], "ProgressDeadlineExceeded");
    assert_eq!(condition["message"], "spec.template.cliques[0].spec.updateStrategy lets nothing move");
}

/// A first start is no update, and what it waits for is no update that is complete.
#[test]
fn a_first_start_that_waits() {
    let mut first = status("Progressing", "", vec![role("a", 0, 0)], &[]);
    first.revision.stable = None;
    first.rollout.waiting_for = "create pod simple-0-a-0: exceeded quota".to_owned();
    let told = raise(&standing(), &first, "2026-01-01T00:00:00Z");
    let condition = condition(&told.status, "UpdateInProgress");
    let said = ["status", "reason", "message"].map(|field| condition[field].clone());
    assert_eq!(said, ["False", "FirstStart", "create pod simple-0-a-0: exceeded quota"].map(|it| json!(it)));
}

/// What belongs beside the set and is not there is said, and the rest goes on.
#[test]
fn what_lacks_beside_the_set() {
    let mut object = standing();
    let mut status = status("Complete", "new", vec![role("a", 6, 6), role("sg", 4, 4)], &[]);
    (status.ready_replicas, status.updated_replicas) = (2, 2);
    let lowered = lower(&object);
    let lacking = [Lack { reason: "WriteFailed", message: "apply HorizontalPodAutoscaler x: no".to_owned() }];
    let raise = |object: &Value, lacking: &[Lack], now: &str| {
        let seen = Seen { lowered: Ok(&lowered), status: &status, current: true, lacking, now };
        grove().raise(object, &seen, &World::default()).status
    };
    let told = raise(&object, &lacking, "2026-01-01T00:00:00Z");
    assert_eq!((&told["observedGeneration"], &told["updatedReplicas"]), (&json!(4), &json!(2)));
    assert_eq!(
        told["lastErrors"],
        json!([{"code": "ERR_WRITE_FAILED", "description": "apply HorizontalPodAutoscaler x: no", "observedAt": "2026-01-01T00:00:00Z"}])
    );
    let children = condition(&told, "ChildrenApplied");
    assert_eq!((&children["status"], &children["reason"]), (&json!("False"), &json!("WriteFailed")));
    assert_eq!(lockstep_dialects::wrong(&told), ["apply HorizontalPodAutoscaler x: no"]);
    object["status"] = told;
    assert_eq!(raise(&object, &lacking, "2026-01-01T00:01:00Z"), object["status"], "nothing changed");
    let told = raise(&object, &[], "2026-01-01T00:02:00Z");
    assert_eq!((&told["lastErrors"], lockstep_dialects::wrong(&told)), (&Value::Null, Vec::new()));
}

#[test]
fn what_is_wrong() {
    let bad = object("replicas: 1\ntemplate: {cliques: [{name: a, spec: {podSpec: $P, minAvailable: 2}}]}");
    let problems = grove().lower(&bad, &World::default()).expect_err("wrong");
    let raise = |object: &Value, now| {
        let status = LockstepSetStatus::default();
        let seen = Seen { lowered: Err(&problems), status: &status, current: false, lacking: &[], now };
        grove().raise(object, &seen, &World::default()).status
    };
    let mut object = bad.clone();
    object["status"] = json!({"replicas": 1, "observedGeneration": 3});
    let status = raise(&object, "2026-01-01T00:00:00Z");
    assert_eq!(
        status,
        json!({
            "replicas": 1,
            "observedGeneration": 3,
            "lastErrors": [{
                "code": "ERR_INVALID_SPEC",
                "description": "spec.template.cliques[0].spec.minAvailable: 2: must not be more than replicas, which is 1",
                "observedAt": "2026-01-01T00:00:00Z",
            }],
        })
    );
    object["status"] = status;
    assert_eq!(raise(&object, "2026-01-02T00:00:00Z"), object["status"]);
}

#[test]
fn topology() {
    let set = object(
        "replicas: 1\ntemplate: {topologyConstraint: {topologyName: t, packDomain: rack}, cliques: [{name: a, spec: {podSpec: $P}}]}",
    );
    let topology = |domain: &str| json!({"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "metadata": {"name": "t"}, "spec": {"levels": [{"domain": domain, "key": "k"}]}});
    let rows = [
        (vec![], "True", "ClusterTopologyNotFound", "there is no ClusterTopologyBinding t"),
        (
            vec![topology("zone")],
            "True",
            "ClusterTopologyLevelsUnavailable",
            "ClusterTopologyBinding t has no domain rack",
        ),
        (
            vec![topology("rack")],
            "False",
            "AllClusterTopologyLevelsAvailable",
            "all domains have a node label",
        ),
    ];
    for (objects, status, reason, message) in rows {
        let world = World { objects, ..World::default() };
        let lowered = crate::support::lower_in(&set, &world);
        let nothing = LockstepSetStatus::default();
        let seen = Seen {
            lowered: Ok(&lowered),
            status: &nothing,
            current: false,
            lacking: &[],
            now: "2026-01-01T00:00:00Z",
        };
        let raised = grove().raise(&set, &seen, &world);
        let condition = condition(&raised.status, "TopologyLevelsUnavailable");
        assert_eq!(
            (&condition["status"], &condition["reason"], &condition["message"]),
            (&json!(status), &json!(reason), &json!(message))
        );
    }
}
