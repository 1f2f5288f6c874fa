//! Pods as the watch shows them, and as lists of single budgets do that are newer than the watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};

use lockstep_core::names::Uid;

use super::{Book, Known, Pages};
use crate::budgets::pod::SeenPod;

impl Book {
    /// All pods there are, at a version.
    pub fn list_pods(&self, listed: Vec<SeenPod>, version: u64) {
        let mut pages = self.pages();
        let mut before = std::mem::take(&mut pages.pods);
        for pod in listed {
            let known = before.get_mut(pod.namespace()).and_then(|pods| pods.remove(pod.name()));
            let newer = known.filter(|known| known.version >= pod.version || known.uid == pod.uid);
            let pod = inherit(pod, newer.as_deref());
            pages
                .pods
                .entry(pod.namespace().to_owned())
                .or_default()
                .insert(pod.name().to_owned(), Arc::new(pod));
        }
        pages.buried.clear();
        (pages.listed, pages.reached) = (version, version.max(pages.reached));
        for key in pages.budgets.keys().cloned().collect::<Vec<_>>() {
            self.ring(&mut pages, &key);
        }
        drop(pages);
        self.reached.send_replace(version);
    }

    /// A pod as it stands.
    pub fn apply_pod(&self, pod: SeenPod, version: u64) {
        let mut pages = self.pages();
        if !pages.buried.contains(&pod.uid) {
            let known = pages.pods.get(pod.namespace()).and_then(|pods| pods.get(pod.name())).cloned();
            if known.as_ref().is_none_or(|known| known.version < pod.version) {
                let pod = Arc::new(inherit(pod, known.as_deref()));
                let (namespace, name) = (pod.namespace().to_owned(), pod.name().to_owned());
                pages.pods.entry(namespace).or_default().insert(name, Arc::clone(&pod));
                self.changed(&mut pages, known.as_deref(), Some(&pod), version);
            }
        }
        self.advance(pages, version);
    }

    /// A pod is gone.
    pub fn delete_pod(&self, pod: &SeenPod, version: u64) {
        let mut pages = self.pages();
        pages.buried.remove(&pod.uid);
        let known = pages.pods.get_mut(pod.namespace()).and_then(|pods| match pods.get(pod.name()) {
            Some(known) if known.uid == pod.uid => pods.remove(pod.name()),
            _ => None,
        });
        if let Some(known) = known {
            self.changed(&mut pages, Some(&known), None, version);
        }
        self.advance(pages, version);
    }

    /// Nothing else happened to pods up to here.
    pub fn reach(&self, version: u64) {
        self.advance(self.pages(), version);
    }

    fn advance(&self, mut pages: MutexGuard<'_, Pages>, version: u64) {
        pages.reached = pages.reached.max(version);
        drop(pages);
        self.reached.send_if_modified(|reached| {
            let further = *reached < version;
            *reached = version.max(*reached);
            further
        });
    }

    /// Wakes those whose account has changed, and notes when a pod has left one.
    fn changed(&self, pages: &mut Pages, before: Option<&SeenPod>, after: Option<&SeenPod>, version: u64) {
        let Some(namespace) = after.or(before).map(SeenPod::namespace) else { return };
        for known in pages.budgets_in(namespace) {
            let covers =
                |pod: Option<&SeenPod>| pod.is_some_and(|pod| known.coverage.may_cover(&pod.metadata));
            let (was, is) = (covers(before), covers(after));
            if was && !is {
                let left = pages.left.entry(known.key.clone()).or_default();
                *left = version.max(*left);
            }
            if was || is {
                self.ring(pages, &known.key);
            }
        }
    }

    /// Takes in a list of what a budget covers that is newer than the watch.
    pub fn absorb(&self, known: &Known, listed: Vec<SeenPod>, version: u64) {
        let mut pages = self.pages();
        let uids: BTreeSet<Uid> = listed.iter().map(|pod| pod.uid.clone()).collect();
        let lost: Vec<Arc<SeenPod>> = pages
            .pods
            .get(&known.key.0)
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|pod| {
                known.coverage.may_cover(&pod.metadata) && pod.version <= version && !uids.contains(&pod.uid)
            })
            .cloned()
            .collect();
        for pod in lost {
            pages.buried.insert(pod.uid.clone());
            if let Some(pods) = pages.pods.get_mut(&known.key.0) {
                pods.remove(pod.name());
            }
            self.changed(&mut pages, Some(&pod), None, version);
        }
        for pod in listed {
            let before = pages.pods.get(&known.key.0).and_then(|pods| pods.get(pod.name())).cloned();
            if before.as_ref().is_none_or(|before| before.version < pod.version) {
                let pod = Arc::new(inherit(pod, before.as_deref()));
                let name = pod.name().to_owned();
                pages.pods.entry(known.key.0.clone()).or_default().insert(name, Arc::clone(&pod));
                self.changed(&mut pages, before.as_deref(), Some(&pod), version);
            }
        }
        let looked = pages.looked.entry(known.key.clone()).or_default();
        *looked = version.max(*looked);
        let left = pages.left.entry(known.key.clone()).or_default();
        *left = version.max(*left);
    }

    /// A pod as it was last seen.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<Arc<SeenPod>> {
        self.pages().pods.get(namespace)?.get(name).cloned()
    }
}

/// What was found out about the same pod before.
fn inherit(pod: SeenPod, before: Option<&SeenPod>) -> SeenPod {
    if let Some(before) = before.filter(|before| before.uid == pod.uid)
        && let Some(chain) = before.chain.get()
    {
        let _ = pod.chain.set(chain.clone());
    }
    pod
}
