//! What a pod says of itself.

use k8s_openapi::api::core::v1::Pod;

/// Whether a condition of this name is `True`.
pub fn has_condition(pod: &Pod, name: &str) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == name && condition.status == "True")
}

/// Whether it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    has_condition(pod, "Ready")
}
