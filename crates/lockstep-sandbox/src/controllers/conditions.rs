//! Conditions of pods and of newer kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::read;

/// The conditions of an object with this one set; none if it is as it was. The time it changed is kept as long as its
/// status is the same.
pub(super) fn with(object: &Value, mut said: Value, now: Timestamp) -> Option<Vec<Value>> {
    let mut conditions = read::list(&object["status"]["conditions"]).to_vec();
    let found = conditions.iter_mut().find(|condition| condition["type"] == said["type"]);
    let since = found.as_ref().filter(|found| found["status"] == said["status"]);
    said["lastTransitionTime"] = match since {
        Some(found) => found["lastTransitionTime"].clone(),
        None => json!(read::stamp(now)),
    };
    match found {
        Some(found) if *found == said => return None,
        Some(found) => *found = said,
        None => conditions.push(said),
    }
    Some(conditions)
}

/// A condition of a pod.
pub(super) fn of_pod(pod: &Value, kind: &str, status: &str, reason: &str, message: &str) -> Value {
    let mut said = json!({"type": kind, "status": status, "lastProbeTime": null});
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            said[field] = json!(text);
        }
    }
    if let Some(generation) = pod["metadata"]["generation"].as_i64() {
        said["observedGeneration"] = json!(generation);
    }
    said
}
