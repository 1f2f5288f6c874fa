//! The garbage collector: what nobody owns any more goes, and owners wait for what has to go before them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::feed::Feed;
use super::read::{self, list, text};
use super::wish::{Propagation, Turn, Wish};
use super::{Controller, Kinds};
use crate::store::{Change, Key, Store};

/// Its owner waits until the dependents are gone.
const FOREGROUND: &str = "foregroundDeletion";

/// Its owner goes, and the dependents stay.
const ORPHAN: &str = "orphan";

/// The garbage collector.
#[derive(Debug)]
pub struct GarbageCollector {
    kinds: Arc<dyn Kinds>,
    feed: Feed,
    /// What names an owner, by the owner's UID.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// What has to be looked at.
    due: BTreeSet<Key>,
}

/// What an owner is to a dependent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// It is there.
    Solid,
    /// It is gone, or never was.
    Dangling,
    /// It is there only until its dependents are gone.
    Waiting,
    /// Nobody can tell.
    Unknown,
}

impl Controller for GarbageCollector {
    fn name(&self) -> &'static str {
        "garbage-collector-controller"
    }

    fn turn(&mut self, store: &Store, _now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for key in std::mem::take(&mut self.due) {
            let before = turn.wishes.len();
            let sure = self.look_at(store, &key, &mut turn.wishes);
            // What is wished may be refused, and unknown kinds may become known.
            if turn.wishes.len() > before || !sure {
                self.due.insert(key);
            }
        }
        turn
    }
}

impl GarbageCollector {
    /// One that asks here where owners are to be found.
    pub fn new(kinds: Arc<dyn Kinds>) -> Self {
        Self { kinds, feed: Feed::default(), dependents: BTreeMap::new(), due: BTreeSet::new() }
    }

    fn read(&mut self, store: &Store) {
        if let Some(news) = self.feed.news(store) {
            for change in news.filter(|change| is_collected(&change.key)) {
                self.learn(change);
            }
            return;
        }
        self.dependents.clear();
        self.due.clear();
        for (key, object) in store.all().filter(|(key, _)| is_collected(key)) {
            self.index(key, object, true);
            if !owners(object).is_empty() || waits(object) {
                self.due.insert(key.clone());
            }
        }
    }

    fn learn(&mut self, change: &Change) {
        if let Some(before) = &change.before {
            self.index(&change.key, before, false);
            self.wake_owners(&change.key, before);
        }
        if change.removed {
            self.wake_dependents(read::uid(&change.after));
            return;
        }
        let object = &change.after;
        self.index(&change.key, object, true);
        self.wake_owners(&change.key, object);
        if !owners(object).is_empty() || waits(object) {
            self.due.insert(change.key.clone());
        }
        if waits(object) {
            self.wake_dependents(read::uid(object));
        }
    }

    fn index(&mut self, key: &Key, object: &Value, add: bool) {
        for owner in owners(object) {
            let uid = text(&owner["uid"]);
            if add {
                self.dependents.entry(uid.to_owned()).or_default().insert(key.clone());
            } else if let Some(keys) = self.dependents.get_mut(uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
    }

    fn wake_owners(&mut self, key: &Key, object: &Value) {
        let found: Vec<Key> = owners(object).iter().filter_map(|owner| self.place(key, owner)).collect();
        self.due.extend(found);
    }

    fn wake_dependents(&mut self, uid: &str) {
        self.due.extend(self.dependents.get(uid).into_iter().flatten().cloned());
    }

    /// Where an owner would be: in the namespace of its dependent, or in none.
    fn place(&self, key: &Key, owner: &Value) -> Option<Key> {
        let (resource, namespaced) = self.kinds.resource(text(&owner["apiVersion"]), text(&owner["kind"]))?;
        if namespaced && key.namespace.is_empty() {
            return None;
        }
        let namespace = if namespaced { Arc::clone(&key.namespace) } else { Arc::from("") };
        Some(Key { resource, namespace, name: Arc::from(text(&owner["name"])) })
    }

    fn tie(&self, store: &Store, key: &Key, owner: &Value) -> Tie {
        let Some(place) = self.place(key, owner) else { return Tie::Unknown };
        match store.get(&place) {
            Some(found) if found["metadata"]["uid"] != owner["uid"] => Tie::Dangling,
            Some(found) if read::is_deleting(found) && read::has_finalizer(found, FOREGROUND) => Tie::Waiting,
            Some(_) => Tie::Solid,
            None => Tie::Dangling,
        }
    }

    /// Looks at one object. False if nobody can tell what to do with it.
    fn look_at(&self, store: &Store, key: &Key, wishes: &mut Vec<Wish>) -> bool {
        let Some(object) = store.get(key) else { return true };
        if read::is_deleting(object) {
            if read::has_finalizer(object, ORPHAN) {
                wishes.extend(self.orphan(store, key, object));
            } else if read::has_finalizer(object, FOREGROUND) && !self.is_blocked(store, object) {
                wishes.push(without_finalizer(key, object, FOREGROUND));
            }
            return true;
        }
        let ties: Vec<(Tie, &Value)> =
            owners(object).iter().map(|owner| (self.tie(store, key, owner), owner)).collect();
        let any = |tie: Tie| ties.iter().any(|(found, _)| *found == tie);
        if ties.is_empty() {
            return true;
        }
        if any(Tie::Unknown) {
            return false;
        }
        let dependents = self.dependents.get(read::uid(object));
        if any(Tie::Solid) {
            if any(Tie::Dangling) || any(Tie::Waiting) {
                let stay = ties.iter().filter(|(tie, _)| *tie == Tie::Solid);
                wishes.push(with_owners(key, object, stay.map(|(_, owner)| (*owner).clone()).collect()));
            }
        } else if let (true, Some(dependents)) = (any(Tie::Waiting), dependents) {
            if dependents.iter().filter_map(|key| store.get(key)).any(|dependent| waits_foreground(dependent))
            {
                wishes.push(unblocked(key, object));
            }
            wishes.push(delete(key, object, Propagation::Foreground));
        } else {
            wishes.push(delete(key, object, policy(object)));
        }
        true
    }

    /// Some dependent has to go before this.
    fn is_blocked(&self, store: &Store, owner: &Value) -> bool {
        let keys = self.dependents.get(read::uid(owner)).into_iter().flatten();
        let blocks = |dependent: &&Arc<Value>| {
            let mut owners = owners(dependent).iter();
            owners.any(|one| one["uid"] == owner["metadata"]["uid"] && one["blockOwnerDeletion"] == true)
        };
        keys.filter_map(|key| store.get(key)).any(|dependent| blocks(&dependent))
    }

    /// Cuts the ties of the dependents; once there are none, lets the owner go.
    fn orphan(&self, store: &Store, key: &Key, owner: &Value) -> Vec<Wish> {
        let uid = read::uid(owner);
        let keys = self.dependents.get(uid).into_iter().flatten();
        let cut = keys.filter_map(|key| {
            let object = store.get(key)?;
            let stay = owners(object).iter().filter(|one| one["uid"] != uid).cloned().collect();
            Some(with_owners(key, object, stay))
        });
        let cut: Vec<Wish> = cut.collect();
        if cut.is_empty() { vec![without_finalizer(key, owner, ORPHAN)] } else { cut }
    }
}

/// Events come and go on their own.
fn is_collected(key: &Key) -> bool {
    !matches!(&*key.resource, "events" | "events.events.k8s.io")
}

fn owners(object: &Value) -> &[Value] {
    list(&object["metadata"]["ownerReferences"])
}

/// It waits for its dependents, to go or to be cut off.
fn waits(object: &Value) -> bool {
    read::is_deleting(object)
        && (read::has_finalizer(object, FOREGROUND) || read::has_finalizer(object, ORPHAN))
}

fn waits_foreground(object: &Value) -> bool {
    read::is_deleting(object) && read::has_finalizer(object, FOREGROUND)
}

/// What its finalizers already say about its dependents.
fn policy(object: &Value) -> Propagation {
    if read::has_finalizer(object, ORPHAN) {
        Propagation::Orphan
    } else if read::has_finalizer(object, FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

fn delete(key: &Key, object: &Value, policy: Propagation) -> Wish {
    Wish::Delete { key: key.clone(), uid: read::uid(object).to_owned(), policy: Some(policy), grace: None }
}

fn without_finalizer(key: &Key, object: &Value, finalizer: &str) -> Wish {
    let finalizers = list(&object["metadata"]["finalizers"]).iter().filter(|found| *found != finalizer);
    let finalizers: Vec<&Value> = finalizers.collect();
    patch_metadata(key, object, "finalizers", json!(finalizers))
}

fn with_owners(key: &Key, object: &Value, owners: Vec<Value>) -> Wish {
    let owners = if owners.is_empty() { Value::Null } else { Value::from(owners) };
    patch_metadata(key, object, "ownerReferences", owners)
}

/// No owner waits for it any longer.
fn unblocked(key: &Key, object: &Value) -> Wish {
    let mut owners = owners(object).to_vec();
    for owner in owners.iter_mut().filter(|owner| owner["blockOwnerDeletion"] == true) {
        owner["blockOwnerDeletion"] = json!(false);
    }
    with_owners(key, object, owners)
}

fn patch_metadata(key: &Key, object: &Value, field: &str, value: Value) -> Wish {
    let metadata = &object["metadata"];
    let mut patch =
        json!({"metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}});
    patch["metadata"][field] = value;
    Wish::Merge { key: key.clone(), subresource: None, patch }
}

#[cfg(test)]
mod tests;
