use lockstep_core::number::IntOrPercent::{Int, Percent};
use serde_json::json;

use super::*;

/// Where each kind has its strategy: paused, partition, maxUnavailable and maxSurge.
fn rows() -> Vec<(Value, RollingStrategy)> {
    let all = RollingStrategy {
        paused: Some(true),
        partition: Some(Percent(40)),
        max_unavailable: Some(Int(2)),
        max_surge: Some(Int(1)),
    };
    let numbers = json!({"partition": "40%", "maxUnavailable": 2, "maxSurge": 1});
    let flat = json!({"paused": true, "partition": "40%", "maxUnavailable": 2, "maxSurge": 1});
    vec![
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
                "paused": true, "strategy": {"rollingUpdate": {"maxUnavailable": 2, "maxSurge": 1}}}}),
            RollingStrategy { partition: None, ..all.clone() },
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {
                "updateStrategy": {"rollingUpdate": {"partition": "40%", "maxUnavailable": 2}}}}),
            RollingStrategy { paused: None, max_surge: None, ..all.clone() },
        ),
        (
            json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "spec": {"updateStrategy": flat}}),
            all.clone(),
        ),
        (
            json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": {
                "rolloutStrategy": {"rollingUpdateConfiguration": numbers}}}),
            RollingStrategy { paused: None, ..all.clone() },
        ),
        (
            json!({"apiVersion": "lockstep.dev/v1alpha1", "kind": "LockstepSet", "spec": {
                "paused": true, "updateStrategy": numbers}}),
            all,
        ),
    ]
}

#[test]
fn a_strategy_is_read_where_it_is_written() {
    for (object, strategy) in rows() {
        let kind = of(&object).unwrap();
        assert_eq!(kind.rolling_strategy(&object), strategy, "{}", kind.kind);
        let mut bare = json!({"apiVersion": object["apiVersion"], "kind": object["kind"]});
        kind.revise_rolling_strategy(&mut bare, &strategy);
        assert_eq!(bare, object, "{}", kind.kind);
    }
}

#[test]
fn what_a_strategy_does_not_say_stays() {
    let (mut object, _) = rows().remove(2);
    let kind = of(&object).unwrap();
    let said = RollingStrategy { max_unavailable: Some(Int(0)), ..RollingStrategy::default() };
    kind.revise_rolling_strategy(&mut object, &said);
    assert_eq!(
        object["spec"]["updateStrategy"],
        json!({"paused": true, "partition": "40%", "maxUnavailable": 0, "maxSurge": 1})
    );
}

#[test]
fn a_template_is_what_its_pods_are_made_from() {
    let object = |replicas: u32, image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
               "spec": {"replicas": replicas, "template": {"spec": {"image": image}}}})
    };
    let kind = of(&object(1, "a")).unwrap();
    assert_eq!(kind.template_hash(&object(1, "a")), kind.template_hash(&object(9, "a")));
    assert_ne!(kind.template_hash(&object(1, "a")), kind.template_hash(&object(1, "b")));
    let mut other = object(9, "b");
    kind.set_template(&mut other, &kind.template(&object(1, "a")));
    assert_eq!(other, object(9, "a"));
}

#[test]
fn a_status_is_counted_also_as_lua_writes_numbers() {
    let object = json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"});
    let kind = of(&object).unwrap();
    let status = kind.rolling_status(&json!({
        "replicas": 3.0, "readyReplicas": 2, "updatedReplicas": 1, "observedGeneration": 4, "generation": 4,
    }));
    assert_eq!(
        (status.replicas, status.available_replicas, status.updated_replicas),
        (Some(3), Some(2), Some(1))
    );
    assert_eq!((status.generation, status.observed_generation), (Some(4), Some(4)));
}

#[test]
fn another_kind_is_a_table() {
    let table = json!({
        "apiVersion": "example.com/v1", "kind": "Fleet", "like": "CloneSet",
        "template": ["spec.pod"], "replicas": "spec.size", "maxUnavailable": "spec.roll.down",
        "partition": "spec.roll.keep", "counts": {"available": "serving"},
    });
    let fleet: Interpretation = serde_json::from_value(table).unwrap();
    let object = json!({"apiVersion": "example.com/v1", "kind": "Fleet",
                        "spec": {"size": 4, "pod": {}, "roll": {"down": "25%"}}});
    let kinds = Kinds::with(vec![fleet]);
    let kind = kinds.of(&object).unwrap();
    assert_eq!(
        (kind.replicas(&object), kind.rolling_strategy(&object).max_unavailable),
        (4, Some(Percent(25)))
    );
    assert_eq!(kind.rolling_status(&json!({"serving": 3})).available_replicas, Some(3));
    let wrong = json!({"apiVersion": "a/v1", "kind": "B", "like": "CloneSet", "template": ["spec[0]"],
                       "replicas": "spec.size", "maxUnavailable": "spec.down"});
    let said = serde_json::from_value::<Interpretation>(wrong).unwrap_err().to_string();
    assert!(said.contains("spec[0]") && said.contains("such as spec.template"), "{said}");
}

/// What a ledger or a lease of an earlier version says must be the same template to this one.
#[test]
fn hashes_are_pinned() {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "demo:v1"}]}});
    let spec = json!({"template": template, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template},
                      "roles": [{"name": "web", "template": template}]});
    let hashes: Vec<String> =
        built_in().iter().map(|kind| kind.template_hash(&json!({"spec": spec})).0).collect();
    assert_eq!(hashes, ["be41d09e7d", "be41d09e7d", "be41d09e7d", "cbdc6f6d47", "31c74f09ad"]);
}
