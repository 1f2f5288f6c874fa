//! The built-in kinds, as data.

/// A resource that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The group; empty for the core.
    pub group: &'static str,
    /// The version that is stored.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource.
    pub plural: &'static str,
    /// Short names.
    pub short: &'static [&'static str],
    /// Lies in a namespace.
    pub namespaced: bool,
    /// What parts of its objects have paths of their own.
    pub subresources: &'static [&'static str],
    /// What `kubectl get all` and the like find.
    pub categories: &'static [&'static str],
    /// A question that is answered and not kept.
    pub asked_only: bool,
}

const KEPT: Kind = Kind {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    short: &[],
    namespaced: true,
    subresources: &[],
    categories: &[],
    asked_only: false,
};

/// In no namespace.
const WIDE: Kind = Kind { namespaced: false, ..KEPT };

/// A question.
const ASKED: Kind = Kind { asked_only: true, ..WIDE };

const ALL: &[&str] = &["all"];

/// Every built-in kind.
pub const BUILT_IN: &[Kind] = &[
    Kind {
        kind: "Namespace",
        plural: "namespaces",
        short: &["ns"],
        subresources: &["status", "finalize"],
        ..WIDE
    },
    Kind { kind: "Node", plural: "nodes", short: &["no"], subresources: &["status"], ..WIDE },
    Kind {
        kind: "Pod",
        plural: "pods",
        short: &["po"],
        subresources: &["status", "binding", "eviction"],
        categories: ALL,
        ..KEPT
    },
    Kind {
        kind: "Service",
        plural: "services",
        short: &["svc"],
        subresources: &["status"],
        categories: ALL,
        ..KEPT
    },
    Kind { kind: "ConfigMap", plural: "configmaps", short: &["cm"], ..KEPT },
    Kind { kind: "Secret", plural: "secrets", ..KEPT },
    Kind { kind: "ServiceAccount", plural: "serviceaccounts", short: &["sa"], ..KEPT },
    Kind { kind: "Event", plural: "events", short: &["ev"], ..KEPT },
    Kind { group: "events.k8s.io", kind: "Event", plural: "events", short: &["ev"], ..KEPT },
    Kind {
        group: "apps",
        kind: "Deployment",
        plural: "deployments",
        short: &["deploy"],
        subresources: &["status", "scale"],
        categories: ALL,
        ..KEPT
    },
    Kind {
        group: "apps",
        kind: "ReplicaSet",
        plural: "replicasets",
        short: &["rs"],
        subresources: &["status", "scale"],
        categories: ALL,
        ..KEPT
    },
    Kind { group: "apps", kind: "ControllerRevision", plural: "controllerrevisions", ..KEPT },
    Kind {
        group: "policy",
        kind: "PodDisruptionBudget",
        plural: "poddisruptionbudgets",
        short: &["pdb"],
        subresources: &["status"],
        ..KEPT
    },
    Kind { group: "coordination.k8s.io", kind: "Lease", plural: "leases", ..KEPT },
    Kind {
        group: "scheduling.k8s.io",
        version: "v1beta1",
        kind: "PodGroup",
        plural: "podgroups",
        subresources: &["status"],
        ..KEPT
    },
    Kind {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        plural: "priorityclasses",
        short: &["pc"],
        ..WIDE
    },
    Kind {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        short: &["crd", "crds"],
        subresources: &["status"],
        categories: &["api-extensions"],
        ..WIDE
    },
    Kind {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingWebhookConfiguration",
        plural: "validatingwebhookconfigurations",
        categories: &["api-extensions"],
        ..WIDE
    },
    Kind {
        group: "admissionregistration.k8s.io",
        kind: "MutatingWebhookConfiguration",
        plural: "mutatingwebhookconfigurations",
        categories: &["api-extensions"],
        ..WIDE
    },
    Kind { group: "rbac.authorization.k8s.io", kind: "Role", plural: "roles", ..KEPT },
    Kind { group: "rbac.authorization.k8s.io", kind: "RoleBinding", plural: "rolebindings", ..KEPT },
    Kind { group: "rbac.authorization.k8s.io", kind: "ClusterRole", plural: "clusterroles", ..WIDE },
    Kind {
        group: "rbac.authorization.k8s.io",
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        ..WIDE
    },
    Kind {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        ..ASKED
    },
    Kind {
        group: "authorization.k8s.io",
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        ..ASKED
    },
    Kind { group: "authentication.k8s.io", kind: "SelfSubjectReview", plural: "selfsubjectreviews", ..ASKED },
];

impl Kind {
    /// The name of one: `pod`.
    pub fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    /// The resource with its group, as objects are stored under: `pods`, `deployments.apps`.
    pub fn resource(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_resource_is_there_once() {
        let all: BTreeSet<(String, &str)> =
            BUILT_IN.iter().map(|kind| (kind.resource(), kind.version)).collect();
        assert_eq!(all.len(), BUILT_IN.len());
        for kind in BUILT_IN {
            assert!(!kind.kind.is_empty() && kind.plural.starts_with(&kind.singular()[..3]), "{kind:?}");
        }
    }

    #[test]
    fn how_kinds_are_named() {
        let of = |plural: &str, group: &str| {
            let found =
                BUILT_IN.iter().find(|kind| (kind.plural, kind.group) == (plural, group)).expect("served");
            (found.resource(), found.api_version(), found.singular())
        };
        let named = |resource: &str, version: &str, one: &str| {
            (resource.to_owned(), version.to_owned(), one.to_owned())
        };
        assert_eq!(of("pods", ""), named("pods", "v1", "pod"));
        assert_eq!(of("deployments", "apps"), named("deployments.apps", "apps/v1", "deployment"));
    }
}
