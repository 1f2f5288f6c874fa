//! What else differs from kind to kind.

use serde_json::Value;

use super::GroupKind;
use super::access::{at, int, text};

/// How requests for objects of a kind are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manners {
    /// An update may leave out which version it updates. Where it may not, one that does is invalid:
    /// `metadata.resourceVersion: Invalid value: 0: must be specified for an update`.
    pub unconditional_update: bool,
    /// An update of what is not there creates it.
    pub create_on_update: bool,
}

/// The manners of a kind.
pub fn manners(of: GroupKind<'_>) -> Manners {
    let unconditional_update = !matches!(
        of,
        ("policy", "PodDisruptionBudget")
            | ("coordination.k8s.io", "Lease")
            | ("scheduling.k8s.io", "PodGroup")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
            | ("admissionregistration.k8s.io", _)
    );
    let create_on_update = matches!(
        of,
        ("", "Service")
            | ("" | "events.k8s.io", "Event")
            | ("coordination.k8s.io", "Lease")
            | ("rbac.authorization.k8s.io", _)
    );
    Manners { unconditional_update, create_on_update }
}

/// How long an object that is deleted may stay, in seconds: what was asked for, or what it says itself. Nothing for kinds
/// that go at once; none at all for pods that run nowhere, or no longer.
pub fn grace_period(of: GroupKind<'_>, object: &Value, asked: Option<i64>) -> Option<i64> {
    if of != ("", "Pod") {
        return None;
    }
    let spec = at(object, &["spec"]);
    let period = asked.or_else(|| int(spec, "terminationGracePeriodSeconds")).unwrap_or_default();
    let ended = matches!(text(at(object, &["status"]), "phase"), "Failed" | "Succeeded");
    match period {
        _ if ended || text(spec, "nodeName").is_empty() => Some(0),
        ..0 => Some(1),
        period => Some(period),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn how_long_pods_may_stay() {
        let pod = |node: &str, phase: &str| json!({"spec": {"nodeName": node, "terminationGracePeriodSeconds": 30}, "status": {"phase": phase}});
        for (pod, asked, period) in [
            (pod("n", "Running"), None, 30),
            (pod("n", "Running"), Some(5), 5),
            (pod("n", "Running"), Some(0), 0),
            (pod("n", "Running"), Some(-5), 1),
            (pod("", "Pending"), None, 0),
            (pod("n", "Succeeded"), Some(9), 0),
        ] {
            assert_eq!(grace_period(("", "Pod"), &pod, asked), Some(period), "{pod} {asked:?}");
        }
        assert_eq!(grace_period(("", "Node"), &json!({}), Some(5)), None);
    }

    #[test]
    fn leases_and_pods_differ() {
        let of = |of| {
            let manners = manners(of);
            (manners.unconditional_update, manners.create_on_update)
        };
        assert_eq!(of(("", "Pod")), (true, false));
        assert_eq!(of(("coordination.k8s.io", "Lease")), (false, true));
        assert_eq!(of(("rbac.authorization.k8s.io", "Role")), (true, true));
        assert_eq!(of(("policy", "PodDisruptionBudget")), (false, false));
    }
}
