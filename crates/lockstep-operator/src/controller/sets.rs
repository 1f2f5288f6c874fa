//! The watch on sets.

use std::collections::HashSet;
use std::sync::Arc;

use futures::StreamExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use kube::{Api, ResourceExt};
use lockstep_feed::{InitialList, Source, feed};

use super::feeds::Watch;
use super::{Key, Registry};
use crate::set::Wish;

/// Watches sets, and lets an actor be started for each that appears.
pub(super) fn watch(api: Api<DynamicObject>, registry: Arc<Registry>) -> Watch {
    Box::new(move |done| {
        Box::pin(async move {
            let mut done = Some(done);
            let mut listed = HashSet::new();
            let mut events = feed(Source::new(api, InitialList::Paged)).boxed();
            while let Some(event) = events.next().await {
                match event {
                    Event::Init => listed.clear(),
                    Event::InitApply(object) => {
                        listed.insert(key_of(&object));
                        see(&registry, &object);
                    }
                    Event::InitDone => {
                        for (key, _) in registry.all().into_iter().filter(|(key, _)| !listed.contains(key)) {
                            gone(&registry, &key);
                        }
                        if let Some(done) = done.take() {
                            let _ = done.send(());
                        }
                    }
                    Event::Apply(object) => see(&registry, &object),
                    Event::Delete(object) => gone(&registry, &key_of(&object)),
                }
            }
        })
    })
}

fn key_of(object: &DynamicObject) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

fn see(registry: &Registry, object: &DynamicObject) {
    let handle = registry.of(&key_of(object));
    let first = handle.desk().wish.is_none();
    handle.change(|desk| desk.take(Wish::read(object)));
    if first {
        registry.appeared.notify_one();
    }
}

fn gone(registry: &Registry, key: &Key) {
    registry.of(key).change(|desk| desk.wish.take().is_some());
    registry.appeared.notify_one();
}
