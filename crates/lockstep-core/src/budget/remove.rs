//! The planner's side: spending an account, an instance at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::account::{Account, Entry, NotYet, Unit};
use super::memory::count;
use super::observe::UnitKey;
use super::promise::{LAPSE, Promise};
use super::sequence::{Sequence, Step};
use super::spec::Operation;
use crate::snapshot::Uid;
use crate::time::{Millis, Time};

/// Why a removal was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ShortageCause {
    /// Too few other units are available.
    Exhausted,
    /// The pod was admitted for removal some time ago and still stands.
    PromiseOutstanding,
    /// The budget can hold no more promises.
    TooManyPromises,
    /// Nothing may be decided from what is known.
    NotYet(NotYet),
}

/// A removal that may not go ahead now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// The budget that refuses.
    pub budget: String,
    /// The unit that would become unavailable.
    pub unit: Box<UnitKey>,
    /// The pod it was about.
    pub pod: String,
    /// How many other units must be available.
    pub needs: u32,
    /// How many are.
    pub has: u32,
    /// Whether waiting cannot help: it would not fit even with every expected unit available.
    pub never: bool,
    /// Why.
    pub cause: ShortageCause,
    /// When to ask again.
    pub retry_after: Millis,
}

impl Shortage {
    pub(super) fn new(account: &Account, entry: &Entry, cause: ShortageCause, has: u32, now: Time) -> Self {
        let unit = account.units.get(entry.unit).map(|unit| unit.key.clone());
        Self {
            budget: account.budget().to_owned(),
            unit: Box::new(unit.unwrap_or_else(|| entry.pod.unit(false))),
            pod: entry.pod.name.clone(),
            needs: account.desired(),
            has,
            never: false,
            cause,
            retry_after: retry_after(cause, entry.promise.as_ref(), now),
        }
    }
}

/// A refused drain asks again every few seconds by itself; an outstanding promise is worth no question
/// before it can have lapsed.
fn retry_after(cause: ShortageCause, promise: Option<&Promise>, now: Time) -> Millis {
    match (cause, promise) {
        (ShortageCause::PromiseOutstanding, Some(promise)) => {
            (LAPSE - now.since(promise.time)).max(Millis::seconds(1))
        }
        (ShortageCause::NotYet(_), _) => Millis::seconds(2),
        _ => Millis::seconds(10),
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, unit, pod, needs, has, .. } = self;
        write!(f, "budget {budget}: removing pod {pod} would make {unit} unavailable; ")?;
        write!(f, "it needs {needs} other units available and has {has}")?;
        match self.cause {
            ShortageCause::Exhausted if self.never => {
                f.write_str("; this can never fit, even with every expected unit available")
            }
            ShortageCause::Exhausted => Ok(()),
            ShortageCause::PromiseOutstanding => f.write_str(
                "; the pod was admitted for removal before and still stands, wait until that lapses",
            ),
            ShortageCause::TooManyPromises => f.write_str("; too many removals are under way at once"),
            ShortageCause::NotYet(why) => write!(f, "; {why}"),
        }
    }
}

impl std::error::Error for Shortage {}

/// What removing some pods takes from one budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Units that would become unavailable.
    pub units: u32,
    /// Why they may not go now, if so; then `units` counts up to there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<Shortage>,
}

impl Account {
    pub(super) fn entry(&self, pod: &Uid) -> Option<(&Entry, &Unit)> {
        let entry = self.pods.get(pod)?;
        Some((entry, self.units.get(entry.unit)?))
    }

    pub(super) fn is_promised(&self, pod: &Uid) -> bool {
        self.pods.get(pod).is_some_and(|entry| entry.promise.is_some())
    }

    /// The refusal to give when a decision needed another read and there is no time for one.
    pub fn gave_up(&self, pod: &Uid, why: NotYet, now: Time) -> Option<Shortage> {
        let (entry, unit) = self.entry(pod)?;
        let has = self.available - u32::from(unit.is_available()).min(self.available);
        Some(Shortage::new(self, entry, ShortageCause::NotYet(why), has, now))
    }

    /// What deleting these pods together would take, without taking it.
    pub fn cost_of_removing(&self, pods: &[Uid]) -> Cost {
        match self.plan(pods) {
            Ok(spending) => Cost { units: spending.units, shortage: None },
            Err((units, shortage)) => Cost { units, shortage: Some(shortage) },
        }
    }

    /// Whose removal has been admitted and is not over: the pod, and who asked.
    pub fn holders(&self) -> impl Iterator<Item = (&str, &str)> {
        let promises = self.pods.values().filter_map(|entry| entry.promise.as_ref());
        promises.map(|promise| (promise.pod.as_str(), promise.by.as_str()))
    }

    /// Deletes these pods from the account, one after the other: all of them or none.
    pub fn try_remove(&mut self, pods: &[Uid]) -> Result<(), Shortage> {
        let spending = self.plan(pods).map_err(|(_, shortage)| shortage)?;
        self.spend(spending);
        Ok(())
    }

    /// The planner takes its view for a live one: a plan is only made from a view that contains our own
    /// writes, and the shell asks [`super::decide_instance`] again before it acts.
    fn plan(&self, pods: &[Uid]) -> Result<Spending, (u32, Shortage)> {
        let mut sequence = Sequence::of_instance(self, Operation::Delete, self.at, true);
        for pod in pods {
            let shortage = match sequence.step(pod) {
                Step::Free(_) | Step::Pays => continue,
                Step::Short(shortage) => shortage,
                Step::ReadAgain(why) => match self.gave_up(pod, why, self.at) {
                    Some(shortage) => shortage,
                    None => continue,
                },
            };
            let never = shortage.cause == ShortageCause::Exhausted && self.never_fits(pods);
            return Err((self.available.saturating_sub(sequence.available), Shortage { never, ..shortage }));
        }
        Ok(Spending::of(sequence, self.available))
    }

    /// Whether these pods are too many even at the best of times: every expected unit available, and as
    /// many more as stand now.
    fn never_fits(&self, pods: &[Uid]) -> bool {
        let mut taken = BTreeMap::<usize, (BTreeSet<&Uid>, bool)>::new();
        for pod in pods {
            if let Some((entry, _)) = self.entry(pod) {
                let (removed, pays) = taken.entry(entry.unit).or_default();
                removed.insert(pod);
                *pays |= !entry.pod.opted_out && !entry.pod.controller_gone;
            }
        }
        let units = taken.into_iter().filter(|(index, (removed, pays))| {
            let unit = self.units.get(*index);
            *pays
                && unit.is_some_and(|unit| {
                    let left = unit.pods.saturating_sub(count(removed.len()));
                    unit.pods >= unit.min_ready && left < unit.min_ready
                })
        });
        let at_best = self.expected().max(count(self.units.len()));
        self.desired().saturating_add(count(units.count())) > at_best
    }

    fn spend(&mut self, spending: Spending) {
        for (index, lo) in spending.lo {
            if let Some(unit) = self.units.get_mut(index) {
                unit.lo = lo;
            }
        }
        for promise in spending.put {
            let Some(entry) = self.pods.get_mut(&promise.uid) else { continue };
            if entry.promise.is_none() {
                self.promises += 1;
                if let Some(unit) = self.units.get_mut(entry.unit) {
                    unit.promised.push(promise.uid.clone());
                }
            }
            entry.promise = Some(promise);
        }
        for shared in spending.share {
            if let Some(promise) = self.pods.get_mut(&shared).and_then(|entry| entry.promise.as_mut()) {
                promise.shared = true;
            }
        }
        self.available = spending.available;
    }
}

/// A sequence that fits, ready to be taken from the account.
struct Spending {
    lo: Vec<(usize, u32)>,
    put: Vec<Promise>,
    share: Vec<Uid>,
    available: u32,
    units: u32,
}

impl Spending {
    fn of(mut sequence: Sequence<'_>, available: u32) -> Self {
        sequence.mark_paid();
        Self {
            units: available.saturating_sub(sequence.available),
            available: sequence.available,
            lo: sequence.lo.into_iter().collect(),
            put: sequence.put.into_values().collect(),
            share: sequence.share.into_iter().collect(),
        }
    }
}

/// Deletes the pods of an instance from every account: from all of them or from none. A pod an account does
/// not cover costs nothing there. Of several refusals the one that no waiting helps is told.
pub fn remove_all<'a>(
    accounts: &mut [Account],
    pods: impl IntoIterator<Item = &'a Uid>,
) -> Result<(), Shortage> {
    let pods: Vec<Uid> = pods.into_iter().cloned().collect();
    let mut spendings = Vec::with_capacity(accounts.len());
    let mut refused: Option<Shortage> = None;
    for account in accounts.iter() {
        match account.plan(&pods) {
            Ok(spending) => spendings.push(spending),
            Err((_, shortage)) if refused.as_ref().is_none_or(|first| shortage.never && !first.never) => {
                refused = Some(shortage);
            }
            Err(_) => {}
        }
    }
    if let Some(shortage) = refused {
        return Err(shortage);
    }
    for (account, spending) in accounts.iter_mut().zip(spendings) {
        account.spend(spending);
    }
    Ok(())
}
