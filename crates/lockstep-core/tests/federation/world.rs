//! Several member clusters, the hub's ledger, and the messages between them.

use std::collections::BTreeMap;

use lockstep_core::align::{
    Alignment, Code, Kind, Ledger, Observation, Reach, Report, RollingStrategy, SplitMode, Stance, Target,
    Wish, align,
};
use lockstep_core::number::IntOrPercent::Int;

use super::promise::Promise;
use super::{Spec, Template, Workload, hash, template};

/// A member cluster and the wire to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Site<W> {
    pub workload: Option<W>,
    /// Reports on their way.
    pub in_flight: Vec<Observation>,
    /// The report the hub holds.
    pub arrived: Option<Observation>,
    pub reachable: bool,
    /// Pods that faults have taken and that are not all back yet.
    pub lost: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World<W> {
    pub wish: Wish,
    pub ledger: Ledger,
    pub sites: BTreeMap<String, Site<W>>,
    pub promise: Promise,
}

pub fn wish(kind: Kind, split: &[u32], unavailable: u32, surge: u32, partition: u32) -> Wish {
    Wish {
        held: Default::default(),
        kind,
        template: hash(0),
        strategy: RollingStrategy {
            paused: None,
            partition: kind.has_partition().then_some(Int(partition)),
            max_unavailable: Some(Int(unavailable)),
            max_surge: Some(Int(surge)),
        },
        split: SplitMode::Sequential,
        clusters: split
            .iter()
            .enumerate()
            .map(|(i, n)| Target { cluster: format!("c{}", i + 1), replicas: *n })
            .collect(),
    }
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
            let site = Site {
                arrived: workload.report(),
                workload: Some(workload),
                in_flight: Vec::new(),
                reachable: true,
                lost: 0,
            };
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
            self.sites.entry(target.cluster.clone()).or_insert_with(|| Site {
                workload: None,
                in_flight: Vec::new(),
                arrived: None,
                reachable: true,
                lost: 0,
            });
        }
        self.promise = Promise::after_change(self);
    }

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
        let site = &self.sites[cluster];
        let Some(lease) = self.ledger.members.get(cluster).and_then(|e| e.latest()) else { return false };
        lease.id.0 > 0 && site.workload.as_ref().is_none_or(|w| w.spec().lease != Some(lease.id))
    }

    /// The cluster's agent applies the newest Work.
    pub fn apply(&mut self, cluster: &str) -> bool {
        if !self.sites[cluster].reachable || !self.has_work(cluster) {
            return false;
        }
        let Some(lease) = self.ledger.members[cluster].latest() else { return false };
        let spec = Spec {
            template: template(&lease.template),
            replicas: lease.replicas,
            strategy: lease.strategy.clone(),
            lease: Some(lease.id),
        };
        let Some(site) = self.sites.get_mut(cluster) else { return false };
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

    pub fn deliver(&mut self, cluster: &str, index: usize) -> bool {
        let Some(site) = self.sites.get_mut(cluster) else { return false };
        if !site.reachable || index >= site.in_flight.len() {
            return false;
        }
        site.arrived = Some(site.in_flight.remove(index));
        true
    }

    /// A round in which everybody does what there is to do.
    pub fn round(&mut self) -> Alignment {
        let answer = self.align();
        let names: Vec<String> = self.sites.keys().cloned().collect();
        for name in &names {
            self.apply(name);
            if let Some(site) = self.sites.get_mut(name)
                && let Some(workload) = &mut site.workload
            {
                for _ in 0..3 {
                    for step in 0..workload.steps().len() {
                        if let Some(next) = workload.steps().get(step) {
                            *workload = next.clone();
                        }
                    }
                    while workload.ready(0) {}
                }
                site.in_flight.clear();
            }
            self.send(name);
            self.deliver(name, 0);
            self.promise.keep(&self.sites, &self.ledger, &self.wish);
        }
        answer
    }

    pub fn total(&self, count: impl Fn(&W) -> u32) -> u32 {
        self.sites.values().filter_map(|s| s.workload.as_ref()).map(count).sum()
    }

    pub fn wanted(&self) -> Template {
        template(&self.wish.template)
    }

    /// Everything has arrived, the user's own values are back, and nothing is paused that the user did not.
    pub fn is_at_rest(&self, answer: &Alignment) -> bool {
        let values_are_back = self.wish.clusters.iter().all(|t| {
            let lease = self.ledger.members.get(&t.cluster).and_then(|e| e.latest());
            let workload = self.sites[&t.cluster].workload.as_ref();
            match (lease, workload) {
                (Some(lease), Some(w)) => {
                    lease.stance == Stance::Free
                        && w.spec().lease.unwrap_or_default() == lease.id
                        && w.spec().paused() == self.wish.strategy.paused.unwrap_or(false)
                        && w.spec().strategy.max_unavailable == self.wish.strategy.max_unavailable
                        && w.total() == t.replicas
                        && w.available() == t.replicas
                }
                (None, None) => t.replicas == 0,
                _ => false,
            }
        });
        answer.complete && answer.leases.is_empty() && values_are_back
    }

    /// How many pods are new, and whether that is as many as should be.
    pub fn new_pods(&self) -> u32 {
        self.total(|w| w.of_template(self.wanted()))
    }
}
