//! All controllers together.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::accounts::ServiceAccounts;
use super::budget::Budgets;
use super::collector::GarbageCollector;
use super::deployment::Deployments;
use super::namespaces::Namespaces;
use super::node::{NodeLifecycle, PodCollector, TaintEviction};
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
    /// All there are. A node may be silent for so long before it is called lost.
    pub fn all(kinds: Arc<dyn Kinds>, grace: SignedDuration) -> Self {
        let all: Vec<Box<dyn Controller>> = vec![
            Box::new(ServiceAccounts::default()),
            Box::new(Deployments::default()),
            Box::new(ReplicaSets::default()),
            Box::new(Scheduler::default()),
            Box::new(PodGroupProtection::default()),
            Box::new(Budgets::new(Arc::clone(&kinds))),
            Box::new(NodeLifecycle::with_grace(grace)),
            Box::new(TaintEviction::default()),
            Box::new(PodCollector::default()),
            Box::new(Namespaces::default()),
            Box::new(GarbageCollector::new(kinds)),
        ];
        Self { all, off: BTreeSet::new() }
    }

    /// What they are called.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().map(|controller| controller.name())
    }

    /// With a scheduler that takes every pod, whatever its `schedulerName`.
    pub fn with_one_scheduler(mut self) -> Self {
        let one = Scheduler::of_every_name();
        if let Some(place) = self.all.iter_mut().find(|controller| controller.name() == one.name()) {
            *place = Box::new(one);
        }
        self
    }

    /// Switches one on or off, or all of a component (`kube-controller-manager`). Whether there is any of that name.
    pub fn switch(&mut self, name: &str, on: bool) -> bool {
        let named = self.all.iter().filter(|one| one.name() == name || one.manager() == name);
        let names: Vec<&'static str> = named.map(|one| one.name()).collect();
        for name in &names {
            if on {
                self.off.remove(name)
            } else {
                self.off.insert(name)
            };
        }
        !names.is_empty()
    }

    /// One round: what each of them wishes, made without knowing what the others wish. One that is not among them
    /// wishes nothing and, as far as it knows now, need not be asked again until something changes.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::controllers::testing::{World, node, pod};
    use crate::controllers::{Propagation, Wish, key};

    /// A day in the life of a cluster. What stands in the end, without what counts changes.
    fn day(forgetful: bool) -> Vec<Value> {
        let mut world = World::new();
        world.forgetful = forgetful;
        for name in ["a", "b"] {
            let namespace = json!({"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}});
            world.put("namespaces", namespace);
        }
        for name in ["n0", "n1", "n2"] {
            world.put("nodes", node(name, "4", "0"));
        }
        let web = |namespace: &str, replicas: i64| {
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
                "spec": {
                    "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                    "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
                    "template": {
                        "metadata": {"labels": {"app": "web"}},
                        "spec": {"containers": [{"image": "v1", "resources": {"requests": {"cpu": "1"}}}]},
                    },
                },
            })
        };
        world.put("deployments.apps", web("a", 5));
        world.put("deployments.apps", web("b", 4));
        let budget = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}});
        world.put(
            "poddisruptionbudgets.policy",
            json!({"metadata": {"name": "web", "namespace": "a"}, "spec": budget}),
        );
        world.settle();
        world.edit(&key("deployments.apps", "a", "web"), |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("v2");
        });
        world.put("pods", pod("big", json!({"cpu": "4"})));
        world.settle();
        world.delete(&key("namespaces", "", "b"), Propagation::Foreground);
        world.settle();
        let mut objects: Vec<Value> = world.store.all().map(|(_, object)| Value::clone(object)).collect();
        for metadata in objects.iter_mut().filter_map(|object| object["metadata"].as_object_mut()) {
            metadata.remove("resourceVersion");
        }
        objects
    }

    #[test]
    fn what_controllers_remember_does_not_matter() {
        let (one, other) = (day(false), day(true));
        assert!(one.len() > 12, "{one:#?}");
        assert_eq!(one, other);
        assert_eq!(one, day(false));
    }

    #[test]
    fn those_that_are_off_do_nothing() {
        let mut world = World::new();
        world.put("nodes", node("n0", "4", "0"));
        let key = world.put("pods", pod("p", json!({})));
        assert!(world.controllers.switch("kube-scheduler", false));
        assert!(world.controllers.switch("kube-controller-manager", false));
        assert!(!world.controllers.switch("unheard-of", false));
        world.settle();
        assert!(world.get(&key)["spec"]["nodeName"].is_null());
        world.controllers.switch("kube-scheduler", true);
        world.settle();
        assert_eq!(world.get(&key)["spec"]["nodeName"], "n0");
        assert_eq!(world.controllers.manager("kube-scheduler"), Some("kube-scheduler"));
        assert_eq!(world.controllers.manager("deployment-controller"), Some("kube-controller-manager"));
    }

    #[test]
    fn what_is_refused_is_tried_again_later() {
        let mut world = World::with(&["kube-scheduler"]);
        world.put("nodes", node("n0", "4", "0"));
        world.put("pods", pod("p", json!({})));
        let turns = world.controllers.turn(&world.store, world.now);
        assert!(matches!(turns[0].1.wishes[0], Wish::Bind { .. }));
        assert_eq!(turns[0].1.again, Some(world.now + super::PATIENCE));
    }
}
