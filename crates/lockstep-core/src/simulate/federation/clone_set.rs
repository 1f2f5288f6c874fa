//! A CloneSet after Kruise's controller: scaling before updating, one of them per turn, partition and surge
//! by the difference from what is wanted, pods recreated to update them.

use super::workload::{Pod, Spec, Standing, Template, Workload, count, hash};
use crate::align::Observation;
use crate::number::{self, IntOrPercent};

/// A CloneSet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CloneSet {
    spec: Spec,
    observed: bool,
    /// `status.currentRevision`: what "old" pods are created from.
    current: Template,
    /// Sorted, so that equal states are equal.
    pods: Vec<Pod>,
    /// replicas, updated, available, updated and available: as of the *beginning* of its last turn.
    status: (u32, u32, u32, u32),
}

struct Limits {
    partition: i64,
    unavailable: i64,
    surge: i64,
}

impl CloneSet {
    fn limits(&self) -> Limits {
        let (r, s) = (self.spec.replicas, &self.spec.strategy);
        let surge = if self.spec.paused() { 0 } else { self.spec.max_surge() };
        let down = s.max_unavailable.unwrap_or(IntOrPercent::Percent(20));
        let down = if surge == 0 { down.ceil_of(r) } else { down.floor_of(r) };
        Limits {
            partition: i64::from(number::partition(s.partition.unwrap_or(IntOrPercent::Int(0)), r)),
            unavailable: i64::from(down),
            surge: i64::from(surge),
        }
    }

    fn count(&self, test: impl Fn(&Pod) -> bool) -> i64 {
        i64::from(count(self.pods.iter().filter(|p| test(p))))
    }

    fn is_new(&self, pod: &Pod) -> bool {
        pod.template == self.spec.template
    }

    fn sync(&mut self) {
        let (r, l) = (i64::from(self.spec.replicas), self.limits());
        let new = self.count(|p| self.is_new(p));
        let old = i64::from(count(self.pods.iter())) - new;
        let down = self.count(|p| !p.available);
        let new_available = self.count(|p| self.is_new(p) && p.available);
        let total = new + old;
        self.status = self.counts();
        self.observed = true;
        if new_available == r && total == r && l.partition == 0 {
            self.current = self.spec.template;
        }
        // Never back to the old revision: only old pods that are too many for new ones that are too few.
        let to_update = (old - l.partition).max(0).min((r - l.partition - new).max(0));
        let expected = r + l.surge.min(to_update);
        if total < expected {
            self.scale_out(expected - total, (l.partition - old).max(0));
        } else if total > expected {
            let ready_limit = (l.unavailable + total - r - down).max(0);
            self.scale_in(total - expected, (old - l.partition).max(0), ready_limit);
        } else if !self.spec.paused() {
            self.update(to_update, l.unavailable + total - r, down);
        }
        self.pods.sort();
    }

    fn counts(&self) -> (u32, u32, u32, u32) {
        let of = |test: &dyn Fn(&Pod) -> bool| count(self.pods.iter().filter(|p| test(p)));
        let new = of(&|p| self.is_new(p));
        (count(self.pods.iter()), new, of(&|p| p.available), of(&|p| self.is_new(p) && p.available))
    }

    fn scale_out(&mut self, n: i64, old_wanted: i64) {
        let old = if self.current == self.spec.template { 0 } else { old_wanted.min(n) };
        for i in 0..n {
            let template = if i < old { self.current } else { self.spec.template };
            self.pods.push(Pod { template, available: false });
        }
    }

    /// Old pods first as far as there are too many of them; in each group those that do not serve first, and
    /// of those that do only as many as the limit allows.
    fn scale_in(&mut self, n: i64, old_excess: i64, ready_limit: i64) {
        let from_old = old_excess.min(n);
        let mut ready_limit = ready_limit;
        for (want_new, count) in [(false, from_old), (true, n - from_old)] {
            for _ in 0..count {
                let pick = |available: bool| {
                    self.pods.iter().position(|p| self.is_new(p) == want_new && p.available == available)
                };
                if let Some(i) = pick(false) {
                    self.pods.remove(i);
                } else if let (Some(i), true) = (pick(true), ready_limit > 0) {
                    ready_limit -= 1;
                    self.pods.remove(i);
                }
            }
        }
    }

    fn update(&mut self, n: i64, may_be_down: i64, down: i64) {
        let mut down = down;
        for _ in 0..n {
            let pick =
                |available: bool| self.pods.iter().position(|p| !self.is_new(p) && p.available == available);
            if let Some(i) = pick(false) {
                self.pods.remove(i);
            } else if let (Some(i), true) = (pick(true), down < may_be_down) {
                down += 1;
                self.pods.remove(i);
            } else {
                return;
            }
        }
    }

    fn nth(&self, nth: u32, available: bool) -> Option<usize> {
        self.pods
            .iter()
            .enumerate()
            .filter(|(_, p)| p.available == available)
            .nth(nth as usize)
            .map(|(i, _)| i)
    }
}

impl Workload for CloneSet {
    fn create(spec: Spec) -> Self {
        let current = spec.template;
        Self { spec, observed: false, current, pods: Vec::new(), status: (0, 0, 0, 0) }
    }

    fn standing(spec: Spec, standing: &Standing) -> Self {
        let current = if standing.creates_new { spec.template } else { standing.old };
        let mut pods = standing.pods(spec.template);
        pods.sort();
        let mut made = Self { spec, observed: true, current, pods, status: (0, 0, 0, 0) };
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
        self.pods.clone()
    }

    fn ready(&mut self, nth: u32) -> bool {
        let Some(i) = self.nth(nth, false) else { return false };
        self.pods[i].available = true;
        self.pods.sort();
        true
    }

    fn crash(&mut self, nth: u32) -> bool {
        let Some(i) = self.nth(nth, true) else { return false };
        self.pods[i].available = false;
        self.pods.sort();
        true
    }

    fn evict(&mut self, nth: u32) -> bool {
        let Some(i) = self.nth(nth, true) else { return false };
        self.pods.remove(i);
        true
    }

    fn is_whole(&self) -> bool {
        self.available() >= self.spec.replicas && self.available() == self.total()
    }

    fn report(&self) -> Option<Observation> {
        let (total, updated, available, updated_available) = self.status;
        self.observed.then(|| Observation {
            replicas: self.spec.replicas,
            total,
            available,
            updated,
            updated_available: Some(updated_available),
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
