//! A Deployment and its ReplicaSets, after the controllers of Kubernetes: `sync`, `scale`, `rolling`.
//!
//! Two controllers act one after the other: the Deployment controller reads its ReplicaSets' *status*, which
//! is of their last turn, and sets their sizes; each ReplicaSet makes pods on its own turn. Two things are
//! kinder than Kubernetes, since with a ReplicaSet controller slower than a pod's start a single Deployment
//! can break its own bounds, and there would be nothing to align: pods beyond a ReplicaSet's size count as
//! terminating at once (those that do not serve first), though its status still counts them; and the
//! Deployment reads a ReplicaSet's available pods as no more than its smallest size since its last turn.

use super::workload::{Pod, Spec, Standing, Template, Workload, hash};
use crate::align::Observation;
use crate::number::IntOrPercent;

/// One of its ReplicaSets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReplicaSet {
    template: Template,
    size: u32,
    /// The `desired-replicas` and `max-replicas` annotations.
    desired: u32,
    max: u32,
    /// Pods that serve and pods that do not.
    available: u32,
    unavailable: u32,
    /// Its status: pods and available pods as of its last turn, and whether that turn saw its present size.
    status: (u32, u32),
    observed: bool,
    /// Its smallest size since that turn.
    least: u32,
}

impl ReplicaSet {
    fn pods(&self) -> u32 {
        self.available + self.unavailable
    }

    fn settled(&self) -> bool {
        self.observed && self.status.0 == self.size
    }

    fn resize(&mut self, size: u32, desired: u32, max: u32) {
        self.observed &= self.size == size;
        (self.size, self.desired, self.max) = (size, desired, max);
        self.least = self.least.min(size);
        self.delete_excess();
    }

    fn known_available(&self) -> u32 {
        self.status.1.min(self.least)
    }

    fn delete_excess(&mut self) {
        let excess = self.pods().saturating_sub(self.size);
        let broken = excess.min(self.unavailable);
        self.unavailable -= broken;
        self.available -= excess - broken;
    }

    /// Its controller's turn.
    fn turn(&mut self) {
        let missing = self.size.saturating_sub(self.pods());
        self.unavailable += missing;
        self.status = (self.pods(), self.available);
        self.observed = true;
        self.least = self.size;
    }
}

/// A Deployment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Deployment {
    spec: Spec,
    observed: bool,
    /// In order of creation.
    sets: Vec<ReplicaSet>,
    /// replicas, updated, available, unavailable, as its controller last wrote them.
    status: (u32, u32, u32, u32),
}

impl Deployment {
    fn limits(&self) -> (u32, u32) {
        let r = self.spec.replicas;
        let surge = self.spec.strategy.max_surge.unwrap_or(IntOrPercent::Percent(25)).ceil_of(r);
        let down = self.spec.strategy.max_unavailable.unwrap_or(IntOrPercent::Percent(25)).floor_of(r);
        (if surge == 0 && down == 0 { 1 } else { down.min(r) }, surge)
    }

    fn new_set(&self) -> Option<usize> {
        self.sets.iter().position(|s| s.template == self.spec.template)
    }

    fn sizes(&self) -> u32 {
        self.sets.iter().map(|s| s.size).sum()
    }

    fn max(&self) -> u32 {
        self.spec.replicas + self.limits().1
    }

    /// The Deployment controller's turn.
    fn sync(&mut self) {
        let scaled = self.sets.iter().any(|s| s.size > 0 && s.desired != self.spec.replicas);
        if self.spec.paused() || scaled {
            self.scale();
        } else {
            self.roll();
        }
        // ReplicaSets without pods and without size are history.
        self.sets.retain(|s| s.size > 0 || s.pods() > 0 || !s.settled() || s.template == self.spec.template);
        self.sync_status();
        self.observed = true;
    }

    fn sync_status(&mut self) {
        let updated = self.new_set().map_or(0, |i| self.sets[i].status.0);
        let available: u32 = self.sets.iter().map(|s| s.status.1).sum();
        let unavailable = self.sizes().saturating_sub(available);
        self.status = (self.sets.iter().map(|s| s.status.0).sum(), updated, available, unavailable);
    }

    fn scale(&mut self) {
        let (r, max) = (self.spec.replicas, self.max());
        let active: Vec<usize> = (0..self.sets.len()).filter(|&i| self.sets[i].size > 0).collect();
        let lone = match active.as_slice() {
            [] => self.new_set().or(self.sets.len().checked_sub(1)),
            [one] => Some(*one),
            _ => None,
        };
        if let Some(i) = lone {
            self.sets[i].resize(r, r, max);
            return;
        }
        if active.is_empty() {
            return;
        }
        if let Some(i) = self.new_set() {
            let new = &self.sets[i];
            if new.size == r && new.desired == r && new.known_available() == r {
                for (j, old) in self.sets.iter_mut().enumerate() {
                    if j != i {
                        old.resize(0, r, max);
                    }
                }
                return;
            }
        }
        self.scale_in_proportion(active, r, max);
    }

    fn scale_in_proportion(&mut self, mut active: Vec<usize>, r: u32, max: u32) {
        let allowed = if r > 0 { i64::from(max) } else { 0 };
        let to_add = allowed - i64::from(self.sizes());
        // The largest first; among equals the newer when growing, the older when shrinking.
        if to_add > 0 {
            active.sort_by_key(|&i| (std::cmp::Reverse(self.sets[i].size), std::cmp::Reverse(i)));
        } else {
            active.sort_by_key(|&i| (std::cmp::Reverse(self.sets[i].size), i));
        }
        let mut added = 0;
        let mut sizes: Vec<i64> = Vec::new();
        for &i in &active {
            let set = &self.sets[i];
            let size = i64::from(set.size);
            let fraction = if r == 0 {
                -size
            } else {
                // Rounded to the nearest, halves up.
                let before = i64::from(set.max.max(1));
                (2 * size * i64::from(max) + before) / (2 * before) - size
            };
            let left = to_add - added;
            let share = match to_add {
                0 => 0,
                n if n > 0 => fraction.min(left),
                _ => fraction.max(left),
            };
            added += share;
            sizes.push(size + share);
        }
        sizes[0] = (sizes[0] + to_add - added).max(0);
        for (&i, size) in active.iter().zip(sizes) {
            self.sets[i].resize(narrow(size), r, max);
        }
    }

    fn roll(&mut self) {
        let (r, max) = (self.spec.replicas, self.max());
        let i = self.new_set().unwrap_or_else(|| {
            self.sets.push(ReplicaSet {
                template: self.spec.template,
                size: 0,
                desired: r,
                max,
                available: 0,
                unavailable: 0,
                status: (0, 0),
                observed: true,
                least: 0,
            });
            self.sets.len() - 1
        });
        for set in self.sets.iter_mut().filter(|s| s.size > 0) {
            (set.desired, set.max) = (r, max);
        }
        let new = self.sets[i].size;
        let grown = new + max.saturating_sub(self.sizes()).min(r.saturating_sub(new));
        let size = if new > r { r } else { grown };
        if size != new {
            self.sets[i].resize(size, r, max);
            return;
        }
        self.shrink_old(i);
    }

    fn shrink_old(&mut self, new: usize) {
        let (r, max) = (self.spec.replicas, self.max());
        let least = i64::from(r) - i64::from(self.limits().0);
        let new_down = i64::from(self.sets[new].size) - i64::from(self.sets[new].known_available());
        let mut room = i64::from(self.sizes()) - least - new_down;
        if room <= 0 {
            return;
        }
        for (_, old) in self.sets.iter_mut().enumerate().filter(|(j, _)| *j != new) {
            let broken = i64::from(old.size) - i64::from(old.known_available());
            let gone = broken.min(room).max(0);
            room -= gone;
            old.resize(old.size.saturating_sub(narrow(gone)), r, max);
        }
        let serving: i64 = self.sets.iter().map(|s| i64::from(s.known_available())).sum();
        let mut spare = (serving - least).max(0);
        for (_, old) in self.sets.iter_mut().enumerate().filter(|(j, _)| *j != new) {
            let gone = i64::from(old.size).min(spare);
            spare -= gone;
            old.resize(old.size.saturating_sub(narrow(gone)), r, max);
        }
    }

    fn is_settled(&self) -> bool {
        self.observed && self.sets.iter().all(ReplicaSet::settled)
    }
}

impl Workload for Deployment {
    fn create(spec: Spec) -> Self {
        Self { spec, observed: false, sets: Vec::new(), status: (0, 0, 0, 0) }
    }

    fn standing(spec: Spec, standing: &Standing) -> Self {
        let mut made = Self { spec, observed: true, sets: Vec::new(), status: (0, 0, 0, 0) };
        let (r, max) = (made.spec.replicas, made.max());
        let set = |template, (size, available): (u32, u32)| ReplicaSet {
            template,
            size,
            desired: r,
            max,
            available,
            unavailable: size.saturating_sub(available),
            status: (size, available),
            observed: true,
            least: size,
        };
        let (old, new) = (set(standing.old, standing.old_pods), set(made.spec.template, standing.new_pods));
        made.sets = [old, new].into_iter().filter(|set| set.size > 0).collect();
        made.sync_status();
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
        let mut steps = Vec::new();
        let mut synced = self.clone();
        synced.sync();
        steps.push(synced);
        for i in 0..self.sets.len() {
            let mut turned = self.clone();
            turned.sets[i].turn();
            steps.push(turned);
        }
        steps.retain(|s| s != self);
        steps
    }

    fn pods(&self) -> Vec<Pod> {
        let pods =
            |set: &ReplicaSet, n: u32, available| vec![Pod { template: set.template, available }; n as usize];
        self.sets
            .iter()
            .flat_map(|s| [pods(s, s.available, true), pods(s, s.unavailable, false)].concat())
            .collect()
    }

    fn ready(&mut self, nth: u32) -> bool {
        let mut nth = nth;
        for set in &mut self.sets {
            if nth < set.unavailable {
                set.unavailable -= 1;
                set.available += 1;
                return true;
            }
            nth -= set.unavailable;
        }
        false
    }

    fn crash(&mut self, nth: u32) -> bool {
        let mut nth = nth;
        for set in &mut self.sets {
            if nth < set.available {
                set.available -= 1;
                set.unavailable += 1;
                return true;
            }
            nth -= set.available;
        }
        false
    }

    fn evict(&mut self, nth: u32) -> bool {
        let mut nth = nth;
        for set in &mut self.sets {
            if nth < set.available {
                set.available -= 1;
                return true;
            }
            nth -= set.available;
        }
        false
    }

    fn is_whole(&self) -> bool {
        self.sets.iter().all(|s| s.unavailable == 0 && s.available == s.size && s.status == (s.size, s.size))
    }

    fn report(&self) -> Option<Observation> {
        if !self.observed {
            return None;
        }
        let settled = self.is_settled();
        let (total, updated, available, unavailable) = if settled {
            let total: u32 = self.sets.iter().map(|s| s.status.0).sum();
            let available: u32 = self.sets.iter().map(|s| s.status.1).sum();
            (total, self.new_set().map_or(0, |i| self.sets[i].status.0), available, total - available)
        } else {
            self.status
        };
        Some(Observation {
            replicas: self.spec.replicas,
            total,
            available,
            updated,
            updated_available: None,
            under_way: 0,
            creates_updated: false,
            unavailable: Some(unavailable),
            template: hash(self.spec.template),
            acknowledged: self.spec.lease,
            strategy: self.spec.strategy.clone(),
            settled,
            sequence: 0,
        })
    }
}

fn narrow(n: i64) -> u32 {
    u32::try_from(n.max(0)).unwrap_or(u32::MAX)
}
