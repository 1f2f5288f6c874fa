//! How many pods were ready at the worst moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, ResourceExt};
use lockstep_testkit::pods::is_ready;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::laid::Laid;

/// Sorts a pod by what is counted; nothing for one that is not.
type Sort = fn(&Pod) -> Option<String>;

/// Counts ready pods, from now on.
pub struct Watched {
    least: Arc<Mutex<BTreeMap<String, usize>>>,
    task: JoinHandle<()>,
}

impl Watched {
    /// Begins with what is ready now.
    pub async fn begin(laid: &Laid, sort: Sort) -> Self {
        let api: Api<Pod> = Api::namespaced(laid.client.clone(), &laid.namespace);
        let least = Arc::new(Mutex::new(BTreeMap::new()));
        let (begun, first) = oneshot::channel();
        let mut begun = Some(begun);
        let shared = Arc::clone(&least);
        let task = tokio::spawn(async move {
            let mut ready: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let mut events = watcher(api, Config::default()).boxed();
            while let Some(event) = events.next().await {
                let listing = matches!(event, Ok(Event::Init | Event::InitApply(_)));
                match event {
                    Ok(Event::InitApply(pod) | Event::Apply(pod)) => {
                        let Some(key) = sort(&pod) else { continue };
                        let serves = is_ready(&pod) && pod.metadata.deletion_timestamp.is_none();
                        let of = ready.entry(key).or_default();
                        if serves {
                            of.insert(pod.name_any())
                        } else {
                            of.remove(&pod.name_any())
                        };
                    }
                    Ok(Event::Delete(pod)) => {
                        let Some(key) = sort(&pod) else { continue };
                        ready.entry(key).or_default().remove(&pod.name_any());
                    }
                    _ => {}
                }
                if listing {
                    continue;
                }
                let mut least = shared.lock().unwrap_or_else(PoisonError::into_inner);
                for (key, pods) in &ready {
                    let known = least.entry(key.clone()).or_insert(pods.len());
                    *known = pods.len().min(*known);
                }
                if let Some(begun) = begun.take() {
                    let _ = begun.send(());
                }
            }
        });
        let _ = first.await;
        Self { least, task }
    }

    /// The least that were ready at any moment.
    pub fn least(&self, of: &str) -> usize {
        let least = self.least.lock().unwrap_or_else(PoisonError::into_inner);
        least.get(of).copied().unwrap_or_else(|| panic!("{of} is not among {least:?}"))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}
