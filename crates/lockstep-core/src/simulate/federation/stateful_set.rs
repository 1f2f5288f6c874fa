//! A StatefulSet after the controller of Kubernetes: ordinals, a partition that keeps the lowest of them old, and
//! `maxUnavailable` pods replaced at a time, from the highest down. It grows and shrinks all at once, as with
//! `podManagementPolicy: Parallel`.

use super::workload::{Pod, Spec, Standing, Template, Workload, count, hash};
use crate::align::Observation;
use crate::number::{self, IntOrPercent};

/// A StatefulSet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StatefulSet {
    spec: Spec,
    observed: bool,
    /// `status.currentRevision`: what the pods below the partition are made from.
    current: Template,
    /// By ordinal; nothing where a pod is gone that is to come back.
    pods: Vec<Option<Pod>>,
    /// replicas, updated, available, as of its last turn.
    status: (u32, u32, u32),
}

impl StatefulSet {
    fn kept(&self) -> usize {
        let kept = self.spec.strategy.partition.unwrap_or(IntOrPercent::Int(0));
        usize::try_from(number::partition(kept, self.spec.replicas)).unwrap_or(usize::MAX)
    }

    fn size(&self) -> usize {
        usize::try_from(self.spec.replicas).unwrap_or(usize::MAX)
    }

    fn sync(&mut self) {
        self.observed = true;
        self.pods.resize(self.size(), None);
        let (kept, new, current) = (self.kept(), self.spec.template, self.current);
        for (ordinal, pod) in self.pods.iter_mut().enumerate() {
            let template = if ordinal < kept { current } else { new };
            pod.get_or_insert(Pod { template, available: false });
        }
        self.replace(kept);
        if self.pods.iter().flatten().all(|pod| pod.template == new && pod.available) {
            self.current = new;
        }
        self.status = self.counts();
    }

    /// One that does not serve is replaced without asking how many do.
    fn replace(&mut self, kept: usize) {
        let limit = self.spec.strategy.max_unavailable.unwrap_or(IntOrPercent::Int(1));
        let limit = limit.ceil_of(self.spec.replicas).max(1);
        let mut down = count(self.pods.iter().flatten().filter(|pod| !pod.available));
        let template = self.spec.template;
        for pod in self.pods.iter_mut().skip(kept).rev().flatten().filter(|pod| pod.template != template) {
            if pod.available && down >= limit {
                return;
            }
            down += u32::from(pod.available);
            *pod = Pod { template, available: false };
        }
    }

    fn counts(&self) -> (u32, u32, u32) {
        let of = |test: &dyn Fn(&Pod) -> bool| count(self.pods.iter().flatten().filter(|p| test(p)));
        (of(&|_| true), of(&|p| p.template == self.spec.template), of(&|p| p.available))
    }

    fn nth(&mut self, nth: u32, available: bool) -> Option<&mut Option<Pod>> {
        let is_it = |pod: &&mut Option<Pod>| pod.is_some_and(|pod| pod.available == available);
        self.pods.iter_mut().filter(is_it).nth(usize::try_from(nth).ok()?)
    }

    fn set(&mut self, nth: u32, available: bool) -> bool {
        let found = self.nth(nth, !available).and_then(Option::as_mut);
        found.map(|pod| pod.available = available).is_some()
    }
}

impl Workload for StatefulSet {
    fn create(spec: Spec) -> Self {
        let current = spec.template;
        Self { spec, observed: false, current, pods: Vec::new(), status: (0, 0, 0) }
    }

    fn standing(spec: Spec, standing: &Standing) -> Self {
        let current = if standing.creates_new { spec.template } else { standing.old };
        let pods = standing.pods(spec.template).into_iter().map(Some).collect();
        let mut made = Self { spec, observed: true, current, pods, status: (0, 0, 0) };
        made.status = made.counts();
        made
    }

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn apply(&mut self, spec: Spec) {
        if self.spec != spec {
            self.spec = spec;
            self.observed = false;
        }
    }

    fn steps(&self) -> Vec<Self> {
        let mut synced = self.clone();
        synced.sync();
        if synced == *self { Vec::new() } else { vec![synced] }
    }

    fn pods(&self) -> Vec<Pod> {
        self.pods.iter().flatten().copied().collect()
    }

    fn ready(&mut self, nth: u32) -> bool {
        self.set(nth, true)
    }

    fn crash(&mut self, nth: u32) -> bool {
        self.set(nth, false)
    }

    fn evict(&mut self, nth: u32) -> bool {
        self.nth(nth, true).map(|pod| *pod = None).is_some()
    }

    fn is_whole(&self) -> bool {
        self.available() >= self.spec.replicas && self.available() == self.total()
    }

    fn report(&self) -> Option<Observation> {
        let (total, updated, available) = self.status;
        self.observed.then(|| Observation {
            replicas: self.spec.replicas,
            total,
            available,
            updated,
            updated_available: None,
            under_way: 0,
            creates_updated: self.current == self.spec.template,
            unavailable: None,
            template: hash(self.spec.template),
            acknowledged: self.spec.lease,
            strategy: self.spec.strategy.clone(),
            settled: true,
            sequence: 0,
        })
    }
}
