//! Where everything in the book comes from: watches on budgets and pods, and on each kind of owner once one of them
//! has been met.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use kube::api::{ApiResource, DynamicObject, ListParams, VersionMatch};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Resource, ResourceExt, discovery};
use lockstep_api::budget::{Coverage, Owner, PodUnavailableBudget};
use lockstep_core::budget::View;
use lockstep_feed::{Seen, list, versioned};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::book::{Book, Key, Known, key_of};
use super::owner;
use super::pod::SeenPod;

/// How new a list has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// At least of this version.
    NotOlderThan(u64),
    /// Of this very moment.
    Now,
}

/// The way to what is not in the book yet.
pub struct Sources {
    client: Client,
    namespace: Option<String>,
    book: Arc<Book>,
    kinds: Mutex<BTreeMap<(String, String), Option<ApiResource>>>,
    watch_kind: mpsc::UnboundedSender<ApiResource>,
}

impl Sources {
    /// Nothing is asked for yet. What has to be watched besides budgets and pods comes out of the receiver.
    pub fn new(
        client: Client,
        namespace: Option<String>,
        book: Arc<Book>,
    ) -> (Self, mpsc::UnboundedReceiver<ApiResource>) {
        let (watch_kind, kinds_met) = mpsc::unbounded_channel();
        (Self { client, namespace, book, kinds: Mutex::default(), watch_kind }, kinds_met)
    }

    /// Budgets of a namespace.
    pub fn budgets(&self, namespace: &str) -> Api<PodUnavailableBudget> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// A pod as it stands.
    pub async fn pod(&self, namespace: &str, name: &str) -> kube::Result<Option<SeenPod>> {
        Api::<SeenPod>::namespaced(self.client.clone(), namespace).get_opt(name).await
    }

    /// Asks for what a budget covers, and takes it into the book.
    pub async fn look(&self, known: &Known, freshness: Freshness) -> kube::Result<()> {
        let mut params = ListParams::default();
        if let Coverage::Labels(selector) = &known.coverage {
            params = params.labels_from(selector);
        }
        if let Freshness::NotOlderThan(version) = freshness {
            params.version_match = Some(VersionMatch::NotOlderThan);
            params.resource_version = Some(version.to_string());
        }
        let api: Api<SeenPod> = Api::namespaced(self.client.clone(), &known.key.0);
        let (listed, version) = list(&api, &params).await?;
        self.book.absorb(known, listed, version);
        Ok(())
    }

    /// Sees to it that what a budget covers is known up to a version: by the watch if it gets there in time, else by
    /// a list.
    pub async fn reach(&self, known: &Known, version: u64, patience: Duration) -> kube::Result<()> {
        if self.book.reached(version, patience).await {
            return Ok(());
        }
        self.look(known, Freshness::NotOlderThan(version)).await
    }

    /// What a budget covers, once all owners are known.
    pub async fn view(&self, known: &Known) -> kube::Result<View> {
        loop {
            let assembled = self.book.view(known);
            if assembled.missing.is_empty() {
                return Ok(assembled.view);
            }
            self.find(assembled.missing, &known.key.0).await?;
        }
    }

    /// Asks for owners, and takes them into the book.
    pub async fn find(&self, owners: BTreeSet<Owner>, namespace: &str) -> kube::Result<()> {
        join_all(owners.iter().map(|owner| self.find_one(owner, namespace))).await.into_iter().collect()
    }

    async fn find_one(&self, owner: &Owner, namespace: &str) -> kube::Result<()> {
        let Some(resource) = self.resource(owner).await? else {
            self.book.cannot_see(owner, namespace);
            return Ok(());
        };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        match api.get_opt(&owner.name).await {
            Ok(Some(object)) => {
                let standing = owner::standing(&object);
                if !owner.uid.is_empty() && object.uid().as_deref() != Some(&owner.uid) {
                    self.book.lose_owner(&owner.uid, namespace);
                }
                if let Some(standing) = standing {
                    self.book.see_owner(standing);
                }
                Ok(())
            }
            Ok(None) if owner.uid.is_empty() => {
                self.book.cannot_see(owner, namespace);
                Ok(())
            }
            Ok(None) => {
                self.book.lose_owner(&owner.uid, namespace);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                tracing::warn!(
                    kind = owner.kind,
                    message = status.message,
                    "not allowed to read an owner of pods"
                );
                self.book.cannot_see(owner, namespace);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// How objects of an owner's kind are asked for, if the API server knows them. A kind that is met for the first
    /// time is watched from then on.
    async fn resource(&self, owner: &Owner) -> kube::Result<Option<ApiResource>> {
        let kind = (owner.api_version.clone(), owner.kind.clone());
        let known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let version = owner.api_version.rsplit('/').next().unwrap_or_default();
        let wanted = GroupVersionKind::gvk(owner.group(), version, &owner.kind);
        let found = match discovery::oneshot::pinned_kind(&self.client, &wanted).await {
            Ok((resource, capabilities)) => {
                (capabilities.scope == discovery::Scope::Namespaced).then_some(resource)
            }
            Err(kube::Error::Discovery(_)) => None,
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => return Err(error),
        };
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.insert(kind, found.clone()).is_none()
            && let Some(resource) = &found
        {
            // If nobody watches, everything is asked for.
            let _ = self.watch_kind.send(resource.clone());
        }
        Ok(found)
    }

    fn api<K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>>(&self) -> Api<K> {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// Keeps the book, for ever.
    pub async fn run(self: Arc<Self>, kinds_met: &mut mpsc::UnboundedReceiver<ApiResource>) {
        let mut watches = JoinSet::new();
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).clear();
        watches.spawn(Arc::clone(&self).watch());
        loop {
            tokio::select! {
                biased;
                Some(resource) = kinds_met.recv() => {
                    watches.spawn(Arc::clone(&self).watch_owners(resource));
                }
                Some(ended) = watches.join_next() => {
                    tracing::error!(?ended, "a watch for budgets broke down");
                    return;
                }
            }
        }
    }

    /// Budgets, and pods once there is a budget: who has none does not pay for any.
    async fn watch(self: Arc<Self>) {
        let mut budgets = versioned(self.api::<PodUnavailableBudget>(), None).boxed();
        while let Some(seen) = budgets.next().await {
            self.take_budget(seen);
            if !self.book.keys().is_empty() {
                break;
            }
        }
        let mut pods = versioned(self.api::<SeenPod>(), None).boxed();
        loop {
            tokio::select! {
                biased;
                Some(seen) = budgets.next() => self.take_budget(seen),
                Some(seen) = pods.next() => self.take_pod(seen),
            }
        }
    }

    fn take_budget(&self, seen: Seen<PodUnavailableBudget>) {
        match seen {
            Seen::Listed(all, version) => {
                let listed: BTreeSet<Key> = all.iter().map(key_of).collect();
                self.book.keep_budgets(&listed, version);
                if all.is_empty() {
                    self.book.is_now_filled();
                }
                for object in all {
                    self.book.put_budget(object);
                }
            }
            Seen::Applied(object, _) => drop(self.book.put_budget(object)),
            Seen::Deleted(object, version) => self.book.remove_budget(&key_of(&object), version),
            Seen::Reached(_) => {}
        }
    }

    fn take_pod(&self, seen: Seen<SeenPod>) {
        match seen {
            Seen::Listed(all, version) => {
                self.book.list_pods(all, version);
                self.book.is_now_filled();
            }
            Seen::Applied(pod, version) => self.book.apply_pod(pod, version),
            Seen::Deleted(pod, version) => self.book.delete_pod(&pod, version),
            Seen::Reached(version) => self.book.reach(version),
        }
    }

    async fn watch_owners(self: Arc<Self>, resource: ApiResource) {
        let api: Api<DynamicObject> = match &self.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let read = |mut object: DynamicObject| {
            // Objects in a list do not say what they are.
            object.types.get_or_insert_with(|| kube::core::TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            });
            owner::standing(&object)
        };
        let mut seen = versioned(api, None).boxed();
        while let Some(event) = seen.next().await {
            match event {
                Seen::Listed(all, version) => {
                    let all = all.into_iter().filter_map(read).collect();
                    self.book.list_owners((&resource.group, &resource.kind), all, version);
                }
                Seen::Applied(object, _) => {
                    if let Some(standing) = read(object) {
                        self.book.see_owner(standing);
                    }
                }
                Seen::Deleted(object, _) => {
                    let namespace = object.namespace().unwrap_or_default();
                    self.book.lose_owner(&object.uid().unwrap_or_default(), &namespace);
                }
                Seen::Reached(_) => {}
            }
        }
    }
}
