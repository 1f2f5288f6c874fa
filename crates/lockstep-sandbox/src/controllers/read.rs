//! Reading objects: what is not there reads as nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A string; empty if it is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A list; empty if it is none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The entries of a map; none if it is none.
pub(super) fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A number; 0 if it is none.
pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// An object's name.
pub(super) fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// An object's namespace; empty for none.
pub(super) fn namespace(object: &Value) -> &str {
    text(&object["metadata"]["namespace"])
}

/// An object's UID.
pub(super) fn uid(object: &Value) -> &str {
    text(&object["metadata"]["uid"])
}

/// It is being deleted.
pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// It carries this finalizer.
pub(super) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    list(&object["metadata"]["finalizers"]).iter().any(|found| found == finalizer)
}

/// Labels, of an object or a template.
pub(super) fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = entries(&object["metadata"]["labels"]);
    labels.map(|(key, value)| (key.clone(), text(value).to_owned())).collect()
}

/// The owner that manages it.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    list(&object["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true)
}

/// A condition of its status.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(&object["status"]["conditions"]).iter().find(|condition| condition["type"] == kind)
}

/// The status of a condition; empty if it has none such.
pub(super) fn condition_status<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind).map_or("", |condition| text(&condition["status"]))
}

/// A pod that has ended for good.
pub(super) fn has_ended(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// A pod that neither has ended nor is about to.
pub(super) fn is_active(pod: &Value) -> bool {
    !has_ended(pod) && !is_deleting(pod)
}

/// A time, as objects write it.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    text(value).parse().ok()
}

/// A time to the second, as objects write it.
pub(super) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time to the microsecond, as events and leases write it.
pub(crate) fn precise(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// What points to an object, for an event about it.
pub(super) fn reference(api_version: &str, kind: &str, object: &Value) -> Value {
    let mut reference = json!({
        "apiVersion": api_version, "kind": kind, "name": name(object), "uid": uid(object),
        "resourceVersion": object["metadata"]["resourceVersion"],
    });
    if !namespace(object).is_empty() {
        reference["namespace"] = json!(namespace(object));
    }
    reference
}

/// The merge patch that makes the one of the other; empty if they are the same.
pub(super) fn difference(old: &Value, new: &Value) -> Map<String, Value> {
    let nothing = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&nothing), new.as_object().unwrap_or(&nothing));
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let mut patch: Map<String, Value> = gone.collect();
    for (key, value) in new {
        match old.get(key) {
            Some(before) if before == value => {}
            Some(before) if before.is_object() && value.is_object() => {
                patch.insert(key.clone(), Value::Object(difference(before, value)));
            }
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_makes_the_one_of_the_other() {
        for (old, new, patch) in [
            (json!({"a": 1}), json!({"a": 1}), json!({})),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": 2})),
            (json!({"a": 1, "b": 2}), json!({"b": 2}), json!({"a": null})),
            (json!({"a": {"b": 1, "c": [1]}}), json!({"a": {"b": 1, "c": [2]}}), json!({"a": {"c": [2]}})),
            (Value::Null, json!({"a": {}}), json!({"a": {}})),
        ] {
            assert_eq!(Value::Object(difference(&old, &new)), patch);
            let old = if old.is_null() { json!({}) } else { old };
            assert_eq!(crate::patch::merge(&old, &patch), new);
        }
    }

    #[test]
    fn times_are_written_as_objects_write_them() {
        let time: Timestamp = "2026-01-02T03:04:05.678901234Z".parse().expect("a time");
        assert_eq!(stamp(time), "2026-01-02T03:04:05Z");
        assert_eq!(precise(time), "2026-01-02T03:04:05.678901Z");
    }
}
