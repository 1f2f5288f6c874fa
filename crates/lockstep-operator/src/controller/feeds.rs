//! The watches: what each shows goes to the desk of its set.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::Service;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::{Api, Client, Resource, ResourceExt};
use lockstep_api::label;
use lockstep_api::role_scale::RoleScale;
use lockstep_core::model::GangScheduler;
use lockstep_core::names::Uid;
use lockstep_core::time::Time;
use lockstep_feed::{InitialList, Source, feed};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{ControllerOptions, Key, Registry, sets};
use crate::act::{Hand, gang_resource};
use crate::dialects::served::is_served;
use crate::observe::{History, SlimPod};
use crate::set::{Desk, GangKnown, find_out, read_scale, resource};

/// Starts all watches and waits until each has shown what is there.
pub async fn start(
    client: &Client,
    options: &ControllerOptions,
    registry: &Arc<Registry>,
    watches: &mut JoinSet<()>,
) {
    let namespace = options.namespace.as_deref();
    let mut filled = Vec::new();
    let mut begin = |watch: Watch| {
        let (done, waits) = oneshot::channel();
        filled.push(waits);
        watches.spawn(watch(done));
    };
    let registry = || Arc::clone(registry);
    begin(pods(client.clone(), api(client, namespace), registry()));
    begin(owned(api::<ControllerRevision>(client, namespace), registry(), Revisions));
    begin(owned(api::<PartialObjectMeta<Service>>(client, namespace), registry(), Services));
    begin(owned(api::<RoleScale>(client, namespace), registry(), Scales));
    for scheduler in [GangScheduler::PodGroup, GangScheduler::PodGang, GangScheduler::Volcano] {
        if let Some(resource) = gang_resource(scheduler)
            && is_served(client, &resource).await
        {
            begin(owned(dynamic(client, namespace, &resource), registry(), Gangs(scheduler)));
        }
    }
    begin(sets::watch(dynamic(client, namespace, &resource()), registry()));
    for filled in filled {
        // A watch that ends before it is filled takes the controller with it.
        let _ = filled.await;
    }
}

/// A watch, to be told whom to tell when it is filled.
pub(super) type Watch =
    Box<dyn FnOnce(oneshot::Sender<()>) -> futures::future::BoxFuture<'static, ()> + Send>;

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

fn dynamic(client: &Client, namespace: Option<&str>, resource: &ApiResource) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

/// The set an object says it belongs to.
fn key_of(object: &impl Resource) -> Option<Key> {
    let set = object.labels().get(label::SET)?;
    Some((object.namespace()?, set.clone()))
}

/// Only what carries our label.
fn ours<K>(api: Api<K>) -> Source<K> {
    let mut source = Source::new(api, InitialList::Paged);
    source.config.label_selector = Some(label::SET.to_owned());
    source
}

fn pods(client: Client, api: Api<SlimPod>, registry: Arc<Registry>) -> Watch {
    Box::new(move |done| {
        Box::pin(async move {
            let mut done = Some(done);
            let mut events = feed(ours(api)).boxed();
            while let Some(event) = events.next().await {
                let now = registry.clock.time();
                match event {
                    Event::Init => {
                        for (_, handle) in registry.all() {
                            handle.desk().view.begin_list();
                        }
                    }
                    Event::InitApply(slim) => registry.of(&pod_key(&slim)).desk().view.list(slim),
                    Event::InitDone => {
                        list_is_done(&client, &registry);
                        if let Some(done) = done.take() {
                            let _ = done.send(());
                        }
                    }
                    Event::Apply(slim) => {
                        registry.of(&pod_key(&slim)).change(|desk| desk.view.see(&slim, true, now));
                    }
                    Event::Delete(slim) => {
                        registry.of(&pod_key(&slim)).change(|desk| desk.view.gone(&slim.pod.uid));
                    }
                }
            }
        })
    })
}

fn pod_key(slim: &SlimPod) -> Key {
    (slim.namespace().to_owned(), slim.set.clone())
}

/// A list is complete. Pods that only our own writes tell of are asked for one by one.
fn list_is_done(client: &Client, registry: &Registry) {
    for ((namespace, _), handle) in registry.all() {
        let now = handle.now();
        let doubtful = handle.desk().view.end_list(now);
        handle.ring();
        if doubtful.is_empty() {
            continue;
        }
        let hand = Hand::new(client.clone(), &namespace);
        tokio::spawn(async move {
            for (name, uid) in doubtful {
                if let Ok(found) = find_out(&hand, &name).await {
                    let now = handle.now();
                    handle.change(|desk| settle(desk, &uid, found.as_deref(), now));
                }
            }
        });
    }
}

fn settle(desk: &mut Desk, uid: &Uid, found: Option<&SlimPod>, now: Time) -> bool {
    match found {
        Some(slim) => desk.view.see(slim, false, now),
        None => desk.view.gone(uid),
    }
}

/// How objects of one kind are put on the desk.
trait Shelf<K>: Copy + Send + 'static {
    fn put(self, desk: &mut Desk, object: &K) -> bool;
    fn remove(self, desk: &mut Desk, object: &K) -> bool;
    /// Only these are there.
    fn keep(self, desk: &mut Desk, listed: &HashSet<String>);
}

/// Watches a kind of which sets own a few each.
fn owned<K>(api: Api<K>, registry: Arc<Registry>, shelf: impl Shelf<K>) -> Watch
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    Box::new(move |done| {
        Box::pin(async move {
            let mut done = Some(done);
            let mut listed: HashMap<Key, HashSet<String>> = HashMap::new();
            let mut events = feed(ours(api)).boxed();
            while let Some(event) = events.next().await {
                match event {
                    Event::Init => listed.clear(),
                    Event::InitApply(object) => {
                        let Some(key) = key_of(&object) else { continue };
                        listed.entry(key.clone()).or_default().insert(object.name_any());
                        registry.of(&key).change(|desk| shelf.put(desk, &object));
                    }
                    Event::InitDone => {
                        let nothing = HashSet::new();
                        for (key, handle) in registry.all() {
                            shelf.keep(&mut handle.desk(), listed.get(&key).unwrap_or(&nothing));
                            handle.ring();
                        }
                        if let Some(done) = done.take() {
                            let _ = done.send(());
                        }
                    }
                    Event::Apply(object) => {
                        let Some(key) = key_of(&object) else { continue };
                        registry.of(&key).change(|desk| shelf.put(desk, &object));
                    }
                    Event::Delete(object) => {
                        let Some(key) = key_of(&object) else { continue };
                        registry.of(&key).change(|desk| shelf.remove(desk, &object));
                    }
                }
            }
        })
    })
}

#[derive(Clone, Copy)]
struct Revisions;

impl Shelf<ControllerRevision> for Revisions {
    fn put(self, desk: &mut Desk, object: &ControllerRevision) -> bool {
        // We alone write them, and know them already.
        desk.history.extend(History::read([object]));
        false
    }

    fn remove(self, desk: &mut Desk, object: &ControllerRevision) -> bool {
        desk.history.retain(|stored| stored.name != object.name_any());
        true
    }

    fn keep(self, desk: &mut Desk, listed: &HashSet<String>) {
        desk.history.retain(|stored| listed.contains(&stored.name));
    }
}

#[derive(Clone, Copy)]
struct Services;

impl Shelf<PartialObjectMeta<Service>> for Services {
    fn put(self, desk: &mut Desk, object: &PartialObjectMeta<Service>) -> bool {
        desk.services.insert(object.name_any())
    }

    fn remove(self, desk: &mut Desk, object: &PartialObjectMeta<Service>) -> bool {
        desk.services.remove(&object.name_any())
    }

    fn keep(self, desk: &mut Desk, listed: &HashSet<String>) {
        desk.services.retain(|name| listed.contains(name));
    }
}

#[derive(Clone, Copy)]
struct Scales;

impl Shelf<RoleScale> for Scales {
    fn put(self, desk: &mut Desk, object: &RoleScale) -> bool {
        let scale = read_scale(object);
        desk.scales.insert(object.name_any(), scale.clone()).is_none_or(|before| before != scale)
    }

    fn remove(self, desk: &mut Desk, object: &RoleScale) -> bool {
        desk.scales.remove(&object.name_any()).is_some()
    }

    fn keep(self, desk: &mut Desk, listed: &HashSet<String>) {
        desk.scales.retain(|name, _| listed.contains(name));
    }
}

/// Gangs of one scheduler.
#[derive(Clone, Copy)]
struct Gangs(GangScheduler);

impl Shelf<DynamicObject> for Gangs {
    fn put(self, desk: &mut Desk, object: &DynamicObject) -> bool {
        let gang = read_gang(self.0, object);
        desk.gangs.insert(object.name_any(), gang.clone()).is_none_or(|before| before != gang)
    }

    fn remove(self, desk: &mut Desk, object: &DynamicObject) -> bool {
        desk.gangs.remove(&object.name_any()).is_some()
    }

    fn keep(self, desk: &mut Desk, listed: &HashSet<String>) {
        desk.gangs.retain(|name, gang| gang.scheduler != self.0 || listed.contains(name));
    }
}

fn read_gang(scheduler: GangScheduler, object: &DynamicObject) -> GangKnown {
    let number = |key| object.labels().get(key).and_then(|text| text.parse().ok()).unwrap_or_default();
    let conditions = object.data.pointer("/status/conditions").and_then(|value| value.as_array());
    let placed = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "PodGroupInitiallyScheduled" && condition["status"] == "True");
    GangKnown {
        scheduler,
        group: number(label::GROUP),
        incarnation: number(label::INCARNATION),
        base: object.labels().get(label::GANG).is_some_and(|gang| gang.starts_with("base-")),
        spec: object.data.get("spec").cloned().unwrap_or_default(),
        placed,
    }
}
