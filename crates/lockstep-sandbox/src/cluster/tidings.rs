//! A value that changes, and those who wait for it.
//!
//! tokio's watch channel wakes whoever waits in an order that is drawn; here it is the order in which they came, so
//! that what happened once happens again.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A value that changes.
#[derive(Debug)]
pub(crate) struct Tidings<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T: Copy + PartialEq> Tidings<T> {
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Notify::new() }
    }

    pub fn get(&self) -> T {
        *self.lock()
    }

    /// Changes it, and tells those who wait if it is another now.
    pub fn change(&self, change: impl FnOnce(T) -> T) {
        let news = {
            let mut value = self.lock();
            let before = *value;
            *value = change(before);
            *value != before
        };
        if news {
            self.changed.notify_waiters();
        }
    }

    /// Waits until it is so, and says how it is then.
    pub async fn until(&self, so: impl Fn(T) -> bool) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Whoever changes it from here on is heard.
            changed.as_mut().enable();
            let value = self.get();
            if so(value) {
                return value;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells of changes of a cluster: the revisions they made.
#[derive(Debug, Clone)]
pub struct Changes {
    revision: Arc<Tidings<u64>>,
    seen: u64,
}

impl Changes {
    pub(super) fn new(revision: &Arc<Tidings<u64>>) -> Self {
        Self { revision: Arc::clone(revision), seen: revision.get() }
    }

    /// Waits until there are some that were not told of yet, and tells of the last.
    pub async fn next(&mut self) -> u64 {
        let seen = self.seen;
        self.seen = self.revision.until(|revision| revision != seen).await;
        self.seen
    }

    /// All that has happened so far is known.
    pub fn catch_up(&mut self) -> u64 {
        self.seen = self.revision.get();
        self.seen
    }
}
