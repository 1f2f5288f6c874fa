//! What keeps pods from being ready, as the cluster says it of them.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ContainerStatus, Node, Pod};
use kube::ResourceExt;
use serde::Serialize;

use super::{node_state, pod_state};

/// Nothing is wrong with a container that is only being made.
const ON_ITS_WAY: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// Something that keeps pods from being ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// The pods.
    pub pods: Vec<String>,
    /// What it is.
    pub cause: String,
    /// Whether their node is gone: nothing of the set is to blame.
    pub node_lost: bool,
}

/// All that is wrong with pods, each cause once.
pub fn troubles<'a>(pods: impl IntoIterator<Item = &'a Pod>, lost: &BTreeSet<String>) -> Vec<Trouble> {
    let mut all: Vec<Trouble> = Vec::new();
    for pod in pods {
        let Some((cause, node_lost)) = cause(pod, lost) else { continue };
        match all.iter_mut().find(|known| known.cause == cause) {
            Some(known) => known.pods.push(pod.name_any()),
            None => all.push(Trouble { pods: vec![pod.name_any()], cause, node_lost }),
        }
    }
    all.iter_mut().for_each(|trouble| trouble.pods.sort());
    all
}

/// The nodes that are not ready.
pub fn lost<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> BTreeSet<String> {
    nodes.into_iter().filter(|node| !node_state::is_ready(node)).map(ResourceExt::name_any).collect()
}

fn cause(pod: &Pod, lost: &BTreeSet<String>) -> Option<(String, bool)> {
    let spec = pod.spec.as_ref()?;
    let held = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    let node = spec.node_name.as_ref().filter(|node| lost.contains(*node));
    if pod.metadata.deletion_timestamp.is_some() {
        // Nobody but its kubelet ends a pod.
        let freed = |node| {
            format!("node {node} is lost, so it does not end; `kubectl delete node {node}` frees its name")
        };
        return node.map(|node| (freed(node), true));
    }
    if pod_state::is_ready(pod) || held {
        return None;
    }
    if let Some(node) = node {
        let back = "ready again once it is back, replaced once the node is deleted";
        return Some((format!("node {node} is not ready; {back}"), true));
    }
    let said = if spec.node_name.is_none() { unscheduled(pod) } else { container(pod) };
    said.map(|cause| (cause, false))
}

fn unscheduled(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let told = conditions.iter().find(|it| it.type_ == "PodScheduled" && it.status == "False")?;
    told.message.as_ref().map(|message| format!("no node takes it: {message}"))
}

fn container(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let all = [&status.init_container_statuses, &status.container_statuses];
    all.into_iter().flatten().flatten().find_map(waits)
}

/// What a container waits for, and how it ended before.
fn waits(container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| !ON_ITS_WAY.contains(reason))?;
    let message = waiting.message.as_deref().filter(|message| !message.is_empty());
    let ended = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ended = ended.map(|it| {
        let reason = it.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!("it exited with {}{reason}", it.exit_code)
    });
    let more: Vec<&str> = ended.as_deref().into_iter().chain(message).collect();
    Some(if more.is_empty() { reason.to_owned() } else { format!("{reason}: {}", more.join("; ")) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, node: Option<&str>, status: serde_json::Value) -> Pod {
        let object = json!({
            "metadata": {"name": name}, "spec": {"nodeName": node, "containers": []}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn each_cause_is_said_once() {
        let waiting = |reason: &str, message: &str| {
            json!({"containerStatuses": [{
                "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 3,
                "state": {"waiting": {"reason": reason, "message": message}},
                "lastState": if reason == "CrashLoopBackOff" { json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}) } else { json!({}) },
            }]})
        };
        let unscheduled = json!({"conditions": [{
            "type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        }]});
        let pods = [
            pod("d-1", Some("a"), waiting("ErrImagePull", "there is no v4")),
            pod("d-0", Some("a"), waiting("ErrImagePull", "there is no v4")),
            pod("c", Some("a"), waiting("CrashLoopBackOff", "back-off 10s")),
            pod("n", None, unscheduled),
            pod("l", Some("gone"), json!({})),
            pod("starting", Some("a"), waiting("ContainerCreating", "")),
            pod("ready", Some("gone"), json!({"conditions": [{"type": "Ready", "status": "True"}]})),
        ];
        let found = troubles(&pods, &BTreeSet::from(["gone".to_owned()]));
        let said: Vec<String> =
            found.iter().map(|it| format!("{}: {}", it.pods.join(" "), it.cause)).collect();
        assert_eq!(
            said,
            [
                "d-0 d-1: ErrImagePull: there is no v4",
                "c: CrashLoopBackOff: it exited with 137 (OOMKilled); back-off 10s",
                "n: no node takes it: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
                "l: node gone is not ready; ready again once it is back, replaced once the node is deleted",
            ]
        );
    }
}
