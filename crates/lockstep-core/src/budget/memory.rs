//! How many units there ought to be.
//!
//! Where an owner's scale counts the units, that is the answer. Elsewhere only what was seen can tell, and a
//! unit that is gone whole is no longer seen: were it forgotten, fewer units would be expected, fewer would
//! have to stay, and a second one could go. So units are remembered until their root scales in or is deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::observe::{Pod, Root, View};

/// What is remembered of one root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootMemory {
    /// Its groups, by label value.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// How many pods that are units by themselves it had at most. Counted, not named: most owners give a
    /// replacement another name.
    #[serde(default)]
    pub singles: u32,
    /// What it said of itself when last seen.
    #[serde(default)]
    pub known: Root,
    /// Whether it was scaled in and has not been seen complete since.
    #[serde(default)]
    pub scaled_in: bool,
}

/// The units seen so far, by root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory(pub BTreeMap<String, RootMemory>);

/// What one view shows of one root.
#[derive(Default)]
struct Seen<'a> {
    groups: BTreeSet<&'a str>,
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
            (name.clone(), advance(before, seen.remove(name.as_str()).unwrap_or_default(), *root, grouped))
        });
        Self(roots.collect())
    }

    /// How many units are expected in this view, for a memory that has observed it. Pods without a root, or
    /// whose root is gone, are expected only while they stand: nobody would bring them back.
    pub fn expected(&self, view: &View, grouped: bool) -> u32 {
        let remembered: u32 =
            self.0.values().map(|memory| expected_of(memory, grouped)).fold(0, u32::saturating_add);
        let stray: BTreeSet<_> = view
            .pods
            .iter()
            .filter(|pod| pod.active && !pod.root.as_ref().is_some_and(|root| self.0.contains_key(root)))
            .map(|pod| pod.unit(grouped))
            .collect();
        remembered.saturating_add(count(stray.len()))
    }
}

fn expected_of(memory: &RootMemory, grouped: bool) -> u32 {
    let counted = Some(memory.known).filter(|root| root.counts_units).and_then(|root| root.replicas);
    match (counted, grouped) {
        (Some(replicas), true) => replicas.saturating_add(memory.singles),
        (Some(replicas), false) => replicas,
        (None, _) => count(memory.groups.len()).saturating_add(memory.singles),
    }
}

fn census(pods: &[Pod], grouped: bool) -> BTreeMap<&str, Seen<'_>> {
    let mut roots: BTreeMap<&str, Seen<'_>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.active) {
        let Some(root) = &pod.root else { continue };
        let seen = roots.entry(root).or_default();
        seen.pods = seen.pods.saturating_add(1);
        seen.terminating |= pod.terminating;
        match &pod.group {
            Some(value) if grouped => {
                seen.groups.insert(value);
            }
            _ if !pod.terminating => seen.singles = seen.singles.saturating_add(1),
            _ => {}
        }
    }
    roots
}

/// One root's memory after one view.
///
/// A scale-in says how many replicas go, not which units; what goes may stand for a while yet, and what
/// stays may be away at that moment. So nothing is forgotten before the root is complete at its new scale:
/// then what is seen is all there is. Until then a unit too many is expected, which delays and never
/// breaks. Both the root and the pods have to show it, since they come from different caches.
///
/// Pods that are units by themselves are counted up to what the root has when complete, lest a surge raise
/// the mark for ever.
fn advance(before: Option<&RootMemory>, seen: Seen<'_>, root: Root, grouped: bool) -> RootMemory {
    let blank = RootMemory::default();
    let before = before.unwrap_or(&blank);
    let root = before.known.renewed_by(root);
    let shrunk = matches!((before.known.replicas, root.replicas), (Some(was), Some(is)) if is < was);
    let scaled_in = before.scaled_in || shrunk;
    let complete = root.settled && !seen.terminating && root.pods().is_none_or(|pods| seen.pods == pods);
    let forget = scaled_in && complete;

    let mut groups: BTreeSet<String> = seen.groups.into_iter().map(str::to_owned).collect();
    let mut singles = seen.singles;
    if !forget {
        groups.extend(before.groups.iter().cloned());
        singles = singles.max(before.singles);
    }
    let counts = root.counts_units && root.replicas.is_some();
    RootMemory {
        groups: if counts { BTreeSet::new() } else { groups },
        singles: if counts && !grouped { 0 } else { root.pods().map_or(singles, |pods| singles.min(pods)) },
        known: root,
        scaled_in: scaled_in && !complete,
    }
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
