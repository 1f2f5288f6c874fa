//! ReplicaSets: as many pods as are asked for.

mod victims;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::due::Due;
use super::failure::Failure;
use super::feed::Feed;
use super::read::{self, list, number, text};
use super::wish::{Event, Turn, Wish};
use super::{Controller, digest, key};
use crate::selector::Selector;
use crate::store::{Change, Key, Store};

const SETS: &str = "replicasets.apps";
const NAME: &str = "replicaset-controller";

/// No more pods than this are made or deleted in one step.
const MOST_AT_ONCE: usize = 500;

/// Keeps the pods of ReplicaSets.
#[derive(Debug, Default)]
pub struct ReplicaSets {
    feed: Feed,
    due: Due,
    /// Pods by the UID of who manages them; those nobody manages are under the empty one.
    pods: BTreeMap<String, BTreeSet<Key>>,
    failures: BTreeMap<Key, Failure>,
    now: Timestamp,
}

/// Pods, with their keys.
type Pods = Vec<(Key, Arc<Value>)>;

impl Controller for ReplicaSets {
    fn name(&self) -> &'static str {
        NAME
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.now = now;
        self.read(store);
        let mut turn = Turn::default();
        for set in self.due.take(now) {
            let before = turn.wishes.len();
            self.sync(store, &set, &mut turn.wishes);
            if turn.wishes.len() > before {
                self.due.add(set);
            }
        }
        turn.again = self.due.next();
        turn
    }

    fn refused(&mut self, wish: &Wish, why: &str) {
        let Wish::Create { namespace, object, .. } = wish else { return };
        let Some(owner) = read::controller(object) else { return };
        let set = key(SETS, namespace, text(&owner["name"]));
        let failure = self.failures.entry(set.clone()).or_default();
        if failure.again <= self.now {
            failure.note(why.to_owned(), self.now);
        }
        self.due.add(set);
    }
}

impl ReplicaSets {
    fn read(&mut self, store: &Store) {
        if let Some(news) = self.feed.news(store) {
            for change in news {
                self.learn(store, change);
            }
            return;
        }
        *self = Self { feed: self.feed, now: self.now, ..Self::default() };
        for (key, pod) in store.list(&Arc::from("pods"), None) {
            self.index(key, pod, true);
        }
        for (key, _) in store.list(&Arc::from(SETS), None) {
            self.due.add(key.clone());
        }
    }

    fn learn(&mut self, store: &Store, change: &Change) {
        match &*change.key.resource {
            SETS => self.due.add(change.key.clone()),
            "pods" => {
                if let Some(before) = &change.before {
                    self.index(&change.key, before, false);
                    self.wake(store, &change.key, before);
                }
                if !change.removed {
                    self.index(&change.key, &change.after, true);
                    self.wake(store, &change.key, &change.after);
                }
            }
            _ => {}
        }
    }

    fn index(&mut self, key: &Key, pod: &Value, add: bool) {
        let keys = self.pods.entry(manager(pod).to_owned()).or_default();
        if add {
            keys.insert(key.clone())
        } else {
            keys.remove(key)
        };
        if keys.is_empty() {
            self.pods.remove(manager(pod));
        }
    }

    /// The set of a pod has to be looked at; of one nobody manages, all that may want it.
    fn wake(&mut self, store: &Store, pod_key: &Key, pod: &Value) {
        match read::controller(pod) {
            Some(owner) if owner["kind"] == "ReplicaSet" => {
                self.due.add(key(SETS, &pod_key.namespace, text(&owner["name"])));
            }
            Some(_) => {}
            None => {
                for (key, set) in store.list(&Arc::from(SETS), Some(&pod_key.namespace)) {
                    let selector = Selector::of_object(&set["spec"]["selector"]);
                    if selector.is_some_and(|selector| selector.selects_object(pod)) {
                        self.due.add(key.clone());
                    }
                }
            }
        }
    }

    fn pods_of<'a>(&'a self, store: &'a Store, uid: &str) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> {
        let keys = self.pods.get(uid).into_iter().flatten();
        keys.filter_map(|key| store.get(key).map(|pod| (key, pod)))
    }

    fn sync(&mut self, store: &Store, set_key: &Key, wishes: &mut Vec<Wish>) {
        let Some(set) = store.get(set_key) else {
            self.failures.remove(set_key);
            return;
        };
        let Some((active, terminating)) = self.claim(store, set_key, set, wishes) else { return };
        if !read::is_deleting(set) {
            self.manage(store, set_key, set, &active, wishes);
        }
        wishes.extend(self.tell_failure(set_key, set));
        let status = self.status(set_key, set, &active, terminating);
        let patch = read::difference(&set["status"], &status);
        if !patch.is_empty() {
            let patch = json!({"status": patch});
            wishes.push(Wish::Merge { key: set_key.clone(), subresource: Some("status"), patch });
        }
    }

    /// The set's pods that are active, and how many are about to end. Adopts those that are nobody's, and lets go of
    /// those it no longer selects.
    fn claim(
        &self,
        store: &Store,
        set_key: &Key,
        set: &Value,
        wishes: &mut Vec<Wish>,
    ) -> Option<(Pods, i64)> {
        let selector = Selector::of_object(&set["spec"]["selector"])?;
        let mut active = Vec::new();
        let mut terminating = 0;
        for (key, pod) in self.pods_of(store, read::uid(set)) {
            let selected = selector.selects_object(pod);
            if read::is_active(pod) && selected {
                active.push((key.clone(), Arc::clone(pod)));
            } else if read::is_active(pod) {
                wishes.push(release(key, pod, set));
            } else if selected && !read::has_ended(pod) {
                terminating += 1;
            }
        }
        if !read::is_deleting(set) {
            let orphans = self.pods_of(store, "").filter(|(key, _)| key.namespace == set_key.namespace);
            for (key, pod) in orphans.filter(|(_, pod)| read::is_active(pod)) {
                if selector.selects_object(pod) {
                    wishes.push(adopt(key, pod, set));
                    active.push((key.clone(), Arc::clone(pod)));
                }
            }
        }
        Some((active, terminating))
    }

    /// Too few, or too many.
    fn manage(
        &mut self,
        store: &Store,
        set_key: &Key,
        set: &Value,
        active: &[(Key, Arc<Value>)],
        wishes: &mut Vec<Wish>,
    ) {
        let wanted = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or_default();
        let about = read::reference("apps/v1", "ReplicaSet", set);
        // Once one more is there, the others can follow.
        let grew = self.failures.get_mut(set_key).is_some_and(|failure| failure.is_over(active.len()));
        if grew || active.len() >= wanted {
            self.failures.remove(set_key);
        }
        if active.len() < wanted {
            let mut missing = (wanted - active.len()).min(MOST_AT_ONCE);
            if let Some(failure) = self.failures.get(set_key) {
                // One is tried now and then; once that goes, the others follow.
                missing = usize::from(failure.again <= self.now);
                self.due.add_at(set_key.clone(), failure.again);
            }
            for ordinal in 0..missing {
                let pod = new_pod(store, set, ordinal);
                let said = format!("Created pod: {}", read::name(&pod));
                let namespace = Arc::clone(&set_key.namespace);
                wishes.push(Wish::Create { resource: Arc::from("pods"), namespace, object: pod });
                wishes.push(Event::normal(about.clone(), "SuccessfulCreate", said).by(NAME));
            }
        } else if active.len() > wanted {
            let like_it = self.neighbours(store, set_key, set);
            let mut ranked: Vec<&(Key, Arc<Value>)> = active.iter().collect();
            ranked.sort_by_cached_key(|(_, pod)| victims::rank(pod, &like_it, self.now));
            for (key, pod) in ranked.into_iter().take((active.len() - wanted).min(MOST_AT_ONCE)) {
                let uid = read::uid(pod).to_owned();
                let said = format!("Deleted pod: {}", key.name);
                wishes.push(Wish::Delete { key: key.clone(), uid, policy: None, grace: None });
                wishes.push(Event::normal(about.clone(), "SuccessfulDelete", said).by(NAME));
            }
        }
    }

    /// How many pods of the sets with the same manager each node has.
    fn neighbours(&self, store: &Store, set_key: &Key, set: &Value) -> BTreeMap<String, usize> {
        let sets = store.list(&set_key.resource, Some(&set_key.namespace)).filter(|(key, other)| {
            *key == set_key || (!manager(set).is_empty() && manager(other) == manager(set))
        });
        let mut nodes = BTreeMap::new();
        for (_, other) in sets {
            for (_, pod) in self.pods_of(store, read::uid(other)).filter(|(_, pod)| read::is_active(pod)) {
                *nodes.entry(text(&pod["spec"]["nodeName"]).to_owned()).or_default() += 1;
            }
        }
        nodes
    }

    fn tell_failure(&mut self, set_key: &Key, set: &Value) -> Option<Wish> {
        let failure = self.failures.get_mut(set_key).filter(|failure| !failure.told)?;
        failure.told = true;
        let said = format!("Error creating: {}", failure.why);
        let about = read::reference("apps/v1", "ReplicaSet", set);
        Some(Event::warning(about, "FailedCreate", said).in_any_case().by(NAME))
    }

    fn status(
        &mut self,
        set_key: &Key,
        set: &Value,
        active: &[(Key, Arc<Value>)],
        terminating: i64,
    ) -> Value {
        let template = Selector::equal(&set["spec"]["template"]["metadata"]["labels"]);
        let patience = number(&set["spec"]["minReadySeconds"]);
        let (mut labelled, mut ready, mut available) = (0, 0, 0);
        for (_, pod) in active {
            labelled += i64::from(template.selects_object(pod));
            let Some(since) = ready_since(pod) else { continue };
            ready += 1;
            let from = since.checked_add(SignedDuration::from_secs(patience)).unwrap_or(since);
            if patience == 0 || from <= self.now {
                available += 1;
            } else {
                self.due.add_at(set_key.clone(), from);
            }
        }
        let mut status = json!({"replicas": active.len(), "terminatingReplicas": terminating});
        let generation = number(&set["metadata"]["generation"]);
        for (field, count) in [
            ("fullyLabeledReplicas", labelled),
            ("readyReplicas", ready),
            ("availableReplicas", available),
            ("observedGeneration", generation),
        ] {
            if count != 0 {
                status[field] = json!(count);
            }
        }
        let conditions = self.conditions(set_key, set);
        if !conditions.is_empty() {
            status["conditions"] = json!(conditions);
        }
        status
    }

    fn conditions(&self, set_key: &Key, set: &Value) -> Vec<Value> {
        let kind = "ReplicaFailure";
        let mut conditions = list(&set["status"]["conditions"]).to_vec();
        match self.failures.get(set_key) {
            None => conditions.retain(|condition| condition["type"] != kind),
            Some(failure) if read::condition(set, kind).is_none() => conditions.push(json!({
                "type": kind, "status": "True", "reason": "FailedCreate", "message": failure.why,
                "lastTransitionTime": read::stamp(self.now),
            })),
            Some(_) => {}
        }
        conditions
    }
}

/// The UID of who manages an object; empty for nobody.
fn manager(object: &Value) -> &str {
    read::controller(object).map_or("", |owner| text(&owner["uid"]))
}

/// Since when a pod is ready; none if it is not.
pub(super) fn ready_since(pod: &Value) -> Option<Timestamp> {
    let ready = read::condition(pod, "Ready").filter(|ready| ready["status"] == "True")?;
    Some(read::time(&ready["lastTransitionTime"]).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Who a new object is managed by.
pub(super) fn owner(api_version: &str, kind: &str, object: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "name": read::name(object), "uid": read::uid(object),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod after the set's template. Its name is made of what the store has seen, so that no two pods ever share one.
fn new_pod(store: &Store, set: &Value, ordinal: usize) -> Value {
    let template = &set["spec"]["template"];
    let prefix = format!("{}-", read::name(set));
    let lot = digest::lot(&format!("{} {} {ordinal}", read::uid(set), store.revision()));
    let mut metadata = json!({
        "generateName": prefix, "name": format!("{prefix}{lot}"), "namespace": read::namespace(set),
        "ownerReferences": [owner("apps/v1", "ReplicaSet", set)],
    });
    for field in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][field].is_null() {
            metadata[field] = template["metadata"][field].clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

fn adopt(key: &Key, pod: &Value, set: &Value) -> Wish {
    let mut owners = list(&pod["metadata"]["ownerReferences"]).to_vec();
    owners.push(owner("apps/v1", "ReplicaSet", set));
    with_owners(key, pod, json!(owners))
}

fn release(key: &Key, pod: &Value, set: &Value) -> Wish {
    let owners = list(&pod["metadata"]["ownerReferences"]).iter();
    let stay: Vec<&Value> = owners.filter(|owner| owner["uid"] != set["metadata"]["uid"]).collect();
    let stay = if stay.is_empty() { Value::Null } else { json!(stay) };
    with_owners(key, pod, stay)
}

pub(super) fn with_owners(key: &Key, object: &Value, owners: Value) -> Wish {
    let metadata = &object["metadata"];
    let patch = json!({"metadata": {
        "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "ownerReferences": owners,
    }});
    Wish::Merge { key: key.clone(), subresource: None, patch }
}

#[cfg(test)]
mod tests;
