//! Events are the same objects in two groups, under other names of their fields.

use std::sync::Arc;

use serde_json::Value;

use crate::builtin::{as_core_event, as_new_event};

/// The event as a version shows it.
pub(crate) fn converted(event: &Arc<Value>, to: &str) -> Arc<Value> {
    match to {
        _ if event["apiVersion"] == to => Arc::clone(event),
        "v1" => Arc::new(as_core_event(event)),
        _ => Arc::new(as_new_event(event)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn there_and_back() {
        let old = Arc::new(json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": {"name": "x"}, "message": "m", "count": 2,
            "source": {}, "firstTimestamp": null, "lastTimestamp": null, "eventTime": null,
            "reportingComponent": "", "reportingInstance": "", "metadata": {},
        }));
        let new = converted(&old, "events.k8s.io/v1");
        assert_eq!((&new["note"], &new["deprecatedCount"]), (&json!("m"), &json!(2)));
        assert_eq!(new.get("involvedObject"), None);
        assert_eq!(converted(&new, "v1"), old);
    }
}
