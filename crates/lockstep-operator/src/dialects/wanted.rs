//! What is made from an object, as it is to be applied. Pure.

use lockstep_api::{API_VERSION, KIND, label};
use lockstep_core::revision::Revision;
use lockstep_dialects::Lowered;
use serde_json::{Map, Value, json};

use super::id::controller;

/// Annotations of tools that speak of the object itself and of nothing made from it.
const OF_TOOLS: [&str; 6] = [
    "kubectl.kubernetes.io/",
    "argocd.argoproj.io/",
    "meta.helm.sh/",
    "helm.sh/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
];

/// The set of an object. Whether it is paused is left to others, unless the object wishes for it: `lockstep pause`
/// works on it as on any other.
pub fn set(object: &Value, lowered: &Lowered, dialect: &str) -> Value {
    let set = &lowered.set;
    let mut spec = serde_json::to_value(&set.spec).unwrap_or_default();
    if !set.spec.paused
        && let Some(fields) = spec.as_object_mut()
    {
        fields.remove("paused");
    }
    let mut labels = carried(&object["metadata"]["labels"]);
    labels.extend(set.metadata.labels.iter().map(|(key, value)| (key.clone(), json!(value))));
    let mut annotations = carried(&object["metadata"]["annotations"]);
    annotations.extend(set.metadata.annotations.iter().map(|(key, value)| (key.clone(), json!(value))));
    let wanted = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": set.metadata.name, "labels": labels, "annotations": annotations},
        "spec": spec,
    });
    owned(object, wanted, dialect)
}

/// An object that stands beside the set of another.
pub fn beside(object: &Value, beside: &Value, dialect: &str) -> Value {
    owned(object, beside.clone(), dialect)
}

/// What was made from an object says so, lives where it lives and goes when it goes.
fn owned(object: &Value, mut wanted: Value, dialect: &str) -> Value {
    let metadata = &mut wanted["metadata"];
    metadata["namespace"] = object["metadata"]["namespace"].clone();
    metadata["labels"][label::DIALECT] = json!(dialect);
    metadata["ownerReferences"] = json!([{
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let mark = Revision::of(&wanted).to_string();
    wanted["metadata"]["annotations"][label::APPLIED] = json!(mark);
    wanted
}

/// What of an object's labels or annotations is said of what is made from it as well.
fn carried(of: &Value) -> Map<String, Value> {
    let said = of.as_object().cloned().unwrap_or_default();
    let of_tools = |key: &str| OF_TOOLS.iter().any(|tool| key.starts_with(tool));
    said.into_iter().filter(|(key, _)| !of_tools(key)).collect()
}

/// Whether an object that somebody else made, and nobody controls, asks for nothing but what is wanted.
pub fn is_for_the_same(standing: &Value, wanted: &Value) -> bool {
    controller(standing).is_none() && stands(&standing["spec"], &wanted["spec"])
}

/// What is said of an object that stays somebody else's: its spec alone.
pub fn filled_in(wanted: &Value) -> Value {
    let metadata = &wanted["metadata"];
    json!({
        "apiVersion": wanted["apiVersion"],
        "kind": wanted["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": wanted["spec"],
    })
}

/// Whether everything that is wanted stands so. What stands besides is the API server's, or somebody else's.
pub fn stands(wanted: &Value, standing: &Value) -> bool {
    match (wanted, standing) {
        (Value::Object(wanted), Value::Object(standing)) => wanted.iter().all(|(key, value)| {
            let there = standing.get(key).unwrap_or(&Value::Null);
            stands(value, there) || (is_nothing(value) && there.is_null())
        }),
        (Value::Array(wanted), Value::Array(standing)) => {
            wanted.len() == standing.len() && wanted.iter().zip(standing).all(|(a, b)| stands(a, b))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => wanted == standing,
    }
}

/// What an API server does not keep, or keeps as nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_stands_whatever_stands_besides() {
        let standing = json!({"a": 1, "b": {"c": "d", "e": "f"}, "g": [{"h": 1, "i": 2}], "j": 1.0});
        let cases = [
            (json!({}), true),
            (json!({"a": 1}), true),
            (json!({"a": 2}), false),
            (json!({"b": {"c": "d"}}), true),
            (json!({"b": {"c": "x"}}), false),
            (json!({"g": [{"h": 1}]}), true),
            (json!({"g": [{"h": 1}, {}]}), false),
            (json!({"g": []}), false),
            (json!({"j": 1}), true),
            (json!({"k": {}, "l": [], "m": null}), true),
            (json!({"k": 0}), false),
        ];
        for (wanted, so) in cases {
            assert_eq!(stands(&wanted, &standing), so, "{wanted}");
        }
    }

    #[test]
    fn one_that_a_user_made_for_the_same_end_gets_what_it_lacks_and_stays_theirs() {
        let target = json!({"name": "llama", "role": "decode"});
        let wanted = json!({
            "apiVersion": "toys.example/v1", "kind": "Handle",
            "metadata": {"name": "mine", "namespace": "ml", "labels": {"a": "b"}, "ownerReferences": [{}]},
            "spec": {"target": target, "replicas": 4},
        });
        let controlled = json!([{"controller": true, "uid": "u2"}]);
        let cases = [
            (json!({"spec": {"target": target}}), true),
            (json!({"spec": {"target": target, "replicas": 4}}), true),
            (json!({"spec": {"target": target, "replicas": 5}}), false),
            (json!({"spec": {"target": {"name": "other", "role": "decode"}}}), false),
            (json!({"metadata": {"ownerReferences": controlled}, "spec": {"target": target}}), false),
        ];
        for (standing, so) in cases {
            assert_eq!(is_for_the_same(&standing, &wanted), so, "{standing}");
        }
        let said = filled_in(&wanted);
        assert_eq!(said["metadata"], json!({"name": "mine", "namespace": "ml"}));
        assert_eq!(said["spec"], wanted["spec"]);
    }

    #[test]
    fn what_is_made_belongs_to_the_object_and_carries_what_its_user_said() {
        let object = json!({
            "apiVersion": "toys.example/v1", "kind": "Toy",
            "metadata": {"name": "llama", "namespace": "ml", "uid": "u1"},
        });
        let made = beside(&object, &json!({"kind": "ConfigMap", "metadata": {"name": "x"}}), "toy");
        assert_eq!(made["metadata"]["namespace"], "ml");
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u1");
        assert_eq!(made["metadata"]["labels"][label::DIALECT], "toy");
        let other = beside(
            &object,
            &json!({"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}),
            "toy",
        );
        let mark = |made: &Value| made["metadata"]["annotations"][label::APPLIED].clone();
        assert_ne!(mark(&made), mark(&other), "what is applied is told apart");

        let said = json!({"team": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}"});
        assert_eq!(Value::Object(carried(&said)), json!({"team": "a"}));
    }
}
