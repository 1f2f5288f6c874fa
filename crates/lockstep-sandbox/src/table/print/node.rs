//! Nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{condition, flag, list, map, name, text, text_or};

/// The cells of a node.
pub fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let info = |field: &str| text_or(object, &format!("/status/nodeInfo/{field}"), "<unknown>");
    vec![
        name(object),
        status(object).into(),
        roles(object).into(),
        age::of(object, now),
        text(object, "/status/nodeInfo/kubeletVersion").into(),
        address(object, "InternalIP").into(),
        address(object, "ExternalIP").into(),
        info("osImage").into(),
        kernel(info("kernelVersion"), text(object, "/status/nodeInfo/architecture")).into(),
        info("containerRuntimeVersion").into(),
    ]
}

fn status(node: &Value) -> String {
    let ready = match condition(node, "Ready", true) {
        None => "Unknown",
        Some(found) if text(found, "/status") == "True" => "Ready",
        Some(_) => "NotReady",
    };
    let cordoned = if flag(node, "/spec/unschedulable") { ",SchedulingDisabled" } else { "" };
    format!("{ready}{cordoned}")
}

/// Told by labels: `node-role.kubernetes.io/{role}`, or `kubernetes.io/role` with the role as its value.
fn roles(node: &Value) -> String {
    let labels = map(node, "/metadata/labels").into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        return "<none>".to_owned();
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let mut of_kind = list(node, "/status/addresses").iter().filter(|one| text(one, "/type") == kind);
    of_kind.next().map_or("<none>", |found| text(found, "/address"))
}

fn kernel(version: &str, architecture: &str) -> String {
    match architecture {
        "" => version.to_owned(),
        _ => format!("{version} ({architecture})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::noon;

    #[test]
    fn cells_of_a_node() {
        let object = json!({
            "metadata": {"name": "n", "creationTimestamp": "2026-01-02T11:59:00Z", "labels": {
                "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/": "", "kubernetes.io/role": "big",
            }},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "Unknown"}],
                "addresses": [
                    {"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.1"},
                ],
                "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "arm64"},
            },
        });
        let cells = json!([
            "n",
            "NotReady,SchedulingDisabled",
            "big,worker",
            "60s",
            "v1.37.0",
            "10.0.0.1",
            "<none>",
            "<unknown>",
            "6.1 (arm64)",
            "<unknown>",
        ]);
        assert_eq!(Value::from(node(&object, noon())), cells);
    }

    #[test]
    fn what_is_said_of_readiness() {
        for (conditions, said) in [
            (json!([]), "Unknown"),
            (json!([{"type": "Ready", "status": "True"}]), "Ready"),
            (json!([{"type": "Ready", "status": "False"}]), "NotReady"),
        ] {
            assert_eq!(status(&json!({"status": {"conditions": conditions}})), said);
        }
    }
}
