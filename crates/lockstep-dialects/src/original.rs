//! What the operator of another project leaves in a cluster, for whoever takes over from it.

use crate::kind::Kind;

/// The operator whose kinds a dialect serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original {
    /// What people call it.
    pub name: &'static str,
    /// The names of the Deployments in which its controller runs, as its own charts give them.
    pub controllers: &'static [&'static str],
    /// The argument that chooses which of its controllers run, and the one that looks after these kinds.
    pub choice: Option<(&'static str, &'static str)>,
    /// Finalizers of this domain are its own: nobody removes them once it is gone.
    pub domain: &'static str,
    /// Kinds that stand between its objects and their pods.
    pub between: &'static [Kind],
    /// Volumes that it puts into pods by itself: what is in them is its own affair, and ours in the pods we build.
    pub volumes: &'static [&'static str],
}

/// Of an operator that nobody knows.
pub(crate) const UNKNOWN: Original = Original {
    name: "the other operator",
    controllers: &[],
    choice: None,
    domain: "",
    between: &[],
    volumes: &[],
};

pub(crate) const KTHENA: Original = Original {
    name: "Kthena",
    controllers: &["kthena-controller-manager", "model-serving-controller"],
    choice: Some(("--controllers=", "modelserving")),
    domain: "volcano.sh",
    between: &[],
    volumes: &[],
};

pub(crate) const GROVE: Original = Original {
    name: "Grove",
    controllers: &["grove-operator"],
    choice: None,
    domain: "grove.io",
    between: &[
        kind("grove.io", &["v1alpha1"], "PodCliqueScalingGroup", "podcliquescalinggroups"),
        kind("grove.io", &["v1alpha1"], "PodClique", "podcliques"),
    ],
    volumes: &[],
};

const RBG_VERSIONS: &[&str] = &["v1alpha2", "v1alpha1"];

pub(crate) const RBG: Original = Original {
    name: "RBG",
    controllers: &["rbgs-controller-manager", "rbgs-rbgs-controller-manager"],
    choice: None,
    domain: "workloads.x-k8s.io",
    between: &[
        kind("workloads.x-k8s.io", RBG_VERSIONS, "RoleBasedGroup", "rolebasedgroups"),
        kind("workloads.x-k8s.io", RBG_VERSIONS, "RoleInstanceSet", "roleinstancesets"),
        kind("workloads.x-k8s.io", RBG_VERSIONS, "RoleInstance", "roleinstances"),
        kind("workloads.x-k8s.io", RBG_VERSIONS, "InstanceSet", "instancesets"),
        kind("workloads.x-k8s.io", RBG_VERSIONS, "Instance", "instances"),
        kind("leaderworkerset.x-k8s.io", &["v1"], "LeaderWorkerSet", "leaderworkersets"),
        kind("apps", &["v1"], "StatefulSet", "statefulsets"),
        kind("apps", &["v1"], "Deployment", "deployments"),
        kind("apps", &["v1"], "ReplicaSet", "replicasets"),
    ],
    // In a set each group has a config map of its own there; ours has a file for each group.
    volumes: &[crate::rbg::CONFIG],
};

const fn kind(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
) -> Kind {
    Kind { group, versions, kind, plural, namespaced: true, becomes_set: false }
}
