//! What is written on a pod so that it is the set's own.

use std::collections::BTreeSet;

use lockstep_api::label;
use serde_json::{Map, Value, json};

use super::judge::Judged;
use crate::act::SetRef;

/// The patch that makes a pod the set's own, for the very state of it that was judged; nothing if it is already.
/// `former` are the UIDs of those that owned it before.
pub fn patch(judged: &Judged, pod: &Value, set: &SetRef, former: &BTreeSet<&str>) -> Option<Value> {
    judged.seat.as_ref()?;
    let metadata = &pod["metadata"];
    let news = |field: &str, wanted: &Map<String, Value>| -> Map<String, Value> {
        let changed = wanted.iter().filter(|(key, value)| metadata[field].get(*key) != Some(value));
        changed.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (labels, mut annotations) =
        (news("labels", &judged.labels), news("annotations", &judged.annotations));
    if !metadata["annotations"][label::LEFT_BY].is_null() {
        annotations.insert(label::LEFT_BY.to_owned(), Value::Null);
    }
    let ours = set.owner_reference();
    let owned = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
    if labels.is_empty() && annotations.is_empty() && owned.contains(&ours) {
        return None;
    }
    let is_former = |owner: &Value| {
        owner["controller"] == true || owner["uid"].as_str().is_some_and(|uid| former.contains(uid))
    };
    let owners: Vec<Value> = owned.into_iter().filter(|owner| !is_former(owner)).chain([ours]).collect();
    let mut patched = json!({
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
        "ownerReferences": owners,
    });
    for (field, changed) in [("labels", labels), ("annotations", annotations)] {
        if !changed.is_empty() {
            patched[field] = Value::Object(changed);
        }
    }
    Some(json!({"metadata": patched}))
}
