//! Pods, by the node they are on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::read::text;
use crate::store::{Change, Key, Store};

/// Which pods each node has. Those that have none are under the empty name.
#[derive(Debug, Default)]
pub(super) struct ByNode {
    pods: BTreeMap<String, BTreeSet<Key>>,
}

impl ByNode {
    pub(super) fn read(store: &Store) -> Self {
        let mut found = Self::default();
        for (key, pod) in store.list(&Arc::from("pods"), None) {
            found.pods.entry(node(pod).to_owned()).or_default().insert(key.clone());
        }
        found
    }

    /// Takes in a change of a pod.
    pub(super) fn learn(&mut self, change: &Change) {
        if let Some(before) = &change.before
            && let Some(keys) = self.pods.get_mut(node(before))
        {
            keys.remove(&change.key);
            if keys.is_empty() {
                self.pods.remove(node(before));
            }
        }
        if !change.removed {
            self.pods.entry(node(&change.after).to_owned()).or_default().insert(change.key.clone());
        }
    }

    /// The pods on a node.
    pub(super) fn on<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a Key> + use<'a> {
        self.pods.get(node).into_iter().flatten()
    }

    /// The nodes pods are on.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &String> {
        self.pods.keys().filter(|node| !node.is_empty())
    }
}

fn node(pod: &Value) -> &str {
    text(&pod["spec"]["nodeName"])
}
