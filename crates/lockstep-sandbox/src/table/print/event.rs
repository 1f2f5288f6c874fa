//! Events, of both groups: the same things under different names.

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{is_there, name, number, or, text};

/// Where the parts of an event lie.
struct Places {
    first: &'static str,
    last: &'static str,
    count: &'static str,
    object: &'static str,
    source: &'static str,
    controller: &'static str,
    message: &'static str,
}

/// The cells of an event of the core group.
pub fn core(object: &Value, now: Timestamp) -> Vec<Value> {
    let places = Places {
        first: "/firstTimestamp",
        last: "/lastTimestamp",
        count: "/count",
        object: "involvedObject",
        source: "source",
        controller: "/reportingComponent",
        message: "/message",
    };
    cells(&places, object, now)
}

/// The cells of an event of `events.k8s.io`.
pub fn new(object: &Value, now: Timestamp) -> Vec<Value> {
    let places = Places {
        first: "/deprecatedFirstTimestamp",
        last: "/deprecatedLastTimestamp",
        count: "/deprecatedCount",
        object: "regarding",
        source: "deprecatedSource",
        controller: "/reportingController",
        message: "/note",
    };
    cells(&places, object, now)
}

fn cells(places: &Places, event: &Value, now: Timestamp) -> Vec<Value> {
    let since = |pointer: &str| age::since(event, pointer, now);
    let is_known = |pointer: &str| age::time(event, pointer).is_some();
    let first = if is_known(places.first) { since(places.first) } else { since("/eventTime") };
    let (last, count) = if is_there(event, "/series") {
        (since("/series/lastObservedTime"), number(event, "/series/count"))
    } else {
        let last = if is_known(places.last) { since(places.last) } else { first.clone() };
        // An event that happened once need not say so.
        (last, number(event, places.count).max(1))
    };
    vec![
        last.into(),
        text(event, "/type").into(),
        text(event, "/reason").into(),
        about(event, places.object).into(),
        text(event, &format!("/{}/fieldPath", places.object)).into(),
        source(event, places).into(),
        text(event, places.message).trim().into(),
        first.into(),
        count.into(),
        name(event),
    ]
}

/// `pod/web-0`.
fn about(event: &Value, place: &str) -> String {
    let kind = text(event, &format!("/{place}/kind")).to_lowercase();
    match text(event, &format!("/{place}/name")) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Who tells: a component, and where it runs.
fn source(event: &Value, places: &Places) -> String {
    let of = |field: &str| text(event, &format!("/{}/{field}", places.source));
    let component = or(of("component"), text(event, places.controller));
    match or(of("host"), text(event, "/reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::noon;

    #[test]
    fn old_and_new_events() {
        let old = json!({
            "metadata": {"name": "e"}, "type": "Warning", "reason": "Failed", "message": " it broke\n",
            "involvedObject": {"kind": "Pod", "name": "a", "fieldPath": "spec.containers{c}"},
            "source": {"component": "kubelet", "host": "n"}, "count": 4,
            "firstTimestamp": "2026-01-02T11:00:00Z", "lastTimestamp": "2026-01-02T11:59:00Z",
        });
        let cells = json!([
            "60s",
            "Warning",
            "Failed",
            "pod/a",
            "spec.containers{c}",
            "kubelet, n",
            "it broke",
            "60m",
            4,
            "e",
        ]);
        assert_eq!(Value::from(core(&old, noon())), cells);
        let mut event = json!({
            "metadata": {"name": "e"}, "eventTime": "2026-01-02T11:00:00.000000Z", "note": "x",
            "regarding": {"kind": "Node"}, "reportingController": "scheduler",
        });
        let cells = json!(["60m", "", "", "node", "", "scheduler", "x", "60m", 1, "e"]);
        assert_eq!(Value::from(new(&event, noon())), cells);
        event["series"] = json!({"count": 7, "lastObservedTime": "2026-01-02T11:59:30.000000Z"});
        let cells = json!(["30s", "", "", "node", "", "scheduler", "x", "60m", 7, "e"]);
        assert_eq!(Value::from(new(&event, noon())), cells);
    }
}
