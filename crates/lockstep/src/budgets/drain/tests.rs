use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use lockstep_api::budget::{LWS_GROUP_INDEX, LWS_NAME, PodUnavailableBudget};
use serde_json::{Value, json};

use super::super::gather::Gathered;
use super::*;

/// Three groups of two in a LeaderWorkerSet; each pod is named for its group and place.
fn pods(ready: impl Fn(&str) -> bool) -> Vec<Pod> {
    let pod = |group: u32, place: u32| {
        let name = format!("llm-{group}-{place}");
        let status = if ready(&name) { "True" } else { "False" };
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "ml", "uid": name,
                "labels": {"app": "llm", LWS_NAME: "llm", LWS_GROUP_INDEX: group.to_string()},
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "llm", "uid": "sts", "controller": true,
                }],
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]},
        }))
        .unwrap()
    };
    (0..3).flat_map(|group| (0..2).map(move |place| (group, place))).map(|(g, p)| pod(g, p)).collect()
}

fn ground(pods: Vec<Pod>, budget: Value, guards: &[Value]) -> BTreeMap<String, Ground> {
    let mut gathered = Gathered::from_pods(pods, 100);
    let owner = json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "llm",
                       "uid": "lws", "controller": true});
    let metadata = |value: Value| serde_json::from_value(value).unwrap();
    gathered.take(
        &("apps/v1".to_owned(), "StatefulSet".to_owned()),
        vec![(metadata(json!({"name": "llm", "uid": "sts", "ownerReferences": [owner]})), json!({}))],
    );
    let template = json!({"metadata": {"labels": {"app": "llm"}}});
    gathered.take(
        &("leaderworkerset.x-k8s.io/v1".to_owned(), "LeaderWorkerSet".to_owned()),
        vec![(
            metadata(json!({"name": "llm", "uid": "lws"})),
            json!({"spec": {"replicas": 3, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}}),
        )],
    );
    let budget: PodUnavailableBudget = serde_json::from_value(json!({
        "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
        "metadata": {"name": "llm", "namespace": "ml"}, "spec": budget,
    }))
    .unwrap();
    let held = Held::of(&budget, &gathered).unwrap();
    let guard = |spec: &Value| {
        let budget: PodDisruptionBudget = serde_json::from_value(spec.clone()).unwrap();
        Guard::of(&budget).unwrap()
    };
    let guards = guards.iter().map(guard).collect();
    BTreeMap::from([("ml".to_owned(), Ground { budgets: vec![held], guards })])
}

fn groups(most: Value, least: Value) -> Value {
    json!({
        "selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": most, "minAvailable": least,
        "podGroupPolicy": {"groupLabelKey": LWS_GROUP_INDEX, "minReadyReplicas": 2},
    })
}

/// Drains these pods: the names that go in each step, what each step waits for, and what never goes.
fn drained(grounds: &BTreeMap<String, Ground>, pods: &[Pod], names: &[&str]) -> Drain {
    let node = pods.iter().filter(|pod| names.contains(&pod.metadata.name.as_deref().unwrap()));
    let leaving: Vec<Leaving> = node.map(|pod| leaving(pod).unwrap()).collect();
    simulate(grounds, &leaving, Time(1_000_000))
}

fn names(step: &Step) -> Vec<&str> {
    step.pods.iter().map(|going| going.pod.as_str()).collect()
}

#[test]
fn one_group_goes_the_other_waits_for_it() {
    let pods = pods(|_| true);
    let grounds = ground(pods.clone(), groups(json!(1), Value::Null), &[]);
    let drain = drained(&grounds, &pods, &["llm-0-0", "llm-0-1", "llm-1-0", "llm-1-1"]);
    assert_eq!(drain.never, []);
    assert_eq!(drain.steps.len(), 2);
    assert_eq!(names(&drain.steps[0]), ["llm-0-0", "llm-0-1"]);
    assert_eq!(names(&drain.steps[1]), ["llm-1-0", "llm-1-1"]);
    assert_eq!(drain.steps[1].after, BTreeSet::from(["group \"0\" of LeaderWorkerSet/llm".to_owned()]));
    let verdicts: Vec<&str> = drain.steps[0].pods.iter().map(|it| it.costs[0].toll.verdict).collect();
    assert_eq!(verdicts, ["pays", "free"], "the rest of a group on its way out costs nothing");
}

#[test]
fn a_group_that_is_down_elsewhere_is_waited_for() {
    let pods = pods(|name| name != "llm-2-1");
    let grounds = ground(pods.clone(), groups(json!(1), Value::Null), &[]);
    let drain = drained(&grounds, &pods, &["llm-0-0"]);
    assert_eq!(names(&drain.steps[0]), [""; 0]);
    assert_eq!(drain.steps[1].after, BTreeSet::from(["group \"2\" of LeaderWorkerSet/llm".to_owned()]));
    assert_eq!(names(&drain.steps[1]), ["llm-0-0"]);
    // The broken group itself may go at once.
    let drain = drained(&grounds, &pods, &["llm-2-0", "llm-2-1"]);
    assert_eq!((drain.steps.len(), names(&drain.steps[0]).len()), (1, 2));
}

#[test]
fn a_group_that_is_gone_whole_is_waited_for() {
    let all = pods(|_| true);
    let pods: Vec<Pod> = all.into_iter().take(4).collect();
    let grounds = ground(pods.clone(), groups(json!(1), Value::Null), &[]);
    let drain = drained(&grounds, &pods, &["llm-0-0"]);
    assert_eq!(names(&drain.steps[0]), [""; 0]);
    assert_eq!(drain.steps[1].after, BTreeSet::from(["1 missing of budget llm".to_owned()]));
    assert_eq!(names(&drain.steps[1]), ["llm-0-0"]);
}

#[test]
fn what_can_never_go_says_which_field() {
    let pods = pods(|_| true);
    for (most, least, why) in [
        (json!(0), Value::Null, "keeps 3 of 3 groups: spec.maxUnavailable 0 must be 1 or more"),
        (json!(1), json!(3), "keeps 3 of 3 groups: spec.minAvailable 3 must be below 3"),
        (Value::Null, json!("100%"), "keeps 3 of 3 groups: spec.minAvailable 100% must be below 3"),
    ] {
        let grounds = ground(pods.clone(), groups(most, least), &[]);
        let drain = drained(&grounds, &pods, &["llm-0-0"]);
        let said: Vec<&str> = drain.never.iter().map(|stuck| stuck.why.as_str()).collect();
        assert_eq!(said, [format!("PodUnavailableBudget llm {why}")]);
    }
}

#[test]
fn disruption_budgets_hold_too() {
    let pods = pods(|_| true);
    let guard = |name: &str, allowed: u32, desired: u32| {
        json!({
            "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "llm"}}},
            "status": {"disruptionsAllowed": allowed, "expectedPods": 6, "desiredHealthy": desired, "currentHealthy": 6},
        })
    };
    let free = groups(json!(3), Value::Null);
    let node = ["llm-0-0", "llm-0-1"];
    for (guards, steps, never) in [
        (vec![guard("a", 1, 5)], 2, 0),
        (vec![guard("a", 2, 4)], 1, 0),
        (vec![guard("a", 0, 6)], 1, 2),
        (vec![guard("a", 2, 4), guard("b", 2, 4)], 1, 2),
    ] {
        let drain = drained(&ground(pods.clone(), free.clone(), &guards), &pods, &node);
        assert_eq!((drain.steps.len(), drain.never.len()), (steps, never), "{guards:?}: {drain:?}");
    }
}

#[test]
fn what_a_drain_passes_over() {
    let passed = |pod: Value| leaving(&serde_json::from_value(pod).unwrap()).map(|it| it.returns);
    let owner =
        |kind| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "u", "controller": true}]);
    for (pod, want) in [
        (json!({"metadata": {"ownerReferences": owner("DaemonSet")}}), Err(Passed::DaemonSet)),
        (json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}), Err(Passed::Static)),
        (json!({"metadata": {}, "status": {"phase": "Succeeded"}}), Err(Passed::Over)),
        (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), Err(Passed::Over)),
        (json!({"metadata": {"ownerReferences": owner("ReplicaSet")}}), Ok(true)),
        (json!({"metadata": {}}), Ok(false)),
    ] {
        assert_eq!(passed(pod.clone()), want, "{pod}");
    }
}
