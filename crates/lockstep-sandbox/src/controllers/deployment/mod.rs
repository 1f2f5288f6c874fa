//! Deployments: from one ReplicaSet to the next.

mod conditions;
mod report;
mod rollout;
mod scale;
mod set;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use serde_json::{Value, json};

use self::rollout::Rollout;
use self::set::Set;
use super::due::Due;
use super::failure::Failure;
use super::feed::Feed;
use super::read::{self, list, text};
use super::replicaset::{owner, with_owners};
use super::wish::{Event, Turn, Wish};
use super::{Controller, key};
use crate::selector::Selector;
use crate::store::{Change, Key, Store};

const DEPLOYMENTS: &str = "deployments.apps";
const SETS: &str = "replicasets.apps";
const NAME: &str = "deployment-controller";

/// Keeps the ReplicaSets of Deployments.
#[derive(Debug, Default)]
pub struct Deployments {
    feed: Feed,
    due: Due,
    failures: BTreeMap<Key, Failure>,
    now: Timestamp,
}

fn pods() -> &'static Arc<str> {
    static PODS: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("pods"));
    &PODS
}

impl Controller for Deployments {
    fn name(&self) -> &'static str {
        NAME
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.now = now;
        self.read(store);
        let mut turn = Turn::default();
        for key in self.due.take(now) {
            let before = turn.wishes.len();
            self.sync(store, &key, &mut turn.wishes);
            if turn.wishes.len() > before {
                self.due.add(key);
            }
        }
        turn.again = self.due.next();
        turn
    }

    fn refused(&mut self, wish: &Wish, why: &str) {
        let Wish::Create { namespace, object, .. } = wish else { return };
        let Some(owner) = read::controller(object) else { return };
        let deployment = key(DEPLOYMENTS, namespace, text(&owner["name"]));
        let failure = self.failures.entry(deployment.clone()).or_default();
        let why = format!("Failed to create new replica set {:?}: {why}", read::name(object));
        failure.note(why, self.now);
        self.due.add(deployment);
    }
}

impl Deployments {
    fn read(&mut self, store: &Store) {
        if let Some(news) = self.feed.news(store) {
            for change in news {
                self.learn(store, change);
            }
            return;
        }
        *self = Self { feed: self.feed, now: self.now, ..Self::default() };
        for (key, _) in store.list(&Arc::from(DEPLOYMENTS), None) {
            self.due.add(key.clone());
        }
    }

    fn learn(&mut self, store: &Store, change: &Change) {
        match &*change.key.resource {
            DEPLOYMENTS => self.due.add(change.key.clone()),
            SETS => {
                for set in change.before.iter().chain([&change.after]) {
                    self.wake(store, &change.key, set);
                }
            }
            // Only those that recreate wait for pods to be gone.
            "pods" if change.removed || read::has_ended(&change.after) => {
                let set = read::controller(&change.after).filter(|owner| owner["kind"] == "ReplicaSet");
                let set = set.map(|owner| key(SETS, &change.key.namespace, text(&owner["name"])));
                if let Some((key, set)) = set.and_then(|key| store.get(&key).map(|set| (key, set))) {
                    self.wake(store, &key, set);
                }
            }
            _ => {}
        }
    }

    /// The Deployment of a set has to be looked at; of one nobody manages, all that may want it.
    fn wake(&mut self, store: &Store, set_key: &Key, set: &Value) {
        match read::controller(set) {
            Some(owner) if owner["kind"] == "Deployment" => {
                self.due.add(key(DEPLOYMENTS, &set_key.namespace, text(&owner["name"])));
            }
            Some(_) => {}
            None => {
                for (key, _) in store.list(&Arc::from(DEPLOYMENTS), Some(&set_key.namespace)) {
                    self.due.add(key.clone());
                }
            }
        }
    }

    fn sync(&mut self, store: &Store, key: &Key, wishes: &mut Vec<Wish>) {
        let Some(deployment) = store.get(key) else {
            self.failures.remove(key);
            return;
        };
        let Some(selector) = Selector::of_object(&deployment["spec"]["selector"]) else { return };
        if selector.is_empty() {
            wishes.extend(self.refuse_everything(key, deployment));
            return;
        }
        wishes.extend(self.tell_failure(key, deployment));
        let sets = claim(store, key, deployment, &selector, wishes);
        let mut rollout = Rollout::new(store, key, deployment, sets, self.failures.get(key), self.now);
        let there = rollout.new.is_some();
        rollout.step();
        let (more, again) = (rollout.wishes, rollout.again);
        wishes.extend(more);
        if let Some(again) = again {
            self.due.add_at(key.clone(), again);
        }
        if there {
            self.failures.remove(key);
        }
    }

    /// One that selects all pods there are is not served.
    fn refuse_everything(&self, key: &Key, deployment: &Value) -> Vec<Wish> {
        let generation = &deployment["metadata"]["generation"];
        if deployment["status"]["observedGeneration"] == *generation {
            return Vec::new();
        }
        let about = read::reference("apps/v1", "Deployment", deployment);
        let said = "This deployment is selecting all pods. A non-empty selector is required.".to_owned();
        let patch = json!({"status": {"observedGeneration": generation}});
        let merge = Wish::Merge { key: key.clone(), subresource: Some("status"), patch };
        vec![merge, Event::warning(about, "SelectingAll", said).by(NAME)]
    }

    fn tell_failure(&mut self, key: &Key, deployment: &Value) -> Option<Wish> {
        let failure = self.failures.get_mut(key).filter(|failure| !failure.told)?;
        failure.told = true;
        let about = read::reference("apps/v1", "Deployment", deployment);
        Some(Event::warning(about, "ReplicaSetCreateError", failure.why.clone()).in_any_case().by(NAME))
    }
}

/// The sets of a Deployment. Adopts those that are nobody's, and lets go of those it no longer selects.
fn claim(
    store: &Store,
    key: &Key,
    deployment: &Value,
    selector: &Selector,
    wishes: &mut Vec<Wish>,
) -> Vec<Set> {
    let uid = read::uid(deployment);
    let mut sets = Vec::new();
    let resource = Arc::from(SETS);
    for (set_key, set) in store.list(&resource, Some(&key.namespace)) {
        let selected = selector.selects_object(set);
        match read::controller(set) {
            Some(owner) if owner["uid"] == uid && selected => sets.push(Set::read(set_key, set)),
            Some(owner) if owner["uid"] == uid => {
                let stay =
                    list(&set["metadata"]["ownerReferences"]).iter().filter(|owner| owner["uid"] != uid);
                let stay: Vec<&Value> = stay.collect();
                let stay = if stay.is_empty() { Value::Null } else { json!(stay) };
                wishes.push(with_owners(set_key, set, stay));
            }
            None if selected && !read::is_deleting(deployment) && !read::is_deleting(set) => {
                let mut owners = list(&set["metadata"]["ownerReferences"]).to_vec();
                owners.push(owner("apps/v1", "Deployment", deployment));
                wishes.push(with_owners(set_key, set, json!(owners)));
                sets.push(Set::read(set_key, set));
            }
            _ => {}
        }
    }
    sets
}

#[cfg(test)]
mod tests;
