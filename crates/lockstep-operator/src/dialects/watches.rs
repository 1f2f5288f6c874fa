//! The watches of a dialect: its kinds, sets, and what may stand beside them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use lockstep_api::label;
use lockstep_dialects::Kind;
use lockstep_feed::{InitialList, Source, feed};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::book::Book;
use super::id::Id;
use super::served::is_served;

/// What is watched.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Its kind.
    pub resource: ApiResource,
    /// Whether it lives in a namespace.
    pub namespaced: bool,
    /// Only what a dialect made.
    pub made: bool,
}

impl Watched {
    /// A kind of a dialect, in the version in which it is stored.
    pub fn kind(kind: &Kind) -> Self {
        let version = kind.versions.first().copied().unwrap_or_default();
        let gvk = GroupVersionKind::gvk(kind.group, version, kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural);
        Self { resource, namespaced: kind.namespaced, made: false }
    }

    /// What stands beside sets: the rights of the operator name the same.
    fn beside() -> [Self; 4] {
        [
            ("", "v1", "ConfigMap", "configmaps"),
            ("", "v1", "Service", "services"),
            ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
            ("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
        ]
        .map(|(group, version, kind, plural)| {
            let gvk = GroupVersionKind::gvk(group, version, kind);
            let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
            Self { resource, namespaced: true, made: true }
        })
    }

    /// All of its objects, or those of one namespace.
    pub fn api(&self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// Whether an object is of this kind.
    pub fn is_of(&self, id: &Id) -> bool {
        self.resource.group == id.group && self.resource.kind == id.kind
    }

    /// An object in the form in which it is kept. Lists do not say of what kind their items are, and who manages
    /// which field is long and says nothing to us.
    pub fn read(&self, mut object: DynamicObject) -> Value {
        object.metadata.managed_fields = None;
        let mut value = serde_json::to_value(object).unwrap_or_default();
        value["apiVersion"] = json!(self.resource.api_version);
        value["kind"] = json!(self.resource.kind);
        value
    }
}

/// All that has to be watched for these kinds.
pub async fn all(client: &Client, kinds: &[&'static Kind]) -> Vec<Watched> {
    let mut all: Vec<Watched> = kinds.iter().map(|kind| Watched::kind(kind)).collect();
    all.push(Watched { resource: crate::set::resource(), namespaced: true, made: false });
    for beside in Watched::beside() {
        if is_served(client, &beside.resource).await {
            all.push(beside);
        }
    }
    all
}

/// Starts the watches, and waits until each has shown what is there.
pub async fn start(
    client: &Client,
    namespace: Option<&str>,
    all: &[Watched],
    book: &Arc<Book>,
    watches: &mut JoinSet<()>,
) {
    let mut filled = Vec::new();
    for watched in all {
        let (done, waits) = oneshot::channel();
        filled.push(waits);
        watches.spawn(follow(watched.clone(), watched.api(client, namespace), Arc::clone(book), done));
    }
    for filled in filled {
        // A watch that ends before it is filled takes the controller with it.
        let _ = filled.await;
    }
}

async fn follow(watched: Watched, api: Api<DynamicObject>, book: Arc<Book>, done: oneshot::Sender<()>) {
    let mut done = Some(done);
    let mut listed = BTreeSet::new();
    let mut source = Source::new(api, InitialList::Paged);
    source.config.label_selector = watched.made.then(|| label::DIALECT.to_owned());
    let mut events = feed(source).boxed();
    while let Some(event) = events.next().await {
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                let object = watched.read(object);
                listed.insert(Id::of(&object));
                book.see(object);
            }
            Event::InitDone => {
                book.keep(|id| watched.is_of(id), &listed);
                if let Some(done) = done.take() {
                    let _ = done.send(());
                }
            }
            Event::Apply(object) => book.see(watched.read(object)),
            Event::Delete(object) => {
                tracing::debug!(kind = watched.resource.kind, name = object.name_any(), "is gone");
                book.gone(&watched.read(object));
            }
        }
    }
}
