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

/// The objects of one kind, as a watch shows them, or what is wished for of them alone. Dropped, nobody watches any more.
pub struct Mirror {
    shown: Arc<Mutex<Shown>>,
    watch: AbortHandle,
}

#[derive(Default)]
struct Shown {
    objects: BTreeMap<Id, Value>,
    is_complete: bool,
    /// What becomes of an object is no news.
    only_wishes: bool,
}

impl Mirror {
    /// Watches what is behind `api`, and tells of news.
    pub fn of(api: Api<DynamicObject>, kind: &ApiResource, news: &Arc<Notify>) -> Self {
        Self::start(api, kind, news, Shown::default())
    }

    /// The same, but objects stay as they are shown until something else than their status changes.
    pub fn of_wishes(api: Api<DynamicObject>, kind: &ApiResource, news: &Arc<Notify>) -> Self {
        Self::start(api, kind, news, Shown { only_wishes: true, ..Shown::default() })
    }

    fn start(api: Api<DynamicObject>, kind: &ApiResource, news: &Arc<Notify>, shown: Shown) -> Self {
        let shown = Arc::new(Mutex::new(shown));
        let (watched, news, kind) = (Arc::clone(&shown), Arc::clone(news), kind.clone());
        let watch = tokio::spawn(async move {
            let mut listing = BTreeSet::new();
            let mut events = std::pin::pin!(feed(Source::new(api, InitialList::Paged)));
            while let Some(event) = events.next().await {
                if lock(&watched).see(event, &kind, &mut listing) {
                    news.notify_one();
                }
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
    /// Sees what happened, and says whether that is news.
    fn see(&mut self, event: Event<DynamicObject>, kind: &ApiResource, listing: &mut BTreeSet<Id>) -> bool {
        match event {
            Event::Init => {
                listing.clear();
                false
            }
            Event::InitApply(object) => {
                listing.insert(id(&object));
                self.put(id(&object), whole(object, kind))
            }
            Event::InitDone => {
                self.objects.retain(|id, _| listing.contains(id));
                self.is_complete = true;
                true
            }
            Event::Apply(object) => self.put(id(&object), whole(object, kind)),
            Event::Delete(object) => self.objects.remove(&id(&object)).is_some(),
        }
    }

    fn put(&mut self, id: Id, object: Value) -> bool {
        let known = self.objects.get(&id).filter(|_| self.only_wishes);
        let is_news = known.is_none_or(|known| wish(known) != wish(&object));
        if is_news {
            self.objects.insert(id, object);
        }
        is_news
    }
}

/// An object without what becomes of it.
fn wish(object: &Value) -> Value {
    let mut wish = object.clone();
    wish["status"].take();
    wish["metadata"]["resourceVersion"].take();
    wish
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

/// What is not there any more needs nothing.
pub fn unless_gone(answer: Result<(), Failed>) -> Result<(), Failed> {
    match answer {
        Err(Failed::Refused(kube::Error::Api(status))) if status.code == 404 => Ok(()),
        answer => answer,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn where_only_wishes_count_what_becomes_of_an_object_is_no_news() {
        let kind = crate::kinds::bindings();
        let object = |version: &str, wish: u32, told: u32| {
            let object = json!({
                "metadata": {"namespace": "web", "name": "web", "resourceVersion": version},
                "spec": {"replicas": wish}, "status": {"replicas": told},
            });
            Event::Apply(serde_json::from_value(object).unwrap())
        };
        for (only_wishes, told, wished) in
            [(false, (true, "2"), (true, "3")), (true, (false, "1"), (true, "3"))]
        {
            let mut shown = Shown { only_wishes, is_complete: true, ..Shown::default() };
            let mut see = |event| {
                let is_news = shown.see(event, &kind, &mut BTreeSet::new());
                (
                    is_news,
                    text(
                        &shown.objects[&("web".to_owned(), "web".to_owned())]["metadata"]["resourceVersion"],
                    )
                    .to_owned(),
                )
            };
            assert_eq!(see(object("1", 3, 0)), (true, "1".to_owned()));
            for (event, (is_news, version)) in [(object("2", 3, 1), told), (object("3", 4, 1), wished)] {
                assert_eq!(see(event), (is_news, version.to_owned()), "{only_wishes}");
            }
        }
    }
}
