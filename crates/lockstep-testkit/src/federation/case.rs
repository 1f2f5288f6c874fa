//! Rollouts across clusters that must come out exactly, as data: what one is made of. They themselves are in the tables
//! of [`tables`].

use std::time::Duration;

use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::record::Promise;
use crate::neighbours::{kruise, leader_worker_set};

mod tables;

pub use self::tables::{CASES, MORE, OTHERS, SETS};

/// The kind of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Kubernetes' own.
    Deployment,
    /// Kubernetes' own.
    StatefulSet,
    /// Kruise's: the members need [it](super::Builder::kruise).
    CloneSet,
    /// Groups of a leader and a worker: the members need [its manager](super::Builder::leader_worker_sets).
    LeaderWorkerSet,
    /// Our own, of two decode and two prefill pods each, decode before prefill: the members need an operator.
    LockstepSet,
}

impl Kind {
    /// The kind as the API knows it.
    pub fn resource(self) -> ApiResource {
        match self {
            Self::Deployment => ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment")),
            Self::StatefulSet => ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "StatefulSet")),
            Self::CloneSet => kruise::clone_sets(),
            Self::LeaderWorkerSet => leader_worker_set::leader_worker_sets(),
            Self::LockstepSet => {
                ApiResource::from_gvk(&GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "LockstepSet"))
            }
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
    /// How many stay as they are; nothing for a Deployment. Pods or groups, as with the others.
    pub partition: u32,
}

/// What is done to a workload or its members, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The image is to be this one.
    Roll(&'a str),
    /// The pods are to be split among the members like this; there may be more or fewer of them than before.
    Split(&'a [u32]),
    /// Some time passes.
    Wait(Duration),
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
    /// A pod of the member of this number is evicted, and nothing finds a place there any more.
    Strike(usize),
    /// There is room again.
    Heal(usize),
    /// An override policy makes something different in the member of this number, or no more.
    Override(usize, Own<'a>),
}

/// What an override policy makes different in a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own<'a> {
    /// The image comes from this registry.
    Registry(&'a str),
    /// So many pods may be unavailable there, whatever is promised.
    MaxUnavailable(u32),
    /// Nothing.
    Nothing,
}

/// A rollout that must come out exactly.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The workload's kind.
    pub kind: Kind,
    /// How many pods each member has, at first.
    pub split: &'a [u32],
    /// How it is rolled.
    pub strategy: Strategy,
    /// What happens.
    pub steps: &'a [Step<'a>],
    /// How many pods each member has in the end.
    pub ends: &'a [u32],
    /// How many of them are of the last image, in all.
    pub new: u32,
    /// Whether Karmada by itself breaks it.
    pub broken_alone: bool,
}

/// The image at first.
pub const FIRST: &str = "demo:v1";

/// The name of the workload.
pub const NAME: &str = "demo";

/// The policy that makes a member different, by name.
pub(super) fn override_name(member: &str) -> String {
    format!("{NAME}-{member}")
}

impl Case<'_> {
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
        Promise { replicas, max_unavailable, max_surge, old, image, ..Promise::default() }
    }

    /// The manifest of the workload in a namespace, as it is at first.
    pub fn manifest(&self, namespace: &str, image: &str) -> Value {
        self.manifest_of(namespace, image, self.replicas())
    }

    /// The same with so many pods.
    pub fn manifest_of(&self, namespace: &str, image: &str, replicas: u32) -> Value {
        let Strategy { max_unavailable, max_surge, partition } = self.strategy;
        let labels = json!({"app": NAME});
        let template = json!({
            "metadata": {
                "labels": labels,
                "annotations": {
                    "kubelet.lockstep.dev/ready-after": "300ms..600ms",
                    "kubelet.lockstep.dev/terminates-after": "200ms..400ms",
                },
            },
            "spec": {"containers": [{"name": "main", "image": image}]},
        });
        let mut manifest = json!({
            "apiVersion": self.kind.resource().api_version,
            "kind": self.kind.resource().kind,
            // Karmada alone does not know what that asks for.
            "metadata": {
                "name": NAME, "namespace": namespace, "labels": labels,
                "annotations": {"federation.lockstep.dev/rollout": "aligned"},
            },
            "spec": {"replicas": replicas},
        });
        let spec = &mut manifest["spec"];
        let rolling = json!({"maxUnavailable": max_unavailable, "maxSurge": max_surge});
        let kept = json!({"maxUnavailable": max_unavailable, "maxSurge": max_surge, "partition": partition});
        if matches!(self.kind, Kind::Deployment | Kind::StatefulSet | Kind::CloneSet) {
            spec["selector"] = json!({"matchLabels": labels});
            spec["template"] = template.clone();
        }
        match self.kind {
            Kind::Deployment => {
                spec["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
            }
            Kind::StatefulSet => {
                let rolling = json!({"maxUnavailable": max_unavailable, "partition": partition});
                spec["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
                spec["podManagementPolicy"] = json!("Parallel");
            }
            Kind::CloneSet => spec["updateStrategy"] = kept,
            Kind::LeaderWorkerSet => {
                spec["leaderWorkerTemplate"] = json!({"size": 2, "workerTemplate": template});
                let strategy = json!({"type": "RollingUpdate", "rollingUpdateConfiguration": kept});
                spec["rolloutStrategy"] = strategy;
            }
            Kind::LockstepSet => {
                let role = |name: &str| json!({"name": name, "replicas": 2, "template": template});
                let step = |role: &str| json!({"role": role, "updateTo": "100%"});
                spec["updateStrategy"] = kept;
                spec["roles"] = json!([role("decode"), role("prefill")]);
                spec["coordination"] =
                    json!([{"name": "decode-first", "steps": [step("decode"), step("prefill")]}]);
            }
        }
        manifest
    }

    /// The policy that makes it different in a member, if anything is.
    pub fn override_policy(&self, namespace: &str, member: &str, own: Own<'_>) -> Option<Value> {
        let overriders = match own {
            Own::Registry(registry) => {
                json!({"imageOverrider": [{"component": "Registry", "operator": "add", "value": registry}]})
            }
            Own::MaxUnavailable(count) => json!({"plaintext": [{
                "path": "/spec/strategy/rollingUpdate/maxUnavailable", "operator": "replace", "value": count,
            }]}),
            Own::Nothing => return None,
        };
        let kind = self.kind.resource();
        Some(json!({
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "OverridePolicy",
            "metadata": {"name": override_name(member), "namespace": namespace},
            "spec": {
                "resourceSelectors": [{"apiVersion": kind.api_version, "kind": kind.kind, "name": NAME}],
                "overrideRules": [{
                    "targetCluster": {"clusterNames": [member]}, "overriders": overriders,
                }],
            },
        }))
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
        let all: Vec<&Case<'_>> = CASES.iter().chain(MORE).chain(SETS).chain(OTHERS).collect();
        for (i, case) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.name != case.name), "{} twice", case.name);
            assert_eq!(case.split.len(), case.ends.len(), "{}", case.name);
            let last = case.steps.iter().rev().find_map(|step| match step {
                Step::Split(split) => Some(*split),
                _ => None,
            });
            assert_eq!(last.unwrap_or(case.split), case.ends, "{}", case.name);
            let replicas: u32 = case.ends.iter().sum();
            assert_eq!(case.new, replicas - case.strategy.partition, "{}", case.name);
        }
    }
}
