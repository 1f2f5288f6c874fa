//! Namespaces that go, and all that is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::feed::Feed;
use super::read::{self, list, text};
use super::wish::{Propagation, Turn, Wish};
use super::{Controller, key};
use crate::store::{Key, Store};

/// A namespace that carries this waits until it is empty.
const FINALIZER: &str = "kubernetes";

/// The conditions of a namespace that goes, and what they say when all is well.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    (REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];
const REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

/// Empties namespaces that go. A real one waits five seconds before it starts; this one does not.
#[derive(Debug, Default)]
pub struct Namespaces {
    feed: Feed,
    /// Those that go.
    going: BTreeSet<Arc<str>>,
    due: BTreeSet<Arc<str>>,
}

impl Controller for Namespaces {
    fn name(&self) -> &'static str {
        "namespace-controller"
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for name in std::mem::take(&mut self.due) {
            let wishes = empty(store, &name, now);
            if !wishes.is_empty() {
                self.due.insert(name);
            }
            turn.wishes.extend(wishes);
        }
        turn
    }
}

impl Namespaces {
    fn read(&mut self, store: &Store) {
        let Some(news) = self.feed.news(store) else {
            let resource = Arc::from("namespaces");
            let all = store.list(&resource, None).filter(|(_, object)| read::is_deleting(object));
            self.going = all.map(|(key, _)| Arc::clone(&key.name)).collect();
            self.due.clone_from(&self.going);
            return;
        };
        for change in news {
            if *change.key.resource == *"namespaces" {
                let name = &change.key.name;
                if change.removed {
                    self.going.remove(name);
                } else if read::is_deleting(&change.after) {
                    self.going.insert(Arc::clone(name));
                    self.due.insert(Arc::clone(name));
                }
            } else if self.going.contains(&change.key.namespace) {
                self.due.insert(Arc::clone(&change.key.namespace));
            }
        }
    }
}

/// The next step: first the pods go, then everything else, then the namespace.
fn empty(store: &Store, name: &str, now: Timestamp) -> Vec<Wish> {
    let at = key("namespaces", "", name);
    let Some(namespace) = store.get(&at).filter(|namespace| read::is_deleting(namespace)) else {
        return Vec::new();
    };
    let finalizers = list(&namespace["spec"]["finalizers"]);
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        return Vec::new();
    }
    let content: Vec<(&Key, &Arc<Value>)> = store.all().filter(|(key, _)| *key.namespace == *name).collect();
    let pods = content.iter().filter(|(key, _)| *key.resource == *"pods").copied().collect::<Vec<_>>();
    let now_due = if pods.is_empty() { &content } else { &pods };
    let mut wishes: Vec<Wish> = now_due
        .iter()
        .filter(|(_, object)| !read::is_deleting(object))
        .map(|(key, object)| delete(key, object))
        .collect();
    let told = if pods.is_empty() { remains(&content) } else { BTreeMap::new() };
    // What was only just asked to go will mostly be gone when the next look is taken.
    if (wishes.is_empty() || !pods.is_empty())
        && let Some(wish) = write_status(&at, namespace, &told, now)
    {
        wishes.push(wish);
    }
    if content.is_empty() && wishes.is_empty() {
        let mut empty = Value::clone(namespace);
        let stay: Vec<&Value> = finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        empty["spec"]["finalizers"] = json!(stay);
        wishes.push(Wish::Update { key: at, subresource: Some("finalize"), object: empty });
    }
    wishes
}

fn delete(key: &Key, object: &Value) -> Wish {
    let policy = Some(Propagation::Background);
    Wish::Delete { key: key.clone(), uid: read::uid(object).to_owned(), policy, grace: None }
}

/// What is still there, and what it waits for: a reason and a sentence for a condition.
fn remains(content: &[(&Key, &Arc<Value>)]) -> BTreeMap<&'static str, (&'static str, String)> {
    let mut resources: BTreeMap<String, usize> = BTreeMap::new();
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    for (key, object) in content {
        let (resource, group) = key.resource.split_once('.').unwrap_or((&key.resource, ""));
        *resources.entry(format!("{resource}.{group}")).or_default() += 1;
        for finalizer in list(&object["metadata"]["finalizers"]) {
            *finalizers.entry(text(finalizer).to_owned()).or_default() += 1;
        }
    }
    let mut told = BTreeMap::new();
    let joined = |counts: &BTreeMap<String, usize>, word: &str| {
        let each = counts.iter().map(|(name, count)| format!("{name} {word} {count} resource instances"));
        each.collect::<Vec<_>>().join(", ")
    };
    if !resources.is_empty() {
        let said = format!("Some resources are remaining: {}", joined(&resources, "has"));
        told.insert(REMAINING, ("SomeResourcesRemain", said));
    }
    if !finalizers.is_empty() {
        let said =
            format!("Some content in the namespace has finalizers remaining: {}", joined(&finalizers, "in"));
        told.insert(FINALIZERS, ("SomeFinalizersRemain", said));
    }
    told
}

fn write_status(
    at: &Key,
    namespace: &Value,
    told: &BTreeMap<&'static str, (&'static str, String)>,
    now: Timestamp,
) -> Option<Wish> {
    let mut conditions = list(&namespace["status"]["conditions"]).to_vec();
    for (kind, reason, message) in CONDITIONS {
        let (status, reason, message) = match told.get(kind) {
            Some((reason, message)) => ("True", *reason, message.as_str()),
            None => ("False", reason, message),
        };
        let found = conditions.iter_mut().find(|condition| condition["type"] == kind);
        let since = found.as_ref().filter(|found| found["status"] == status);
        let since =
            since.map_or_else(|| json!(read::stamp(now)), |found| found["lastTransitionTime"].clone());
        let said = json!({
            "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
        });
        match found {
            Some(found) => *found = said,
            None => conditions.push(said),
        }
    }
    let status = json!({"phase": "Terminating", "conditions": conditions});
    let patch = read::difference(&namespace["status"], &status);
    let version = &namespace["metadata"]["resourceVersion"];
    (!patch.is_empty()).then(|| Wish::Merge {
        key: at.clone(),
        subresource: Some("status"),
        patch: json!({"metadata": {"resourceVersion": version}, "status": patch}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::testing::World;

    fn world() -> (World, Key) {
        let mut world = World::with(&["namespace-controller"]);
        world.pods_end = false;
        let namespace = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}});
        let namespace = world.put("namespaces", namespace);
        world.put("configmaps", json!({"metadata": {"name": "x", "namespace": "a"}}));
        world.put("configmaps", json!({"metadata": {"name": "x", "namespace": "b"}}));
        let pod = json!({"metadata": {"name": "p", "namespace": "a"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}});
        world.put("pods", pod);
        (world, namespace)
    }

    fn said(world: &World, namespace: &Key, kind: &str) -> String {
        let object = world.get(namespace);
        let condition = read::condition(&object, kind).cloned().unwrap_or_default();
        format!("{} {}", text(&condition["reason"]), text(&condition["message"]))
    }

    #[test]
    fn first_the_pods_then_the_rest() {
        for forgetful in [false, true] {
            let (mut world, namespace) = world();
            world.forgetful = forgetful;
            world.settle();
            assert_eq!(world.names("configmaps").len(), 2);
            world.delete(&namespace, Propagation::Background);
            world.settle();
            let pod = key("pods", "a", "p");
            assert!(read::is_deleting(&world.get(&pod)));
            assert_eq!(world.names("configmaps").len(), 2);
            assert_eq!(
                said(&world, &namespace, REMAINING),
                "ContentRemoved All content successfully removed"
            );
            world.store.remove(&pod);
            world.settle();
            assert_eq!(world.list("configmaps").len(), 1);
            assert!(world.get(&namespace).is_null());
        }
    }

    #[test]
    fn what_stays_is_told() {
        let (mut world, namespace) = world();
        world.pods_end = true;
        let map = key("configmaps", "a", "x");
        world.edit(&map, |map| map["metadata"]["finalizers"] = json!(["x.y/z"]));
        world.delete(&namespace, Propagation::Background);
        world.settle();
        let remaining =
            "SomeResourcesRemain Some resources are remaining: configmaps. has 1 resource instances";
        assert_eq!(said(&world, &namespace, REMAINING), remaining);
        let waits = "SomeFinalizersRemain Some content in the namespace has finalizers remaining: \
            x.y/z in 1 resource instances";
        assert_eq!(said(&world, &namespace, FINALIZERS), waits);
        assert_eq!(world.get(&namespace)["status"]["conditions"].as_array().map(Vec::len), Some(5));
        world.store.remove(&map);
        world.settle();
        assert!(world.get(&namespace).is_null());
    }
}
