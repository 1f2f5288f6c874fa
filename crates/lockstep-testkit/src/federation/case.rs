//! Rollouts across clusters that must come out exactly, as data.

use std::time::Duration;

use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::record::Promise;
use crate::neighbours::{kruise, leader_worker_set};

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

const SECOND: &str = "demo:v2";

const THIRD: &str = "demo:v3";

const fn strategy(max_unavailable: u32, max_surge: u32, partition: u32) -> Strategy {
    Strategy { max_unavailable, max_surge, partition }
}

/// All of them, those without faults first. Cases of more members than a federation has are not for it.
pub const CASES: &[Case<'static>] = &[
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
    Case {
        name: "own-images",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[
            Step::Override(0, Own::Registry("registry.here")),
            Step::Override(1, Own::Registry("registry.there")),
            Step::UntilNew(5),
            Step::Roll(SECOND),
            Step::UntilNew(3),
            Step::Override(0, Own::Nothing),
        ],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "own-strategy",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 0, 0),
        steps: &[Step::Override(1, Own::MaxUnavailable(1)), Step::UntilStill, Step::Roll(SECOND)],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "own-strategy-given-up",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 0, 0),
        steps: &[
            Step::Override(1, Own::MaxUnavailable(1)),
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::Override(1, Own::Nothing),
        ],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
];

/// Cases of more clusters than anybody starts processes for, and with changes of mind that take longer.
pub const MORE: &[Case<'static>] = &[
    Case {
        name: "ten-members",
        kind: Kind::Deployment,
        split: &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        strategy: strategy(5, 0, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        new: 20,
        broken_alone: true,
    },
    Case {
        name: "many-members-by-surge",
        kind: Kind::Deployment,
        split: &[3, 1, 4, 1, 5],
        strategy: strategy(0, 2, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 1, 4, 1, 5],
        new: 14,
        broken_alone: true,
    },
    Case {
        name: "over-and-over",
        kind: Kind::Deployment,
        split: &[4, 4, 4],
        strategy: strategy(2, 1, 0),
        steps: &[
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::Roll(THIRD),
            Step::UntilNew(3),
            Step::Roll(SECOND),
            Step::UntilNew(5),
            Step::Roll(FIRST),
        ],
        ends: &[4, 4, 4],
        new: 12,
        broken_alone: true,
    },
    Case {
        name: "weighed-anew-while-it-rolls",
        kind: Kind::Deployment,
        split: &[6, 3, 1],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(2), Step::Split(&[1, 3, 6])],
        ends: &[1, 3, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "scaled-in-while-it-rolls",
        kind: Kind::Deployment,
        split: &[4, 4, 4],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(3), Step::Split(&[2, 2, 2])],
        ends: &[2, 2, 2],
        new: 6,
        broken_alone: true,
    },
    Case {
        name: "scaled-out-while-it-rolls",
        kind: Kind::Deployment,
        split: &[2, 2, 2],
        strategy: strategy(1, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(2), Step::Split(&[4, 2, 6])],
        ends: &[4, 2, 6],
        new: 12,
        broken_alone: true,
    },
    Case {
        name: "a-member-more-and-one-less",
        kind: Kind::Deployment,
        split: &[4, 4, 0],
        strategy: strategy(1, 1, 0),
        steps: &[
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::Split(&[3, 3, 2]),
            Step::UntilNew(5),
            Step::Split(&[0, 5, 3]),
        ],
        ends: &[0, 5, 3],
        new: 8,
        broken_alone: true,
    },
    Case {
        name: "cut-off-while-it-changes",
        kind: Kind::Deployment,
        split: &[4, 4, 4],
        strategy: strategy(3, 1, 0),
        steps: &[
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::CutOff(0),
            Step::Wait(Duration::from_secs(2)),
            Step::Roll(THIRD),
            Step::UntilStill,
            Step::Mend,
            Step::CutOff(2),
            Step::UntilStill,
            Step::Mend,
        ],
        ends: &[4, 4, 4],
        new: 12,
        broken_alone: true,
    },
];

const fn of_sets(
    name: &'static str,
    split: &'static [u32],
    strategy: Strategy,
    steps: &'static [Step<'static>],
    new: u32,
) -> Case<'static> {
    Case { name, kind: Kind::LockstepSet, split, strategy, steps, ends: split, new, broken_alone: true }
}

/// The same for sets of groups: what is counted are groups.
pub const SETS: &[Case<'static>] = &[
    of_sets("sets", &[2, 2], strategy(1, 0, 0), &[Step::Roll(SECOND)], 4),
    of_sets("sets-of-three-members", &[2, 1, 3], strategy(2, 1, 0), &[Step::Roll(SECOND)], 6),
    of_sets("sets-by-surge", &[2, 2], strategy(0, 1, 0), &[Step::Roll(SECOND)], 4),
    of_sets("sets-of-which-some-stay", &[2, 2], strategy(1, 0, 1), &[Step::Roll(SECOND)], 3),
    of_sets(
        "sets-there-and-back",
        &[2, 2],
        strategy(1, 0, 0),
        &[Step::Roll(SECOND), Step::UntilNew(2), Step::Roll(FIRST)],
        4,
    ),
    of_sets(
        "sets-late-status",
        &[2, 2],
        strategy(1, 0, 0),
        &[
            Step::Late(Duration::from_secs(2)),
            Step::Roll(SECOND),
            Step::UntilNew(1),
            Step::Late(Duration::from_secs(3)),
        ],
        4,
    ),
    of_sets(
        "sets-cut-off",
        &[3, 3],
        strategy(2, 0, 0),
        &[Step::Roll(SECOND), Step::UntilNew(1), Step::CutOff(0), Step::UntilStill, Step::Mend],
        6,
    ),
];

const fn of_others(
    name: &'static str,
    kind: Kind,
    split: &'static [u32],
    strategy: Strategy,
    steps: &'static [Step<'static>],
    new: u32,
) -> Case<'static> {
    Case { name, kind, split, strategy, steps, ends: split, new, broken_alone: true }
}

const ROLL: &[Step<'static>] = &[Step::Roll(SECOND)];

const THERE_AND_BACK: &[Step<'static>] = &[Step::Roll(SECOND), Step::UntilNew(3), Step::Roll(FIRST)];

const LATE: &[Step<'static>] = &[
    Step::Late(Duration::from_secs(2)),
    Step::Roll(SECOND),
    Step::UntilNew(1),
    Step::Late(Duration::from_secs(3)),
];

const CUT_OFF: &[Step<'static>] =
    &[Step::Roll(SECOND), Step::UntilNew(1), Step::CutOff(0), Step::UntilStill, Step::Mend];

/// The same for kinds whose controllers are only to be had on real clusters.
pub const OTHERS: &[Case<'static>] = &[
    of_others("stateful", Kind::StatefulSet, &[2, 4], strategy(1, 0, 0), ROLL, 6),
    of_others("stateful-by-two", Kind::StatefulSet, &[2, 4], strategy(2, 0, 0), ROLL, 6),
    of_others("stateful-of-which-some-stay", Kind::StatefulSet, &[2, 4], strategy(1, 0, 2), ROLL, 4),
    of_others("stateful-there-and-back", Kind::StatefulSet, &[2, 4], strategy(1, 0, 0), THERE_AND_BACK, 6),
    of_others("stateful-late-status", Kind::StatefulSet, &[2, 4], strategy(1, 0, 0), LATE, 6),
    of_others("stateful-cut-off", Kind::StatefulSet, &[3, 3], strategy(2, 0, 0), CUT_OFF, 6),
    of_others("leaders-and-workers", Kind::LeaderWorkerSet, &[2, 2], strategy(1, 0, 0), ROLL, 4),
    of_others("leaders-and-workers-by-surge", Kind::LeaderWorkerSet, &[2, 2], strategy(0, 1, 0), ROLL, 4),
    of_others("leaders-there-and-back", Kind::LeaderWorkerSet, &[2, 2], strategy(1, 0, 0), THERE_AND_BACK, 4),
    of_others("leaders-late-status", Kind::LeaderWorkerSet, &[2, 2], strategy(1, 0, 0), LATE, 4),
    of_others("leaders-cut-off", Kind::LeaderWorkerSet, &[3, 3], strategy(2, 0, 0), CUT_OFF, 6),
];

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
