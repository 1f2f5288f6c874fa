//! What is wrong with the metadata of objects, of built-in kinds and others.

use std::collections::BTreeSet;

use serde_json::Value;

use super::access::{at, entries, flag, has, int, list, text, texts};
use super::causes::{At, Causes, quoted};
use super::formats::{NameRule, label, label_value, qualified};
use super::wire::shown;

/// All annotations together.
const MOST_ANNOTATED: usize = 256 * 1024;

/// What is wrong with the metadata of an object that is created. It has its name already, if one was made for it.
pub fn validate_metadata(metadata: &Value, namespaced: bool, rule: NameRule, causes: &mut Causes) {
    let here = At::new("metadata");
    let beginning = text(metadata, "generateName");
    if !beginning.is_empty() {
        causes.invalid_each(&here.child("generateName"), beginning, rule.check(beginning, true));
    }
    match text(metadata, "name") {
        "" => causes.required(&here.child("name"), "name or generateName is required"),
        name => causes.invalid_each(&here.child("name"), name, rule.check(name, false)),
    }
    match (namespaced, text(metadata, "namespace")) {
        (true, "") => causes.required(&here.child("namespace"), ""),
        (true, namespace) => causes.invalid_each(&here.child("namespace"), namespace, label(namespace)),
        (false, "") => {}
        (false, _) => causes.forbidden(&here.child("namespace"), "not allowed on this type"),
    }
    causes.not_negative(&here.child("generation"), int(metadata, "generation"));
    labels(at(metadata, &["labels"]), &here.child("labels"), causes);
    annotations(at(metadata, &["annotations"]), &here.child("annotations"), causes);
    owners(metadata, &here.child("ownerReferences"), causes);
    finalizers(metadata, &here.child("finalizers"), causes);
}

/// What is wrong with the metadata of an object that is updated.
pub fn validate_metadata_update(new: &Value, old: &Value, causes: &mut Causes) {
    let here = At::new("metadata");
    if has(old, "deletionTimestamp") {
        let before: BTreeSet<&str> = texts(old, "finalizers").into_iter().collect();
        let now: BTreeSet<&str> = texts(new, "finalizers").into_iter().collect();
        let added: Vec<String> = now.difference(&before).map(|finalizer| quoted(finalizer)).collect();
        if !added.is_empty() {
            let added = added.join(", ");
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added}}}"
            );
            causes.forbidden(&here.child("finalizers"), &why);
        }
    }
    if text(new, "resourceVersion").is_empty() {
        causes.invalid(&here.child("resourceVersion"), &Value::from(""), "must be specified for an update");
    }
    causes.not_negative(&here.child("generation"), int(new, "generation"));
    let generation = int(new, "generation").unwrap_or_default();
    if generation < int(old, "generation").unwrap_or_default() {
        causes.invalid(&here.child("generation"), &Value::from(generation), "must not be decremented");
    }
    for field in ["name", "namespace", "uid"] {
        let (new, old) = (text(new, field), text(old, field));
        if new != old {
            causes.invalid(&here.child(field), &Value::from(new), "field is immutable");
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        causes.immutable(&here.child(field), at(new, &[field]), at(old, &[field]));
    }
    labels(at(new, &["labels"]), &here.child("labels"), causes);
    annotations(at(new, &["annotations"]), &here.child("annotations"), causes);
    owners(new, &here.child("ownerReferences"), causes);
}

/// What every update is checked for, before the rules of its kind.
pub fn validate_common_update(new: &Value, old: &Value, namespaced: bool, causes: &mut Causes) {
    validate_metadata(new, namespaced, NameRule::Segment, causes);
    validate_metadata_update(new, old, causes);
}

/// What is wrong with the `labels` or `annotations` of metadata.
pub fn validate_marks(field: &str, marks: &Value, causes: &mut Causes) {
    let here = At::new("metadata");
    match field {
        "labels" => labels(marks, &here.child("labels"), causes),
        _ => annotations(marks, &here.child("annotation"), causes),
    }
}

/// What is wrong with labels.
pub(super) fn labels(labels: &Value, here: &At, causes: &mut Causes) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        causes.invalid_each(here, key, qualified(key));
        let value = value.as_str().unwrap_or_default();
        causes.invalid_each(here, value, label_value(value));
    }
}

/// What is wrong with annotations.
pub(super) fn annotations(annotations: &Value, here: &At, causes: &mut Causes) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        causes.invalid_each(here, key, qualified(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MOST_ANNOTATED {
        causes.too_long(here, MOST_ANNOTATED);
    }
}

fn owners(metadata: &Value, here: &At, causes: &mut Causes) {
    let mut first: Option<String> = None;
    for (place, owner) in list(metadata, "ownerReferences").iter().enumerate() {
        let each = here.index(place);
        let version = text(owner, "apiVersion");
        if version.is_empty() {
            causes.required(&each.child("apiVersion"), "must not be empty");
        } else if version.matches('/').count() > 1 || version.ends_with('/') {
            let why = "must be <group>/<version> or <version>";
            causes.invalid(&each.child("apiVersion"), &Value::from(version), why);
        }
        for field in ["kind", "name", "uid"] {
            if text(owner, field).is_empty() {
                causes.required(&each.child(field), "must not be empty");
            }
        }
        if (version, text(owner, "kind")) == ("v1", "Event") {
            causes.invalid_shown(
                &each,
                &shown("meta/v1.OwnerReference", owner),
                "/v1, Kind=Event is disallowed from being an owner",
            );
        }
        if flag(owner, "controller") {
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &first {
                None => first = Some(name),
                Some(first) => {
                    let all: Vec<String> = list(metadata, "ownerReferences")
                        .iter()
                        .map(|owner| shown("meta/v1.OwnerReference", owner))
                        .collect();
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                         {name}"
                    );
                    causes.invalid_shown(here, &format!("[{}]", all.join(",")), &why);
                }
            }
        }
    }
}

fn finalizers(metadata: &Value, here: &At, causes: &mut Causes) {
    let all = texts(metadata, "finalizers");
    for finalizer in &all {
        causes.invalid_each(here, finalizer, qualified(finalizer));
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.invalid(here, at(metadata, &["finalizers"]), why);
    }
}

/// What is wrong with a selector of labels.
pub(super) fn selector(selector: &Value, here: &At, causes: &mut Causes) {
    labels(at(selector, &["matchLabels"]), &here.child("matchLabels"), causes);
    for (place, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let here = here.child("matchExpressions").index(place);
        let values = texts(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let why = "must be specified when `operator` is 'In' or 'NotIn'";
                    causes.required(&here.child("values"), why);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    causes.forbidden(&here.child("values"), why);
                }
            }
            other => {
                causes.invalid(&here.child("operator"), &Value::from(other), "not a valid selector operator")
            }
        }
        let key = text(expression, "key");
        causes.invalid_each(&here.child("key"), key, qualified(key));
        for (place, value) in values.into_iter().enumerate() {
            causes.invalid_each(&here.child("values").index(place), value, label_value(value));
        }
    }
}

/// Whether a selector selects what bears these labels; nothing if it cannot be understood.
pub(super) fn selects(selector: &Value, labels: &Value) -> Option<bool> {
    let mut all = entries(selector, "matchLabels").all(|(key, value)| labels.get(key) == Some(value));
    for expression in list(selector, "matchExpressions") {
        let values = texts(expression, "values");
        let held = labels.get(text(expression, "key")).and_then(Value::as_str);
        all &= match (text(expression, "operator"), values.is_empty()) {
            ("In", false) => held.is_some_and(|held| values.contains(&held)),
            ("NotIn", false) => held.is_none_or(|held| !values.contains(&held)),
            ("Exists", true) => held.is_some(),
            ("DoesNotExist", true) => held.is_none(),
            _ => return None,
        };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::refusal::Cause;

    #[test]
    fn annotations_are_measured_together() {
        let of = |length: usize| {
            let mut causes = Causes::default();
            annotations(&json!({"a": "x".repeat(length)}), &At::new("metadata.annotations"), &mut causes);
            Vec::<Cause>::from(causes).into_iter().map(|cause| cause.message).collect::<Vec<_>>()
        };
        assert_eq!(of(MOST_ANNOTATED - 1), Vec::<String>::new());
        assert_eq!(of(MOST_ANNOTATED), ["Too long: may not be more than 262144 bytes"]);
    }

    #[test]
    fn what_deletion_allows() {
        let old =
            json!({"name": "x", "deletionTimestamp": "t", "finalizers": ["a/b"], "resourceVersion": "1"});
        let mut new = old.clone();
        new["finalizers"] = json!(["a/b", "c/d"]);
        let mut causes = Causes::default();
        validate_metadata_update(&new, &old, &mut causes);
        let told = Vec::<Cause>::from(causes);
        let why = "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
            []string{\"c/d\"}";
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((told[0].field.as_str(), told[0].message.as_str()), ("metadata.finalizers", why));
    }

    #[test]
    fn which_labels_are_selected() {
        let labels = json!({"a": "b"});
        for (selector, selected) in [
            (json!({}), Some(true)),
            (json!({"matchLabels": {"a": "b"}}), Some(true)),
            (json!({"matchLabels": {"a": "c"}}), Some(false)),
            (json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}), Some(false)),
            (json!({"matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["b"]}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "c", "operator": "Exists"}]}), Some(false)),
            (json!({"matchExpressions": [{"key": "c", "operator": "Foo"}]}), None),
            (json!({"matchExpressions": [{"key": "c", "operator": "In"}]}), None),
        ] {
            assert_eq!(selects(&selector, &labels), selected, "{selector}");
        }
    }
}
