//! Pods that do not tolerate the taints of their node are sent away.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controllers::by_node::ByNode;
use crate::controllers::due::Due;
use crate::controllers::feed::Feed;
use crate::controllers::read::{self, list, text};
use crate::controllers::taints::{Taint, Toleration};
use crate::controllers::wish::{Event, Turn, Wish};
use crate::controllers::{Controller, conditions, key};
use crate::store::{Change, Key, Store};

const NAME: &str = "taint-eviction-controller";

/// Sends pods away from nodes with taints they do not tolerate, or not for longer.
#[derive(Debug, Default)]
pub struct TaintEviction {
    feed: Feed,
    due: Due,
    pods: ByNode,
    /// Pods that are to go, and since when that is known: for taints that do not say it themselves.
    planned: BTreeMap<Key, Timestamp>,
}

impl Controller for TaintEviction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for key in self.due.take(now) {
            let wishes = self.look_at(store, &key, now);
            if !wishes.is_empty() {
                self.due.add(key);
            }
            turn.wishes.extend(wishes);
        }
        turn.again = self.due.next();
        turn
    }
}

impl TaintEviction {
    fn read(&mut self, store: &Store) {
        if let Some(news) = self.feed.news(store) {
            for change in news {
                self.learn(change);
            }
            return;
        }
        *self = Self { feed: self.feed, pods: ByNode::read(store), ..Self::default() };
        for (_, node) in store.list(&Arc::from("nodes"), None) {
            if !taints(node).is_empty() {
                self.wake(read::name(node));
            }
        }
    }

    fn learn(&mut self, change: &Change) {
        match &*change.key.resource {
            "pods" => {
                self.pods.learn(change);
                self.due.add(change.key.clone());
            }
            "nodes" => {
                let before = change.before.as_ref().map(|before| taints(before)).unwrap_or_default();
                if before != taints(&change.after) {
                    self.wake(&change.key.name);
                }
            }
            _ => {}
        }
    }

    fn wake(&mut self, node: &str) {
        let keys: Vec<Key> = self.pods.on(node).cloned().collect();
        keys.into_iter().for_each(|key| self.due.add(key));
    }

    fn look_at(&mut self, store: &Store, pod_key: &Key, now: Timestamp) -> Vec<Wish> {
        let pod = store.get(pod_key).filter(|pod| !read::is_deleting(pod));
        let node = pod.and_then(|pod| store.get(&key("nodes", "", text(&pod["spec"]["nodeName"]))));
        let (Some(pod), Some(node)) = (pod, node) else {
            self.planned.remove(pod_key);
            return Vec::new();
        };
        let tolerations = Toleration::of(pod);
        match patience(&taints(node), &tolerations) {
            Patience::Forever => match self.planned.remove(pod_key) {
                Some(_) => vec![tell(pod_key, "Cancelling deletion of Pod").in_any_case().by(NAME)],
                None => Vec::new(),
            },
            Patience::None => evict(pod_key, pod, now),
            Patience::For(seconds) => {
                let known = *self.planned.entry(pod_key.clone()).or_insert(now);
                let since = since(node, pod).unwrap_or(known);
                let until = since.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
                if until <= now {
                    return evict(pod_key, pod, now);
                }
                self.due.add_at(pod_key.clone(), until);
                Vec::new()
            }
        }
    }
}

/// How long a pod may stay.
enum Patience {
    None,
    For(i64),
    Forever,
}

fn patience(taints: &[Taint], tolerations: &[Toleration]) -> Patience {
    let mut least = None;
    for taint in taints {
        let Some(toleration) = tolerations.iter().find(|toleration| toleration.tolerates(taint)) else {
            return Patience::None;
        };
        least = match (least, toleration.seconds) {
            (Some(least), Some(seconds)) => Some(std::cmp::min(least, seconds)),
            (least, seconds) => least.or(seconds),
        };
    }
    match least {
        Some(seconds) if seconds <= 0 => Patience::None,
        Some(seconds) => Patience::For(seconds),
        None => Patience::Forever,
    }
}

/// The taints of a node that send pods away.
fn taints(node: &Value) -> Vec<Taint> {
    let mut taints = Taint::of(node);
    taints.retain(|taint| taint.effect == "NoExecute");
    taints
}

/// Since when a pod has been on a node that would send it away, if the taints tell.
fn since(node: &Value, pod: &Value) -> Option<Timestamp> {
    let taints = list(&node["spec"]["taints"]).iter().filter(|taint| taint["effect"] == "NoExecute");
    let tainted = taints.filter_map(|taint| read::time(&taint["timeAdded"])).min()?;
    let scheduled = read::condition(pod, "PodScheduled").filter(|condition| condition["status"] == "True");
    let there = scheduled.and_then(|scheduled| read::time(&scheduled["lastTransitionTime"]));
    Some(
        there
            .or_else(|| read::time(&pod["metadata"]["creationTimestamp"]))
            .map_or(tainted, |there| there.max(tainted)),
    )
}

fn evict(key: &Key, pod: &Value, now: Timestamp) -> Vec<Wish> {
    let mut wishes = vec![tell(key, "Marking for deletion Pod").in_any_case().by(NAME)];
    let said = "Taint manager: deleting due to NoExecute taint";
    let marked = conditions::of_pod(pod, "DisruptionTarget", "True", "DeletionByTaintManager", said);
    if let Some(conditions) = conditions::with(pod, marked, now) {
        let metadata =
            json!({"uid": pod["metadata"]["uid"], "resourceVersion": pod["metadata"]["resourceVersion"]});
        let patch = json!({"metadata": metadata, "status": {"conditions": conditions}});
        wishes.push(Wish::Merge { key: key.clone(), subresource: Some("status"), patch });
    }
    let uid = read::uid(pod).to_owned();
    wishes.push(Wish::Delete { key: key.clone(), uid, policy: None, grace: None });
    wishes
}

fn tell(key: &Key, what: &str) -> Event {
    let about = json!({"apiVersion": "v1", "kind": "Pod", "namespace": *key.namespace, "name": *key.name});
    Event::normal(about, "TaintManagerEviction", format!("{what} {}/{}", key.namespace, key.name))
}
