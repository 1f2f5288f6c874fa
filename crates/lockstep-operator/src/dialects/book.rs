//! What is known: the objects of a dialect, the sets, and what stands beside them; and whose turn it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockstep_api::KIND;
use lockstep_dialects::{Dialect, Served, World};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::id::{Id, group_of, is_made_from, version};

/// What is known of a dialect's objects.
pub struct Book {
    dialect: &'static dyn Dialect,
    pages: Mutex<BTreeMap<Id, Arc<Value>>>,
    due: Mutex<BTreeMap<Id, Instant>>,
    bell: Notify,
}

impl Book {
    /// An empty one.
    pub fn new(dialect: &'static dyn Dialect) -> Self {
        Self { dialect, pages: Mutex::default(), due: Mutex::default(), bell: Notify::new() }
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<Id, Arc<Value>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due(&self) -> MutexGuard<'_, BTreeMap<Id, Instant>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object as it was last seen.
    pub fn get(&self, id: &Id) -> Option<Arc<Value>> {
        self.pages().get(id).cloned()
    }

    /// An object is so. What is older than what is known is not news.
    pub fn see(&self, object: Value) {
        let id = Id::of(&object);
        let whose = {
            let mut pages = self.pages();
            let same = |known: &Arc<Value>| known["metadata"]["uid"] == object["metadata"]["uid"];
            let known = pages.get(&id).filter(|known| same(known));
            if known.is_some_and(|known| version(known) >= version(&object)) {
                return;
            }
            let appeared = pages.insert(id.clone(), Arc::new(object)).is_none();
            self.concerned(&pages, &id, appeared)
        };
        self.ring(whose, Instant::now());
    }

    /// An object is gone.
    pub fn gone(&self, object: &Value) {
        let id = Id::of(object);
        let whose = {
            let pages = self.pages();
            match pages.get(&id) {
                Some(known) if known["metadata"]["uid"] == object["metadata"]["uid"] => {
                    self.concerned(&pages, &id, true)
                }
                _ => return,
            }
        };
        self.pages().remove(&id);
        self.ring(whose, Instant::now());
    }

    /// Of the objects that `is_of` speaks of only these are there.
    pub fn keep(&self, is_of: impl Fn(&Id) -> bool, listed: &BTreeSet<Id>) {
        let lost: Vec<Arc<Value>> = {
            let pages = self.pages();
            let lost = pages.iter().filter(|(id, _)| is_of(id) && !listed.contains(id));
            lost.map(|(_, object)| Arc::clone(object)).collect()
        };
        lost.iter().for_each(|object| self.gone(object));
    }

    /// What was made from the object with this UID, but for its set.
    pub fn beside(&self, namespace: &str, uid: &Value) -> Vec<Arc<Value>> {
        let pages = self.pages();
        let made = pages
            .iter()
            .filter(|(id, it)| id.namespace == namespace && id.kind != KIND && is_made_from(it, uid));
        made.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// What else there is for an object of a namespace.
    pub fn world(&self, namespace: &str, served: Served) -> World {
        let pages = self.pages();
        let other = |id: &Id| self.kind(id).is_some_and(|becomes_set| !becomes_set);
        let near = pages.iter().filter(|(id, _)| id.namespace == namespace || id.namespace.is_empty());
        let objects = near.filter(|(id, _)| other(id)).map(|(_, object)| Value::clone(object)).collect();
        World { objects, served, partial: false }
    }

    /// Whether an object of the dialect becomes a set; nothing if it is not one of the dialect's.
    fn kind(&self, id: &Id) -> Option<bool> {
        let kinds = self.dialect.kinds();
        kinds.iter().find(|kind| kind.group == id.group && kind.kind == id.kind).map(|kind| kind.becomes_set)
    }

    /// The objects that become sets in a namespace, or everywhere.
    pub fn readers(&self, namespace: &str) -> Vec<Arc<Value>> {
        let pages = self.pages();
        let near = |id: &Id| namespace.is_empty() || id.namespace == namespace;
        let readers = pages.iter().filter(|(id, _)| near(id) && self.becomes_set(id));
        readers.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Whether an object is one that becomes a set.
    pub fn becomes_set(&self, id: &Id) -> bool {
        self.kind(id) == Some(true)
    }

    /// Whom an object concerns: itself, the one it was made from, the one whose set has its name; or whoever may read
    /// it beside their own. That it came, or went, concerns whom it may read.
    fn concerned(&self, pages: &BTreeMap<Id, Arc<Value>>, id: &Id, came_or_went: bool) -> Vec<Id> {
        let near = |other: &Id| id.namespace.is_empty() || other.namespace == id.namespace;
        if self.becomes_set(id) {
            let free = |(other, object): &(&Id, &Arc<Value>)| {
                self.kind(other) == Some(false) && near(other) && Id::of_controller(object).is_none()
            };
            let read = pages.iter().filter(|_| came_or_went).filter(free).map(|(other, _)| other.clone());
            return read.chain([id.clone()]).collect();
        }
        let is_set = id.kind == KIND && id.group == group_of(lockstep_api::API_VERSION);
        let maker = pages.get(id).and_then(|object| Id::of_controller(object));
        if let Some(maker) = maker.filter(|maker| !is_set && self.becomes_set(maker)) {
            return vec![maker];
        }
        let read_beside = self.kind(id).is_some();
        let concerned = |other: &&Id| {
            let of_that_name = is_set && other.name == id.name;
            self.becomes_set(other) && near(other) && (read_beside || of_that_name)
        };
        let itself = read_beside.then(|| id.clone());
        pages.keys().filter(concerned).cloned().chain(itself).collect()
    }

    /// Gives these a turn, not before a moment.
    pub fn ring(&self, whose: impl IntoIterator<Item = Id>, at: Instant) {
        let mut due = self.due();
        for id in whose {
            let known = due.entry(id).or_insert(at);
            *known = at.min(*known);
        }
        self.bell.notify_one();
    }

    /// All whose turn it is now, but for those that have theirs; and when the next will have it.
    pub fn turns(&self, now: Instant, busy: impl Fn(&Id) -> bool) -> (Vec<Id>, Option<Instant>) {
        let mut due = self.due();
        let ready: Vec<Id> =
            due.iter().filter(|(id, at)| **at <= now && !busy(id)).map(|(id, _)| id.clone()).collect();
        due.retain(|id, _| !ready.contains(id));
        let next = due.iter().filter(|(id, _)| !busy(id)).map(|(_, at)| *at).min();
        (ready, next)
    }

    /// Waits until somebody gets a turn.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::Problem;
    use lockstep_dialects::{Kind, Lowered, Raised, Seen};
    use serde_json::json;

    use super::*;

    struct Toys;

    const fn kind(kind: &'static str, namespaced: bool, becomes_set: bool) -> Kind {
        Kind { group: "toys.example", versions: &["v1"], kind, plural: "", namespaced, becomes_set }
    }

    static KINDS: [Kind; 3] =
        [kind("Toy", true, true), kind("Part", true, false), kind("Profile", false, false)];

    impl Dialect for Toys {
        fn name(&self) -> &'static str {
            "toys"
        }

        fn definitions(&self) -> Vec<Value> {
            Vec::new()
        }

        fn kinds(&self) -> &'static [Kind] {
            &KINDS
        }

        fn lower(&self, _: &Value, _: &World) -> Result<Lowered, Vec<Problem>> {
            Err(Vec::new())
        }

        fn raise(&self, _: &Value, _: &Seen<'_>, _: &World) -> Raised {
            Raised::default()
        }
    }

    fn object(kind: &str, namespace: &str, name: &str, version: u32) -> Value {
        let group = if kind == KIND { "lockstep.dev" } else { "toys.example" };
        let mut object = json!({
            "apiVersion": format!("{group}/v1"), "kind": kind,
            "metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()},
        });
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    }

    fn owned(mut object: Value, by: &str) -> Value {
        object["metadata"]["ownerReferences"] = json!([{"apiVersion": "toys.example/v1", "kind": "Toy", "name": by, "uid": by, "controller": true}]);
        object
    }

    fn turns(book: &Book) -> Vec<String> {
        book.turns(Instant::now(), |_| false)
            .0
            .into_iter()
            .map(|id| format!("{}/{}", id.namespace, id.name))
            .collect()
    }

    #[tokio::test]
    async fn whoever_is_concerned_gets_a_turn() {
        let book = Book::new(&Toys);
        for (namespace, name) in [("a", "one"), ("a", "two"), ("b", "one")] {
            book.see(object("Toy", namespace, name, 1));
        }
        assert_eq!(turns(&book), ["a/one", "a/two", "b/one"]);
        let cases: [(Value, &[&str]); 7] = [
            (object("Toy", "a", "one", 2), &["a/one"]),
            (object("Toy", "a", "one", 1), &[]), // older than what is known
            (object("Part", "a", "free", 1), &["a/free", "a/one", "a/two"]),
            (owned(object("Part", "a", "made", 1), "two"), &["a/two"]),
            (object("Profile", "", "fast", 1), &["/fast", "a/one", "a/two", "b/one"]),
            (object(KIND, "b", "one", 1), &["b/one"]),
            (object(KIND, "b", "nobodys", 1), &[]),
        ];
        for (seen, expected) in cases {
            let what = seen.to_string();
            book.see(seen);
            assert_eq!(turns(&book), expected, "{what}");
        }
        assert_eq!(book.world("a", Served::default()).objects.len(), 3);
        assert_eq!(book.world("b", Served::default()).objects.len(), 1);
        assert_eq!(book.beside("a", &json!("two")).len(), 1);
        book.gone(&object(KIND, "b", "one", 9));
        assert_eq!(turns(&book), ["b/one"]);
        book.see(object("Toy", "a", "three", 1));
        assert_eq!(turns(&book), ["a/free", "a/three"], "who may be read hears of it");
        book.gone(&object("Toy", "a", "three", 1));
        assert_eq!(turns(&book), ["a/free", "a/three"]);
        book.keep(|id| id.kind == "Part", &BTreeSet::new());
        assert_eq!(turns(&book), ["a/free", "a/one", "a/two"]);
        assert_eq!(book.world("a", Served::default()).objects.len(), 1);
    }
}
