//! What a kubelet says about its node.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use serde_json::{Value, json};

use crate::annotations::GONE;
use crate::time::stored;

/// A node's conditions: type, status, reason, message.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// Whether the node is to look dead.
pub(crate) fn is_gone(node: &Node) -> bool {
    let annotations = node.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(GONE)).is_some_and(|value| value == "true")
}

/// The node's address, if it has one.
pub(crate) fn address(node: &Node) -> Option<Ipv4Addr> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    addresses.iter().find(|address| address.type_ == "InternalIP")?.address.parse().ok()
}

/// The patch that makes the node look alive; nothing if it does. It carries the UID, so that it can only ever
/// meet the node it was made for.
pub(crate) fn refresh(node: &Node, address: Ipv4Addr, now: Timestamp) -> Option<Value> {
    if looks_alive(node) && self::address(node).is_some() {
        return None;
    }
    let conditions: Vec<_> = CONDITIONS.iter().map(|wanted| condition(node, wanted, now)).collect();
    let name = node.metadata.name.as_deref().unwrap_or_default();
    Some(json!({
        "metadata": {"uid": node.metadata.uid},
        "status": {
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": address.to_string()},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "osImage": "stand-in",
                "kernelVersion": "stand-in", "containerRuntimeVersion": "stand-in://1",
                "kubeletVersion": "v1.37.0", "kubeProxyVersion": "",
                "machineID": name, "systemUUID": name, "bootID": name,
            },
        },
    }))
}

fn looks_alive(node: &Node) -> bool {
    CONDITIONS
        .iter()
        .all(|(kind, status, ..)| found(node, kind).is_some_and(|condition| condition.status == *status))
}

fn found<'a>(node: &'a Node, kind: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn condition(
    node: &Node,
    (kind, status, reason, message): &(&str, &str, &str, &str),
    now: Timestamp,
) -> NodeCondition {
    let before = found(node, kind).filter(|before| before.status == *status);
    let since = before.and_then(|before| before.last_transition_time.clone());
    NodeCondition {
        type_: (*kind).to_owned(),
        status: (*status).to_owned(),
        reason: Some((*reason).to_owned()),
        message: Some((*message).to_owned()),
        last_heartbeat_time: Some(stored(now)),
        last_transition_time: Some(since.unwrap_or_else(|| stored(now))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeGroup;

    const HERE: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 1);

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_new_node_is_made_ready_and_a_ready_one_left_alone() {
        let mut node = NodeGroup::new("n", 1).nodes().remove(0);
        let patch = refresh(&node, HERE, now()).unwrap();
        node.status = Some(serde_json::from_value(patch["status"].clone()).unwrap());
        assert_eq!(address(&node), Some(HERE));
        assert_eq!(refresh(&node, HERE, now()), None);
    }

    #[test]
    fn a_node_that_was_given_up_comes_back() {
        let mut node = NodeGroup::new("n", 1).nodes().remove(0);
        let patch = refresh(&node, HERE, now()).unwrap();
        node.status = Some(serde_json::from_value(patch["status"].clone()).unwrap());
        for condition in node.status.as_mut().unwrap().conditions.as_mut().unwrap() {
            condition.status = "Unknown".into();
        }
        let later = "2026-01-01T00:05:00Z".parse().unwrap();
        let patch = refresh(&node, HERE, later).unwrap();
        let ready = &patch["status"]["conditions"][3];
        assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("True")));
        assert_eq!(ready["lastTransitionTime"], "2026-01-01T00:05:00Z");
    }
}
