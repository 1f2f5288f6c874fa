//! What is said of single sets, and taken back when they go.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::{OfBlocked, OfRole, OfRule};

/// The gauges of all sets.
#[derive(Default)]
pub(super) struct Sets {
    instances: Family<OfRole, Gauge>,
    blocked: Family<OfBlocked, Gauge>,
    skew: Family<OfRule, Gauge<f64, AtomicU64>>,
    /// What is shown of each set, by namespace and name: a family cannot be asked.
    shown: Mutex<BTreeMap<(String, String), Shown>>,
}

/// What is shown of one set.
#[derive(Default)]
struct Shown {
    instances: BTreeSet<OfRole>,
    blocked: BTreeSet<OfBlocked>,
    skew: BTreeSet<OfRule>,
}

impl Sets {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("role_instances", "Instances of a role over all groups", self.instances.clone());
        registry.register("blocked", "How many things wait in a set, by reason", self.blocked.clone());
        let help = "How far the roles under a skew rule are apart, of one";
        registry.register("skew_ratio", help, self.skew.clone());
    }

    fn shown(&self) -> MutexGuard<'_, BTreeMap<(String, String), Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self, namespace: &str, set: &str, status: &LockstepSetStatus) {
        let mut instances = BTreeMap::new();
        for role in &status.roles {
            for (state, count) in states(role) {
                let role = role.name.clone();
                let labels = OfRole { namespace: namespace.to_owned(), set: set.to_owned(), role, state };
                instances.insert(labels, i64::from(count));
            }
        }
        let mut blocked = BTreeMap::new();
        for block in &status.rollout.blocked {
            let reason = block.reason.clone();
            let labels = OfBlocked { namespace: namespace.to_owned(), set: set.to_owned(), reason };
            *blocked.entry(labels).or_insert(0) += 1;
        }
        let mut all = self.shown();
        let shown = all.entry((namespace.to_owned(), set.to_owned())).or_default();
        show(&self.instances, &mut shown.instances, instances);
        show(&self.blocked, &mut shown.blocked, blocked);
    }

    pub(super) fn skew(&self, namespace: &str, set: &str, rule: &str, ratio: f64) {
        let (namespace, set, rule) = (namespace.to_owned(), set.to_owned(), rule.to_owned());
        let mut all = self.shown();
        let shown = all.entry((namespace.clone(), set.clone())).or_default();
        let labels = OfRule { namespace, set, rule };
        self.skew.get_or_create(&labels).set(ratio);
        shown.skew.insert(labels);
    }

    pub(super) fn forget(&self, namespace: &str, set: &str) {
        if let Some(shown) = self.shown().remove(&(namespace.to_owned(), set.to_owned())) {
            self.take_back(&shown);
        }
    }

    pub(super) fn forget_all(&self) {
        let all = std::mem::take(&mut *self.shown());
        all.values().for_each(|shown| self.take_back(shown));
    }

    fn take_back(&self, shown: &Shown) {
        for labels in &shown.instances {
            self.instances.remove(labels);
        }
        for labels in &shown.blocked {
            self.blocked.remove(labels);
        }
        for labels in &shown.skew {
            self.skew.remove(labels);
        }
    }
}

fn states(role: &RoleStatus) -> [(&'static str, u32); 4] {
    [
        ("desired", role.replicas),
        ("ready", role.ready),
        ("available", role.available),
        ("updated", role.updated),
    ]
}

/// Shows these and no others.
fn show<L: Clone + Hash + Ord>(family: &Family<L, Gauge>, shown: &mut BTreeSet<L>, values: BTreeMap<L, i64>) {
    for gone in shown.iter().filter(|labels| !values.contains_key(labels)) {
        family.remove(gone);
    }
    for (labels, value) in &values {
        family.get_or_create(labels).set(*value);
    }
    *shown = values.into_keys().collect();
}
