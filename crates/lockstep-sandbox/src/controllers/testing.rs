//! A cluster for tests: carries wishes out as plainly as can be, and makes pods run.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::read;
use super::wish::{Event, Propagation, Wish};
use super::{Controllers, GRACE, Kinds, key};
use crate::store::{Key, Store};

/// The kinds tests use.
#[derive(Debug)]
pub(super) struct TestKinds;

impl Kinds for TestKinds {
    fn resource(&self, api_version: &str, kind: &str) -> Option<(Arc<str>, bool)> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let mut kinds = crate::kinds::built_in().into_iter();
        let found = kinds.find(|one| one.of.group == group && *one.kind == *kind);
        found.map(|kind| (kind.resource, kind.namespaced))
    }
}

/// A cluster.
#[derive(Debug)]
pub(super) struct World {
    pub(super) store: Store,
    pub(super) now: Timestamp,
    pub(super) controllers: Controllers,
    pub(super) events: Vec<Event>,
    /// Bound pods become ready at once.
    pub(super) pods_run: bool,
    /// Pods that are deleted are gone at once.
    pub(super) pods_end: bool,
    /// After every round all that controllers remember is lost.
    pub(super) forgetful: bool,
    /// Wishes to create this resource are refused.
    pub(super) refuse: Option<&'static str>,
    only: Option<Vec<&'static str>>,
    made: u64,
}

impl World {
    /// One with all controllers, and nothing in it.
    pub(super) fn new() -> Self {
        Self {
            store: Store::new(100_000),
            now: "2026-01-01T00:00:00Z".parse().expect("a time"),
            controllers: Controllers::all(Arc::new(TestKinds), GRACE),
            events: Vec::new(),
            pods_run: true,
            pods_end: true,
            forgetful: false,
            refuse: None,
            only: None,
            made: 0,
        }
    }

    /// One with these controllers only.
    pub(super) fn with(names: &[&'static str]) -> Self {
        let mut world = Self::new();
        world.only = Some(names.to_vec());
        world.start_controllers();
        world
    }

    /// One with a scheduler only, which takes every pod.
    pub(super) fn with_one_scheduler() -> Self {
        let mut world = Self::with(&["kube-scheduler"]);
        world.controllers = world.controllers.with_one_scheduler();
        world
    }

    /// Controllers that remember nothing.
    pub(super) fn start_controllers(&mut self) {
        self.controllers = Controllers::all(Arc::new(TestKinds), GRACE);
        let names: Vec<&'static str> = self.controllers.names().collect();
        for name in names {
            let on = self.only.as_ref().is_none_or(|only| only.contains(&name));
            assert!(self.controllers.switch(name, on));
        }
    }

    /// Puts an object in its place, with what a server would add.
    pub(super) fn put(&mut self, resource: &str, mut object: Value) -> Key {
        let key = key(resource, read::namespace(&object), read::name(&object));
        let metadata = &mut object["metadata"];
        if metadata["uid"].is_null() {
            self.made += 1;
            metadata["uid"] = json!(format!("uid-{}", self.made));
        }
        if metadata["creationTimestamp"].is_null() {
            metadata["creationTimestamp"] = json!(read::stamp(self.now));
        }
        let before = self.store.get(&key).cloned();
        let generation = before.as_ref().map_or(0, |before| read::number(&before["metadata"]["generation"]));
        let same = before.is_some_and(|before| before["spec"] == object["spec"]);
        object["metadata"]["generation"] = json!(if same { generation } else { generation + 1 });
        self.store.put(key.clone(), object);
        key
    }

    /// Changes an object.
    pub(super) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let mut object = Value::clone(self.store.get(key).expect("it is there"));
        change(&mut object);
        self.put(&key.resource, object);
    }

    /// An object; null if there is none.
    pub(super) fn get(&self, key: &Key) -> Value {
        self.store.get(key).map_or(Value::Null, |object| Value::clone(object))
    }

    /// All objects of a resource.
    pub(super) fn list(&self, resource: &str) -> Vec<Arc<Value>> {
        self.store.list(&Arc::from(resource), None).map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Their names.
    pub(super) fn names(&self, resource: &str) -> Vec<String> {
        self.list(resource).iter().map(|object| read::name(object).to_owned()).collect()
    }

    /// Deletes an object as a user would.
    pub(super) fn delete(&mut self, key: &Key, policy: Propagation) {
        let Some(object) = self.store.get(key) else { return };
        let mut object = Value::clone(object);
        let metadata = &mut object["metadata"];
        if metadata["deletionTimestamp"].is_null() {
            metadata["deletionTimestamp"] = json!(read::stamp(self.now));
        }
        let finalizer = match policy {
            Propagation::Orphan => Some("orphan"),
            Propagation::Foreground => Some("foregroundDeletion"),
            Propagation::Background => None,
        };
        if let Some(finalizer) = finalizer {
            let mut finalizers = read::list(&metadata["finalizers"]).to_vec();
            finalizers.push(json!(finalizer));
            metadata["finalizers"] = json!(finalizers);
        }
        self.write(key.clone(), object);
    }

    /// Writes; what is deleted and has nothing to wait for is removed.
    fn write(&mut self, key: Key, object: Value) {
        let waits = !read::list(&object["metadata"]["finalizers"]).is_empty()
            || (*key.resource == *"pods" && !self.pods_end && object["spec"]["nodeName"].is_string())
            || (*key.resource == *"namespaces" && !read::list(&object["spec"]["finalizers"]).is_empty());
        if read::is_deleting(&object) && !waits {
            self.store.remove(&key);
        } else {
            self.put(&key.resource.clone(), object);
        }
    }

    /// Carries a wish out. Whether that could be done.
    fn grant(&mut self, wish: &Wish) -> bool {
        match wish {
            Wish::Create { resource, namespace, object } => {
                if self.refuse.is_some_and(|refused| *refused == **resource) {
                    return false;
                }
                let mut object = object.clone();
                object["metadata"]["namespace"] = json!(**namespace);
                let place = key(resource, namespace, read::name(&object));
                let free = self.store.get(&place).is_none();
                if free {
                    self.put(resource, object);
                }
                free
            }
            Wish::Update { key, object, .. } => {
                let current = self.get(key);
                let same = current["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"];
                if same {
                    self.write(key.clone(), object.clone());
                }
                same
            }
            Wish::Merge { key, patch, .. } => {
                let current = self.get(key);
                let version = &patch["metadata"]["resourceVersion"];
                let fits = version.is_null() || *version == current["metadata"]["resourceVersion"];
                if !current.is_null() && fits {
                    self.write(key.clone(), crate::patch::merge(&current, patch));
                }
                !current.is_null() && fits
            }
            Wish::Delete { key, uid, policy, .. } => {
                let found = self.get(key)["metadata"]["uid"] == **uid;
                if found {
                    self.delete(key, policy.unwrap_or(Propagation::Background));
                }
                found
            }
            Wish::Bind { pod, uid, node } => {
                let mut object = self.get(pod);
                let found = object["metadata"]["uid"] == **uid && object["spec"]["nodeName"].is_null();
                if found {
                    object["spec"]["nodeName"] = json!(**node);
                    self.put("pods", object);
                }
                found
            }
            Wish::Event(event) => {
                self.events.push(Event::clone(event));
                true
            }
        }
    }

    /// One round of all controllers. How much they wished.
    pub(super) fn round(&mut self) -> usize {
        if self.forgetful {
            self.start_controllers();
        }
        let mut wished = 0;
        for (name, turn) in self.controllers.turn(&self.store, self.now) {
            wished += turn.wishes.len();
            let mut granted = true;
            for wish in &turn.wishes {
                let skip = matches!(wish, Wish::Event(event) if event.afterwards && !granted);
                if skip {
                    continue;
                }
                let done = self.grant(wish);
                if !done {
                    self.controllers.refused(name, wish, "refused by the test");
                }
                granted = done;
            }
        }
        wished + if self.pods_run { self.run_pods() } else { 0 }
    }

    /// The kubelets: bound pods run and are ready.
    fn run_pods(&mut self) -> usize {
        let bound = |pod: &Value| pod["spec"]["nodeName"].is_string() && pod["status"]["phase"].is_null();
        let pods: Vec<Value> = self.list("pods").iter().map(|pod| Value::clone(pod)).filter(bound).collect();
        for pod in &pods {
            let key = key("pods", read::namespace(pod), read::name(pod));
            self.make_ready(&key);
        }
        pods.len()
    }

    /// A pod runs and is ready.
    pub(super) fn make_ready(&mut self, key: &Key) {
        let now = read::stamp(self.now);
        self.edit(key, |pod| {
            let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": now});
            pod["status"] = json!({"phase": "Running", "startTime": now, "conditions": [ready]});
        });
    }

    /// Until nobody wishes anything more.
    pub(super) fn settle(&mut self) {
        for _ in 0..1000 {
            if self.round() == 0 {
                return;
            }
        }
        let turns = self.controllers.turn(&self.store, self.now);
        panic!("they never come to rest: {turns:#?}");
    }

    /// Time passes, second by second.
    pub(super) fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now += SignedDuration::from_secs(1);
            self.settle();
        }
    }

    /// The reasons of the events so far, with how often.
    pub(super) fn reasons(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for event in &self.events {
            *reasons.entry(event.reason).or_default() += 1;
        }
        reasons
    }
}

/// A node with room.
pub(super) fn node(name: &str, cpu: &str, gpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110", "nvidia.com/gpu": gpu},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// A pod that asks for this.
pub(super) fn pod(name: &str, requests: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "a"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
    })
}
