use lockstep_core::number::IntOrPercent::Int;

use super::*;
use crate::interpret;

fn member(lease: Option<u64>, observed: i64) -> Value {
    let mut annotations = json!({GENERATION: "3"});
    if let Some(lease) = lease {
        annotations[LEASE] = json!(lease.to_string());
        annotations[TEMPLATE] = json!("abc");
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "demo", "generation": 5, "resourceVersion": "812", "uid": "u", "annotations": annotations},
        "spec": {"replicas": 4, "template": {"spec": {}},
                 "strategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}},
        "status": {"observedGeneration": observed, "replicas": 4, "availableReplicas": 3, "updatedReplicas": 2,
                   "unavailableReplicas": 1},
    })
}

fn observed(member: &Value, manifest: Option<&Value>) -> Option<Observation> {
    let kind = &interpret::built_in()[0];
    observation(kind, &reflect(kind, member), manifest)
}

#[test]
fn a_member_says_what_is_in_force() {
    let seen = observed(&member(Some(7), 5), None).unwrap();
    assert_eq!((seen.replicas, seen.total, seen.available, seen.updated), (4, 4, 3, 2));
    assert_eq!((seen.acknowledged, seen.template.0.as_str(), seen.sequence), (Some(LeaseId(7)), "abc", 812));
    assert_eq!(
        (seen.strategy.max_unavailable, seen.unavailable, seen.settled),
        (Some(Int(1)), Some(1), false)
    );
}

#[test]
fn a_lease_its_controller_has_not_seen_is_not_acknowledged() {
    assert_eq!(observed(&member(Some(7), 4), None).unwrap().acknowledged, None);
}

#[test]
fn what_carries_no_hash_is_known_only_by_the_manifest_it_was_made_from() {
    let ran = member(None, 5);
    let mut manifest = ran.clone();
    let seen = observed(&ran, Some(&manifest)).unwrap();
    assert_eq!(seen.template, interpret::built_in()[0].template_hash(&manifest));
    assert_eq!(seen.acknowledged, None);
    manifest["metadata"]["annotations"][GENERATION] = json!("4");
    assert_eq!(observed(&ran, Some(&manifest)), None);
    assert_eq!(observed(&ran, None), None);
}

#[test]
fn without_the_customization_nothing_is_known() {
    let kind = &interpret::built_in()[0];
    assert_eq!(observation(kind, &json!({"replicas": 4, "availableReplicas": 4}), None), None);
}

#[test]
fn a_deployment_is_settled_when_its_replica_sets_are() {
    let set = |generation: i64, observed: i64, wants: u32, has: u32, available: u32| {
        json!({"metadata": {"generation": generation}, "spec": {"replicas": wants},
               "status": {"observedGeneration": observed, "replicas": has, "availableReplicas": available}})
    };
    let deployment = member(Some(7), 5);
    let rows = [
        (vec![set(2, 2, 2, 2, 2), set(4, 4, 2, 2, 1)], true),
        // One has not seen what it was told.
        (vec![set(2, 2, 2, 2, 2), set(4, 3, 2, 2, 1)], false),
        // One has pods that are on their way out or in.
        (vec![set(2, 2, 1, 2, 2), set(4, 4, 2, 2, 1)], false),
        // The Deployment has not counted them yet.
        (vec![set(2, 2, 2, 2, 2), set(4, 4, 2, 2, 2)], false),
    ];
    for (sets, settled) in rows {
        assert_eq!(is_settled(&deployment, &sets), settled, "{sets:?}");
    }
    assert!(!is_settled(&member(Some(7), 4), &[set(2, 2, 4, 4, 3)]));
}

#[test]
fn overrides_are_known_by_what_karmada_recorded_and_made() {
    let surge = "/spec/strategy/rollingUpdate/maxSurge";
    let unavailable = "/spec/strategy/rollingUpdate/maxUnavailable";
    let put = |path: &str, value: Value| json!({"path": path, "operator": "replace", "value": value});
    let taken = |path: &str| json!({"path": path, "operator": "remove"});
    let whole = json!({"rollingUpdate": {"maxSurge": 0}});
    // What stands in the manifest is 1 and 0.
    let rows = [
        (vec![put(unavailable, json!(1))], vec![], Some((Some(1), None))),
        (vec![put("/metadata/labels/a", json!("b"))], vec![], None),
        // Policies of the namespace come after those of the whole.
        (vec![put(surge, json!(2))], vec![put(surge, json!(0))], Some((None, Some(0)))),
        (vec![put("/spec/strategy", whole)], vec![], Some((None, Some(0)))),
        (vec![put(unavailable, json!(1)), taken(unavailable)], vec![], None),
        // The record of a policy that is gone.
        (vec![put(unavailable, json!(3))], vec![], None),
    ];
    let kind = &interpret::built_in()[0];
    for (of_all, of_namespace, set) in rows {
        let record =
            |plain: &[Value]| json!([{"policyName": "p", "overriders": {"plaintext": plain}}]).to_string();
        let [clusters, namespaced] = OVERRIDES;
        let mut work = json!({
            "metadata": {"namespace": "karmada-es-member1", "annotations": {
                BINDING_NAMESPACE: "default", BINDING_NAME: "demo-deployment",
                clusters: record(&of_all), namespaced: record(&of_namespace),
            }},
            "spec": {"workload": {"manifests": [member(None, 5)]}},
        });
        let made = Work(&work);
        assert_eq!((made.cluster(), made.binding()), (Some("member1"), Some(("default", "demo-deployment"))));
        assert_eq!(made.report(kind, false).reach, Reach::Unreachable);
        let found = made.overridden(kind);
        let strategy = set.map(|(unavailable, surge)| RollingStrategy {
            max_unavailable: unavailable.map(Int),
            max_surge: surge.map(Int),
            ..RollingStrategy::default()
        });
        assert_eq!(found, strategy, "{of_all:?} {of_namespace:?}");
        // With a lease in its place it is what was noted.
        work["spec"]["workload"]["manifests"][0] = member(Some(7), 5);
        assert_eq!(Work(&work).overridden(kind), None);
        work["metadata"]["annotations"][OVERRIDDEN] = json!(json!(found).to_string());
        assert_eq!(Work(&work).overridden(kind), strategy);
    }
}
