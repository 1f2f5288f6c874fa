//! Keeps the status of every budget: counts, ends promises, and says what a person should know. Only the leader does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::api::PostParams;
use lockstep_api::budget::{PodUnavailableBudget, PodUnavailableBudgetStatus};
use lockstep_core::budget::{Account, Controller, LAPSE, NotYet, Pruned, Version, View, account};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::book::{Book, Key, Known};
use super::clerk::Clerk;
use super::sources::Freshness;
use super::status::put_down;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::report::{Herald, Note};

/// News that arrive together are counted together.
const GATHER: Duration = Duration::from_millis(5);
/// A status is written at most so often; promises are written by whoever makes them.
const PACE: Duration = Duration::from_millis(200);
/// The pause after a failure; it doubles.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a watch that is behind is given to catch up before pods are listed.
const CATCH_UP: Duration = Duration::from_millis(500);

/// What all budgets are kept with.
pub struct Steward {
    /// Reads and counts.
    pub clerk: Arc<Clerk>,
    /// Sends events.
    pub herald: Herald,
    /// Measures.
    pub metrics: Metrics,
    /// Whether we still may write.
    pub sure: Arc<dyn Fn() -> bool + Send + Sync>,
    /// What time it is.
    pub clock: Clock,
}

/// A turn that could not be ended.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("the ledger in its status cannot be written: {0}")]
    Ledger(#[from] serde_json::Error),
}

impl Steward {
    /// Keeps all budgets, for ever.
    pub async fn run(self: Arc<Self>) {
        let book = Arc::clone(self.clerk.book());
        book.filled().await;
        let mut keepers: BTreeMap<Key, tokio::task::AbortHandle> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        loop {
            let keys = book.keys();
            keepers.retain(|key, keeper| {
                let stays = keys.contains(key);
                if !stays {
                    keeper.abort();
                    self.metrics.forget_budget(&key.0, &key.1);
                }
                stays
            });
            for key in keys {
                let (steward, bell) = (Arc::clone(&self), book.bell(&key));
                keepers.entry(key.clone()).or_insert_with(|| tasks.spawn(keep(steward, key, bell)));
            }
            tokio::select! {
                () = book.appeared() => {}
                Some(ended) = tasks.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!(%error, "whoever kept a budget broke down");
                    }
                    keepers.retain(|_, keeper| !keeper.is_finished());
                }
            }
        }
    }

    /// One look at a budget. Returns when to look again if nothing happens.
    async fn turn(
        &self,
        book: &Book,
        key: &Key,
        memory: &mut Controller,
    ) -> Result<Option<Duration>, Trouble> {
        let Some(known) = book.budget(key) else { return Ok(None) };
        let Some((counted, pruned, budget)) = self.count(&known, memory, false).await? else {
            return Ok(None);
        };
        let (counted, pruned, budget) = if pruned.overdue > 0 {
            // That their pods stay is believed of a live list only.
            self.clerk.sources().look(&known, Freshness::Now).await?;
            match self.count(&known, memory, true).await? {
                Some(again) => again,
                None => return Ok(None),
            }
        } else {
            (counted, pruned, budget)
        };
        self.metrics.budget(&key.0, &key.1, counted.figures());
        let object = put_down(&known.object, &budget, &counted, &self.clock)?;
        if differs(known.object.status.as_ref(), object.status.as_ref()) {
            if !(self.sure)() {
                return Ok(None);
            }
            let api = self.clerk.sources().budgets(&key.0);
            match api.replace_status(&key.1, &PostParams::default(), &object).await {
                Ok(stored) => drop(book.put_budget(stored)),
                // Somebody was faster: the watch shows what, and wakes us.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    if let Some(now) = api.get_opt(&key.1).await? {
                        book.put_budget(now);
                    }
                    return Ok(Some(GATHER));
                }
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            self.tell(&known, &pruned).await;
        }
        let waits = !budget.state.promises.is_empty();
        Ok(waits.then(|| Duration::from_millis(LAPSE.0)))
    }

    /// Counts a budget and ends promises. None if the book is not new enough and could not be renewed.
    async fn count(
        &self,
        known: &Known,
        memory: &mut Controller,
        live: bool,
    ) -> Result<Option<(Account, Pruned, lockstep_core::budget::Budget)>, Trouble> {
        for _ in 0..8 {
            let Some(mut budget) = known.budget.clone() else { return Ok(None) };
            let view = View { live, ..self.clerk.sources().view(known).await? };
            let now = self.clock.time();
            match memory.prune(&mut budget, &view, now) {
                Ok(pruned) => return Ok(Some((account(&budget, &view, now), pruned, budget))),
                Err(NotYet::ViewTooOld { need: Version(need) }) => {
                    self.clerk.sources().reach(known, need, CATCH_UP).await?;
                }
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    async fn tell(&self, known: &Known, pruned: &Pruned) {
        for promise in &pruned.lapsed {
            let message = format!(
                "pod {} was let go by this budget at the request of {} and stayed: what it paid is free again",
                promise.pod,
                if promise.by.is_empty() { "somebody" } else { &promise.by },
            );
            let note = Note { warning: true, reason: "PromiseLapsed".to_owned(), message };
            if let Err(error) = self.herald.tell(&reference(&known.object), &note).await {
                tracing::warn!(%error, "cannot send an event");
            }
        }
    }
}

async fn keep(steward: Arc<Steward>, key: Key, bell: Arc<Notify>) {
    let book = Arc::clone(steward.clerk.book());
    let mut memory = Controller::default();
    let mut failures = 0;
    loop {
        let next = match steward.turn(&book, &key, &mut memory).await {
            Ok(next) => {
                failures = 0;
                tokio::time::sleep(PACE).await;
                next
            }
            Err(error) => {
                tracing::warn!(namespace = key.0, budget = key.1, %error, "cannot keep a budget");
                failures += 1;
                Some(PAUSE.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE))
            }
        };
        match next {
            Some(next) => drop(tokio::time::timeout(next, bell.notified()).await),
            None => bell.notified().await,
        }
        tokio::time::sleep(GATHER).await;
    }
}

/// Whether a status is worth writing. How new the view is that says the same as before is not.
fn differs(before: Option<&PodUnavailableBudgetStatus>, after: Option<&PodUnavailableBudgetStatus>) -> bool {
    let plain = |status: &PodUnavailableBudgetStatus| {
        let mut status = status.clone();
        if let Some(ledger) = status.ledger.as_object_mut() {
            ledger.remove("restsOn");
            let roots = ledger.get_mut("memory").and_then(Value::as_object_mut).into_iter().flatten();
            for (_, root) in roots {
                root["known"]["version"] = Value::Null;
            }
        }
        status
    };
    before.map(plain) != after.map(plain)
}

fn reference(object: &PodUnavailableBudget) -> ObjectReference {
    object.object_ref(&())
}
