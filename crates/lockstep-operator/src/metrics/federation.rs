//! What is said of rollouts over several clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstep_api::federation::FederatedRolloutStatus;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::Metrics;
use super::labels::{ByOutcome, OfMember, OfWaiting};

/// How the review of a Work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkOutcome {
    /// Nobody asks for it to be aligned.
    NotOurs,
    /// It carries what the ledger says.
    Stamped,
    /// What it may carry is not known, so it was not stored.
    Unknown,
}

impl WorkOutcome {
    fn label(self) -> &'static str {
        match self {
            Self::NotOurs => "not_ours",
            Self::Stamped => "stamped",
            Self::Unknown => "unknown",
        }
    }
}

/// The gauges and counters of all rollouts.
pub(super) struct Federation {
    pods: Family<OfMember, Gauge>,
    waiting: Family<OfWaiting, Gauge>,
    leases: Counter,
    works: Family<ByOutcome, Counter>,
    review_duration: Histogram,
    align_duration: Histogram,
    shown: Mutex<BTreeMap<(String, String), Shown>>,
}

/// What is shown of one rollout: a family cannot be asked.
#[derive(Default)]
struct Shown {
    pods: BTreeSet<OfMember>,
    waiting: BTreeSet<OfWaiting>,
}

impl Default for Federation {
    fn default() -> Self {
        Self {
            pods: Family::default(),
            waiting: Family::default(),
            leases: Counter::default(),
            works: Family::default(),
            review_duration: super::quick(),
            align_duration: super::quick(),
            shown: Mutex::default(),
        }
    }
}

impl Federation {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "federated_rollout_pods",
            "Pods of a rollout in one cluster, and what the cluster was granted",
            self.pods.clone(),
        );
        registry.register(
            "federated_rollout_waiting",
            "How many clusters of a rollout wait, by reason",
            self.waiting.clone(),
        );
        registry.register("federation_leases", "Leases that were written", self.leases.clone());
        registry.register("federation_work_reviews", "Reviews of Works", self.works.clone());
        registry.register_with_unit(
            "federation_work_review_duration",
            "How long it took to stamp a Work",
            Unit::Seconds,
            self.review_duration.clone(),
        );
        registry.register_with_unit(
            "federation_align_duration",
            "How long it took to decide what the clusters of one rollout may do",
            Unit::Seconds,
            self.align_duration.clone(),
        );
    }

    fn shown(&self) -> MutexGuard<'_, BTreeMap<(String, String), Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, shown: &Shown) {
        for labels in &shown.pods {
            self.pods.remove(labels);
        }
        for labels in &shown.waiting {
            self.waiting.remove(labels);
        }
    }
}

impl Metrics {
    /// What a rollout over several clusters says of itself. What it said before and does not say now is gone.
    pub fn federated_rollout(&self, namespace: &str, name: &str, status: &FederatedRolloutStatus) {
        let (all, mut now) = (&self.0.federation, Shown::default());
        let mut shown = all.shown();
        if let Some(before) = shown.remove(&(namespace.to_owned(), name.to_owned())) {
            all.forget(&before);
        }
        for member in &status.members {
            for (state, count) in [
                ("wished", member.replicas),
                ("to_update", member.target),
                ("updated", member.updated),
                ("updated_available", member.updated_available),
                ("granted_unavailable", member.max_unavailable),
                ("granted_surge", member.max_surge),
            ] {
                let labels = OfMember {
                    namespace: namespace.to_owned(),
                    rollout: name.to_owned(),
                    cluster: member.cluster.clone(),
                    state,
                };
                all.pods.get_or_create(&labels).set(i64::from(count));
                now.pods.insert(labels);
            }
        }
        for reason in &status.reasons {
            let labels = OfWaiting {
                namespace: namespace.to_owned(),
                rollout: name.to_owned(),
                reason: reason.code.clone(),
            };
            all.waiting.get_or_create(&labels).inc();
            now.waiting.insert(labels);
        }
        shown.insert((namespace.to_owned(), name.to_owned()), now);
    }

    /// A rollout over several clusters is gone.
    pub fn forget_federated_rollout(&self, namespace: &str, name: &str) {
        let all = &self.0.federation;
        if let Some(shown) = all.shown().remove(&(namespace.to_owned(), name.to_owned())) {
            all.forget(&shown);
        }
    }

    /// No rollout is ours to speak of: somebody else leads.
    pub(super) fn forget_all_federated_rollouts(&self) {
        let all = &self.0.federation;
        for shown in std::mem::take(&mut *all.shown()).values() {
            all.forget(shown);
        }
    }

    /// It was decided what the clusters of one rollout may do: so many leases are new, and so long it took.
    pub fn aligned(&self, leases: usize, took: Duration) {
        self.0.federation.leases.inc_by(u64::try_from(leases).unwrap_or(u64::MAX));
        self.0.federation.align_duration.observe(took.as_secs_f64());
    }

    /// The review of a Work was answered.
    pub fn work_review(&self, outcome: WorkOutcome, took: Duration) {
        self.0.federation.works.get_or_create(&ByOutcome { outcome: outcome.label() }).inc();
        self.0.federation.review_duration.observe(took.as_secs_f64());
    }
}
