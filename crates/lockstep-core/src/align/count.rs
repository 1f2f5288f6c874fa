//! One cluster as the aligner counts it: what it has, and the most and least that its live leases let it
//! become without another word from us.

use super::ledger::{Entry, Lease};
use super::model::{Kind, Observation, Reach, Report, TemplateHash, Wish};

/// A cluster during one alignment. Signed numbers, so that differences need no care.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub cluster: String,
    /// The template it is to carry.
    pub template: TemplateHash,
    /// Its share in the binding; nothing once it left.
    pub want: i64,
    /// It is no longer in the binding.
    pub leaving: bool,
    pub reach: Reach,
    /// The member sets its own replicas.
    pub retained: bool,
    /// It has reported at least once.
    pub heard: bool,
    /// Nothing was ever written for it and nothing stands there.
    pub fresh: bool,
    /// The counts are of the wanted template.
    pub current: bool,
    /// Every pod it creates is new, as it said itself.
    pub creates_new: bool,
    /// See [`Entry::is_inert`].
    pub inert: bool,
    pub settled: bool,
    /// The lease written last is in force, alone.
    pub acknowledged: bool,
    pub latest: Option<Lease>,
    pub live: usize,
    /// `spec.replicas` as observed.
    pub replicas: i64,
    pub total: i64,
    pub available: i64,
    pub updated: i64,
    pub updated_available: i64,
    /// Pods that only the rollout itself keeps from counting as available.
    pub under_way: i64,
    /// The largest and smallest over the live leases.
    pub max_unavailable: i64,
    pub max_surge: i64,
    pub min_replicas: i64,
    pub max_replicas: i64,
    /// The least the live leases let be available, losses apart.
    pub leased_floor: i64,
    /// The most the live leases let stand. Unlike the ceiling it does not know what was observed: while its
    /// ReplicaSets are not settled a Deployment may report pods that are no more.
    pub leased_ceiling: i64,
    /// The least that can be counted on: `Σ floor ≥ R − U`.
    pub floor: i64,
    /// The most that can come to stand: `Σ ceiling ≤ R + S`.
    pub ceiling: i64,
    /// What of U is in use here.
    pub used_unavailable: i64,
    /// What of S is in use here.
    pub used_surge: i64,
    /// The most pods that can come to be new: `Σ new ≤ R − P`.
    pub new: i64,
    /// The most pods a live lease lets be new.
    pub leased_new: i64,
    /// Its leases let everything become new, whether or not it has: see [`Self::may_grow_only_new`].
    pub may_be_all_new: bool,
    /// The replicas this alignment settles on.
    pub lease_replicas: i64,
    /// How many pods are to be new when the rollout ends.
    pub target: i64,
    pub complete: bool,
    /// It was granted so many to take away at a time, and does not know the field that says so.
    pub unheeded: Option<u32>,
}

impl Member {
    pub(super) fn count(
        wish: &Wish,
        cluster: &str,
        want: Option<u32>,
        entry: &Entry,
        report: &Report,
    ) -> Self {
        let seen = entry.seen.as_ref();
        let template = report.template.as_ref().unwrap_or(&wish.template);
        let current = entry.is_of(template);
        let (updated, updated_available) = match seen {
            Some(seen) if current => (i64::from(seen.updated), updated_available(seen)),
            _ => (0, 0),
        };
        let leases = || entry.live.iter();
        let replicas = seen.map_or(0, |s| i64::from(s.replicas));
        let min_replicas = leases().map(|l| i64::from(l.replicas)).min().unwrap_or(replicas);
        let max_replicas = leases().map(|l| i64::from(l.replicas)).max().unwrap_or(replicas);
        let mut member = Self {
            cluster: cluster.to_owned(),
            template: template.clone(),
            want: i64::from(want.unwrap_or(0)),
            leaving: want.is_none(),
            reach: report.reach,
            retained: report.replicas_retained,
            heard: seen.is_some(),
            fresh: seen.is_none() && entry.live.is_empty(),
            current,
            creates_new: current && seen.is_some_and(|s| s.creates_updated),
            inert: entry.is_inert(),
            settled: seen.is_some_and(|s| s.settled || wish.kind != Kind::Deployment),
            acknowledged: entry.is_acknowledged(),
            latest: entry.latest().cloned(),
            live: entry.live.len(),
            replicas,
            total: seen.map_or(0, |s| total(wish.kind, s)),
            available: seen.map_or(0, |s| i64::from(s.available)),
            updated,
            updated_available,
            under_way: seen.filter(|_| current).map_or(0, |s| i64::from(s.under_way)),
            max_unavailable: leases().map(|l| i64::from(l.unavailable)).max().unwrap_or(0),
            max_surge: leases().map(|l| i64::from(l.surge)).max().unwrap_or(0),
            min_replicas,
            max_replicas,
            leased_floor: 0,
            leased_ceiling: 0,
            floor: 0,
            ceiling: 0,
            used_unavailable: 0,
            used_surge: 0,
            new: 0,
            leased_new: 0,
            may_be_all_new: false,
            lease_replicas: entry.latest().map_or(0, |l| i64::from(l.replicas)),
            target: 0,
            complete: false,
            unheeded: unheeded(wish.kind, entry),
        };
        member.count_override(report);
        member.count_bounds(wish.kind, entry);
        member
    }

    /// An override's values are in force whatever is leased.
    fn count_override(&mut self, report: &Report) {
        let Some(strategy) = &report.overridden else { return };
        let of = u32::try_from(self.max_replicas.max(self.want)).unwrap_or(u32::MAX);
        let counted =
            |value: Option<crate::number::IntOrPercent>| value.map_or(0, |v| i64::from(v.ceil_of(of)));
        self.max_unavailable = self.max_unavailable.max(counted(strategy.max_unavailable));
        self.max_surge = self.max_surge.max(counted(strategy.max_surge));
    }

    fn count_bounds(&mut self, kind: Kind, entry: &Entry) {
        let floors = entry.live.iter().map(Lease::floor).min().unwrap_or(self.replicas);
        let by_readiness = self.scales_in_by_readiness(kind);
        // Unless pods that do not serve go first, a scale-in may remove as many that serve while the ones
        // rolling stay down: the smallest size and the largest grant count together, whichever leases they
        // are from, and every pod still to be removed counts as one that serves.
        self.leased_floor =
            if by_readiness { floors } else { floors.min(self.min_replicas - self.max_unavailable) };
        let removed = |l: &Lease| self.available - (self.total - l.ceiling()).max(0);
        let after_removal = entry.live.iter().map(removed).min().filter(|_| !by_readiness);
        let counted = self.leased_floor.min(self.available).min(after_removal.unwrap_or(self.available));
        // A member never heard from has nothing that can be counted on.
        self.floor = if self.heard { counted.max(0) } else { 0 };
        self.leased_ceiling = entry.live.iter().map(Lease::ceiling).max().unwrap_or(0);
        self.ceiling = self.total.max(self.leased_ceiling);
        self.used_unavailable =
            self.max_unavailable.max(if self.heard { self.replicas - self.available } else { 0 });
        self.used_surge = self.max_surge.max(self.total - self.replicas).max(0);
        let leased_new = || entry.live.iter().filter(|l| l.template == self.template);
        self.leased_new = leased_new().map(|l| i64::from(l.updated)).max().unwrap_or(0);
        self.new = self.updated.max(self.leased_new);
        let unknown = self.heard && !self.current && !entry.had_none_of(&self.template);
        self.may_be_all_new = !self.current || leased_new().any(|l| l.updated >= l.replicas);
        let grows = self.max_replicas > self.min_replicas.min(self.replicas);
        if unknown {
            self.new = self.new.max(self.max_replicas).max(self.total);
        } else if self.grows_only_new() || (grows && self.may_be_all_new) {
            self.new = self.new.max(self.new_at(self.max_replicas));
        }
    }

    /// How many pods can come to be new at a size if all that is created is new: all but the old ones that no
    /// live lease lets be updated or removes.
    pub(super) fn new_at(&self, replicas: i64) -> i64 {
        self.all_but_old(replicas, self.updated.max(self.leased_new))
    }

    /// How many must be new at a size in that case, with every old pod that stands kept.
    pub(super) fn least_new_at(&self, replicas: i64) -> i64 {
        self.all_but_old(replicas, self.updated)
    }

    fn all_but_old(&self, replicas: i64, new: i64) -> i64 {
        let old = if self.current { self.total - new } else { 0 };
        let removed = (self.total - self.min_replicas).max(0);
        (replicas - (old - removed).max(0)).max(self.updated)
    }

    /// Whether scaling in takes first what does not serve.
    pub(super) fn scales_in_by_readiness(&self, kind: Kind) -> bool {
        kind.scales_in_by_readiness() || (kind == Kind::Deployment && self.inert)
    }

    /// Whether every pod it may still create is new, partition or not: it says so, or nothing old stands there.
    pub(super) fn grows_only_new(&self) -> bool {
        let nothing_old = self.current && self.updated == self.total && self.total >= self.replicas;
        let nothing_left = self.min_replicas == 0 || (self.total == 0 && !self.current);
        !self.heard || nothing_left || nothing_old || self.creates_new
    }

    /// Whether it may come to be so before what we write now is in force there.
    pub(super) fn may_grow_only_new(&self) -> bool {
        self.may_be_all_new || self.grows_only_new()
    }

    /// Whether a lease written now would be applied by something whose counts we know (or would create it).
    pub(super) fn can_be_steered(&self) -> bool {
        self.reach == Reach::Reachable && (self.heard || self.fresh)
    }

    /// Arrived: enough new pods serve and nothing is left over. Whether the lease that says so has been
    /// acknowledged does not matter. Replicas must have arrived too (a member on its way from one size to
    /// another still needs its slack), and no live lease may let more pods be new than are to be.
    pub(super) fn has_arrived(&self) -> bool {
        if self.want == 0 {
            return self.fresh || (self.heard && self.max_replicas == 0 && self.total == 0);
        }
        let sized = self.retained || (self.replicas == self.want && self.max_replicas == self.want);
        self.current
            && self.settled
            && sized
            && self.min_replicas == self.max_replicas
            && self.updated_available >= self.target
            && self.total <= self.replicas
            && self.new <= self.target.max(self.updated)
    }
}

/// What a StatefulSet was granted and its API server threw away: without its feature gate there is no such field. One at
/// a time is what it does anyway.
fn unheeded(kind: Kind, entry: &Entry) -> Option<u32> {
    let in_force = entry.latest().filter(|_| kind == Kind::StatefulSet && entry.is_acknowledged())?;
    let dropped = entry.seen.as_ref().is_some_and(|seen| seen.strategy.max_unavailable.is_none());
    Some(in_force.unavailable).filter(|granted| dropped && *granted > 1)
}

/// The pods that stand, or that a Deployment has already told its ReplicaSets to make.
fn total(kind: Kind, seen: &Observation) -> i64 {
    let counted = i64::from(seen.total);
    match (kind, seen.unavailable) {
        (Kind::Deployment, Some(unavailable)) => {
            counted.max(i64::from(seen.available) + i64::from(unavailable))
        }
        _ => counted,
    }
}

/// New and available pods; where it is not reported, the least it can be.
fn updated_available(seen: &Observation) -> i64 {
    let old = i64::from(seen.total) - i64::from(seen.updated);
    let least = (i64::from(seen.available) - old).max(0);
    seen.updated_available.map_or(least, i64::from).min(i64::from(seen.updated))
}

/// The sums the promises are about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub floor: i64,
    pub ceiling: i64,
    pub used_unavailable: i64,
    pub used_surge: i64,
    pub new: i64,
}

impl Sums {
    pub(super) fn over(members: &[Member]) -> Self {
        members.iter().fold(Self::default(), |sums, m| sums.with(m))
    }

    pub(super) fn with(self, m: &Member) -> Self {
        Self {
            floor: self.floor + m.floor,
            ceiling: self.ceiling + m.ceiling,
            used_unavailable: self.used_unavailable + m.used_unavailable,
            used_surge: self.used_surge + m.used_surge,
            new: self.new + m.new,
        }
    }

    pub(super) fn without(self, m: &Member) -> Self {
        Self {
            floor: self.floor - m.floor,
            ceiling: self.ceiling - m.ceiling,
            used_unavailable: self.used_unavailable - m.used_unavailable,
            used_surge: self.used_surge - m.used_surge,
            new: self.new - m.new,
        }
    }
}
