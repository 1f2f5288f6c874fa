//! The scheduler: finds nodes for pods, and for gangs of pods all at once.
//!
//! Nobody is sent away to make room: there is no preemption. The order among pods of the same priority is that of
//! their creation; where a real scheduler draws lots among equally good nodes, the first by name is taken.

mod affinity;
mod cluster;
mod fit;
mod gang;
mod pod;
mod spread;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use self::cluster::{Cluster, GroupName};
use self::fit::Unfit;
use self::pod::Pod;
use super::feed::Feed;
use super::read;
use super::wish::{Event, Turn, Wish};
use super::{Controller, conditions};
use crate::store::{Key, Store};

/// The scheduler.
#[derive(Debug, Default)]
pub struct Scheduler {
    feed: Feed,
    cluster: Cluster,
    /// What the last turn wished something for: only the store knows what came of it.
    unsettled: BTreeSet<Key>,
}

/// What is given a node at once: a pod, or the pods of a gang.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Entity {
    Pod(Key),
    Group(GroupName),
}

impl Controller for Scheduler {
    fn name(&self) -> &'static str {
        "kube-scheduler"
    }

    fn manager(&self) -> &'static str {
        "kube-scheduler"
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.read(store);
        let mut attempt =
            Attempt { cluster: &mut self.cluster, now, turn: Turn::default(), failed: BTreeMap::new() };
        let entities = attempt.queue();
        for (_, _, entity) in entities {
            match entity {
                Entity::Pod(key) => attempt.pod(&key),
                Entity::Group(name) => attempt.gang(&name),
            }
        }
        let turn = attempt.turn;
        self.cluster.stirred = false;
        self.cluster.fresh.clear();
        self.unsettled = turn.wishes.iter().filter_map(touched).collect();
        turn
    }
}

/// What a wish is about.
fn touched(wish: &Wish) -> Option<Key> {
    match wish {
        Wish::Bind { pod: key, .. } | Wish::Merge { key, .. } => Some(key.clone()),
        _ => None,
    }
}

impl Scheduler {
    /// One that also takes pods that ask for another.
    pub fn of_every_name() -> Self {
        Self { cluster: Cluster::of_every_name(), ..Self::default() }
    }

    fn read(&mut self, store: &Store) {
        let Some(news) = self.feed.news(store) else {
            self.cluster = self.cluster.again(store);
            return;
        };
        for change in news {
            self.cluster.learn(change);
        }
        for key in std::mem::take(&mut self.unsettled) {
            self.cluster.set(&key, store.get(&key));
            if self.cluster.waiting.contains(&key) {
                self.cluster.fresh.insert(key);
            }
        }
    }
}

/// One look at those who wait.
struct Attempt<'a> {
    cluster: &'a mut Cluster,
    now: Timestamp,
    turn: Turn,
    /// Pods for which there was no node, by what they ask for: where one failed the next like it does too, until
    /// somebody else gets a node.
    failed: BTreeMap<String, Unfit>,
}

/// Whoever has the higher priority, then who came first.
type Rank = (std::cmp::Reverse<i64>, String, Entity);

impl Attempt<'_> {
    /// Those who may have a chance, in order.
    fn queue(&self) -> BTreeSet<Rank> {
        let all = self.cluster.stirred;
        let keys = if all { &self.cluster.waiting } else { &self.cluster.fresh };
        let mut queue: BTreeMap<Entity, (std::cmp::Reverse<i64>, String)> = BTreeMap::new();
        for pod in keys.iter().filter_map(|key| self.cluster.pods.get(key)) {
            let entity = pod.group_name().map_or_else(|| Entity::Pod(pod.key.clone()), Entity::Group);
            let rank = (std::cmp::Reverse(pod.priority), pod.created.clone());
            let first = queue.entry(entity).or_insert_with(|| rank.clone());
            *first = first.clone().min(rank);
        }
        queue.into_iter().map(|(entity, (priority, created))| (priority, created, entity)).collect()
    }

    fn pod(&mut self, key: &Key) {
        let Some(pod) = self.cluster.pods.get(key) else { return };
        match self.search(pod) {
            Ok(node) => self.bind(key, &node),
            Err(unfit) => {
                let sentence = unfit.full_sentence(pod);
                self.refuse(key, "Unschedulable", &sentence);
                self.remember(key, unfit);
            }
        }
    }

    fn search(&self, pod: &Pod) -> Result<Arc<str>, Unfit> {
        let known = if self.failed.is_empty() { None } else { self.failed.get(&likeness(pod)) };
        match known {
            Some(unfit) => Err(unfit.clone()),
            None => fit::best(pod, self.cluster),
        }
    }

    fn remember(&mut self, key: &Key, unfit: Unfit) {
        if let Some(pod) = self.cluster.pods.get(key) {
            self.failed.insert(likeness(pod), unfit);
        }
    }

    fn bind(&mut self, key: &Key, node: &Arc<str>) {
        self.assume(key, Some(node));
        let Some(pod) = self.cluster.pods.get(key) else { return };
        let said = format!("Successfully assigned {}/{} to {node}", key.namespace, key.name);
        let about = read::reference("v1", "Pod", &pod.object);
        let bind = Wish::Bind { pod: key.clone(), uid: pod.uid.clone(), node: Arc::clone(node) };
        let event = Event::normal(about, "Scheduled", said).doing("Binding");
        self.turn.wishes.extend([bind, event.by("default-scheduler")]);
    }

    /// Takes a pod to be on a node, or not to be after all.
    fn assume(&mut self, key: &Key, node: Option<&Arc<str>>) {
        self.cluster.assume(key, node);
        self.failed.clear();
    }

    /// Says why a pod has no node, unless that is known.
    fn refuse(&mut self, key: &Key, reason: &str, message: &str) {
        let Some(pod) = self.cluster.pods.get(key) else { return };
        let object = &pod.object;
        let said = conditions::of_pod(object, "PodScheduled", "False", reason, message);
        let Some(conditions) = conditions::with(object, said, self.now) else { return };
        let patch = json!({
            "metadata": {"uid": pod.uid, "resourceVersion": object["metadata"]["resourceVersion"]},
            "status": {"conditions": conditions},
        });
        let merge = Wish::Merge { key: key.clone(), subresource: Some("status"), patch };
        let about = read::reference("v1", "Pod", object);
        let event = Event::warning(about, "FailedScheduling", message.to_owned()).doing("Scheduling");
        self.turn.wishes.extend([merge, event.by("default-scheduler")]);
    }
}

/// What the scheduler looks at in a pod.
fn likeness(pod: &Pod) -> String {
    let mut spec = pod.object["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        // These differ between pods that are otherwise the same, and tell nothing about nodes.
        for other in ["hostname", "volumes", "subdomain", "serviceAccountName"] {
            spec.remove(other);
        }
    }
    format!("{} {:?} {spec}", pod.key.namespace, pod.labels)
}

#[cfg(test)]
mod tests;
