//! The rules: removals tried one after the other on top of an account, without touching it. One pod for an
//! admission request, all pods of an instance for the planner and for the shell that carries out its plan.

use std::collections::{BTreeMap, BTreeSet};

use super::account::{Account, Entry, NotYet, Unit};
use super::decide::FreeReason;
use super::observe::Pod;
use super::promise::{MAX_PROMISES, Promise, Write};
use super::remove::{Shortage, ShortageCause};
use super::spec::Operation;
use crate::snapshot::Uid;
use crate::time::{Millis, Time};

/// What became of one pod of a sequence.
pub(super) enum Step {
    Free(FreeReason),
    Pays,
    Short(Shortage),
    ReadAgain(NotYet),
}

/// Removals tried one after the other on top of an account, which stays as it is.
pub(super) struct Sequence<'a> {
    account: &'a Account,
    operation: Operation,
    now: Time,
    /// Whether a unit that looks broken may be believed to be.
    live: bool,
    /// Whether to pay again rather than to rely on somebody else's promise, which may be old in a moment.
    renew: bool,
    tried: BTreeSet<Uid>,
    pub(super) lo: BTreeMap<usize, u32>,
    pub(super) put: BTreeMap<Uid, Promise>,
    /// Put in the account only: there is no room in the status, and the removal may not be refused.
    unwritten: BTreeSet<Uid>,
    pub(super) share: BTreeSet<Uid>,
    pub(super) paid_units: BTreeSet<usize>,
    pub(super) available: u32,
}

/// A rule that applied, and the promise of another pod it relies on.
enum Ruling {
    Free(FreeReason, Option<Uid>),
    Pays,
    Short(ShortageCause),
    ReadAgain(NotYet),
}

impl<'a> Sequence<'a> {
    /// For a whole instance: all of its promises are to be as new as can be, so that the deletes that
    /// follow are not refused half way.
    pub(super) fn of_instance(account: &'a Account, operation: Operation, now: Time, live: bool) -> Self {
        Self { renew: true, ..Self::new(account, operation, now, live) }
    }

    pub(super) fn new(account: &'a Account, operation: Operation, now: Time, live: bool) -> Self {
        Self {
            account,
            operation,
            now,
            live,
            renew: false,
            tried: BTreeSet::new(),
            lo: BTreeMap::new(),
            put: BTreeMap::new(),
            unwritten: BTreeSet::new(),
            share: BTreeSet::new(),
            paid_units: BTreeSet::new(),
            available: account.available,
        }
    }

    /// Tries one more pod. The same pod twice costs once.
    pub(super) fn step(&mut self, uid: &Uid) -> Step {
        let account = self.account;
        let Some((entry, unit)) = account.entry(uid) else { return Step::Free(FreeReason::NotCovered) };
        if let Some(why) = account.not_yet {
            return Step::ReadAgain(why);
        }
        if !self.tried.insert(uid.clone()) {
            return Step::Free(FreeReason::UnitLeaving);
        }
        match self.rule(uid, entry, unit) {
            Ruling::ReadAgain(why) => Step::ReadAgain(why),
            Ruling::Short(cause) => Step::Short(self.shortage(entry, unit, cause)),
            Ruling::Pays => self.admit(uid, entry, unit, None),
            Ruling::Free(reason, relied) => {
                self.share.extend(relied);
                self.admit(uid, entry, unit, Some(reason))
            }
        }
    }

    /// What frees a pod whatever its unit is like.
    fn exempt(&self, pod: &Pod) -> Option<FreeReason> {
        let reasons = [
            (!self.account.spec().protects(self.operation), FreeReason::OperationNotProtected),
            (pod.opted_out, FreeReason::OptedOut),
            (pod.terminating, FreeReason::Terminating),
            (!pod.ready, FreeReason::NotReady),
            (pod.controller_gone, FreeReason::ControllerGone),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }

    /// The rules, in order. The first that applies decides.
    fn rule(&self, uid: &Uid, entry: &Entry, unit: &Unit) -> Ruling {
        if let Some(reason) = self.exempt(&entry.pod) {
            return Ruling::Free(reason, None);
        }
        let promise = entry.promise.as_ref();
        let lo = self.lo_of(entry.unit, unit);
        let under = lo < unit.min_ready;
        let old = promise.is_some_and(|promise| !promise.is_young(self.now));
        let paid_here = self.paid_units.contains(&entry.unit);
        let affordable = self.others(lo, unit) >= self.account.desired();
        if self.renew && under && !paid_here && !old && affordable && unit.all >= unit.min_ready {
            return Ruling::Pays;
        }
        if promise.is_some_and(|promise| promise.paid) && !old {
            return Ruling::Free(FreeReason::AlreadyPaid, None);
        }
        if under {
            if paid_here {
                return Ruling::Free(FreeReason::UnitLeaving, None);
            }
            if let Some(relied) = self.paid_neighbour(uid, unit) {
                return Ruling::Free(FreeReason::UnitLeaving, Some(relied));
            }
        }
        if unit.all < unit.min_ready {
            // A view that is merely old shows a unit broken that has long been whole.
            return if self.live {
                Ruling::Free(FreeReason::UnitBroken, None)
            } else {
                Ruling::ReadAgain(NotYet::NeedsLiveView)
            };
        }
        if lo - self.weight(uid, entry).min(lo) >= unit.min_ready {
            return Ruling::Free(FreeReason::Surplus, None);
        }
        if old {
            // It may lapse at any moment, and the unit then counts as available again.
            return Ruling::Short(ShortageCause::PromiseOutstanding);
        }
        if affordable { Ruling::Pays } else { Ruling::Short(ShortageCause::Exhausted) }
    }

    /// The youngest promise that was paid for another pod of the unit, still standing and ready.
    fn paid_neighbour(&self, uid: &Uid, unit: &Unit) -> Option<Uid> {
        unit.promised
            .iter()
            .filter(|other| *other != uid)
            .filter_map(|other| self.account.entry(other))
            .filter(|(entry, _)| entry.pod.stands_ready())
            .filter_map(|(entry, _)| entry.promise.as_ref())
            .filter(|promise| promise.paid && promise.is_young(self.now))
            .max_by_key(|promise| promise.time)
            .map(|promise| promise.uid.clone())
    }

    fn lo_of(&self, index: usize, unit: &Unit) -> u32 {
        self.lo.get(&index).copied().unwrap_or(unit.lo)
    }

    /// Whether the pod is still counted in `lo`.
    fn weight(&self, uid: &Uid, entry: &Entry) -> u32 {
        u32::from(entry.pod.stands_ready() && entry.promise.is_none() && !self.put.contains_key(uid))
    }

    /// Available units besides this one.
    fn others(&self, lo: u32, unit: &Unit) -> u32 {
        self.available - u32::from(lo >= unit.min_ready).min(self.available)
    }

    fn admit(&mut self, uid: &Uid, entry: &Entry, unit: &Unit, free: Option<FreeReason>) -> Step {
        let promise = self.promise(uid, entry, unit, free);
        if let Some(promise) = promise {
            if entry.promise.is_none() && self.promises_held() >= MAX_PROMISES {
                if !matches!(free, Some(FreeReason::OperationNotProtected | FreeReason::OptedOut)) {
                    return Step::Short(self.shortage(entry, unit, ShortageCause::TooManyPromises));
                }
                self.unwritten.insert(uid.clone());
            }
            let lo = self.lo_of(entry.unit, unit);
            let left = lo - self.weight(uid, entry).min(lo);
            if lo >= unit.min_ready && left < unit.min_ready {
                self.available = self.available.saturating_sub(1);
            }
            self.lo.insert(entry.unit, left);
            self.put.insert(uid.clone(), promise);
        } else if entry.promise.as_ref().is_some_and(|own| !own.shared) && !entry.pod.terminating {
            self.share.insert(uid.clone());
        }
        if let Some(reason) = free {
            return Step::Free(reason);
        }
        self.paid_units.insert(entry.unit);
        Step::Pays
    }

    /// The promise to write, if any.
    ///
    /// A young promise of the pod's own is relied on as it stands, and shared: its time must not move, or
    /// requests in a row would keep a paid promise young for ever without paying. An old one is written
    /// anew, unpaid, since it might lapse before this removal arrives. Whatever replaces another request's promise is shared
    /// from the start: giving it back would take away that other one as well. Its time is always later, also
    /// when this clock is behind the other's: by its time the controller knows it for a new one.
    ///
    /// None for a pod that is terminating, and for the delete of one that is not ready: a delete is
    /// admitted for the very object it was shown, so the pod cannot become ready in between. An eviction
    /// only names it.
    fn promise(&self, uid: &Uid, entry: &Entry, unit: &Unit, free: Option<FreeReason>) -> Option<Promise> {
        let pod = &entry.pod;
        if pod.terminating || (!pod.ready && self.operation == Operation::Delete) {
            return None;
        }
        let renewed = |own: &Promise| self.renew && (!own.paid || self.paid_units.contains(&entry.unit));
        let relies = entry.promise.as_ref().is_some_and(|own| own.is_young(self.now) && !renewed(own));
        if free.is_some() && relies {
            return None;
        }
        Some(Promise {
            pod: pod.name.clone(),
            uid: uid.clone(),
            time: entry.promise.as_ref().map_or(self.now, |own| self.now.max(own.time + Millis(1))),
            unit: unit.key.clone(),
            operation: self.operation,
            paid: free.is_none(),
            shared: entry.promise.is_some(),
            by: String::new(),
        })
    }

    fn promises_held(&self) -> usize {
        let added =
            self.put.keys().filter(|uid| !self.account.is_promised(uid) && !self.unwritten.contains(*uid));
        self.account.promises + added.count()
    }

    fn shortage(&self, entry: &Entry, unit: &Unit, cause: ShortageCause) -> Shortage {
        let has = self.others(self.lo_of(entry.unit, unit), unit);
        Shortage::new(self.account, entry, cause, has, self.now)
    }

    /// All promises of a unit that is paid for here say so, also those of pods that were
    /// surplus a moment before: once the first is gone, each of the others must still be let through.
    pub(super) fn mark_paid(&mut self) {
        for (uid, promise) in &mut self.put {
            let unit = self.account.entry(uid).map(|(entry, _)| entry.unit);
            promise.paid |= unit.is_some_and(|unit| self.paid_units.contains(&unit));
        }
    }

    pub(super) fn into_write(mut self) -> Write {
        self.mark_paid();
        let account = self.account;
        let unshared = |uid: &Uid| {
            account.entry(uid).and_then(|(entry, _)| entry.promise.as_ref()).is_some_and(|own| !own.shared)
        };
        Write {
            share: self.share.into_iter().filter(unshared).collect(),
            put: self.put.into_values().filter(|promise| !self.unwritten.contains(&promise.uid)).collect(),
        }
    }
}
