//! What the aligner is told and what it answers: plain data, free of any transport.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ledger::{Lease, LeaseId, Ledger};
use super::reason::Reason;
use crate::number::IntOrPercent;

/// The workloads whose rolling strategy can be aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `apps/v1`: no partition, two ReplicaSets, a pause that still scales.
    Deployment,
    /// `apps.kruise.io`: partition, surge and a pause that stops updates only.
    CloneSet,
    /// `apps/v1`: partition by ordinal, no surge, no pause.
    StatefulSet,
    /// `leaderworkerset.x-k8s.io`: partition and surge over groups, no pause.
    LeaderWorkerSet,
    /// Our own set: partition, surge and a pause.
    LockstepSet,
}

impl Kind {
    /// Whether the kind can hold some of its pods at the old template.
    pub fn has_partition(self) -> bool {
        !matches!(self, Self::Deployment)
    }

    /// Whether the kind knows surge at all.
    pub fn has_surge(self) -> bool {
        !matches!(self, Self::StatefulSet)
    }

    /// Whether the kind has a `paused` field.
    pub fn has_pause(self) -> bool {
        matches!(self, Self::Deployment | Self::CloneSet | Self::LockstepSet)
    }

    /// `maxUnavailable` and `maxSurge` as the kind's own API defaults them.
    pub(super) fn defaults(self) -> (IntOrPercent, IntOrPercent) {
        use IntOrPercent::{Int, Percent};
        match self {
            Self::Deployment => (Percent(25), Percent(25)),
            Self::CloneSet => (Percent(20), Int(0)),
            Self::StatefulSet | Self::LeaderWorkerSet | Self::LockstepSet => (Int(1), Int(0)),
        }
    }

    /// Whether scaling in deletes the pods that are not ready before it touches one that serves, whatever
    /// revision they are of. Only CloneSet promises that; a Deployment of two ReplicaSets shrinks them in
    /// proportion, the ordinal kinds from the highest ordinal.
    pub(super) fn scales_in_by_readiness(self) -> bool {
        matches!(self, Self::CloneSet)
    }
}

/// The rolling strategy of a workload, with the field names of the rollout interpreter proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingStrategy {
    /// Whether the rolling update is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// How many pods stay at the old revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<IntOrPercent>,
    /// How many pods may be unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How many pods may stand beyond the desired ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrPercent>,
}

/// The status of a member workload, with the field names of the rollout interpreter proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UnifiedRollingStatus {
    /// The generation of the member workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The generation its controller has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The generation of the resource template the member was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_template_generation: Option<i64>,
    /// Pods created by the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Pods that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<u32>,
    /// Pods that have been ready for `minReadySeconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<u32>,
    /// Pods of the update revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<u32>,
    /// Pods of the update revision that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_ready_replicas: Option<u32>,
}

/// A template's hash: two manifests with the same hash want the same pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TemplateHash(pub String);

/// How the pods that may be new are spread over the clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SplitMode {
    /// One cluster after the other, in the binding's order.
    #[default]
    Sequential,
    /// Each cluster its share, by largest remainder.
    Proportional,
}

/// One line of the binding: a cluster and how many replicas it is to have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The member cluster.
    #[serde(rename = "name")]
    pub cluster: String,
    /// Its share of the replicas.
    #[serde(default)]
    pub replicas: u32,
}

/// What the user asks for: the template's own strategy and the binding's split.
///
/// The total that every number resolves against is the sum over `clusters`, not `spec.replicas` of the
/// template: until the scheduler has split a new count there is nobody to give it to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wish {
    /// The workload's kind.
    pub kind: Kind,
    /// The hash of its pod template.
    pub template: TemplateHash,
    /// The strategy as the user wrote it.
    #[serde(default)]
    pub strategy: RollingStrategy,
    /// How new pods are spread.
    #[serde(default)]
    pub split: SplitMode,
    /// The binding's clusters, in the binding's order.
    pub clusters: Vec<Target>,
    /// Clusters whose turn has not come, and why: they do not begin to roll, whatever could be granted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, String>,
}

/// What one cluster last reported about its member workload.
///
/// Terminating pods are in none of the counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// `spec.replicas` in force there.
    pub replicas: u32,
    /// Pods that exist.
    pub total: u32,
    /// Pods that are available.
    pub available: u32,
    /// Pods of the template in force there.
    pub updated: u32,
    /// Of those, the available ones. Deployment does not report it; the least it can be is then used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_available: Option<u32>,
    /// Of the pods that do not count as available, those that only the rollout itself keeps from it: groups on their
    /// way between revisions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub under_way: u32,
    /// Whether every pod created there now is of the template in force, whatever the partition says: its
    /// current revision is its update revision (a first creation, or a return to the template before).
    #[serde(default)]
    pub creates_updated: bool,
    /// `unavailableReplicas` of a Deployment: together with `available` it is the sum of its ReplicaSets'
    /// specs, which may be ahead of the pods counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<u32>,
    /// The hash of the template in force there.
    pub template: TemplateHash,
    /// The lease in force there, reported only when `observedGeneration` is the current generation. `None`
    /// for a workload that has never carried one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<LeaseId>,
    /// The strategy in force there. Read when a workload that carries no lease yet is taken over, and to see whether
    /// the cluster took what a lease says.
    #[serde(default)]
    pub strategy: RollingStrategy,
    /// Whether every ReplicaSet is settled (its own generation observed, as many pods as its spec says) and
    /// the counts are of that very read. Other kinds report counts of their own and are always settled.
    #[serde(default = "settled_by_default")]
    pub settled: bool,
    /// A number that rises with every report of this cluster, 0 where there is none; an older report than
    /// the one last seen is dropped.
    #[serde(default)]
    pub sequence: u64,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn settled_by_default() -> bool {
    true
}

/// Whether a cluster can be talked to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reach {
    /// Work written for it will be applied.
    #[default]
    Reachable,
    /// Nobody knows what happens there; what it was leased stays reserved.
    Unreachable,
    /// Its Work no longer exists and with it every pod: the entry can be forgotten.
    Gone,
}

/// What is known of one cluster at the time of an alignment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Whether it can be talked to.
    pub reach: Reach,
    /// What it last said; `None` if it has said nothing (the ledger keeps what it said before).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Observation>,
    /// The template that the cluster is to carry, if it is another than the wish's: an override policy may give it
    /// another image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateHash>,
    /// Strategy fields that an override policy sets in this cluster, and to what: those values are written, and
    /// count as granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden: Option<RollingStrategy>,
    /// Why its counts prove nothing although it answers: somebody has to let us look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub may_not_look: Option<String>,
    /// The member decides its own replicas (`retain-replicas`, an HPA): they cannot be metered.
    pub replicas_retained: bool,
}

/// The numbers of the wish, resolved once against the binding's total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// R: replicas over all clusters.
    pub replicas: u32,
    /// U: how many may be unavailable.
    pub max_unavailable: u32,
    /// S: how many may stand beyond R.
    pub max_surge: u32,
    /// P: how many are kept old.
    pub partition: u32,
}

/// Where one cluster stands, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The cluster.
    pub cluster: String,
    /// The template it is to carry.
    pub template: TemplateHash,
    /// Replicas it is leased after this alignment.
    pub replicas: u32,
    /// How many of its pods are to be new.
    pub target: u32,
    /// How many are new, as far as is proven.
    pub updated: u32,
    /// How many are new and available, as far as is proven.
    pub updated_available: u32,
    /// Whether it has arrived.
    pub complete: bool,
}

/// The answer: what to remember, what to write, what to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alignment {
    /// The ledger to store before any lease is written.
    pub ledger: Ledger,
    /// The leases that are new, by cluster.
    pub leases: BTreeMap<String, Lease>,
    /// What holds the rollout and what somebody should know.
    pub reasons: Vec<Reason>,
    /// Whether every cluster has arrived and nothing is left to grant.
    pub complete: bool,
    /// The numbers everything was measured against.
    pub totals: Totals,
    /// Every cluster, in the binding's order, then those that are leaving.
    pub members: Vec<Standing>,
}
