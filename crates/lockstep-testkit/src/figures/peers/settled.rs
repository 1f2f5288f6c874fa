//! When a roll is over, whoever rolls: the namespace holds the pods that were wished for and no others, and
//! nobody changes anything any more.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::select_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use kube::{Api, Resource, ResourceExt};
use lockstep_feed::{InitialList, Source, feed};

use super::contender::Kind;
use crate::cluster::{Cluster, ClusterError};
use crate::pods::is_ready;

/// How long a roll may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// How long nothing may change before a roll counts as over. Longer than the second after which a DisaggregatedSet
/// is looked at again.
const QUIET: Duration = Duration::from_secs(2);

/// The pods a namespace should hold.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// What all of them run.
    pub image: &'a str,
    /// How many.
    pub pods: usize,
}

impl Wish<'_> {
    /// Waits until it is so and quiet. Statuses count as a change, so everybody has written what he had to say.
    pub async fn settled(&self, cluster: &Cluster, namespace: &str) -> Result<(), ClusterError> {
        let waited = tokio::time::timeout(PATIENCE, self.watch(cluster, namespace)).await;
        waited.map_err(ClusterError::access(&format!("see {} pods of {}", self.pods, self.image)))
    }

    async fn watch(&self, cluster: &Cluster, namespace: &str) {
        let client = || cluster.client();
        let mut changes = vec![
            everything(Api::<Pod>::namespaced(client(), namespace)).map(Some).boxed(),
            everything(Api::<StatefulSet>::namespaced(client(), namespace)).map(|_| None).boxed(),
        ];
        for kind in Kind::resources() {
            let api: Api<DynamicObject> = Api::namespaced_with(client(), namespace, &kind);
            changes.push(everything(api).map(|_| None).boxed());
        }
        let mut changes = select_all(changes);
        let mut pods = HashMap::new();
        loop {
            let next = changes.next();
            let change = if self.is_met(&pods) {
                // Nothing happens: it is over.
                let Ok(change) = tokio::time::timeout(QUIET, next).await else { return };
                change
            } else {
                next.await
            };
            if let Some(event) = change.flatten() {
                self.note(&mut pods, event);
            }
        }
    }

    fn is_met(&self, pods: &HashMap<String, bool>) -> bool {
        pods.len() == self.pods && pods.values().all(|as_wished| *as_wished)
    }

    /// Keeps of every pod whether it is as wished, by UID: names are used again.
    fn note(&self, pods: &mut HashMap<String, bool>, event: Event<Pod>) {
        match event {
            Event::Init => pods.clear(),
            Event::InitDone => {}
            Event::Apply(pod) | Event::InitApply(pod) => {
                let spec = pod.spec.iter().flat_map(|spec| &spec.containers);
                let runs_it = spec.clone().all(|it| it.image.as_deref() == Some(self.image));
                let stays = pod.metadata.deletion_timestamp.is_none();
                pods.insert(pod.uid().unwrap_or_default(), runs_it && stays && is_ready(&pod));
            }
            Event::Delete(pod) => {
                pods.remove(&pod.uid().unwrap_or_default());
            }
        }
    }
}

fn everything<K>(api: Api<K>) -> impl futures::Stream<Item = Event<K>> + Send
where
    K: Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    feed(Source::new(api, InitialList::Paged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, image: &str, ready: &str, deleted: Option<&str>) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "a", "uid": uid, "deletionTimestamp": deleted},
            "spec": {"containers": [{"name": "main", "image": image}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[test]
    fn all_pods_must_be_new_and_ready_and_no_other_left() {
        let wish = Wish { image: "v2", pods: 1 };
        let leaving = Some("2026-01-01T00:00:00Z");
        let mut pods = HashMap::new();
        let steps = [
            (Event::InitApply(pod("1", "v1", "True", None)), false),
            (Event::Apply(pod("1", "v1", "True", leaving)), false),
            (Event::Apply(pod("2", "v2", "True", None)), false),
            (Event::Delete(pod("1", "v1", "False", leaving)), true),
            (Event::Apply(pod("2", "v2", "False", None)), false),
            (Event::Apply(pod("2", "v2", "True", None)), true),
            (Event::Apply(pod("2", "v2", "True", leaving)), false),
        ];
        for (number, (event, expected)) in steps.into_iter().enumerate() {
            wish.note(&mut pods, event);
            assert_eq!(wish.is_met(&pods), expected, "after step {number}");
        }
    }
}
