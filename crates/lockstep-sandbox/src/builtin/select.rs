//! By which fields objects can be selected.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use super::GroupKind;
use super::access::{at, flag, int, list, text};

/// A field by which objects of a kind cannot be selected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownField {
    /// Where a kind has fields of its own.
    #[error("field label not supported: {0}")]
    NotSupported(String),
    /// Where it has none.
    #[error("{0:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    NotKnown(String),
    /// Jobs have words of their own.
    #[error("field label {0:?} not supported for Job")]
    NotForJobs(String),
}

const POD: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
    "spec.host",
];
const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    "metadata.namespace",
    "metadata.name",
];
const NEW_EVENT: &[&str] = &[
    "reason",
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reportingController",
    "type",
    "metadata.namespace",
    "metadata.name",
];

/// The fields a kind has of its own, if any.
fn fields(of: GroupKind<'_>) -> Option<&'static [&'static str]> {
    Some(match of {
        ("", "Pod") => POD,
        ("", "Node") => &["metadata.name", "spec.unschedulable"],
        ("", "Namespace") => &["metadata.name", "status.phase"],
        ("", "Secret") => &["metadata.name", "metadata.namespace", "type"],
        ("", "Service") => &["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"],
        ("", "Event") => EVENT,
        ("events.k8s.io", "Event") => NEW_EVENT,
        ("batch", "Job") => &["metadata.name", "metadata.namespace", "status.successful"],
        _ => return None,
    })
}

/// Whether objects of a kind can be selected by a field.
pub fn check_field(of: GroupKind<'_>, field: &str) -> Result<(), UnknownField> {
    match fields(of) {
        Some(known) if known.contains(&field) => Ok(()),
        None if matches!(field, "metadata.name" | "metadata.namespace") => Ok(()),
        Some(_) if of.1 == "Job" => Err(UnknownField::NotForJobs(field.to_owned())),
        Some(_) => Err(UnknownField::NotSupported(field.to_owned())),
        None => Err(UnknownField::NotKnown(field.to_owned())),
    }
}

/// The fields by which an object can be selected, and what they hold.
pub fn selectable(of: GroupKind<'_>, object: &Value) -> BTreeMap<&'static str, String> {
    let known = fields(of).unwrap_or(&["metadata.name", "metadata.namespace"]);
    known.iter().map(|field| (*field, held(of, object, field))).collect()
}

fn held(of: GroupKind<'_>, object: &Value, field: &str) -> String {
    let spec = at(object, &["spec"]);
    match (of, field) {
        (("", "Pod"), "spec.host") => text(spec, "nodeName").to_owned(),
        (("", "Pod"), "spec.hostNetwork") => flag(spec, "hostNetwork").to_string(),
        (("", "Pod"), "status.podIP") => {
            let first = list(at(object, &["status"]), "podIPs").first();
            first.map(|first| text(first, "ip").to_owned()).unwrap_or_default()
        }
        (("", "Pod"), "status.podIPs") => String::new(),
        (("", "Node"), "spec.unschedulable") => flag(spec, "unschedulable").to_string(),
        (("", "Event"), "source") => match text(at(object, &["source"]), "component") {
            "" => text(object, "reportingComponent").to_owned(),
            component => component.to_owned(),
        },
        (("batch", "Job"), "status.successful") => {
            int(at(object, &["status"]), "succeeded").unwrap_or_default().to_string()
        }
        _ => {
            let path: Vec<&str> = field.split('.').collect();
            at(object, &path).as_str().unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn in_the_words_of_a_real_one() {
        for (of, field, why) in [
            (("", "Pod"), "spec.foo", "field label not supported: spec.foo"),
            (("", "Namespace"), "metadata.namespace", "field label not supported: metadata.namespace"),
            (
                ("apps", "ReplicaSet"),
                "status.replicas",
                r#""status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace""#,
            ),
            (
                ("events.k8s.io", "Event"),
                "involvedObject.name",
                "field label not supported: involvedObject.name",
            ),
        ] {
            assert_eq!(check_field(of, field).map_err(|error| error.to_string()), Err(why.to_owned()));
        }
        assert_eq!(check_field(("", "Pod"), "spec.nodeName"), Ok(()));
        assert_eq!(check_field(("apps", "Deployment"), "metadata.name"), Ok(()));
    }

    #[test]
    fn what_is_selected_by() {
        let pod = json!({
            "metadata": {"name": "x", "namespace": "n"},
            "spec": {"nodeName": "node"},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.1.2.3"}]},
        });
        let held = selectable(("", "Pod"), &pod);
        let expected = [
            ("metadata.name", "x"),
            ("spec.nodeName", "node"),
            ("spec.hostNetwork", "false"),
            ("status.podIP", "10.1.2.3"),
            ("spec.schedulerName", ""),
        ];
        for (field, value) in expected {
            assert_eq!(held.get(field).map(String::as_str), Some(value), "{field}");
        }
        let event = json!({"source": {}, "reportingComponent": "c", "involvedObject": {"name": "x"}});
        let held = selectable(("", "Event"), &event);
        assert_eq!((held["source"].as_str(), held["involvedObject.name"].as_str()), ("c", "x"));
        assert_eq!(selectable(("", "Node"), &json!({}))["spec.unschedulable"], "false");
    }
}
