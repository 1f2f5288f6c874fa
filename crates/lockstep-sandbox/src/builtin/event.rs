//! Events, of which there are two kinds and one store: what is written as the one can be read as the other.

use serde_json::Value;

use super::access::put;
use super::wire;

/// What the fields are called: in the core, and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// An event of either kind as one of the core.
pub fn as_core_event(event: &Value) -> Value {
    renamed(event, "v1", "core/v1.Event", |(core, new)| (new, core))
}

/// An event of either kind as one of `events.k8s.io`.
pub fn as_new_event(event: &Value) -> Value {
    renamed(event, "events.k8s.io/v1", "events/v1.Event", |(core, new)| (core, new))
}

fn renamed(
    event: &Value,
    version: &str,
    name: &str,
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let mut event = event.clone();
    if let Some(fields) = event.as_object_mut() {
        for (from, to) in NAMES.into_iter().map(direction) {
            if let Some(value) = fields.remove(from) {
                fields.insert(to.to_owned(), value);
            }
        }
    }
    put(&mut event, "apiVersion", version);
    // What one kind always writes, the other may leave out.
    let _ = wire::settle(name, &mut event);
    event
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn there_and_back() {
        let core = json!({
            "kind": "Event", "apiVersion": "v1", "metadata": {"name": "c"}, "involvedObject": {"namespace": "n"},
            "source": {}, "firstTimestamp": null, "lastTimestamp": null, "eventTime": null, "reportingComponent": "",
            "reportingInstance": "", "message": "m",
        });
        let new = json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "c"}, "eventTime": null,
            "regarding": {"namespace": "n"}, "note": "m", "deprecatedSource": {}, "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null,
        });
        assert_eq!(as_new_event(&core), new);
        assert_eq!(as_core_event(&new), core);
        assert_eq!(as_core_event(&core), core);
    }
}
