//! PodGroups stay as long as there are pods in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::feed::Feed;
use super::read::{self, list, text};
use super::wish::{Turn, Wish};
use super::{Controller, key};
use crate::store::{Key, Store};

const GROUPS: &str = "podgroups.scheduling.k8s.io";
const FINALIZER: &str = "scheduling.k8s.io/podgroup-protection";

/// Lets PodGroups go once nobody uses them. Admission puts the finalizer on.
#[derive(Debug, Default)]
pub struct PodGroupProtection {
    feed: Feed,
    /// The pods that use each group.
    pods: BTreeMap<Key, BTreeSet<Key>>,
    due: BTreeSet<Key>,
}

impl Controller for PodGroupProtection {
    fn name(&self) -> &'static str {
        "podgroup-protection-controller"
    }

    fn turn(&mut self, store: &Store, _now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for key in std::mem::take(&mut self.due) {
            if let Some(wish) = self.let_go(store, &key) {
                turn.wishes.push(wish);
                self.due.insert(key);
            }
        }
        turn
    }
}

impl PodGroupProtection {
    fn read(&mut self, store: &Store) {
        let Some(news) = self.feed.news(store) else {
            self.pods.clear();
            for (key, pod) in store.list(&Arc::from("pods"), None) {
                self.index(key, pod, true);
            }
            self.due = store.list(&Arc::from(GROUPS), None).map(|(key, _)| key.clone()).collect();
            return;
        };
        for change in news {
            match &*change.key.resource {
                GROUPS => {
                    self.due.insert(change.key.clone());
                }
                "pods" => {
                    if let Some(before) = &change.before {
                        self.index(&change.key, before, false);
                    }
                    if !change.removed {
                        self.index(&change.key, &change.after, true);
                    }
                }
                _ => {}
            }
        }
    }

    fn index(&mut self, pod_key: &Key, pod: &Value, add: bool) {
        let group = text(&pod["spec"]["schedulingGroup"]["podGroupName"]);
        if group.is_empty() {
            return;
        }
        let group = key(GROUPS, &pod_key.namespace, group);
        let users = self.pods.entry(group.clone()).or_default();
        if add && !read::has_ended(pod) {
            users.insert(pod_key.clone())
        } else {
            users.remove(pod_key)
        };
        if users.is_empty() {
            self.pods.remove(&group);
            self.due.insert(group);
        }
    }

    fn let_go(&self, store: &Store, key: &Key) -> Option<Wish> {
        let group = store.get(key)?;
        if !read::is_deleting(group) || !read::has_finalizer(group, FINALIZER) || self.pods.contains_key(key)
        {
            return None;
        }
        let metadata = &group["metadata"];
        let stay: Vec<&Value> =
            list(&metadata["finalizers"]).iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = json!({"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": stay}});
        Some(Wish::Merge { key: key.clone(), subresource: None, patch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::Propagation;
    use crate::controllers::testing::{World, pod};

    #[test]
    fn it_goes_after_its_pods() {
        for forgetful in [false, true] {
            let mut world = World::with(&["podgroup-protection-controller"]);
            world.forgetful = forgetful;
            let group = json!({"metadata": {"name": "g", "namespace": "a", "finalizers": [FINALIZER]}});
            let group = world.put(GROUPS, group);
            let pods = ["p0", "p1"].map(|name| {
                let mut pod = pod(name, json!({}));
                pod["spec"]["schedulingGroup"] = json!({"podGroupName": "g"});
                world.put("pods", pod)
            });
            world.delete(&group, Propagation::Background);
            world.settle();
            world.edit(&pods[0], |pod| pod["status"]["phase"] = json!("Failed"));
            world.settle();
            assert!(!world.get(&group).is_null());
            world.store.remove(&pods[1]);
            world.settle();
            assert!(world.get(&group).is_null());
        }
    }
}
