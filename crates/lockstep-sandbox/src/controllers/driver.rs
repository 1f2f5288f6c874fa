//! All controllers together.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::accounts::Furnisher;
use super::budget::Budgets;
use super::collector::GarbageCollector;
use super::deployment::Deployments;
use super::namespaces::Namespaces;
use super::podgroups::PodGroupProtection;
use super::replicaset::ReplicaSets;
use super::scheduler::Scheduler;
use super::wish::{Turn, Wish};
use super::{Controller, Kinds};
use crate::store::Store;

/// What is refused is tried again after this long, even if nothing has changed.
const PATIENCE: SignedDuration = SignedDuration::from_secs(1);

/// The controllers of a cluster.
#[derive(Debug)]
pub struct Controllers {
    all: Vec<Box<dyn Controller>>,
    off: BTreeSet<&'static str>,
}

impl Controllers {
    /// All there are.
    pub fn all(kinds: Arc<dyn Kinds>) -> Self {
        let all: Vec<Box<dyn Controller>> = vec![
            Box::new(Furnisher::service_account()),
            Box::new(Deployments::default()),
            Box::new(ReplicaSets::default()),
            Box::new(Scheduler::default()),
            Box::new(PodGroupProtection::default()),
            Box::new(Budgets::new(Arc::clone(&kinds))),
            Box::new(Namespaces::default()),
            Box::new(GarbageCollector::new(kinds)),
        ];
        Self { all, off: BTreeSet::new() }
    }

    /// Also gives every namespace the certificate of the API server, in `kube-root-ca.crt`.
    pub fn publish(mut self, pem: &str) -> Self {
        self.all.push(Box::new(Furnisher::root_certificate(pem)));
        self
    }

    /// What they are called.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().map(|controller| controller.name())
    }

    /// Switches one on or off. Whether there is one of that name.
    pub fn switch(&mut self, name: &str, on: bool) -> bool {
        let Some(name) = self.names().find(|found| *found == name) else {
            return false;
        };
        if on {
            self.off.remove(name)
        } else {
            self.off.insert(name)
        };
        true
    }

    /// One round: what each of them wishes. The wishes of one are made without knowing those of the others.
    pub fn turn(&mut self, store: &Store, now: Timestamp) -> Vec<(&'static str, Turn)> {
        let on = self.all.iter_mut().filter(|controller| !self.off.contains(controller.name()));
        let turns = on.map(|controller| {
            let mut turn = controller.turn(store, now);
            if let (false, Ok(later)) = (turn.wishes.is_empty(), now.checked_add(PATIENCE)) {
                turn.look_at(later);
            }
            (controller.name(), turn)
        });
        turns.filter(|(_, turn)| *turn != Turn::default()).collect()
    }

    /// Who one says it is when it writes: the manager of the fields it sets.
    pub fn manager(&self, name: &str) -> Option<&'static str> {
        let found = self.all.iter().find(|controller| controller.name() == name);
        found.map(|controller| controller.manager())
    }

    /// Tells one that a wish of its last turn was refused.
    pub fn refused(&mut self, name: &str, wish: &Wish, why: &str) {
        if let Some(found) = self.all.iter_mut().find(|controller| controller.name() == name) {
            found.refused(wish, why);
        }
    }
}
