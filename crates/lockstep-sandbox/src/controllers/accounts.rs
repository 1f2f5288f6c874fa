//! What every namespace has: the service account `default`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::feed::Feed;
use super::read;
use super::wish::{Turn, Wish};
use super::{Controller, key};
use crate::store::Store;

const ACCOUNTS: &str = "serviceaccounts";
const DEFAULT: &str = "default";

/// Gives every namespace its service account.
#[derive(Debug, Default)]
pub struct ServiceAccounts {
    feed: Feed,
    due: BTreeSet<Arc<str>>,
}

impl ServiceAccounts {
    fn read(&mut self, store: &Store) {
        let Some(news) = self.feed.news(store) else {
            let resource = Arc::from("namespaces");
            self.due = store.list(&resource, None).map(|(key, _)| Arc::clone(&key.name)).collect();
            return;
        };
        for change in news {
            if *change.key.resource == *"namespaces" {
                self.due.insert(Arc::clone(&change.key.name));
            } else if *change.key.resource == *ACCOUNTS && *change.key.name == *DEFAULT {
                self.due.insert(Arc::clone(&change.key.namespace));
            }
        }
    }
}

/// The account, where a namespace has none.
fn missing(store: &Store, namespace: &Arc<str>) -> Option<Wish> {
    let found = store.get(&key("namespaces", "", namespace))?;
    if read::is_deleting(found) || store.get(&key(ACCOUNTS, namespace, DEFAULT)).is_some() {
        return None;
    }
    let metadata = json!({"name": DEFAULT, "namespace": **namespace});
    Some(Wish::Create {
        resource: Arc::from(ACCOUNTS),
        namespace: Arc::clone(namespace),
        object: json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
    })
}

impl Controller for ServiceAccounts {
    fn name(&self) -> &'static str {
        "serviceaccount-controller"
    }

    fn turn(&mut self, store: &Store, _now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for namespace in std::mem::take(&mut self.due) {
            if let Some(wish) = missing(store, &namespace) {
                turn.wishes.push(wish);
                self.due.insert(namespace);
            }
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::Propagation;
    use crate::controllers::testing::World;

    #[test]
    fn every_namespace_has_one() {
        for forgetful in [false, true] {
            let mut world = World::with(&["serviceaccount-controller"]);
            world.forgetful = forgetful;
            let namespace = world.put("namespaces", json!({"metadata": {"name": "a"}}));
            world.settle();
            let account = key(ACCOUNTS, "a", DEFAULT);
            assert!(!world.get(&account).is_null());
            world.delete(&account, Propagation::Background);
            world.settle();
            assert!(!world.get(&account).is_null());
            world.edit(&namespace, |namespace| namespace["metadata"]["finalizers"] = json!(["x/y"]));
            world.delete(&namespace, Propagation::Background);
            world.delete(&account, Propagation::Background);
            world.settle();
            assert!(world.get(&account).is_null());
        }
    }
}
