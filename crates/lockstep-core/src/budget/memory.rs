//! How many units there ought to be.
//!
//! Where an owner's scale counts the units, that is the answer. Elsewhere only what was seen can tell, and a
//! unit that is gone whole is no longer seen: were it forgotten, fewer units would be expected, fewer would
//! have to stay, and a second one could go. So units are remembered until their root scales in or is deleted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::observe::{Pod, Root, View};

/// What is remembered of one root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootMemory {
    /// Its groups, by label value.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// How many pods that are units by themselves it had at most. Counted, not named: most owners give a
    /// replacement another name.
    #[serde(default)]
    pub singles: u32,
    /// Its scale when last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// How many units may still be forgotten for a scale-in that is not finished.
    #[serde(default)]
    pub leaving: u32,
}

/// The units seen so far, by root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory(pub BTreeMap<String, RootMemory>);

/// What one view shows of one root.
#[derive(Default)]
struct Seen {
    groups: BTreeSet<String>,
    pods: u32,
    terminating: bool,
    /// Pods that are units by themselves and stay: counting one that leaves beside its replacement would
    /// raise the mark for ever.
    singles: u32,
}

impl Memory {
    /// The memory after this view. The same view twice changes nothing further.
    pub fn observe(&self, view: &View, grouped: bool) -> Self {
        let mut seen = census(&view.pods, grouped);
        let roots = view.roots.iter().map(|(name, root)| {
            let before = self.0.get(name);
            (name.clone(), advance(before, seen.remove(name).unwrap_or_default(), *root, grouped))
        });
        Self(roots.collect())
    }

    /// How many units are expected in this view, for a memory that has observed it. Pods without a root, or
    /// whose root is gone, are expected only while they stand: nobody would bring them back.
    pub fn expected(&self, view: &View, grouped: bool) -> u32 {
        let remembered: u32 = self
            .0
            .iter()
            .map(|(name, memory)| expected_of(memory, view.roots.get(name).copied(), grouped))
            .fold(0, u32::saturating_add);
        let stray: BTreeSet<_> = view
            .pods
            .iter()
            .filter(|pod| pod.active && !pod.root.as_ref().is_some_and(|root| self.0.contains_key(root)))
            .map(|pod| pod.unit(grouped))
            .collect();
        remembered.saturating_add(count(stray.len()))
    }
}

fn expected_of(memory: &RootMemory, root: Option<Root>, grouped: bool) -> u32 {
    let counted = root.filter(|root| root.counts_units).and_then(|root| root.replicas);
    match (counted, grouped) {
        (Some(replicas), true) => replicas.saturating_add(memory.singles),
        (Some(replicas), false) => replicas,
        (None, _) => count(memory.groups.len()).saturating_add(memory.singles),
    }
}

fn census(pods: &[Pod], grouped: bool) -> BTreeMap<String, Seen> {
    let mut roots: BTreeMap<String, Seen> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.active) {
        let Some(root) = &pod.root else { continue };
        let seen = roots.entry(root.clone()).or_default();
        seen.pods = seen.pods.saturating_add(1);
        seen.terminating |= pod.terminating;
        match &pod.group {
            Some(value) if grouped => {
                seen.groups.insert(value.clone());
            }
            _ if !pod.terminating => seen.singles = seen.singles.saturating_add(1),
            _ => {}
        }
    }
    roots
}

/// One root's memory after one view.
///
/// A scale-in says how many replicas go, not which units, and what goes may stand for a while yet. So it
/// opens a credit: until the root has settled, units that are seen no more are forgotten, at most as many
/// as replicas were taken, the highest first (as ordinals are scaled in). Settled means that the root says
/// so and the pods show it: the two come from different caches.
///
/// Pods that are units by themselves are counted up to what the root has when complete, lest a surge raise
/// the mark for ever.
fn advance(before: Option<&RootMemory>, seen: Seen, root: Root, grouped: bool) -> RootMemory {
    let blank = RootMemory::default();
    let before = before.unwrap_or(&blank);
    let taken = match (before.replicas, root.replicas) {
        (Some(was), Some(is)) => was.saturating_sub(is),
        _ => 0,
    };
    let grown = matches!((before.replicas, root.replicas), (Some(was), Some(is)) if is > was);
    let shown = root.pods().map_or(!seen.terminating, |pods| seen.pods <= pods);
    let mut leaving = if grown { 0 } else { before.leaving.saturating_add(taken) };

    let mut groups = seen.groups;
    let mut unseen: Vec<&String> = before.groups.difference(&groups).collect();
    unseen.sort_by_key(|value| Reverse((value.len(), *value)));
    let forgotten = unseen.len().min(usize::try_from(leaving).unwrap_or(usize::MAX));
    leaving = leaving.saturating_sub(count(forgotten));
    let kept: Vec<String> = unseen.into_iter().skip(forgotten).cloned().collect();
    groups.extend(kept);

    let gone = taken.saturating_mul(root.pods_per_replica.unwrap_or(1));
    let singles = seen.singles.max(before.singles.saturating_sub(gone));
    let singles = root.pods().map_or(singles, |pods| singles.min(pods));
    let counts = root.counts_units && root.replicas.is_some();
    RootMemory {
        groups: if counts { BTreeSet::new() } else { groups },
        singles: if counts && !grouped { 0 } else { singles },
        replicas: root.replicas,
        leaving: if root.settled && shown { 0 } else { leaving },
    }
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
