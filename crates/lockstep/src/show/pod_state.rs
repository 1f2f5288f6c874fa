//! How a pod is, in a word.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use lockstep_api::label;

/// It is ready, and not on its way out.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// How often its containers restarted.
pub fn restarts(pod: &Pod) -> i64 {
    containers(pod).iter().map(|container| i64::from(container.restart_count)).sum()
}

/// `Ready`, `Running`, `Held` by our gate, `Unscheduled`, `Terminating`, or what kubectl shows, such as
/// `ImagePullBackOff`.
pub fn word(pod: &Pod) -> String {
    let spec = pod.spec.as_ref();
    let gates = spec.and_then(|spec| spec.scheduling_gates.as_deref()).unwrap_or_default();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    let word = match () {
        () if pod.metadata.deletion_timestamp.is_some() => "Terminating",
        () if gates.iter().any(|gate| gate.name == label::GATE) => "Held",
        () if !gates.is_empty() => "Gated",
        () if is_ready(pod) => "Ready",
        () if spec.is_none_or(|spec| spec.node_name.is_none()) => "Unscheduled",
        () => return trouble(pod).unwrap_or_else(|| phase.to_owned()),
    };
    word.to_owned()
}

/// What the first container that does not run says of itself.
fn trouble(pod: &Pod) -> Option<String> {
    let reason = |container: &ContainerStatus| {
        let state = container.state.as_ref()?;
        let waiting = state.waiting.as_ref().and_then(|waiting| waiting.reason.clone());
        waiting.or_else(|| state.terminated.as_ref()?.reason.clone())
    };
    containers(pod).iter().find_map(reason)
}

fn containers(pod: &Pod) -> &[ContainerStatus] {
    let status = pod.status.as_ref();
    status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default()
}
