//! What must hold at every instant, whatever happens to the messages.
//!
//! A user's change may make a bound tighter than what stands; then what stands, and what was leased under the
//! old wish, is the bound, and it only ever moves towards the wanted one. Pods that faults took are excused
//! until their cluster is whole again.

use std::collections::BTreeMap;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::workload::{Template, Workload, template};
use super::world::{Site, World};
use crate::align::{Entry, Kind, Ledger, Totals, Wish, align};

/// What is promised of a rollout over clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Bound {
    /// No more than `maxUnavailable` pods of the sum are unavailable.
    Unavailable,
    /// No more than `maxSurge` pods of the sum stand beyond the replicas.
    Surge,
    /// As many pods of the sum stay old as the partition says.
    Partition,
    /// It comes to its end.
    Convergence,
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Breach {
    /// Which.
    pub bound: Bound,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// The bounds of the sum as they are now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Promise {
    /// The least that is available.
    pub floor: i64,
    /// The most that stand.
    pub ceiling: i64,
    /// The most that are new; none where nothing is kept old.
    pub new: Option<i64>,
    /// R − U, R + S, R − P.
    wanted: (i64, i64, i64),
    /// Old pods that faults took: where the wanted template is also the one before (A→B→A), they may come back
    /// new, and stay so.
    pub old_lost: i64,
    /// How many new pods a reported excess amounts to.
    said: i64,
}

/// What stands, bounded by what the live leases let it become.
#[derive(Debug, Clone, Copy, Default)]
struct Committed {
    floor: i64,
    ceiling: i64,
    new: i64,
}

fn committed<W: Workload>(sites: &BTreeMap<String, Site<W>>, ledger: &Ledger, wanted: Template) -> Committed {
    let mut sum = Committed::default();
    let unknown = Entry::default();
    for (name, site) in sites {
        let live = &ledger.members.get(name).unwrap_or(&unknown).live;
        let (available, total, new) = site.workload.as_ref().map_or((0, 0, 0), |w| {
            (i64::from(w.available()), i64::from(w.total()), i64::from(w.of_template(wanted)))
        });
        // Before it is taken over it has the size its manifest says.
        let size = site.workload.as_ref().map_or(0, |w| i64::from(w.spec().replicas));
        let low = live.iter().map(|l| i64::from(l.replicas)).min().unwrap_or(size);
        let down = live.iter().map(|l| i64::from(l.unavailable)).max().unwrap_or(0);
        sum.floor += available.min(low - down).max(0);
        sum.ceiling += live.iter().map(|l| i64::from(l.replicas + l.surge)).max().unwrap_or(size).max(total);
        let grown = live.iter().map(|l| i64::from(l.replicas)).max().unwrap_or(size);
        let leased =
            live.iter().filter(|l| template(&l.template) == wanted).map(|l| i64::from(l.updated)).max();
        sum.new += if new == total { new.max(grown) } else { new.max(leased.unwrap_or(0)) };
        // While another template may be in force, what it creates as old may be what is wanted now (A→B→A).
        let other = live.iter().any(|l| template(&l.template) != wanted)
            || site.workload.as_ref().is_some_and(|w| w.spec().template != wanted);
        if other && new != total {
            sum.new += (grown.max(size) - total).max(0);
        }
    }
    sum
}

fn totals(wish: &Wish) -> Totals {
    align(wish, &BTreeMap::new(), &Ledger::default()).totals
}

impl Promise {
    /// The bounds after the wish has changed.
    pub fn after_change<W: Workload>(world: &World<W>) -> Self {
        let t = totals(&world.wish);
        let [r, u, s, p] = [t.replicas, t.max_unavailable, t.max_surge, t.partition].map(i64::from);
        let now = committed(&world.sites, &world.ledger, world.wanted());
        Self {
            floor: now.floor.min(r - u),
            ceiling: now.ceiling.max(r + s),
            new: (world.wish.kind != Kind::Deployment && p > 0).then_some(now.new.max(r - p)),
            wanted: (r - u, r + s, r - p),
            old_lost: world.promise.old_lost,
            said: 0,
        }
    }

    /// A member in which nothing old is left can only grow new pods: said aloud, it is allowed, as far as was
    /// said.
    pub fn partition_exceeded(&mut self, said: i64) {
        self.said = self.said.max(said);
    }

    /// How many pods must be new in the end.
    pub fn least_new(&self) -> i64 {
        self.wanted.2
    }

    /// Moves the bounds towards the wanted ones as far as what stands allows, then judges.
    pub fn judge<W: Workload>(
        &mut self,
        sites: &BTreeMap<String, Site<W>>,
        ledger: &Ledger,
        wish: &Wish,
    ) -> Option<Breach> {
        let wanted = template(&wish.template);
        let now = committed(sites, ledger, wanted);
        self.floor = self.floor.max(now.floor.min(self.wanted.0));
        let lost: i64 = sites.values().map(|s| i64::from(s.lost)).sum();
        if lost == 0 {
            // Pods that were lost come back; what stands without them bounds nothing.
            self.ceiling = self.ceiling.min(now.ceiling.max(self.wanted.1));
            self.new = self.new.map(|new| new.min(now.new.max(self.wanted.2)));
        }
        self.new = self.new.map(|new| new.max(self.said));
        let sum = |count: &dyn Fn(&W) -> u32| -> i64 {
            sites.values().filter_map(|s| s.workload.as_ref()).map(|w| i64::from(count(w))).sum()
        };
        let available = sum(&W::available);
        if available + lost < self.floor {
            let detail = format!("{available} available, {lost} lost, floor {}", self.floor);
            return Some(Breach { bound: Bound::Unavailable, detail });
        }
        let total = sum(&W::total);
        if total > self.ceiling {
            let detail = format!("{total} pods, ceiling {}", self.ceiling);
            return Some(Breach { bound: Bound::Surge, detail });
        }
        let new = sum(&|w| w.of_template(wanted));
        match self.new {
            Some(bound) if new > bound + lost + self.old_lost => {
                let detail = format!("{new} new pods, bound {bound}");
                Some(Breach { bound: Bound::Partition, detail })
            }
            _ => None,
        }
    }
}
