//! Events are the same objects in two groups, under other names of their fields.

use std::sync::Arc;

use serde_json::{Value, json};

/// Names in the core group, and in `events.k8s.io`.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The event as a version shows it.
pub(crate) fn converted(event: &Arc<Value>, to: &str) -> Arc<Value> {
    if event["apiVersion"] == to {
        return Arc::clone(event);
    }
    let new = to != "v1";
    let name = |key: &str| {
        let found = NAMES.iter().find(|(old, new_name)| if new { *old == key } else { *new_name == key });
        found.map_or_else(
            || key.to_owned(),
            |(old, name)| if new { (*name).to_owned() } else { (*old).to_owned() },
        )
    };
    let fields = event.as_object().into_iter().flatten();
    let mut shown: Value = fields.map(|(key, value)| (name(key), value.clone())).collect();
    shown["apiVersion"] = Value::from(to);
    // Some fields are always shown, by one version or the other.
    let always: &[(&str, Value)] = match new {
        true => &[("eventTime", Value::Null)],
        false => &[
            ("source", json!({})),
            ("firstTimestamp", Value::Null),
            ("lastTimestamp", Value::Null),
            ("eventTime", Value::Null),
            ("reportingComponent", json!("")),
            ("reportingInstance", json!("")),
        ],
    };
    for (key, value) in always {
        if shown.get(*key).is_none() {
            shown[*key] = value.clone();
        }
    }
    Arc::new(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let old = Arc::new(json!({
            "apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "x"}, "message": "m", "count": 2,
            "source": {}, "firstTimestamp": null, "lastTimestamp": null, "eventTime": null,
            "reportingComponent": "", "reportingInstance": "",
        }));
        let new = converted(&old, "events.k8s.io/v1");
        assert_eq!((&new["note"], &new["deprecatedCount"]), (&json!("m"), &json!(2)));
        assert_eq!(new.get("involvedObject"), None);
        assert_eq!(converted(&new, "v1"), old);
    }
}
