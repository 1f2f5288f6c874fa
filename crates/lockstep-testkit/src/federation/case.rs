//! Rollouts across clusters that must come out exactly, as data.

use std::time::Duration;

use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::record::Promise;
use crate::neighbours::kruise;

/// The kind of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Kubernetes' own.
    Deployment,
    /// Kruise's: the members need [it](super::Builder::kruise).
    CloneSet,
}

impl Kind {
    /// The kind as the API knows it.
    pub fn resource(self) -> ApiResource {
        match self {
            Self::Deployment => ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment")),
            Self::CloneSet => kruise::clone_sets(),
        }
    }
}

/// How a workload is rolled, over all clusters together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strategy {
    /// How many pods may be unavailable.
    pub max_unavailable: u32,
    /// How many more there may be.
    pub max_surge: u32,
    /// How many stay as they are; nothing for a Deployment.
    pub partition: u32,
}

/// What is done to a workload or its members, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The image is to be this one.
    Roll(&'static str),
    /// The pods are to be split among the members like this.
    Split(&'static [u32]),
    /// Waits until so many pods of the image that is wished for are available.
    UntilNew(u32),
    /// Waits until nothing happens any more, and tells whether that came in time.
    UntilStill,
    /// Karmada learns nothing of what becomes of this kind in the members, and then all at once.
    Late(Duration),
    /// Karmada does not reach the member of this number any more.
    CutOff(usize),
    /// Karmada reaches all members again.
    Mend,
    /// Karmada's controllers die and come back.
    RestartControllers,
}

/// A rollout that must come out exactly.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// The workload's kind.
    pub kind: Kind,
    /// How many pods each member has, at first.
    pub split: &'static [u32],
    /// How it is rolled.
    pub strategy: Strategy,
    /// What happens.
    pub steps: &'static [Step],
    /// How many pods each member has in the end.
    pub ends: &'static [u32],
    /// How many of them are of the last image, in all.
    pub new: u32,
    /// Whether Karmada by itself breaks it.
    pub broken_alone: bool,
}

/// The image at first.
pub const FIRST: &str = "demo:v1";

/// The name of the workload.
pub const NAME: &str = "demo";

const SECOND: &str = "demo:v2";

const fn strategy(max_unavailable: u32, max_surge: u32, partition: u32) -> Strategy {
    Strategy { max_unavailable, max_surge, partition }
}

/// All of them, those without faults first. Cases of more members than a federation has are not for it.
pub const CASES: &[Case] = &[
    Case {
        name: "deployment",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "one-each",
        kind: Kind::Deployment,
        split: &[1, 1],
        strategy: strategy(1, 0, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[1, 1],
        new: 2,
        broken_alone: true,
    },
    Case {
        name: "surge-only",
        kind: Kind::Deployment,
        split: &[3, 3],
        strategy: strategy(0, 1, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 3],
        new: 6,
        broken_alone: true,
    },
    Case {
        name: "there-and-back",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(3), Step::Roll(FIRST)],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "new-member",
        kind: Kind::Deployment,
        split: &[4, 0],
        strategy: strategy(1, 0, 0),
        steps: &[Step::Split(&[2, 2])],
        ends: &[2, 2],
        new: 4,
        broken_alone: true,
    },
    Case {
        name: "three-members",
        kind: Kind::Deployment,
        split: &[3, 3, 3],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 3, 3],
        new: 9,
        broken_alone: true,
    },
    Case {
        name: "partition",
        kind: Kind::CloneSet,
        split: &[3, 7],
        strategy: strategy(2, 0, 4),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 7],
        new: 6,
        broken_alone: true,
    },
    Case {
        name: "partition-of-equals",
        kind: Kind::CloneSet,
        split: &[5, 5],
        strategy: strategy(2, 0, 3),
        steps: &[Step::Roll(SECOND)],
        ends: &[5, 5],
        new: 7,
        broken_alone: true,
    },
    Case {
        name: "late-status",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[
            Step::Late(Duration::from_secs(2)),
            Step::Roll(SECOND),
            Step::UntilNew(1),
            Step::Late(Duration::from_secs(3)),
        ],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "controllers-restart",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(1), Step::RestartControllers],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "unreachable",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(1), Step::CutOff(0), Step::UntilStill, Step::Mend],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
];

impl Case {
    /// How many pods it has in all.
    pub fn replicas(&self) -> u32 {
        self.split.iter().sum()
    }

    /// What is promised while this image is wished for.
    pub fn promise(&self, image: &str) -> Promise {
        let Strategy { max_unavailable, max_surge, partition } = self.strategy;
        let (replicas, image) = (self.replicas(), image.to_owned());
        // All pods are of the first image anyway.
        let old = if image == FIRST { 0 } else { partition };
        Promise { replicas, max_unavailable, max_surge, old, image, min_ready: Duration::ZERO }
    }

    /// The manifest of the workload in a namespace.
    pub fn manifest(&self, namespace: &str, image: &str) -> Value {
        let Strategy { max_unavailable, max_surge, partition } = self.strategy;
        let labels = json!({"app": NAME});
        let mut manifest = json!({
            "apiVersion": self.kind.resource().api_version,
            "kind": self.kind.resource().kind,
            // Karmada alone does not know what that asks for.
            "metadata": {
                "name": NAME, "namespace": namespace, "labels": labels,
                "annotations": {"federation.lockstep.dev/rollout": "aligned"},
            },
            "spec": {
                "replicas": self.replicas(),
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {
                        "labels": labels,
                        "annotations": {
                            "kubelet.lockstep.dev/ready-after": "300ms..600ms",
                            "kubelet.lockstep.dev/terminates-after": "200ms..400ms",
                        },
                    },
                    "spec": {"containers": [{"name": "main", "image": image}]},
                },
            },
        });
        let mut rolling = json!({"maxUnavailable": max_unavailable, "maxSurge": max_surge});
        match self.kind {
            Kind::Deployment => {
                manifest["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
            }
            Kind::CloneSet => {
                rolling["partition"] = json!(partition);
                manifest["spec"]["updateStrategy"] = rolling;
            }
        }
        manifest
    }

    /// The policy that splits it among members like this, by static weights.
    pub fn policy(&self, namespace: &str, members: &[&str], split: &[u32]) -> Value {
        let chosen = members.iter().zip(split).filter(|(_, weight)| **weight > 0);
        let names: Vec<&str> = chosen.clone().map(|(name, _)| *name).collect();
        let weights: Vec<Value> = chosen
            .map(|(name, weight)| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight}))
            .collect();
        let kind = self.kind.resource();
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": NAME, "namespace": namespace},
            "spec": {
                "resourceSelectors": [{"apiVersion": kind.api_version, "kind": kind.kind, "name": NAME}],
                "placement": {
                    "clusterAffinity": {"clusterNames": names},
                    "replicaScheduling": {
                        "replicaSchedulingType": "Divided",
                        "replicaDivisionPreference": "Weighted",
                        "weightPreference": {"staticWeightList": weights},
                    },
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_told_apart_and_add_up() {
        for (i, case) in CASES.iter().enumerate() {
            assert!(CASES[..i].iter().all(|other| other.name != case.name), "{} twice", case.name);
            assert_eq!(case.replicas(), case.ends.iter().sum::<u32>(), "{}", case.name);
            assert_eq!(case.split.len(), case.ends.len(), "{}", case.name);
            assert_eq!(case.new, case.replicas() - case.strategy.partition, "{}", case.name);
        }
    }
}
