//! Several member clusters, the hub's ledger, and the messages between them.

use std::collections::BTreeMap;

use super::promise::{Breach, Promise};
use super::workload::{Spec, Template, Workload, template};
use crate::align::{Alignment, Code, Lease, Ledger, Observation, Reach, Report, Stance, Wish, align};

/// A member cluster and the wire to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Site<W> {
    /// What stands there.
    pub workload: Option<W>,
    /// Reports on their way.
    pub in_flight: Vec<Observation>,
    /// The report the hub holds.
    pub arrived: Option<Observation>,
    /// Whether anything gets there or back.
    pub reachable: bool,
    /// Pods that faults have taken and that are not all back yet.
    pub lost: u32,
}

impl<W> Default for Site<W> {
    fn default() -> Self {
        Self { workload: None, in_flight: Vec::new(), arrived: None, reachable: true, lost: 0 }
    }
}

/// All clusters, what is wished for, what the aligner remembers and what is promised.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World<W> {
    /// What is wished for.
    pub wish: Wish,
    /// What the aligner remembers.
    pub ledger: Ledger,
    /// The clusters.
    pub sites: BTreeMap<String, Site<W>>,
    /// The bounds of the sum.
    pub promise: Promise,
}

impl<W: Workload> World<W> {
    /// Clusters in which everything runs and that have reported so.
    pub fn running(wish: Wish, run: impl Fn(Spec) -> W) -> Self {
        let mut sites = BTreeMap::new();
        for target in &wish.clusters {
            let spec = Spec {
                template: template(&wish.template),
                replicas: target.replicas,
                strategy: wish.strategy.clone(),
                lease: None,
            };
            let workload = run(spec);
            let site = Site { arrived: workload.report(), workload: Some(workload), ..Site::default() };
            sites.insert(target.cluster.clone(), site);
        }
        let mut world = Self { wish, ledger: Ledger::default(), sites, promise: Promise::default() };
        world.change(|_| {});
        world
    }

    /// The user changes something.
    pub fn change(&mut self, change: impl FnOnce(&mut Wish)) {
        change(&mut self.wish);
        for target in &self.wish.clusters {
            self.sites.entry(target.cluster.clone()).or_default();
        }
        self.promise = Promise::after_change(self);
    }

    /// What is known of every cluster.
    pub fn reports(&self) -> BTreeMap<String, Report> {
        self.sites
            .iter()
            .map(|(name, site)| {
                let reach = if site.reachable { Reach::Reachable } else { Reach::Unreachable };
                (name.clone(), Report { reach, status: site.arrived.clone(), ..Report::default() })
            })
            .collect()
    }

    /// The aligner's turn: reports in, ledger stored. The leases reach the clusters later.
    pub fn align(&mut self) -> Alignment {
        let answer = align(&self.wish, &self.reports(), &self.ledger);
        self.ledger = answer.ledger.clone();
        if answer.reasons.iter().any(|r| r.code == Code::PartitionExceeded) {
            let said = answer.members.iter().map(|m| i64::from(m.target.max(m.updated))).sum();
            self.promise.partition_exceeded(said);
        }
        answer
    }

    /// Whether a lease is waiting to be applied.
    pub fn has_work(&self, cluster: &str) -> bool {
        let Some(site) = self.sites.get(cluster) else { return false };
        let Some(lease) = self.ledger.members.get(cluster).and_then(|e| e.latest()) else { return false };
        lease.id.0 > 0 && site.workload.as_ref().is_none_or(|w| w.spec().lease != Some(lease.id))
    }

    /// The cluster's agent applies the newest lease.
    pub fn apply(&mut self, cluster: &str) -> bool {
        if !self.has_work(cluster) {
            return false;
        }
        let lease = self.ledger.members.get(cluster).and_then(|e| e.latest()).cloned();
        lease.is_some_and(|lease| self.carry_out(cluster, &lease))
    }

    /// The cluster's agent applies a lease.
    pub fn carry_out(&mut self, cluster: &str, lease: &Lease) -> bool {
        let Some(site) = self.sites.get_mut(cluster).filter(|site| site.reachable) else { return false };
        let spec = Spec {
            template: template(&lease.template),
            replicas: lease.replicas,
            strategy: lease.strategy.clone(),
            lease: Some(lease.id),
        };
        match &mut site.workload {
            Some(workload) => workload.apply(spec),
            None => site.workload = Some(W::create(spec)),
        }
        true
    }

    /// The cluster sends what it has to say.
    pub fn send(&mut self, cluster: &str) -> bool {
        let Some(site) = self.sites.get_mut(cluster) else { return false };
        let Some(report) = site.workload.as_ref().and_then(W::report) else { return false };
        if site.in_flight.last().or(site.arrived.as_ref()) == Some(&report) {
            return false;
        }
        site.in_flight.push(report);
        true
    }

    /// A report that is on its way arrives.
    pub fn deliver(&mut self, cluster: &str, index: usize) -> bool {
        let Some(site) = self.sites.get_mut(cluster) else { return false };
        if !site.reachable || index >= site.in_flight.len() {
            return false;
        }
        site.arrived = Some(site.in_flight.remove(index));
        true
    }

    /// A fault takes a pod of a cluster: it crashes, or it is evicted.
    pub fn lose(&mut self, cluster: &str, nth: u32, crash: bool) -> bool {
        let wanted = self.wanted();
        let Some(site) = self.sites.get_mut(cluster) else { return false };
        let Some(workload) = &mut site.workload else { return false };
        let old = |w: &W| i64::from(w.total()) - i64::from(w.of_template(wanted));
        let before = old(workload);
        let lost = if crash { workload.crash(nth) } else { workload.evict(nth) };
        self.promise.old_lost += (before - old(workload)).max(0);
        site.lost += u32::from(lost);
        lost
    }

    /// Judges this instant. What a fault took is excused until its cluster is whole again.
    pub fn judge(&mut self) -> Option<Breach> {
        for site in self.sites.values_mut() {
            if site.lost > 0 && site.workload.as_ref().is_some_and(W::is_whole) {
                site.lost = 0;
            }
        }
        self.promise.judge(&self.sites, &self.ledger, &self.wish)
    }

    /// A count over all clusters.
    pub fn total(&self, count: impl Fn(&W) -> u32) -> u32 {
        self.sites.values().filter_map(|s| s.workload.as_ref()).map(count).sum()
    }

    /// The template that is wished for.
    pub fn wanted(&self) -> Template {
        template(&self.wish.template)
    }

    /// Everything has arrived, the user's own values are back, and nothing is paused that the user did not.
    pub fn is_at_rest(&self, answer: &Alignment) -> bool {
        answer.complete && answer.leases.is_empty() && self.has_arrived()
    }

    /// Whether every cluster has the user's own values in force, and all of its pods serve.
    pub fn has_arrived(&self) -> bool {
        self.wish.clusters.iter().all(|t| {
            let lease = self.ledger.members.get(&t.cluster).and_then(|e| e.latest());
            let workload = self.sites.get(&t.cluster).and_then(|site| site.workload.as_ref());
            let said = self.wish.strategy.max_unavailable;
            match (lease, workload) {
                (Some(lease), Some(w)) => {
                    lease.stance == Stance::Free
                        && w.spec().lease.unwrap_or_default() == lease.id
                        && w.spec().paused() == self.wish.strategy.paused.unwrap_or(false)
                        && said.is_none_or(|said| w.spec().strategy.max_unavailable == Some(said))
                        && w.total() == t.replicas
                        && w.available() == t.replicas
                }
                (None, None) => t.replicas == 0,
                _ => false,
            }
        })
    }

    /// How many pods are new, and whether that is as many as should be.
    pub fn new_pods(&self) -> u32 {
        self.total(|w| w.of_template(self.wanted()))
    }
}
