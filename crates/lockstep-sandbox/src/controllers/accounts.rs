//! What every namespace has: a service account, and the certificate of the API server.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::feed::Feed;
use super::read;
use super::wish::{Turn, Wish};
use super::{Controller, key};
use crate::store::Store;

/// What the map with the certificate says about itself.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
    endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
    distributions of Kubernetes clusters.";

/// Gives every namespace something of its own.
#[derive(Debug)]
pub struct Furnisher {
    name: &'static str,
    resource: Arc<str>,
    object: Value,
    feed: Feed,
    due: BTreeSet<Arc<str>>,
}

impl Furnisher {
    /// The service account `default`.
    pub fn service_account() -> Self {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        Self::new("serviceaccount-controller", "serviceaccounts", object)
    }

    /// The map `kube-root-ca.crt`, with this certificate.
    pub fn root_certificate(pem: &str) -> Self {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": DESCRIPTION},
            },
            "data": {"ca.crt": pem},
        });
        Self::new("root-ca-certificate-publisher-controller", "configmaps", object)
    }

    fn new(name: &'static str, resource: &str, object: Value) -> Self {
        Self { name, resource: Arc::from(resource), object, feed: Feed::default(), due: BTreeSet::new() }
    }

    fn read(&mut self, store: &Store) {
        let Some(news) = self.feed.news(store) else {
            let resource = Arc::from("namespaces");
            self.due = store.list(&resource, None).map(|(key, _)| Arc::clone(&key.name)).collect();
            return;
        };
        for change in news {
            if *change.key.resource == *"namespaces" {
                self.due.insert(Arc::clone(&change.key.name));
            } else if change.key.resource == self.resource && *change.key.name == *read::name(&self.object) {
                self.due.insert(Arc::clone(&change.key.namespace));
            }
        }
    }

    fn furnish(&self, store: &Store, namespace: &Arc<str>) -> Option<Wish> {
        let found = store.get(&key("namespaces", "", namespace))?;
        if read::is_deleting(found) {
            return None;
        }
        let at = key(&self.resource, namespace, read::name(&self.object));
        let Some(there) = store.get(&at) else {
            let mut object = self.object.clone();
            object["metadata"]["namespace"] = json!(**namespace);
            return Some(Wish::Create {
                resource: Arc::clone(&self.resource),
                namespace: Arc::clone(namespace),
                object,
            });
        };
        let data = &self.object["data"];
        (!data.is_null() && there["data"] != *data).then(|| Wish::Merge {
            key: at,
            subresource: None,
            patch: json!({"data": read::difference(&there["data"], data)}),
        })
    }
}

impl Controller for Furnisher {
    fn name(&self) -> &'static str {
        self.name
    }

    fn turn(&mut self, store: &Store, _now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for namespace in std::mem::take(&mut self.due) {
            if let Some(wish) = self.furnish(store, &namespace) {
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
    fn every_namespace_has_them() {
        for forgetful in [false, true] {
            let mut world =
                World::with(&["serviceaccount-controller", "root-ca-certificate-publisher-controller"]);
            world.forgetful = forgetful;
            let namespace = world.put("namespaces", json!({"metadata": {"name": "a"}}));
            world.settle();
            let account = key("serviceaccounts", "a", "default");
            let map = key("configmaps", "a", "kube-root-ca.crt");
            assert!(!world.get(&account).is_null());
            world.delete(&account, Propagation::Background);
            world.edit(&map, |map| map["data"] = json!({"ca.crt": "else", "x": "y"}));
            world.settle();
            assert!(!world.get(&account).is_null());
            assert_eq!(world.get(&map)["data"], json!({"ca.crt": "PEM"}));
            world.edit(&namespace, |namespace| namespace["metadata"]["finalizers"] = json!(["x/y"]));
            world.delete(&namespace, Propagation::Background);
            world.delete(&account, Propagation::Background);
            world.settle();
            assert!(world.get(&account).is_null());
        }
    }
}
