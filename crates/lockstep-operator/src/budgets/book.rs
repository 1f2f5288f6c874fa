//! What is known: budgets, pods and owners, and how new all of it is.

mod pods;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::ResourceExt;
use lockstep_api::budget::{Coverage, Owner, PodUnavailableBudget, Standing, seen};
use lockstep_core::budget::Budget;
use lockstep_core::names::Uid;
use tokio::sync::{Notify, broadcast, watch};

use super::owner::Owners;
use super::pod::SeenPod;

/// Namespace and name.
pub type Key = (String, String);

/// A budget as it was last seen.
#[derive(Debug)]
pub struct Known {
    /// Where and what it is called.
    pub key: Key,
    /// The object.
    pub object: PodUnavailableBudget,
    /// What the engine decides with; none if its ledger cannot be read.
    pub budget: Option<Budget>,
    /// Which pods.
    pub coverage: Coverage,
    /// Which state of it.
    pub version: u64,
}

impl Known {
    /// Reads a budget.
    pub fn read(mut object: PodUnavailableBudget) -> Self {
        // Who wrote what is the largest part of it. Whoever leaves it out of a write leaves it as it is.
        object.metadata.managed_fields = None;
        let key = key_of(&object);
        let budget = object.lower();
        if let Err(error) = &budget {
            tracing::warn!(budget = object.title(), %error, "the ledger in its status cannot be read");
        }
        let coverage = Coverage::of(&object).unwrap_or_else(|error| {
            tracing::warn!(budget = object.title(), %error, "its selector cannot be read");
            Coverage::Nothing
        });
        Self { key, budget: budget.ok(), coverage, version: seen::version(&object.metadata).0, object }
    }
}

/// Where a budget is and what it is called.
pub fn key_of(object: &PodUnavailableBudget) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

#[derive(Default)]
struct Pages {
    budgets: BTreeMap<Key, Arc<Known>>,
    pods: BTreeMap<String, BTreeMap<String, Arc<SeenPod>>>,
    /// When pods were last listed as a whole, and how far they have been seen since.
    listed: u64,
    reached: u64,
    /// By budget: when a pod last left it, and how far a list of its own has shown.
    left: BTreeMap<Key, u64>,
    looked: BTreeMap<Key, u64>,
    /// Pods that a newer list did not show any more: what the watch still tells of them is old.
    buried: BTreeSet<Uid>,
    owners: Owners,
    /// Whoever keeps a budget is woken by it.
    bells: BTreeMap<Key, Arc<Notify>>,
}

impl Pages {
    fn budgets_in(&self, namespace: &str) -> Vec<Arc<Known>> {
        let from = (namespace.to_owned(), String::new());
        let all = self.budgets.range(from..).take_while(|(key, _)| key.0 == namespace);
        all.map(|(_, known)| Arc::clone(known)).collect()
    }
}

/// Everything, for whoever decides. Nothing in it is held across an await.
pub struct Book {
    pages: Mutex<Pages>,
    reached: watch::Sender<u64>,
    filled: watch::Sender<bool>,
    news: broadcast::Sender<String>,
    appeared: Notify,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            pages: Mutex::default(),
            reached: watch::Sender::new(0),
            filled: watch::Sender::new(false),
            news: broadcast::Sender::new(256),
            appeared: Notify::new(),
        }
    }
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Namespaces in which something happened that a budget counts.
    pub fn news(&self) -> broadcast::Receiver<String> {
        self.news.subscribe()
    }

    /// Rings when a budget appeared or went.
    pub async fn appeared(&self) {
        self.appeared.notified().await;
    }

    /// Waits until budgets and pods have been listed once.
    pub async fn filled(&self) {
        // The sender lives as long as we do.
        let _ = self.filled.subscribe().wait_for(|filled| *filled).await;
    }

    /// Whether budgets and pods have been listed once.
    pub fn is_filled(&self) -> bool {
        *self.filled.borrow()
    }

    /// Budgets and pods have been listed.
    pub fn is_now_filled(&self) {
        self.filled.send_replace(true);
    }

    /// Nothing is looked after any more.
    pub fn clear(&self) {
        self.filled.send_replace(false);
        *self.pages() = Pages::default();
        self.appeared.notify_waiters();
    }

    /// Waits until pods have been seen up to a version, for a while. Says whether they have.
    pub async fn reached(&self, version: u64, patience: Duration) -> bool {
        let mut reached = self.reached.subscribe();
        tokio::time::timeout(patience, reached.wait_for(|reached| *reached >= version)).await.is_ok()
    }

    /// A budget as it stands, unless something newer is known. Returns what is known then.
    pub fn put_budget(&self, object: PodUnavailableBudget) -> Arc<Known> {
        let key = key_of(&object);
        // What a watch shows of our own write is known already.
        let version = seen::version(&object.metadata).0;
        if let Some(before) = self.budget(&key).filter(|before| before.version >= version) {
            return before;
        }
        let known = Arc::new(Known::read(object));
        let mut pages = self.pages();
        let (new, other) = match pages.budgets.get(&known.key) {
            Some(before) if before.version >= known.version => return Arc::clone(before),
            before => {
                let generation = |known: &Arc<Known>| known.object.metadata.generation;
                (before.is_none(), before.map(generation) != Some(generation(&known)))
            }
        };
        pages.budgets.insert(known.key.clone(), Arc::clone(&known));
        if other {
            // It may cover other pods now, and which of them went before nobody can say.
            let reached = pages.reached;
            pages.looked.remove(&known.key);
            pages.left.insert(known.key.clone(), reached);
        }
        self.ring(&mut pages, &known.key);
        drop(pages);
        if new {
            self.appeared.notify_one();
        }
        known
    }

    /// A budget is gone, as of a version.
    pub fn remove_budget(&self, key: &Key, version: u64) {
        let mut pages = self.pages();
        if pages.budgets.get(key).is_some_and(|known| known.version <= version) {
            pages.budgets.remove(key);
            pages.left.remove(key);
            pages.looked.remove(key);
            if let Some(bell) = pages.bells.remove(key) {
                bell.notify_one();
            }
            let _ = self.news.send(key.0.clone());
            drop(pages);
            self.appeared.notify_one();
        }
    }

    /// Only these budgets are there.
    pub fn keep_budgets(&self, listed: &BTreeSet<Key>, version: u64) {
        for key in self.keys() {
            if !listed.contains(&key) {
                self.remove_budget(&key, version);
            }
        }
    }

    /// A budget as it was last seen.
    pub fn budget(&self, key: &Key) -> Option<Arc<Known>> {
        self.pages().budgets.get(key).cloned()
    }

    /// All budgets.
    pub fn keys(&self) -> Vec<Key> {
        self.pages().budgets.keys().cloned().collect()
    }

    /// The budgets of a namespace.
    pub fn budgets_in(&self, namespace: &str) -> Vec<Arc<Known>> {
        self.pages().budgets_in(namespace)
    }

    /// What wakes whoever keeps a budget.
    pub fn bell(&self, key: &Key) -> Arc<Notify> {
        Arc::clone(self.pages().bells.entry(key.clone()).or_default())
    }

    fn ring(&self, pages: &mut Pages, key: &Key) {
        if let Some(bell) = pages.bells.get(key) {
            bell.notify_one();
        }
        // Nobody may be listening.
        let _ = self.news.send(key.0.clone());
    }

    /// An owner as it stands.
    pub fn see_owner(&self, standing: Standing) {
        let namespace = standing.metadata.namespace.clone().unwrap_or_default();
        let mut pages = self.pages();
        if pages.owners.see(standing) {
            self.ring_all_in(&mut pages, &namespace);
        }
    }

    /// An owner is gone.
    pub fn lose_owner(&self, uid: &str, namespace: &str) {
        let mut pages = self.pages();
        pages.owners.lost(uid);
        self.ring_all_in(&mut pages, namespace);
    }

    /// An owner cannot be read.
    pub fn cannot_see(&self, owner: &Owner, namespace: &str) {
        self.pages().owners.cannot_see(super::owner::place(owner, namespace));
    }

    /// All owners of a kind.
    pub fn list_owners(&self, kind: (&str, &str), listed: Vec<Standing>, version: u64) {
        let mut pages = self.pages();
        pages.owners.listed(kind, listed, version);
        for key in pages.budgets.keys().cloned().collect::<Vec<_>>() {
            self.ring(&mut pages, &key);
        }
    }

    fn ring_all_in(&self, pages: &mut Pages, namespace: &str) {
        for known in pages.budgets_in(namespace) {
            self.ring(pages, &known.key);
        }
    }
}
