//! Promises: removals that were admitted and have not been seen yet.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::account::{Account, NotYet};
use super::memory::Memory;
use super::observe::{Pod, UnitKey, Version, View};
use super::spec::{BudgetSpec, Operation};
use crate::snapshot::Uid;
use crate::time::{Millis, Time};

/// How long other requests may rely on a paid promise. What relies on it must be over before [`LAPSE`]: that
/// holds while the clocks of any two replicas differ by less than 30 seconds and no request takes longer
/// than 60.
pub const YOUNG: Millis = Millis::seconds(30);

/// How long after the controller first saw it a promise whose pod simply stays is kept.
pub const LAPSE: Millis = Millis::seconds(120);

/// How many promises one budget holds. They live in the status of one object, whose size is limited.
pub const MAX_PROMISES: usize = 2_000;

/// One admitted removal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Promise {
    /// The pod's name, for people.
    pub pod: String,
    /// The pod. One that comes back under the same name has no part in the promise.
    pub uid: Uid,
    /// When, on the clock of whoever wrote it. With the UID it says which promise this is, so it has to be
    /// stored to the millisecond.
    pub time: Time,
    /// The unit it belongs to.
    pub unit: UnitKey,
    /// What was admitted.
    pub operation: Operation,
    /// Whether the unit was paid for with it.
    pub paid: bool,
    /// Whether another request than the one that wrote it relies on it: then it is never given back.
    #[serde(default)]
    pub shared: bool,
    /// Who asked, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

impl Promise {
    /// Whether others may still rely on it. One from a clock ahead of ours counts as new.
    pub fn is_young(&self, now: Time) -> bool {
        now.since(self.time) < YOUNG
    }
}

/// What a budget keeps in its status between decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetState {
    /// Promises by pod.
    #[serde(default)]
    pub promises: BTreeMap<Uid, Promise>,
    /// Units seen so far.
    #[serde(default)]
    pub memory: Memory,
    /// The view all of this rests on; nobody decides from an older one.
    #[serde(default)]
    pub rests_on: Version,
}

/// One budget: what it asks for and what it remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Namespace and name, as messages say it.
    pub name: String,
    /// What it asks for.
    pub spec: BudgetSpec,
    /// The spec's generation.
    #[serde(default)]
    pub generation: i64,
    /// The generation its status was computed for.
    #[serde(default)]
    pub observed_generation: i64,
    /// What it remembers.
    #[serde(default)]
    pub state: BudgetState,
}

/// What an admitted removal changes in a budget's status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    /// Promises to put.
    #[serde(default)]
    pub put: Vec<Promise>,
    /// Promises of others to mark as shared.
    #[serde(default)]
    pub share: BTreeSet<Uid>,
}

impl Write {
    /// The same, with a word on who asked.
    pub fn asked_by(mut self, who: &str) -> Self {
        self.put.iter_mut().for_each(|promise| who.clone_into(&mut promise.by));
        self
    }

    /// Whether there is nothing to write. The removal may then go ahead without a compare-and-swap: its pod
    /// is counted by nobody, because it is terminating, not ready, or promised and shared already.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.share.is_empty()
    }
}

impl BudgetState {
    /// Takes down what was decided from `account`. To be written by compare-and-swap against the very
    /// version of the budget the account was made from.
    ///
    /// Memory goes along: a unit that only this view has shown must not be forgotten when it is gone.
    pub fn record(&mut self, account: &Account, write: &Write) {
        for uid in &write.share {
            if let Some(promise) = self.promises.get_mut(uid) {
                promise.shared = true;
            }
        }
        self.promises.extend(write.put.iter().map(|promise| (promise.uid.clone(), promise.clone())));
        self.memory = account.memory().clone();
        self.rests_on = self.rests_on.max(account.since());
    }

    /// Takes back the promises a request wrote, because another budget refused it; says how many. Only those
    /// that still stand exactly as written: one that somebody relies on, or wrote anew, has to lapse. What
    /// the request merely shared belongs to somebody else.
    pub fn give_back(&mut self, written: &Write) -> usize {
        let before = self.promises.len();
        for promise in written.put.iter().filter(|promise| !promise.shared) {
            if self.promises.get(&promise.uid) == Some(promise) {
                self.promises.remove(&promise.uid);
            }
        }
        before - self.promises.len()
    }
}

/// What the controller ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Kept: the pod is gone.
    pub kept: Vec<Promise>,
    /// Lapsed: the pod was never taken away. Worth an event.
    pub lapsed: Vec<Promise>,
    /// How many are due to lapse and wait for a live view: list the pods now, and prune again.
    #[serde(default)]
    pub overdue: u32,
}

/// The controller's own memory of promises. It is not stored: after a restart every promise has its whole
/// time again, which delays and never breaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Controller {
    first_seen: BTreeMap<Uid, (Time, Time)>,
}

impl Controller {
    /// Ends the promises whose pods are gone, and those that lapsed on the controller's own clock.
    ///
    /// That a pod stays is believed only of a live view, listed after the budget was read: in a cache that
    /// has stood still for two minutes every pod stays. The state then rests on that view, and a replica
    /// whose cache stands still as well has to read again.
    ///
    /// A pod on its way out holds its promise however long that takes. An in-place update's promise ends
    /// the same way, never because the pod was seen unready: that may have been a blink before the update
    /// arrived. Refuses a view older than the one the state rests on.
    pub fn prune(&mut self, budget: &mut Budget, view: &View, now: Time) -> Result<Pruned, NotYet> {
        let state = &mut budget.state;
        if view.version < state.rests_on {
            return Err(NotYet::ViewTooOld { need: state.rests_on });
        }
        let pods: BTreeMap<&Uid, &Pod> = view.pods.iter().map(|pod| (&pod.uid, pod)).collect();
        let mut pruned = Pruned::default();
        state.promises.retain(|uid, promise| match pods.get(uid) {
            None => {
                pruned.kept.push(promise.clone());
                false
            }
            Some(pod) => {
                let due = self.waited(promise, now) >= LAPSE && !pod.terminating;
                if due && view.live {
                    pruned.lapsed.push(promise.clone());
                }
                pruned.overdue += u32::from(due && !view.live);
                !(due && view.live)
            }
        });
        self.first_seen.retain(|uid, _| state.promises.contains_key(uid));
        state.memory = state.memory.observe(view, budget.spec.pod_group_policy.is_some());
        state.rests_on = state.rests_on.max(view.since);
        budget.observed_generation = budget.generation;
        Ok(pruned)
    }

    /// How long this very promise has been known here; a rewritten one starts anew.
    fn waited(&mut self, promise: &Promise, now: Time) -> Millis {
        let seen = self.first_seen.entry(promise.uid.clone()).or_insert((promise.time, now));
        if seen.0 != promise.time {
            *seen = (promise.time, now);
        }
        now.since(seen.1)
    }
}
