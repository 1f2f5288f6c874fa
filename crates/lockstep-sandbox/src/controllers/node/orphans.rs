//! Pods whose end nobody else will see: those of nodes that are gone, and those that never had one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controllers::by_node::ByNode;
use crate::controllers::feed::Feed;
use crate::controllers::read::{self, text};
use crate::controllers::taints::Taint;
use crate::controllers::wish::{Turn, Wish};
use crate::controllers::{Controller, conditions, key};
use crate::store::{Change, Key, Store};

/// A node that is gone may come back until then.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);

/// Removes pods nobody looks after.
#[derive(Debug, Default)]
pub struct PodCollector {
    feed: Feed,
    pods: ByNode,
    /// Nodes that are missing, and until when they may come back.
    missing: BTreeMap<String, Timestamp>,
    due: BTreeSet<Key>,
}

impl Controller for PodCollector {
    fn name(&self) -> &'static str {
        "pod-garbage-collector-controller"
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.read(store, now);
        let mut turn = Turn::default();
        self.missing.retain(|node, _| {
            store.get(&key("nodes", "", node)).is_none() && self.pods.on(node).next().is_some()
        });
        for (node, until) in &self.missing {
            if *until <= now {
                self.due.extend(self.pods.on(node).cloned());
            } else {
                turn.look_at(*until);
            }
        }
        for key in std::mem::take(&mut self.due) {
            let wishes = self.look_at(store, &key, now);
            if !wishes.is_empty() {
                self.due.insert(key);
            }
            turn.wishes.extend(wishes);
        }
        turn
    }
}

impl PodCollector {
    fn read(&mut self, store: &Store, now: Timestamp) {
        let until = now.checked_add(QUARANTINE).unwrap_or(now);
        if let Some(news) = self.feed.news(store) {
            for change in news {
                self.learn(change);
                self.watch(store, text(&change.after["spec"]["nodeName"]), until);
            }
            return;
        }
        *self = Self { feed: self.feed, pods: ByNode::read(store), ..Self::default() };
        let nodes: Vec<String> = self.pods.nodes().cloned().collect();
        nodes.iter().for_each(|node| self.watch(store, node, until));
        for (key, pod) in store.list(&Arc::from("pods"), None) {
            if read::is_deleting(pod) {
                self.due.insert(key.clone());
            }
        }
    }

    fn learn(&mut self, change: &Change) {
        match &*change.key.resource {
            "pods" => {
                self.pods.learn(change);
                if read::is_deleting(&change.after) {
                    self.due.insert(change.key.clone());
                }
            }
            "nodes" => self.due.extend(self.pods.on(&change.key.name).cloned()),
            _ => {}
        }
    }

    /// A node that pods are on and that is not there is waited for.
    fn watch(&mut self, store: &Store, node: &str, until: Timestamp) {
        if !node.is_empty() && store.get(&key("nodes", "", node)).is_none() {
            self.missing.entry(node.to_owned()).or_insert(until);
        }
    }

    fn look_at(&mut self, store: &Store, pod_key: &Key, now: Timestamp) -> Vec<Wish> {
        let Some(pod) = store.get(pod_key) else { return Vec::new() };
        let name = text(&pod["spec"]["nodeName"]);
        let Some(node) = store.get(&key("nodes", "", name)) else {
            let until = now.checked_add(QUARANTINE).unwrap_or(now);
            self.watch(store, name, until);
            if name.is_empty() && read::is_deleting(pod) {
                return end(pod_key, pod, None, now);
            }
            let gone = self.missing.get(name).is_some_and(|until| *until <= now);
            let said = Some("PodGC: node no longer exists");
            return if gone { end(pod_key, pod, said, now) } else { Vec::new() };
        };
        let out_of_service =
            Taint::of(node).iter().any(|taint| taint.key == "node.kubernetes.io/out-of-service");
        if read::is_deleting(pod) && out_of_service && read::condition_status(node, "Ready") != "True" {
            return end(pod_key, pod, None, now);
        }
        Vec::new()
    }
}

/// Marks a pod as failed, and deletes it without waiting.
fn end(key: &Key, pod: &Value, why: Option<&str>, now: Timestamp) -> Vec<Wish> {
    let metadata = &pod["metadata"];
    let mut wishes = Vec::new();
    if !read::has_ended(pod) {
        let mut status = json!({"phase": "Failed"});
        let marked =
            why.map(|why| conditions::of_pod(pod, "DisruptionTarget", "True", "DeletionByPodGC", why));
        if let Some(conditions) = marked.and_then(|marked| conditions::with(pod, marked, now)) {
            status["conditions"] = json!(conditions);
        }
        let version = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
        let patch = json!({"metadata": version, "status": status});
        wishes.push(Wish::Merge { key: key.clone(), subresource: Some("status"), patch });
    }
    if !read::is_deleting(pod) || metadata["deletionGracePeriodSeconds"] != 0 {
        let uid = read::uid(pod).to_owned();
        wishes.push(Wish::Delete { key: key.clone(), uid, policy: None, grace: Some(0) });
    }
    wishes
}
