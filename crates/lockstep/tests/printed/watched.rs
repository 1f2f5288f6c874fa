//! Everything that was ever said of an object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, predicates};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// An object that is watched.
pub struct Watched {
    seen: Arc<Mutex<Vec<Value>>>,
    news: watch::Receiver<()>,
    task: JoinHandle<()>,
}

impl Watched {
    /// Watches the object of a name, from before it is there.
    pub fn start(api: Api<DynamicObject>, name: &str) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (told, news) = watch::channel(());
        let (kept, name) = (Arc::clone(&seen), name.to_owned());
        let task = tokio::spawn(async move {
            let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let all = watcher(api, config).default_backoff().applied_objects();
            let mut all = all.predicate_filter(predicates::resource_version, Default::default()).boxed();
            while let Some(object) = all.next().await {
                let Ok(object) = object else { continue };
                lock(&kept).push(serde_json::to_value(object).expect("JSON"));
                told.send_replace(());
            }
        });
        Self { seen, news, task }
    }

    /// Waits until it is so, and gives the object.
    pub async fn until(&mut self, limit: Duration, so: impl Fn(&Value) -> bool) -> Result<Value, Value> {
        let seen = Arc::clone(&self.seen);
        let last = || lock(&seen).last().cloned().unwrap_or_default();
        let found = self.news.wait_for(|()| so(&last()));
        let found = matches!(tokio::time::timeout(limit, found).await, Ok(Ok(_)));
        if found { Ok(last()) } else { Err(last()) }
    }

    /// The object as it was last seen.
    pub fn last(&self) -> Value {
        lock(&self.seen).last().cloned().unwrap_or_default()
    }

    /// All that was said of it.
    pub fn statuses(&self) -> Vec<Value> {
        lock(&self.seen).iter().map(|object| object["status"].clone()).collect()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(seen: &Mutex<Vec<Value>>) -> MutexGuard<'_, Vec<Value>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
