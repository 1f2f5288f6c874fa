//! What is known of bindings, Works, clusters and rollouts, and which bindings have news.
//!
//! There may be tens of thousands of Works, and nearly all of them lie still: they are kept as the text they are made of,
//! a twentieth of what they take when they have been read, and read when their binding has news.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockstep_api::federation::{FederatedRollout, FederationPolicy};
use lockstep_federation::binding;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;

use super::Key;

/// A Work, by its namespace and name.
pub(super) type WorkId = (String, String);

/// Everything that was watched.
#[derive(Default)]
pub(super) struct Book {
    pages: Mutex<Pages>,
    news: Notify,
}

/// An object as the text it is made of.
#[derive(Clone)]
struct Kept(Arc<[u8]>);

impl Kept {
    fn of(object: &impl Serialize) -> Self {
        Self(serde_json::to_vec(object).unwrap_or_default().into())
    }

    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.0).ok()
    }
}

/// A resource template: its kind, its namespace and its name.
pub(super) type TemplateId = [String; 3];

/// A binding, and which resource template it is of.
struct Bound {
    of: Option<TemplateId>,
    text: Kept,
}

impl Bound {
    fn new(binding: &Value) -> Self {
        let of = binding::resource(binding).map(|(_, kind, namespace, name)| [kind, namespace, name]);
        Self { of: of.map(|names| names.map(str::to_owned)), text: Kept::of(binding) }
    }
}

#[derive(Default)]
struct Pages {
    templates: HashMap<TemplateId, u64>,
    bindings: BTreeMap<Key, Bound>,
    works: BTreeMap<Key, BTreeMap<WorkId, Kept>>,
    binding_of: HashMap<WorkId, Key>,
    reachable: BTreeMap<String, bool>,
    rollouts: BTreeMap<Key, Kept>,
    policies: BTreeMap<Key, FederationPolicy>,
    /// What has been listed.
    listed: BTreeSet<&'static str>,
    dirty: BTreeSet<Key>,
}

/// A binding and all that belongs to it.
pub(super) struct Case {
    pub binding: Value,
    pub works: Vec<Value>,
    pub rollout: Option<FederatedRollout>,
    pub reachable: BTreeMap<String, bool>,
    /// The policies of its namespace, by name.
    pub policies: Vec<FederationPolicy>,
}

/// Nothing is decided before all of these were listed.
pub(super) const LISTS: [&str; 5] = ["bindings", "works", "clusters", "rollouts", "policies"];

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something, and tells of the bindings it is about.
    fn change<'a>(&self, change: impl FnOnce(&mut Pages) -> Vec<Key> + 'a) {
        let mut pages = self.pages();
        let about = change(&mut pages);
        if !about.is_empty() {
            pages.dirty.extend(about);
            drop(pages);
            self.news.notify_one();
        }
    }

    /// A binding has news.
    pub fn stir(&self, key: &Key) {
        self.change(|_| vec![key.clone()]);
    }

    /// What is wished for of a resource template, by its digest, or that it is gone: all its bindings have news.
    pub fn put_template(&self, of: TemplateId, wish: Option<u64>) {
        self.change(|pages| {
            let before = pages.templates.get(&of).copied();
            if before == wish {
                return Vec::new();
            }
            let is_of = |it: &Bound| it.of.as_ref() == Some(&of);
            let about =
                pages.bindings.iter().filter(|(_, it)| is_of(it)).map(|(key, _)| key.clone()).collect();
            match wish {
                Some(wish) => pages.templates.insert(of, wish),
                None => pages.templates.remove(&of),
            };
            about
        });
    }

    /// One of the lists is complete.
    pub fn listed(&self, what: &'static str) {
        self.change(|pages| {
            pages.listed.insert(what);
            pages.bindings.keys().cloned().collect()
        });
    }

    /// A binding is so now, or gone. One that is as it was has no news.
    pub fn put_binding(&self, key: Key, binding: Option<&Value>) {
        let binding = binding.map(Bound::new);
        self.change(|pages| {
            let text = |it: Option<&Bound>| it.map(|it| Arc::clone(&it.text.0));
            if text(pages.bindings.get(&key)) == text(binding.as_ref()) {
                return Vec::new();
            }
            match binding {
                Some(binding) => pages.bindings.insert(key.clone(), binding),
                None => pages.bindings.remove(&key),
            };
            vec![key]
        });
    }

    /// A Work is so now.
    pub fn put_work(&self, id: WorkId, binding: Key, work: &Value) {
        let work = Kept::of(work);
        self.change(|pages| {
            pages.binding_of.insert(id.clone(), binding.clone());
            pages.works.entry(binding.clone()).or_default().insert(id, work);
            vec![binding]
        });
    }

    /// A Work is gone.
    pub fn drop_work(&self, id: &WorkId) {
        self.change(|pages| {
            let Some(key) = pages.binding_of.remove(id) else { return Vec::new() };
            if let Some(works) = pages.works.get_mut(&key) {
                works.remove(id);
                if works.is_empty() {
                    pages.works.remove(&key);
                }
            }
            vec![key]
        });
    }

    /// A cluster can be talked to, or not, or is gone.
    pub fn put_cluster(&self, name: &str, reachable: Option<bool>) {
        self.change(|pages| {
            let before = pages.reachable.get(name).copied();
            if before == reachable {
                return Vec::new();
            }
            match reachable {
                Some(reachable) => pages.reachable.insert(name.to_owned(), reachable),
                None => pages.reachable.remove(name),
            };
            let space = format!("{}{name}", lockstep_federation::work::EXECUTION_SPACE);
            let touched = |works: &BTreeMap<WorkId, Kept>| works.keys().any(|(at, _)| *at == space);
            pages.works.iter().filter(|(_, works)| touched(works)).map(|(key, _)| key.clone()).collect()
        });
    }

    /// A rollout is so now, or gone. One that is older than what is known changes nothing.
    pub fn put_rollout(&self, key: Key, rollout: Option<&FederatedRollout>) {
        let rollout = rollout.map(Kept::of);
        self.change(|pages| {
            match rollout {
                Some(rollout) => pages.rollouts.insert(key.clone(), rollout),
                None => pages.rollouts.remove(&key),
            };
            vec![key]
        });
    }

    /// A policy is so now, or gone: all bindings of its namespace have news.
    pub fn put_policy(&self, key: Key, policy: Option<FederationPolicy>) {
        self.change(|pages| {
            let about = pages.bindings.keys().filter(|it| it.namespace == key.namespace).cloned().collect();
            match policy {
                Some(policy) => pages.policies.insert(key, policy),
                None => pages.policies.remove(&key),
            };
            about
        });
    }

    /// Bindings with news, once everything has been listed.
    pub async fn dirty(&self) -> BTreeSet<Key> {
        loop {
            {
                let mut pages = self.pages();
                if LISTS.iter().all(|list| pages.listed.contains(list)) && !pages.dirty.is_empty() {
                    return std::mem::take(&mut pages.dirty);
                }
            }
            self.news.notified().await;
        }
    }

    /// What is known of a binding.
    pub fn case(&self, key: &Key) -> Option<Case> {
        let pages = self.pages();
        let binding = pages.bindings.get(key)?.text.clone();
        let works: Vec<Kept> = pages.works.get(key).into_iter().flat_map(BTreeMap::values).cloned().collect();
        let rollout = pages.rollouts.get(key).cloned();
        let reachable = pages.reachable.clone();
        let here = pages.policies.iter().filter(|(at, _)| at.namespace == key.namespace);
        let policies = here.map(|(_, it)| it.clone()).collect();
        drop(pages);
        Some(Case {
            binding: binding.read()?,
            works: works.iter().filter_map(Kept::read).collect(),
            rollout: rollout.and_then(|it| it.read()),
            reachable,
            policies,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Whether there is news, once it was told of.
    fn has_news(book: &Book) -> bool {
        !std::mem::take(&mut book.pages().dirty).is_empty()
    }

    #[test]
    fn what_is_as_it_was_has_no_news() {
        let book = Book::default();
        let key = Key { namespace: "web".to_owned(), name: "web-deployment".to_owned() };
        let resource =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "web", "name": "web"});
        let binding = |replicas: u32| json!({"spec": {"resource": resource, "replicas": replicas}});
        for (replicas, news) in
            [(Some(3), true), (Some(3), false), (Some(4), true), (None, true), (Some(4), true)]
        {
            book.put_binding(key.clone(), replicas.map(binding).as_ref());
            assert_eq!(has_news(&book), news, "{replicas:?}");
        }
        for (name, wish, news) in [
            ("web", Some(1), true),
            ("web", Some(1), false),
            ("web", Some(2), true),
            ("web", None, true),
            ("else", Some(1), false),
        ] {
            book.put_template(["Deployment", "web", name].map(str::to_owned), wish);
            assert_eq!(has_news(&book), news, "{name} {wish:?}");
        }
    }
}
