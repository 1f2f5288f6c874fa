//! The controllers of the embedded cluster: pure steps from what is stored to what they want written.
//!
//! A controller looks at the store and says what it wishes; the server carries the wishes out as requests of the
//! controller's own, and asks again once anything has changed. Nothing a controller remembers matters: what it keeps
//! is a digest of the store, and one that starts anew wishes the same.

mod accounts;
mod budget;
mod by_node;
mod collector;
mod conditions;
mod deployment;
mod digest;
mod driver;
mod due;
mod failure;
mod feed;
mod namespaces;
mod node;
mod podgroups;
mod quantity;
pub(crate) mod read;
mod replicaset;
mod scheduler;
mod share;
mod taints;
#[cfg(test)]
mod testing;
mod wish;

pub use budget::{Budgets, Denial, Permit, may_evict};
pub use collector::GarbageCollector;
pub use deployment::Deployments;
pub use driver::Controllers;
pub use namespaces::Namespaces;
pub use node::{GRACE, NodeLifecycle, PodCollector, TaintEviction};
pub use podgroups::PodGroupProtection;
pub use replicaset::ReplicaSets;
pub use scheduler::Scheduler;
pub use wish::{Event, Propagation, Turn, Wish};

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::store::{Key, Store};

/// One controller.
pub trait Controller: std::fmt::Debug + Send {
    /// What it is called, as in a real control plane: `replicaset-controller`.
    fn name(&self) -> &'static str;

    /// Who it says it is when it writes: the manager of the fields it sets.
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    /// Looks at the store, and says what should be written.
    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn;

    /// One of the wishes of the last turn was refused, for this reason.
    fn refused(&mut self, _wish: &Wish, _why: &str) {}
}

/// Which resource holds the objects of a kind. Kinds come and go with their definitions, so this is asked each time.
pub trait Kinds: std::fmt::Debug + Send + Sync {
    /// The resource (`deployments.apps`) that holds objects of this kind, and whether they lie in namespaces.
    fn resource(&self, api_version: &str, kind: &str) -> Option<(Arc<str>, bool)>;

    /// How many pods an object of this kind asks for; none if objects of this kind cannot be scaled.
    fn scale(&self, _api_version: &str, _kind: &str, object: &Value) -> Option<i64> {
        object["spec"]["replicas"].as_i64()
    }
}

/// A key, from its parts.
fn key(resource: &str, namespace: &str, name: &str) -> Key {
    Key { resource: Arc::from(resource), namespace: Arc::from(namespace), name: Arc::from(name) }
}
