//! The controller: watches, and an actor for every set.

mod feeds;
mod sets;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use crate::budgets::Budgets;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::report::Herald;
use crate::set::{Actor, Context, Handle};

/// A set, by namespace and name.
pub type Key = (String, String);

/// How a controller is set up.
#[derive(Clone, Default)]
pub struct ControllerOptions {
    /// Look after sets of this namespace only.
    pub namespace: Option<String>,
    /// Who writes events.
    pub instance: Option<String>,
    /// Unavailable budgets, if they are looked after.
    pub budgets: Option<Budgets>,
    /// What time it is.
    pub clock: Clock,
}

/// The sets that are known.
#[derive(Debug, Default)]
pub struct Registry {
    handles: Mutex<BTreeMap<Key, Arc<Handle>>>,
    /// How many sets wait to be looked at.
    waiting: Arc<AtomicUsize>,
    /// Rings when a set appeared.
    appeared: Notify,
    /// What time it is.
    clock: Clock,
}

impl Registry {
    /// The handle of a set, made if it is not known yet.
    pub fn of(&self, key: &Key) -> Arc<Handle> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handles.get(key) {
            return Arc::clone(handle);
        }
        let handle = Arc::new(Handle::new(Arc::clone(&self.waiting), self.clock.clone()));
        handles.insert(key.clone(), Arc::clone(&handle));
        handle
    }

    /// All of them.
    pub fn all(&self) -> Vec<(Key, Arc<Handle>)> {
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.iter().map(|(key, handle)| (key.clone(), Arc::clone(handle))).collect()
    }

    /// A set is gone, and nothing of it is left.
    fn forget(&self, key: &Key) {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |handle: &Arc<Handle>| {
            let desk = handle.desk();
            desk.wish.is_none() && desk.view.is_empty()
        };
        if handles.get(key).is_some_and(is_over) {
            handles.remove(key);
        }
    }
}

/// Looks after every set for as long as we may write. Dropping the future stops everything at once.
pub async fn run(
    client: Client,
    options: ControllerOptions,
    metrics: Metrics,
    sure: Arc<dyn Fn() -> bool + Send + Sync>,
    ready: impl FnOnce(),
) {
    let clock = options.clock.clone();
    let registry = Arc::new(Registry { clock: clock.clone(), ..Registry::default() });
    let events = Arc::new(Herald::new(client.clone(), options.instance.clone(), clock.clone()));
    let waiting = Arc::clone(&registry.waiting);
    let budgets = options.budgets.clone();
    let context =
        Arc::new(Context { client: client.clone(), sure, events, metrics, waiting, budgets, clock });
    let mut watches = JoinSet::new();
    feeds::start(&client, &options, &registry, &mut watches).await;
    if let Some(budgets) = options.budgets.clone() {
        // What a budget says of our pods must be known before any of them goes.
        budgets.ready().await;
        watches.spawn(pass_on(budgets, Arc::clone(&registry)));
    }
    ready();
    let mut actors: JoinSet<()> = JoinSet::new();
    let mut running: BTreeMap<Key, tokio::task::Id> = BTreeMap::new();
    loop {
        for (key, handle) in registry.all() {
            let wish = handle.desk().wish.clone();
            let Some(wish) = wish else {
                if !running.contains_key(&key) {
                    registry.forget(&key);
                }
                continue;
            };
            if let Vacant(free) = running.entry(key) {
                let actor = Actor::new(Arc::clone(&context), handle, &wish);
                free.insert(actors.spawn(actor.run()).id());
            }
        }
        tokio::select! {
            biased;
            () = registry.appeared.notified() => {}
            Some(ended) = actors.join_next_with_id() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => {
                        tracing::error!(%error, "an actor broke down and is started anew");
                        tokio::time::sleep(BREATH).await;
                        error.id()
                    }
                };
                running.retain(|_, other| *other != id);
            }
            _ = watches.join_next() => {
                tracing::error!("a watch broke down");
                return;
            }
        }
    }
}

/// Whatever happens to a budget's account concerns all sets of its namespace: they may have waited for it.
async fn pass_on(budgets: Budgets, registry: Arc<Registry>) {
    let mut news = budgets.news();
    loop {
        let namespace = match news.recv().await {
            Ok(namespace) => Some(namespace),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return std::future::pending().await,
        };
        for (key, handle) in registry.all() {
            if namespace.as_ref().is_none_or(|namespace| *namespace == key.0) {
                handle.ring();
            }
        }
    }
}

/// How long to wait before an actor that broke down is started anew.
const BREATH: Duration = Duration::from_secs(1);
