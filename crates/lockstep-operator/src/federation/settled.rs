//! Whether a Deployment's counts prove anything: its ReplicaSets, read from the member itself.
//!
//! Karmada reflects Deployments, not ReplicaSets. While a Deployment rolls its ReplicaSets are watched through Karmada's
//! proxy, and whenever one changes the Deployment is read, and then they are: in that order, so that what the Deployment
//! has told them is seen in them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::runtime::watcher::Config;
use kube::{Client, Error};
use lockstep_core::align::Observation;
use lockstep_federation::interpret::Interpretation;
use lockstep_federation::work::{is_settled, observation, reflect};
use lockstep_feed::{InitialList, Source, feed};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::book::Book;
use super::{Key, members, resource_of};

/// A member that does not answer in this time is looked at again when it says something.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks at Deployments in members.
pub(super) struct Settler {
    karmada: Client,
    book: Arc<Book>,
    watching: Mutex<BTreeMap<(Key, String), AbortHandle>>,
}

impl Settler {
    /// One who looks through this API server.
    pub fn new(karmada: Client, book: Arc<Book>) -> Self {
        Self { karmada, book, watching: Mutex::default() }
    }

    fn watching(&self) -> MutexGuard<'_, BTreeMap<(Key, String), AbortHandle>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a Deployment in a member is now, and whether its counts prove anything. Its ReplicaSets are watched from
    /// here on. Nothing if the member does not answer; an error if it does not let us look.
    pub async fn look(
        &self,
        key: &Key,
        cluster: &str,
        kind: &Interpretation,
        manifest: &Value,
    ) -> Result<Option<Observation>, Error> {
        let client = members::client(&self.karmada, cluster);
        let text = |name: &str| manifest["metadata"][name].as_str();
        let (Some(namespace), Some(name), Some(selector)) =
            (text("namespace"), text("name"), selector(manifest))
        else {
            return Ok(None);
        };
        self.watch(key, cluster, &client, namespace, &selector);
        let look = async {
            let deployments: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), namespace, &resource_of(kind));
            let deployment = serde_json::to_value(deployments.get(name).await?).map_err(Error::SerdeError)?;
            let sets: Api<DynamicObject> = Api::namespaced_with(client, namespace, &replica_sets());
            let sets = sets.list(&ListParams::default().labels(&selector)).await?;
            let uid = &deployment["metadata"]["uid"];
            let sets = sets.items.into_iter().filter_map(|it| serde_json::to_value(it).ok());
            let owned = |set: &Value| set["metadata"]["ownerReferences"][0]["uid"] == *uid;
            let sets: Vec<Value> = sets.filter(owned).collect();
            let seen = observation(kind, &reflect(kind, &deployment), Some(manifest));
            Ok(seen.map(|seen| Observation { settled: is_settled(&deployment, &sets), ..seen }))
        };
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(Err(Error::Api(status))) if status.code == 403 => Err(Error::Api(status)),
            Ok(seen) => Ok(seen.unwrap_or_default()),
            Err(_) => Ok(None),
        }
    }

    /// Nothing rolls any more in these clusters. Only they are let go of that nobody is going to look at: a watch says
    /// something when it begins, and one that is begun by every look and ended after it would go round for ever.
    pub fn forget_where(&self, key: &Key, is_over: impl Fn(&str) -> bool) {
        self.watching().retain(|(its, cluster), task| {
            let kept = its != key || !is_over(cluster);
            if !kept {
                task.abort();
            }
            kept
        });
    }

    fn watch(&self, key: &Key, cluster: &str, member: &Client, namespace: &str, selector: &str) {
        let mut watching = self.watching();
        let id = (key.clone(), cluster.to_owned());
        if watching.get(&id).is_some_and(|task| !task.is_finished()) {
            return;
        }
        let api: Api<ReplicaSet> = Api::namespaced(member.clone(), namespace);
        let mut source = Source::new(api, InitialList::Paged);
        source.config = Config { label_selector: Some(selector.to_owned()), ..source.config };
        let (book, key) = (Arc::clone(&self.book), key.clone());
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(feed(source));
            while events.next().await.is_some() {
                book.stir(&key);
            }
        });
        watching.insert(id, task.abort_handle());
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        self.watching().values().for_each(AbortHandle::abort);
    }
}

fn replica_sets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "ReplicaSet"))
}

/// The labels that a Deployment's pods have, as a selector; expressions only select fewer.
fn selector(deployment: &Value) -> Option<String> {
    let labels = deployment["spec"]["selector"]["matchLabels"].as_object()?;
    let pairs: Option<Vec<String>> =
        labels.iter().map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    Some(pairs?.join(","))
}
