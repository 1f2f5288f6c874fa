//! Everything the server holds: objects under keys, one revision for each change, and the last changes for watches.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

/// Where an object lies: the resource (`pods`, `deployments.apps`), the namespace (empty for none), the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The resource, with its group.
    pub resource: Arc<str>,
    /// The namespace; empty for what lies in none.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// The place within the resource, as an API server writes it: `namespace/name`.
    fn place(&self) -> impl Iterator<Item = u8> + '_ {
        self.namespace.bytes().chain(std::iter::once(b'/')).chain(self.name.bytes())
    }
}

/// By place as it is written, which is how lists are ordered and continued: `team-a/x` comes before `team/x`.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.resource.cmp(&other.resource).then_with(|| self.place().cmp(other.place()))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One change.
#[derive(Debug, Clone)]
pub struct Change {
    /// The revision it made.
    pub revision: u64,
    /// Of what.
    pub key: Key,
    /// What stood before.
    pub before: Option<Arc<Value>>,
    /// What stands since. What is removed is here too, in its last state and with the revision of its removal.
    pub after: Arc<Value>,
    /// It is gone.
    pub removed: bool,
}

/// The changes after a revision are no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct TooOld {
    /// The revision that was asked for.
    pub asked: u64,
    /// The oldest one that could be.
    pub oldest: u64,
}

/// All objects, and the last changes.
#[derive(Debug, Clone)]
pub struct Store {
    revision: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    changes: VecDeque<Change>,
    most: usize,
    compacted: u64,
}

impl Store {
    /// An empty store that remembers so many changes.
    pub fn new(most: usize) -> Self {
        Self { revision: 1, objects: BTreeMap::new(), changes: VecDeque::new(), most, compacted: 1 }
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An object.
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// The objects of a resource, in one namespace or in all, in the order of their keys.
    pub fn list<'a>(
        &'a self,
        resource: &'a Arc<str>,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> {
        let nothing: Arc<str> = Arc::from("");
        let first = Key {
            resource: Arc::clone(resource),
            namespace: namespace.map_or_else(|| Arc::clone(&nothing), Arc::from),
            name: nothing,
        };
        self.objects
            .range(first..)
            .take_while(move |(key, _)| key.resource == *resource)
            .take_while(move |(key, _)| namespace.is_none_or(|namespace| *key.namespace == *namespace))
    }

    /// Puts an object in its place, with the revision this makes.
    pub fn put(&mut self, key: Key, object: Value) -> Arc<Value> {
        let object = self.stamp(object);
        let before = self.objects.insert(key.clone(), Arc::clone(&object));
        self.note(Change {
            revision: self.revision,
            key,
            before,
            after: Arc::clone(&object),
            removed: false,
        });
        object
    }

    /// Removes an object. Returns its last state, with the revision this makes.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let before = self.objects.remove(key)?;
        let last = self.stamp(Value::clone(&before));
        let after = Arc::clone(&last);
        self.note(Change {
            revision: self.revision,
            key: key.clone(),
            before: Some(before),
            after,
            removed: true,
        });
        Some(last)
    }

    /// Puts an object back as it was stored before, without a change.
    pub fn restore(&mut self, key: Key, object: Value) {
        self.objects.insert(key, Arc::new(object));
    }

    /// Goes on from a revision; what came before is not known.
    pub fn resume_at(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
        self.compacted = self.revision;
    }

    /// The oldest revision whose successors are all known.
    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The objects of a resource as they stood at a revision, in the order of their keys.
    pub fn list_at(
        &self,
        revision: u64,
        resource: &Arc<str>,
        namespace: Option<&str>,
    ) -> Result<Vec<(Key, Arc<Value>)>, TooOld> {
        let now = self.list(resource, namespace).map(|(key, object)| (key.clone(), Arc::clone(object)));
        let mut then: BTreeMap<Key, Arc<Value>> = now.collect();
        let later: Vec<&Change> = self.changes_after(revision, resource)?.collect();
        let here = |key: &Key| namespace.is_none_or(|namespace| *key.namespace == *namespace);
        for change in later.into_iter().rev().filter(|change| here(&change.key)) {
            match &change.before {
                Some(before) => drop(then.insert(change.key.clone(), Arc::clone(before))),
                None => drop(then.remove(&change.key)),
            }
        }
        Ok(then.into_iter().collect())
    }

    /// The changes of a resource after a revision.
    pub fn changes_after<'a>(
        &'a self,
        revision: u64,
        resource: &'a Arc<str>,
    ) -> Result<impl Iterator<Item = &'a Change>, TooOld> {
        Ok(self.all_changes_after(revision)?.filter(move |change| change.key.resource == *resource))
    }

    /// The changes of everything after a revision.
    pub fn all_changes_after(&self, revision: u64) -> Result<impl Iterator<Item = &Change>, TooOld> {
        if revision < self.compacted {
            return Err(TooOld { asked: revision, oldest: self.compacted });
        }
        let first = self.changes.partition_point(|change| change.revision <= revision);
        Ok(self.changes.range(first..))
    }

    /// Every object, in the order of the keys.
    pub fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// Forgets the changes up to a revision.
    pub fn compact(&mut self, revision: u64) {
        while self.changes.front().is_some_and(|change| change.revision <= revision) {
            self.forget_one();
        }
        self.compacted = self.compacted.max(revision.min(self.revision));
    }

    fn stamp(&mut self, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        if let Some(object) = object.as_object_mut() {
            let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Default::default()));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("resourceVersion".to_owned(), Value::from(self.revision.to_string()));
            }
        }
        Arc::new(object)
    }

    fn note(&mut self, change: Change) {
        self.changes.push_back(change);
        while self.changes.len() > self.most {
            self.forget_one();
        }
    }

    fn forget_one(&mut self) {
        if let Some(forgotten) = self.changes.pop_front() {
            self.compacted = forgotten.revision;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(resource: &str, namespace: &str, name: &str) -> Key {
        Key { resource: Arc::from(resource), namespace: Arc::from(namespace), name: Arc::from(name) }
    }

    fn names<'a>(found: impl Iterator<Item = (&'a Key, &'a Arc<Value>)>) -> Vec<String> {
        found.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect()
    }

    #[test]
    fn every_change_has_a_revision_of_its_own() {
        let mut store = Store::new(10);
        let one = store.put(key("pods", "a", "x"), json!({"metadata": {"name": "x"}}));
        let two = store.put(key("pods", "a", "x"), Value::clone(&one));
        let gone = store.remove(&key("pods", "a", "x")).expect("it was there");
        let versions = [one, two, gone].map(|object| object["metadata"]["resourceVersion"].clone());
        assert_eq!(versions, ["2", "3", "4"].map(Value::from));
        assert_eq!(store.remove(&key("pods", "a", "x")), None);
    }

    #[test]
    fn places_are_ordered_as_they_are_written() {
        let mut store = Store::new(10);
        for (namespace, name) in [("team", "z"), ("team-a", "x"), ("team", "a"), ("teams", "x")] {
            store.put(key("pods", namespace, name), json!({}));
        }
        let pods: Arc<str> = Arc::from("pods");
        let places = |namespace| {
            let all = store.list(&pods, namespace);
            all.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect::<Vec<_>>()
        };
        assert_eq!(places(None), ["team-a/x", "team/a", "team/z", "teams/x"]);
        assert_eq!(places(Some("team")), ["team/a", "team/z"]);
    }

    #[test]
    fn lists_by_resource_and_namespace() {
        let mut store = Store::new(10);
        for (resource, namespace, name) in [
            ("pods", "a", "y"),
            ("pods", "b", "x"),
            ("pods", "a", "x"),
            ("nodes", "", "n"),
            ("pods.x", "a", "z"),
        ] {
            store.put(key(resource, namespace, name), json!({}));
        }
        let pods: Arc<str> = Arc::from("pods");
        assert_eq!(names(store.list(&pods, None)), ["a/x", "a/y", "b/x"]);
        assert_eq!(names(store.list(&pods, Some("a"))), ["a/x", "a/y"]);
        assert_eq!(names(store.list(&Arc::from("nodes"), None)), ["/n"]);
    }

    #[test]
    fn changes_that_are_forgotten_are_too_old() {
        let mut store = Store::new(2);
        let pods: Arc<str> = Arc::from("pods");
        for name in ["x", "y", "z"] {
            store.put(key("pods", "a", name), json!({}));
        }
        let after = |store: &Store, revision| {
            let changes = store.changes_after(revision, &pods)?;
            Ok(changes.map(|change| change.revision).collect::<Vec<_>>())
        };
        assert_eq!(after(&store, 1), Err(TooOld { asked: 1, oldest: 2 }));
        assert_eq!(after(&store, 2), Ok(vec![3, 4]));
        store.compact(4);
        assert_eq!(after(&store, 3), Err(TooOld { asked: 3, oldest: 4 }));
        assert_eq!(after(&store, 4), Ok(vec![]));
    }
}
