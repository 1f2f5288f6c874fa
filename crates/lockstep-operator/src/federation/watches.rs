//! Keeping the book: what is watched, and what of it is kept.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{Config, Event};
use kube::{Client, ResourceExt};
use lockstep_api::federation::{FederatedRollout, FederationPolicy};
use lockstep_federation::interpret::Kinds;
use lockstep_federation::work::{PERMANENT_ID, Work};
use lockstep_feed::{InitialList, Source, feed};
use serde_json::Value;

use super::book::Book;
use super::{Key, karmada, policies, resource_of, rollouts, works};

/// Watches for ever.
pub(super) async fn run(client: Client, book: Arc<Book>, kinds: &Kinds) {
    let templates = kinds.iter().map(|kind| {
        let resource = resource_of(kind);
        watch_templates(Api::all_with(client.clone(), &resource), Arc::clone(&book), kind.kind.clone())
    });
    tokio::join!(
        watch_bindings(&client, &book),
        watch_works(&client, &book, kinds),
        watch_clusters(&client, &book),
        watch_rollouts(&client, &book),
        watch_policies(&client, &book),
        futures::future::join_all(templates),
    );
}

fn source(api: Api<DynamicObject>, labels: Option<&str>) -> Source<DynamicObject> {
    let mut source = Source::new(api, InitialList::Paged);
    if let Some(labels) = labels {
        source.config = Config { label_selector: Some(labels.to_owned()), ..source.config };
    }
    source
}

/// An object as JSON, without what nobody reads.
fn slim(mut object: DynamicObject) -> Value {
    object.metadata.managed_fields = None;
    serde_json::to_value(object).unwrap_or_default()
}

/// An object as people wish for it. What has become of it in the members Karmada writes into its status, all the time
/// and later than the Works say it.
fn wished(object: DynamicObject) -> Value {
    let mut wished = slim(object);
    if let Some(fields) = wished.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = wished["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    wished
}

/// Goes through the events of a watch: objects that are so now, and objects that are gone. What was there before a list
/// and is not in it is gone too.
async fn follow(
    source: Source<DynamicObject>,
    mut put: impl FnMut(DynamicObject),
    mut gone: impl FnMut(&(String, String)),
    mut listed: impl FnMut(),
) {
    use std::collections::BTreeSet;
    let id = |object: &DynamicObject| (object.namespace().unwrap_or_default(), object.name_any());
    let mut known: BTreeSet<(String, String)> = BTreeSet::new();
    let mut listing: BTreeSet<(String, String)> = BTreeSet::new();
    let mut events = std::pin::pin!(feed(source));
    while let Some(event) = events.next().await {
        match event {
            Event::Init => listing.clear(),
            Event::InitApply(object) => {
                listing.insert(id(&object));
                put(object);
            }
            Event::InitDone => {
                known.difference(&listing).for_each(&mut gone);
                known = std::mem::take(&mut listing);
                listed();
            }
            Event::Apply(object) => {
                known.insert(id(&object));
                put(object);
            }
            Event::Delete(object) => {
                known.remove(&id(&object));
                gone(&id(&object));
            }
        }
    }
}

fn key((namespace, name): &(String, String)) -> Key {
    Key { namespace: namespace.clone(), name: name.clone() }
}

async fn watch_bindings(client: &Client, book: &Book) {
    let resource = karmada("work.karmada.io", "v1alpha2", "ResourceBinding");
    let put = |object: DynamicObject| {
        if let Some(key) = Key::of(&object.metadata) {
            book.put_binding(key, Some(&wished(object)));
        }
    };
    let gone = |id: &_| book.put_binding(key(id), None);
    follow(source(Api::all_with(client.clone(), &resource), None), put, gone, || book.listed("bindings"))
        .await;
}

async fn watch_works(client: &Client, book: &Book, kinds: &Kinds) {
    let put = |object: DynamicObject| {
        let id = (object.namespace().unwrap_or_default(), object.name_any());
        let work = slim(object);
        let ours = Work(&work).manifest().is_some_and(|it| kinds.of(it).is_some());
        match Work(&work).binding().filter(|_| ours) {
            Some((namespace, name)) => {
                book.put_work(id, key(&(namespace.to_owned(), name.to_owned())), &work);
            }
            None => book.drop_work(&id),
        }
    };
    let all = source(Api::all_with(client.clone(), &works()), Some(PERMANENT_ID));
    follow(all, put, |id| book.drop_work(id), || book.listed("works")).await;
}

async fn watch_clusters(client: &Client, book: &Book) {
    let put = |object: DynamicObject| {
        let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True");
        book.put_cluster(&object.name_any(), Some(ready));
    };
    let resource = karmada("cluster.karmada.io", "v1alpha1", "Cluster");
    let all = source(Api::all_with(client.clone(), &resource), None);
    follow(all, put, |(_, name)| book.put_cluster(name, None), || book.listed("clusters")).await;
}

async fn watch_rollouts(client: &Client, book: &Book) {
    let put = |object: DynamicObject| {
        let Some(key) = Key::of(&object.metadata) else { return };
        match serde_json::from_value::<FederatedRollout>(slim(object)) {
            Ok(rollout) => book.put_rollout(key, Some(&rollout)),
            Err(error) => tracing::error!(%error, ?key, "a rollout cannot be read"),
        }
    };
    let all = source(Api::all_with(client.clone(), &rollouts()), None);
    follow(all, put, |id| book.put_rollout(key(id), None), || book.listed("rollouts")).await;
}

async fn watch_policies(client: &Client, book: &Book) {
    let put = |object: DynamicObject| {
        let Some(key) = Key::of(&object.metadata) else { return };
        match serde_json::from_value::<FederationPolicy>(slim(object)) {
            Ok(policy) => book.put_policy(key, Some(policy)),
            Err(error) => tracing::error!(%error, ?key, "a policy cannot be read"),
        }
    };
    let all = source(Api::all_with(client.clone(), &policies()), None);
    follow(all, put, |id| book.put_policy(key(id), None), || book.listed("policies")).await;
}

/// Resource templates are read when they are needed; here it is only told that something else is wished for.
async fn watch_templates(api: Api<DynamicObject>, book: Arc<Book>, kind: String) {
    let named = |namespace: &str, name: &str| [&kind, namespace, name].map(str::to_owned);
    let put = |object: DynamicObject| {
        let of = named(&object.namespace().unwrap_or_default(), &object.name_any());
        book.put_template(of, Some(digest(&wished(object))));
    };
    let gone = |(namespace, name): &(String, String)| book.put_template(named(namespace, name), None);
    follow(source(api, None), put, gone, || {}).await;
}

fn digest(wish: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    wish.to_string().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_become_of_an_object_is_not_wished_for() {
        let object = |version: &str, image: &str, aggregated: u32| -> DynamicObject {
            let object = json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "resourceVersion": version, "uid": "u"},
                "spec": {"image": image}, "status": {"replicas": aggregated},
            });
            serde_json::from_value(object).unwrap()
        };
        let first = wished(object("7", "a", 3));
        assert_eq!((&first["spec"]["image"], &first["metadata"]["uid"]), (&json!("a"), &json!("u")));
        for (version, image, aggregated, same) in [("8", "a", 4, true), ("8", "b", 3, false)] {
            let next = wished(object(version, image, aggregated));
            assert_eq!((next == first, digest(&next) == digest(&first)), (same, same), "{next}");
        }
    }
}
