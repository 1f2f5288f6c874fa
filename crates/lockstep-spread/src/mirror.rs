//! What stands, as a watch shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::watcher::Event;
use lockstep_feed::{InitialList, Source, feed};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// The pause after something failed.
const PAUSE: Duration = Duration::from_millis(500);

/// An object by its namespace and name.
pub type Id = (String, String);

/// The objects of one kind, as a watch shows them. Dropped, nobody watches any more.
pub struct Mirror {
    shown: Arc<Mutex<Shown>>,
    watch: AbortHandle,
}

#[derive(Default)]
struct Shown {
    objects: BTreeMap<Id, Value>,
    is_complete: bool,
}

impl Mirror {
    /// Watches what is behind `api`, and tells of news.
    pub fn of(api: Api<DynamicObject>, kind: &ApiResource, news: &Arc<Notify>) -> Self {
        let shown = Arc::new(Mutex::new(Shown::default()));
        let (watched, news, kind) = (Arc::clone(&shown), Arc::clone(news), kind.clone());
        let watch = tokio::spawn(async move {
            let mut listing = BTreeSet::new();
            let mut events = std::pin::pin!(feed(Source::new(api, InitialList::Paged)));
            while let Some(event) = events.next().await {
                lock(&watched).see(event, &kind, &mut listing);
                news.notify_one();
            }
        });
        Self { shown, watch: watch.abort_handle() }
    }

    /// What stands; nothing before all was listed.
    pub fn all(&self) -> Option<BTreeMap<Id, Value>> {
        let shown = lock(&self.shown);
        shown.is_complete.then(|| shown.objects.clone())
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Shown {
    fn see(&mut self, event: Event<DynamicObject>, kind: &ApiResource, listing: &mut BTreeSet<Id>) {
        match event {
            Event::Init => listing.clear(),
            Event::InitApply(object) => {
                listing.insert(id(&object));
                self.objects.insert(id(&object), whole(object, kind));
            }
            Event::InitDone => {
                self.objects.retain(|id, _| listing.contains(id));
                self.is_complete = true;
            }
            Event::Apply(object) => drop(self.objects.insert(id(&object), whole(object, kind))),
            Event::Delete(object) => drop(self.objects.remove(&id(&object))),
        }
    }
}

fn id(object: &DynamicObject) -> Id {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// An object as JSON, with its kind, which lists leave out, and without what nobody reads.
pub fn whole(mut object: DynamicObject, kind: &ApiResource) -> Value {
    object.metadata.managed_fields = None;
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = json!(kind.api_version);
    value["kind"] = json!(kind.kind);
    value
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// After a pass over what stands: where it failed there is another one after a pause, news or not.
pub async fn look_again(what: &str, news: &Notify, passed: Result<(), Failed>) {
    if let Err(error) = passed {
        tracing::debug!(%error, what, "again, later");
        tokio::time::sleep(PAUSE).await;
        news.notify_one();
    }
}

/// Something did not go through.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] kube::Error),
    /// What was read or is to be written is no object.
    #[error("not an object: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// What stands there is on its way out, and another has to wait.
    #[error("what stood there is still on its way out")]
    Leaving,
    /// There was no answer.
    #[error("no answer")]
    Silent(#[from] tokio::time::error::Elapsed),
}
