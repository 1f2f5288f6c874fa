//! Everything that is known of one set, under one lock, with a bell that rings when something changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockstep_api::role_scale::RoleScaleStatus;
use lockstep_core::model::GangScheduler;
use lockstep_core::names::RoleName;
use lockstep_core::time::Time;
use tokio::sync::Notify;

use super::wish::Wish;
use crate::clock::Clock;
use crate::observe::{History, View};

/// What is known of one set.
#[derive(Debug, Default)]
pub struct Desk {
    /// The set itself; nothing before it is seen and after it is gone.
    pub wish: Option<Arc<Wish>>,
    /// Its pods.
    pub view: View,
    /// Its stored revisions.
    pub history: History,
    /// The scales of its roles, by the objects' names.
    pub scales: BTreeMap<String, ScaleKnown>,
    /// Its gangs, by the objects' names.
    pub gangs: BTreeMap<String, GangKnown>,
    /// Its headless services.
    pub services: BTreeSet<String>,
    /// Names of headless services that somebody else has, and when that was last seen.
    pub taken: BTreeMap<String, Time>,
}

/// The scale of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleKnown {
    /// The role.
    pub role: RoleName,
    /// How many instances in each group.
    pub replicas: u32,
    /// The UID of the set that owns it.
    pub owner: String,
    /// The number of the set's spec that was last taken over.
    pub taken_over: Option<u32>,
    /// What its status says.
    pub status: Option<RoleScaleStatus>,
}

/// A gang.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GangKnown {
    /// Whose kind it is.
    pub scheduler: GangScheduler,
    /// Its group.
    pub group: u32,
    /// The incarnation of its group.
    pub incarnation: u32,
    /// It is a base gang.
    pub base: bool,
    /// What was last written of it.
    pub spec: serde_json::Value,
    /// The scheduler says that it was placed once.
    pub placed: bool,
}

impl Desk {
    /// Takes a newer state of the set. Returns whether there is anything to look at: not if it is older than what is
    /// known, as the echo of our own write is.
    pub fn take(&mut self, wish: Wish) -> bool {
        let known = self.wish.as_ref().map_or(0, |known| known.version);
        let other = self.wish.as_ref().is_some_and(|known| known.set.uid != wish.set.uid);
        if wish.version <= known && !other {
            return false;
        }
        self.wish = Some(Arc::new(wish));
        true
    }

    /// Takes what a request of ours was answered with. Only the watch can tell of a set that we do not know, or that
    /// it is gone.
    pub fn answer(&mut self, wish: Wish) -> bool {
        let older = |known: &Arc<Wish>| known.set.uid == wish.set.uid && known.version < wish.version;
        let news = self.wish.as_ref().is_some_and(older);
        if news {
            self.wish = Some(Arc::new(wish));
        }
        news
    }

    /// Groups whose base gangs were all placed once.
    pub fn placed(&self) -> BTreeSet<(u32, u32)> {
        let mut placed = BTreeMap::new();
        for gang in self.gangs.values().filter(|gang| gang.base) {
            *placed.entry((gang.group, gang.incarnation)).or_insert(true) &= gang.placed;
        }
        placed.into_iter().filter_map(|(group, placed)| placed.then_some(group)).collect()
    }
}

/// A desk that watches and an actor share.
#[derive(Debug)]
pub struct Handle {
    desk: Mutex<Desk>,
    bell: Notify,
    rung: AtomicBool,
    waiting: Arc<AtomicUsize>,
    clock: Clock,
}

impl Handle {
    /// An empty desk. `waiting` counts the sets whose bell has rung.
    pub fn new(waiting: Arc<AtomicUsize>, clock: Clock) -> Self {
        Self { desk: Mutex::default(), bell: Notify::new(), rung: AtomicBool::new(false), waiting, clock }
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        self.clock.time()
    }

    /// There is something to look at.
    pub fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        self.bell.notify_one();
    }

    /// Waits for the bell.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Somebody looks.
    pub fn answer(&self) {
        if self.rung.swap(false, Ordering::AcqRel) {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The desk. Never held across an await.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something and rings if there is something to look at.
    pub fn change(&self, change: impl FnOnce(&mut Desk) -> bool) {
        if change(&mut self.desk()) {
            self.ring();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.answer();
    }
}
