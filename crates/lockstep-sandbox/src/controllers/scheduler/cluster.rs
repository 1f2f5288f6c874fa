//! What the scheduler knows of the cluster: a digest of the store, kept up to date change by change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::affinity::Labels;
use super::pod::{self, Amounts, Pod};
use crate::controllers::read;
use crate::controllers::taints::{Taint, Toleration};
use crate::store::{Change, Key, Store};

/// What a pod that asks for nothing is taken to need when nodes are compared.
const LEAST: [(&str, i64); 2] = [("cpu", 100), ("memory", 200 * 1024 * 1024)];

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) name: Arc<str>,
    pub(super) labels: Labels,
    pub(super) taints: Vec<Taint>,
    pub(super) unschedulable: bool,
    pub(super) allocatable: Amounts,
}

impl Node {
    fn read(object: &Value) -> Self {
        Self {
            name: Arc::from(read::name(object)),
            labels: read::labels(object),
            taints: Taint::of(object),
            unschedulable: object["spec"]["unschedulable"] == true,
            allocatable: pod::amounts(&object["status"]["allocatable"]),
        }
    }

    /// The first taint that would keep a pod with these tolerations away.
    pub(super) fn untolerated(&self, tolerations: &[Toleration]) -> Option<&Taint> {
        self.taints.iter().find(|taint| taint.keeps_away() && !taint.is_tolerated(tolerations))
    }
}

/// What the pods on a node take together.
#[derive(Debug, Clone, Default)]
pub(super) struct Load {
    pub(super) used: Amounts,
    /// The same, with something for pods that ask for nothing.
    pub(super) weight: Amounts,
    pub(super) pods: BTreeSet<Key>,
    /// How many pods of each owner.
    owners: BTreeMap<String, i64>,
}

impl Load {
    fn change(&mut self, pod: &Pod, sign: i64) {
        for (name, amount) in &pod.requests {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.saturating_add(amount.saturating_mul(sign));
        }
        for (name, least) in LEAST {
            let amount = weight(pod, name, least);
            let weight = self.weight.entry(name.to_owned()).or_default();
            *weight = weight.saturating_add(amount.saturating_mul(sign));
        }
        if !pod.owner.is_empty() {
            *self.owners.entry(pod.owner.clone()).or_default() += sign;
            self.owners.retain(|_, pods| *pods > 0);
        }
    }

    /// How many pods have the same owner.
    pub(super) fn like(&self, pod: &Pod) -> i64 {
        self.owners.get(&pod.owner).copied().unwrap_or_default()
    }
}

fn weight(pod: &Pod, name: &str, least: i64) -> i64 {
    pod.requests.get(name).copied().filter(|amount| *amount > 0).unwrap_or(least)
}

/// How full a node would be with a pod, in percent that would stay free: processors and memory together.
pub(super) fn free(node: &Node, load: &Load, pod: &Pod) -> i64 {
    let each = LEAST.iter().map(|(name, least)| {
        let all = node.allocatable.get(*name).copied().unwrap_or_default();
        let used = load.weight.get(*name).copied().unwrap_or_default() + weight(pod, name, *least);
        if all > 0 { (all - used).max(0).saturating_mul(100) / all } else { 0 }
    });
    each.sum::<i64>() / 2
}

/// A gang's name: namespace and name.
pub(super) type GroupName = (Arc<str>, Arc<str>);

/// What there is.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) nodes: BTreeMap<Arc<str>, Node>,
    pub(super) pods: BTreeMap<Key, Pod>,
    /// The pods that wait for a node.
    pub(super) waiting: BTreeSet<Key>,
    pub(super) groups: BTreeMap<GroupName, Arc<Value>>,
    pub(super) namespaces: BTreeMap<Arc<str>, Labels>,
    loads: BTreeMap<Arc<str>, Load>,
    members: BTreeMap<GroupName, BTreeSet<Key>>,
    /// Pods on nodes that want others apart from them.
    aloof: BTreeSet<Key>,
    empty: Load,
    /// Something changed that may help pods for which there was no room.
    pub(super) stirred: bool,
    /// Pods that came to wait.
    pub(super) fresh: BTreeSet<Key>,
    /// Pods that ask for another scheduler are ours, too.
    of_every_name: bool,
}

impl Cluster {
    /// One in which every pod is ours.
    pub(super) fn of_every_name() -> Self {
        Self { of_every_name: true, ..Self::default() }
    }

    /// Reads everything anew.
    pub(super) fn again(&self, store: &Store) -> Self {
        let mut cluster = Self { of_every_name: self.of_every_name, ..Self::default() };
        for resource in ["namespaces", "nodes", "podgroups.scheduling.k8s.io", "pods"] {
            for (key, object) in store.list(&Arc::from(resource), None) {
                cluster.set(key, Some(object));
            }
        }
        cluster
    }

    /// Takes a change in.
    pub(super) fn learn(&mut self, change: &Change) {
        self.set(&change.key, (!change.removed).then_some(&change.after));
    }

    /// What stands under this key now.
    pub(super) fn set(&mut self, key: &Key, object: Option<&Arc<Value>>) {
        match &*key.resource {
            "pods" => self.set_pod(key, object.map(|object| Pod::read(key, object, self.of_every_name))),
            "nodes" => {
                let node = object.map(|object| Node::read(object));
                if self.nodes.get(&key.name) != node.as_ref() {
                    self.stirred = true;
                    put(&mut self.nodes, Arc::clone(&key.name), node);
                }
            }
            "podgroups.scheduling.k8s.io" => {
                self.stirred = true;
                put(&mut self.groups, (Arc::clone(&key.namespace), Arc::clone(&key.name)), object.cloned());
            }
            "namespaces" => {
                let labels = object.map(|object| read::labels(object));
                self.stirred |= self.namespaces.get(&key.name) != labels.as_ref();
                put(&mut self.namespaces, Arc::clone(&key.name), labels);
            }
            _ => {}
        }
    }

    fn set_pod(&mut self, key: &Key, pod: Option<Pod>) {
        let old = self.pods.remove(key);
        if let Some(old) = &old {
            self.place(old, -1);
        }
        let placed = |pod: &Option<Pod>| {
            let pod = pod.as_ref()?;
            let node = pod.takes_room_on()?;
            Some((pod.uid.clone(), Arc::clone(node), pod.deleting, pod.labels.clone(), pod.requests.clone()))
        };
        self.stirred |= placed(&old) != placed(&pod);
        self.waiting.remove(key);
        self.fresh.remove(key);
        if pod.as_ref().is_none_or(|pod| !pod.gated) {
            self.wake_held(old.as_ref());
        }
        let Some(pod) = pod else { return };
        if pod.waits() {
            self.waiting.insert(key.clone());
            let same =
                |old: &Pod| old.waits() && old.uid == pod.uid && old.object["spec"] == pod.object["spec"];
            if !old.as_ref().is_some_and(same) {
                self.fresh.insert(key.clone());
            }
        }
        self.place(&pod, 1);
        self.pods.insert(key.clone(), pod);
    }

    /// A gang that was held by a pod's gate may have a chance once that is lifted, or the pod gone.
    fn wake_held(&mut self, held: Option<&Pod>) {
        if let Some(group) = held.filter(|pod| pod.gated).and_then(Pod::group_name) {
            let waiting = self.members(&group).filter(|pod| pod.waits()).map(|pod| pod.key.clone());
            let waiting: Vec<Key> = waiting.collect();
            self.fresh.extend(waiting);
        }
    }

    /// Puts a pod where it belongs, or takes it away.
    fn place(&mut self, pod: &Pod, sign: i64) {
        let there = |set: &mut BTreeSet<Key>| {
            if sign > 0 {
                set.insert(pod.key.clone())
            } else {
                set.remove(&pod.key)
            };
        };
        if let Some(node) = pod.takes_room_on() {
            let load = self.loads.entry(Arc::clone(node)).or_default();
            load.change(pod, sign);
            there(&mut load.pods);
            if !pod.apart.is_empty() {
                there(&mut self.aloof);
            }
        }
        if let Some(group) = pod.group_name() {
            there(self.members.entry(group).or_default());
        }
    }

    /// Takes a pod to be on this node.
    pub(super) fn assume(&mut self, key: &Key, node: Option<&Arc<str>>) {
        if let Some(mut pod) = self.pods.remove(key) {
            self.place(&pod, -1);
            pod.node = node.cloned();
            self.place(&pod, 1);
            if pod.waits() {
                self.waiting.insert(key.clone())
            } else {
                self.waiting.remove(key)
            };
            self.pods.insert(key.clone(), pod);
        }
    }

    /// What the pods on a node take.
    pub(super) fn load(&self, node: &str) -> &Load {
        self.loads.get(node).unwrap_or(&self.empty)
    }

    /// The pods on a node.
    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Pod> {
        self.load(node).pods.iter().filter_map(|key| self.pods.get(key))
    }

    /// The pods on nodes that want others apart from them.
    pub(super) fn aloof(&self) -> impl Iterator<Item = &Pod> {
        self.aloof.iter().filter_map(|key| self.pods.get(key))
    }

    /// The pods of a gang that have not ended.
    pub(super) fn members(&self, group: &GroupName) -> impl Iterator<Item = &Pod> {
        let keys = self.members.get(group).into_iter().flatten();
        keys.filter_map(|key| self.pods.get(key)).filter(|pod| !pod.ended)
    }
}

impl Pod {
    /// The gang it belongs to.
    pub(super) fn group_name(&self) -> Option<GroupName> {
        self.group.as_ref().map(|group| (Arc::clone(&self.key.namespace), Arc::clone(group)))
    }
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}
