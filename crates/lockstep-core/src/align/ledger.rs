//! What the aligner remembers: the leases that may still be in force, and the counts last seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Kind, Observation, RollingStrategy, TemplateHash};

/// The number of a lease. It rises with every lease written for a binding; 0 stands for what a workload ran
/// with before it was taken over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(pub u64);

/// What a lease lets a member do, apart from its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stance {
    /// It rolls, within the numbers.
    Open,
    /// Closed with no pod of the wanted template: it does not roll and has nothing half done.
    Untouched,
    /// Closed in the middle: it must neither roll on nor undo anything.
    Held,
    /// It has arrived (or is being created) while others have not.
    Rest,
    /// Everybody has arrived: the user's own values. Nothing is left to roll, so it counts as nothing.
    Free,
}

/// A grant to one cluster: live from being written until a later one is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Its number.
    pub id: LeaseId,
    /// The template the member is to carry.
    pub template: TemplateHash,
    /// `spec.replicas`.
    pub replicas: u32,
    /// How many of them may be of that template (replicas − partition).
    pub updated: u32,
    /// How many pods it lets the member take down: what counts, not always what is written.
    pub unavailable: u32,
    /// How many pods it lets the member add beyond `replicas`: what counts, not always what is written.
    pub surge: u32,
    /// What it lets the member do.
    pub stance: Stance,
    /// The values to stamp into the member's manifest.
    pub strategy: RollingStrategy,
}

impl Lease {
    /// Whether two leases say the same, their numbers apart.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        Self { id: other.id, ..self.clone() } == *other
    }

    /// The least that may be available while it is in force.
    pub(super) fn floor(&self) -> i64 {
        i64::from(self.replicas) - i64::from(self.unavailable)
    }

    /// The most pods that may stand while it is in force.
    pub(super) fn ceiling(&self) -> i64 {
        i64::from(self.replicas) + i64::from(self.surge)
    }
}

/// One cluster's page of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The leases that may be in force, oldest first: the one last acknowledged and all after it.
    #[serde(default)]
    pub live: Vec<Lease>,
    /// The counts last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Observation>,
}

impl Entry {
    /// The lease written last.
    pub fn latest(&self) -> Option<&Lease> {
        self.live.last()
    }

    /// Whether the lease written last is known to be in force, and the only one.
    pub fn is_acknowledged(&self) -> bool {
        self.live.len() <= 1 && self.live.last().map(|l| l.id) == self.acknowledged()
    }

    fn acknowledged(&self) -> Option<LeaseId> {
        let id = self.seen.as_ref()?.acknowledged.unwrap_or_default();
        self.live.iter().any(|l| l.id == id).then_some(id)
    }

    /// Takes in what a cluster reports, unless something newer is already known.
    ///
    /// Leases older than the acknowledged one end here. A Deployment's status is a sum over its ReplicaSets'
    /// *status*, so while those are not settled it proves nothing about the pods: nothing ends.
    pub(super) fn absorb(&mut self, kind: Kind, status: &Observation) {
        if self.seen.as_ref().is_some_and(|seen| is_older(status, seen)) {
            return;
        }
        if self.live.is_empty() {
            self.live.push(adopted(kind, status));
        }
        let proven = kind != Kind::Deployment || status.settled;
        if let (Some(id), true) = (status.acknowledged, proven)
            && self.live.iter().any(|l| l.id >= id)
        {
            self.live.retain(|l| l.id >= id);
        }
        self.seen = Some(status.clone());
    }

    /// Whether the counts last seen are of `template`: every lease that may have come into force since the
    /// status was made carries it. A late status of an earlier visit to the same template (A→B→A) is not.
    pub(super) fn is_of(&self, template: &TemplateHash) -> bool {
        let Some(seen) = &self.seen else { return false };
        let since = seen.acknowledged.unwrap_or_default();
        seen.template == *template
            && self.live.iter().filter(|l| l.id >= since).all(|l| l.template == *template)
    }

    /// Whether no pod was of `template` when the counts last seen were made. What is new since then is bounded
    /// by the leases; without this a template that is being returned to may stand in any number of pods
    /// already, and until a status of it arrives all of them count as new.
    pub(super) fn had_none_of(&self, template: &TemplateHash) -> bool {
        let Some(seen) = &self.seen else { return false };
        seen.template != *template && seen.updated == seen.total
    }

    /// Whether every pod is of one template and no lease that may be in force brings another. Such a
    /// Deployment has one ReplicaSet: it has nothing to roll and no use for surge, whatever its strategy
    /// says, and scaling it in removes first what does not serve.
    pub(super) fn is_inert(&self) -> bool {
        let Some(seen) = &self.seen else { return false };
        seen.settled && seen.updated == seen.total && self.live.iter().all(|l| l.template == seen.template)
    }
}

fn is_older(status: &Observation, seen: &Observation) -> bool {
    status.acknowledged < seen.acknowledged || (status.sequence != 0 && status.sequence < seen.sequence)
}

/// A workload that ran before it was taken over acts on whatever strategy is in force there. If all its pods
/// are of one template there is nothing to act on.
fn adopted(kind: Kind, status: &Observation) -> Lease {
    let inert = status.updated == status.total && status.total <= status.replicas;
    let (unavailable, surge) = kind.defaults();
    let at_most = |value: Option<crate::number::IntOrPercent>, default: crate::number::IntOrPercent| {
        value.unwrap_or(default).ceil_of(status.replicas)
    };
    Lease {
        id: status.acknowledged.unwrap_or_default(),
        template: status.template.clone(),
        replicas: status.replicas,
        updated: status.updated.min(status.replicas),
        unavailable: if inert { 0 } else { at_most(status.strategy.max_unavailable, unavailable) },
        surge: if inert { 0 } else { at_most(status.strategy.max_surge, surge) },
        stance: if inert { Stance::Free } else { Stance::Open },
        strategy: status.strategy.clone(),
    }
}

/// Everything the aligner remembers of one binding. Stored before the leases in it are written anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ledger {
    /// The number of the lease written last.
    pub last: LeaseId,
    /// Every cluster that may hold pods.
    pub members: BTreeMap<String, Entry>,
}

impl Ledger {
    /// What a manifest with this template may be stamped with in this cluster: the lease written last, if it
    /// carries that template. For any other the old template stays: closed by default.
    pub fn granted(&self, cluster: &str, template: &TemplateHash) -> Option<&Lease> {
        self.members.get(cluster)?.latest().filter(|lease| lease.template == *template)
    }

    /// A number no lease has had, also not one that only a member remembers.
    pub(super) fn next_id(&mut self) -> LeaseId {
        let reported = self.members.values().filter_map(|e| e.seen.as_ref()?.acknowledged).max();
        self.last = LeaseId(self.last.max(reported.unwrap_or_default()).0.saturating_add(1));
        self.last
    }
}
