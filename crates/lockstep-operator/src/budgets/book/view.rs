//! What a budget covers, as the book knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_api::budget::{Assembled, Chain, Found, Lens, Owner, Sight, Surroundings};
use lockstep_core::budget::Version;

use super::{Book, Key, Known, Pages};
use crate::budgets::pod::SeenPod;

impl Book {
    /// The budgets that cover a pod, by name; and owners that have to be known before that can be told.
    pub fn covering(&self, pod: &SeenPod) -> (Vec<Arc<Known>>, BTreeSet<Owner>) {
        let budgets = self.budgets_in(pod.namespace());
        let mut missing = BTreeSet::new();
        if budgets.is_empty() {
            return (budgets, missing);
        }
        let pages = self.pages();
        let chain = chain(&pages, pod, &mut missing);
        let covering =
            budgets.into_iter().filter(|known| known.coverage.covers(pod.labels(), &chain)).collect();
        (covering, missing)
    }

    /// Up to which version what a budget covers has been seen.
    pub fn seen(&self, key: &Key) -> u64 {
        let pages = self.pages();
        pages.reached.max(pages.looked.get(key).copied().unwrap_or_default())
    }

    /// What a budget covers, as the watches show it.
    pub fn view(&self, known: &Known) -> Assembled {
        let pages = self.pages();
        let lens = Lens {
            coverage: &known.coverage,
            group_label: known.object.group_label(),
            memory: known.budget.as_ref().map(|budget| &budget.state.memory),
        };
        let mut assembled = lens.assemble(&Within { pages: &pages, namespace: &known.key.0 });
        let left = pages.left.get(&known.key).copied().unwrap_or_default();
        let looked = pages.looked.get(&known.key).copied().unwrap_or_default();
        let since = assembled.view.since.0.max(pages.listed).max(left);
        assembled.view.since = Version(since);
        assembled.view.version = Version(pages.reached.max(looked).max(since));
        assembled
    }
}

/// What is known of one namespace.
struct Within<'a> {
    pages: &'a Pages,
    namespace: &'a str,
}

impl Surroundings for Within<'_> {
    type Pod = SeenPod;

    fn pods(&self) -> impl Iterator<Item = &SeenPod> {
        self.pages.pods.get(self.namespace).into_iter().flat_map(BTreeMap::values).map(Arc::as_ref)
    }

    fn chain(&self, pod: &SeenPod, missing: &mut BTreeSet<Owner>) -> Chain {
        chain(self.pages, pod, missing)
    }

    fn sight(&self, owner: &Owner) -> Option<Sight> {
        self.pages.owners.sight(owner, self.namespace)
    }
}

/// Who stands above a pod. Once known, it is kept.
fn chain(pages: &Pages, pod: &SeenPod, missing: &mut BTreeSet<Owner>) -> Chain {
    if let Some(chain) = pod.chain.get() {
        return chain.clone();
    }
    let namespace = pod.namespace();
    let mut unknown = None;
    let pods = pages.pods.get(namespace);
    let chain = Chain::climb(&pod.metadata, |owner| {
        if owner.kind == "Pod" && owner.group().is_empty() {
            return pods.and_then(|pods| pods.get(&owner.name)).map(|pod| Found::from(&pod.metadata));
        }
        if pages.owners.sight(owner, namespace).is_none() {
            unknown = Some(owner.clone());
        }
        pages.owners.metadata(owner, namespace).map(Found::from)
    });
    match unknown {
        Some(owner) => {
            missing.insert(owner);
        }
        // One that is broken may yet be mended: its leader comes back.
        None if !chain.is_broken() => {
            let _ = pod.chain.set(chain.clone());
        }
        None => {}
    }
    chain
}
