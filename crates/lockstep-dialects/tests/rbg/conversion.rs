//! Between the versions and back: nothing is lost.

use lockstep_dialects::rbg::{Rbg, convert};
use lockstep_dialects::{Dialect, World};
use serde_json::Value;

use crate::common::documents;
use crate::properties::random;

fn version(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default()
}

fn other(object: &Value) -> &'static str {
    if version(object) == "v1alpha1" { "v1alpha2" } else { "v1alpha1" }
}

/// There and back is the same object, and both become the same set.
fn check(object: &Value) {
    let there = convert(object, other(object));
    assert_eq!(version(&there), other(object));
    let back = convert(&there, version(object));
    assert_eq!(back, *object, "by way of {there:#}");
    if lockstep_dialects::of(object).is_some() {
        let lower = |object| Rbg.lower(object, &World::default()).map(|it| (it.set, it.beside));
        let (a, b) = (lower(object), lower(&there));
        assert!(a.is_ok() == b.is_ok());
        if let (Ok(a), Ok(b)) = (a, b) {
            assert_eq!(serde_json::to_value(&*a.0).ok(), serde_json::to_value(&*b.0).ok());
        }
    }
}

#[test]
fn the_manifests() {
    let files = [
        include_str!("../manifests/rbg/old-words.yaml"),
        include_str!("../manifests/rbg/new-words.yaml"),
        include_str!("../manifests/rbg/sets.yaml"),
        include_str!("../manifests/rbg/seed-affinity.yaml"),
    ];
    for object in files.iter().flat_map(|text| documents(text)) {
        check(&object);
    }
}

#[test]
fn random_ones() {
    for seed in 0..500 {
        check(&random(seed));
    }
}

/// Words of v1alpha2 that v1alpha1 has none for are kept where a typed client leaves them alone.
#[test]
fn what_only_one_version_can_say() {
    let object = &documents(include_str!("../manifests/rbg/new-words.yaml"))[0];
    let old = convert(object, "v1alpha1");
    let kept = old["metadata"]["annotations"]["conversion.lockstep.dev/v1alpha2"].as_str().expect("kept");
    for word in [
        "podManagementPolicy",
        "sharedServiceSelection",
        "maxDelaySeconds",
        "instanceTopologyConstraint",
        "scaleDownPolicy",
    ] {
        assert!(kept.contains(word), "{word} in {kept}");
    }
    let roles = old["spec"]["roles"].as_array().expect("roles");
    assert!(roles.iter().all(|role| role.get("leaderWorkerPattern").is_none()), "{roles:#?}");
    assert_eq!(roles[1]["leaderWorkerSet"]["size"], 3);
    assert_eq!(roles[1]["templateRef"], serde_json::json!({"name": "base"}));
}
