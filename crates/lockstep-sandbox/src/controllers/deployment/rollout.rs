//! One step of a rollout.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::NAME;
use super::conditions::Conditions;
use super::report::PROGRESSING;
use super::scale::Which;
use super::set::{self, Set, Size};
use crate::controllers::failure::Failure;
use crate::controllers::read::{self, number};
use crate::controllers::wish::{Event, Wish};
use crate::store::{Key, Store};

/// A Deployment, its sets, and what is to become of them.
pub(super) struct Rollout<'a> {
    pub(super) store: &'a Store,
    pub(super) key: &'a Key,
    pub(super) deployment: &'a Value,
    pub(super) now: Timestamp,
    pub(super) size: Size,
    /// The set of the current template.
    pub(super) new: Option<Set>,
    /// All others, oldest first.
    pub(super) old: Vec<Set>,
    /// A set for the current template could not be created.
    pub(super) failure: Option<&'a Failure>,
    pub(super) conditions: Conditions,
    pub(super) collisions: Option<i64>,
    pub(super) revision: Option<String>,
    pub(super) wishes: Vec<Wish>,
    /// When it has to be looked at again.
    pub(super) again: Option<Timestamp>,
}

impl<'a> Rollout<'a> {
    pub(super) fn new(
        store: &'a Store,
        key: &'a Key,
        deployment: &'a Value,
        mut sets: Vec<Set>,
        failure: Option<&'a Failure>,
        now: Timestamp,
    ) -> Self {
        sets.sort_by_key(Set::age);
        let at = sets.iter().position(|set| set.has_template(&deployment["spec"]["template"]));
        let new = at.map(|at| sets.remove(at));
        Self {
            store,
            key,
            deployment,
            now,
            size: Size::read(deployment),
            new,
            old: sets,
            failure,
            conditions: Conditions::read(deployment, now),
            collisions: deployment["status"]["collisionCount"].as_i64(),
            revision: None,
            wishes: Vec::new(),
            again: None,
        }
    }

    /// Everything that is to be done now.
    pub(super) fn step(&mut self) {
        let has_deadline = self.deadline().is_some();
        if read::is_deleting(self.deployment) {
            self.find_new();
            self.write_status();
            return;
        }
        if has_deadline {
            self.say_whether_paused();
        }
        self.find_new();
        let paused = self.deployment["spec"]["paused"] == true;
        if paused || self.is_scaled() {
            self.scale();
            if paused {
                self.clean_up();
            }
            self.write_status();
        } else if self.size.rolling {
            self.roll();
            self.report();
        } else {
            self.recreate();
            self.report();
        }
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &Set> {
        self.old.iter().chain(&self.new)
    }

    pub(super) fn sum(&self, field: &str) -> i64 {
        self.sets().map(|set| set.count(field)).sum()
    }

    pub(super) fn replicas(&self) -> i64 {
        self.sets().map(|set| set.replicas).sum()
    }

    /// If there is a set for the current template: it gets the Deployment's annotations and the newest revision.
    pub(super) fn find_new(&mut self) {
        let Some(new) = &self.new else { return };
        let revision = self.next_revision();
        let missing = set::missing_annotations(self.deployment, &new.object, revision);
        let patience = &self.deployment["spec"]["minReadySeconds"];
        let mut patch = json!({});
        if missing.as_object().is_some_and(|missing| !missing.is_empty()) {
            patch["metadata"] = json!({"annotations": missing});
        }
        if number(patience) != number(&new.object["spec"]["minReadySeconds"]) {
            patch["spec"] = json!({"minReadySeconds": patience});
        }
        if patch != json!({}) {
            self.wishes.push(Wish::Merge { key: new.key.clone(), subresource: None, patch });
        }
        self.revision = Some(revision.max(new.revision()).to_string());
        if self.deadline().is_some() && self.conditions.get(PROGRESSING).is_none() {
            let said = format!("Found new replica set {:?}", new.key.name);
            self.conditions.set(PROGRESSING, "True", "FoundNewReplicaSet", &said);
        }
    }

    pub(super) fn next_revision(&self) -> i64 {
        self.old.iter().map(Set::revision).max().unwrap_or_default() + 1
    }

    /// How large the new set may be at once.
    pub(super) fn room_for_new(&self) -> i64 {
        let now = self.new.as_ref().map_or(0, |new| new.replicas);
        if !self.size.rolling {
            return self.size.desired;
        }
        let room = self.size.most() - self.replicas();
        if room <= 0 { now } else { now + room.min(self.size.desired - now) }
    }

    /// Creates the set for the current template. Whether there is one now.
    pub(super) fn create_new(&mut self) -> bool {
        if self.new.is_some() {
            return true;
        }
        if let Some(failure) = self.failure {
            let said = &failure.why;
            if self.deadline().is_some() {
                self.conditions.set(PROGRESSING, "False", "ReplicaSetCreateError", said);
            }
            self.again = Some(failure.again);
            if self.now < failure.again {
                return false;
            }
        }
        let (revision, replicas) = (self.next_revision(), self.room_for_new());
        let collisions = self.collisions.unwrap_or_default();
        let (key, object) = set::new_set(self.deployment, revision, replicas, self.size, collisions);
        if self.store.get(&key).is_some() {
            // Somebody else has that name.
            self.collisions = Some(collisions + 1);
            return false;
        }
        let created = Set { key: key.clone(), object: Arc::new(object.clone()), replicas };
        let namespace = Arc::clone(&key.namespace);
        self.wishes.push(Wish::Create { resource: Arc::clone(&key.resource), namespace, object });
        if replicas > 0 {
            self.tell(format!("Scaled up replica set {} from 0 to {replicas}", key.name));
        }
        if self.deadline().is_some() && self.failure.is_none() {
            let said = format!("Created new replica set {:?}", key.name);
            self.conditions.set(PROGRESSING, "True", "NewReplicaSetCreated", &said);
        }
        self.revision = Some(revision.to_string());
        self.new = Some(created);
        true
    }

    pub(super) fn tell(&mut self, said: String) {
        let about = read::reference("apps/v1", "Deployment", self.deployment);
        self.wishes.push(Event::normal(about, "ScalingReplicaSet", said).by(NAME));
    }

    pub(super) fn roll(&mut self) {
        if !self.create_new() {
            return;
        }
        let new = self.new.as_ref().map_or(0, |new| new.replicas);
        let grown = match new.cmp(&self.size.desired) {
            std::cmp::Ordering::Equal => false,
            std::cmp::Ordering::Greater => self.resize(Which::New, self.size.desired),
            std::cmp::Ordering::Less => {
                let room = self.room_for_new();
                self.resize_if_needed(Which::New, room)
            }
        };
        if !grown && !self.shrink_old() && self.is_complete() {
            self.clean_up();
        }
    }

    /// Takes away of the old sets what is not needed: first what is not available anyway.
    pub(super) fn shrink_old(&mut self) -> bool {
        let unavailable = self.new.as_ref().map_or(0, |new| new.replicas - new.count("availableReplicas"));
        let most = self.replicas() - self.size.least() - unavailable;
        if most <= 0 || self.old.iter().all(|set| set.replicas == 0) {
            return false;
        }
        // A set that has just shrunk still speaks of what it had: nothing is counted on until it has looked again.
        let available = |set: &Set| set.count("availableReplicas");
        if self.old.iter().any(|set| set.replicas > 0 && available(set) > set.replicas) {
            return false;
        }
        let of_old: i64 = self.old.iter().filter(|set| set.replicas > 0).map(available).sum();
        let of_new = self.new.as_ref().map_or(0, available);
        let mut left = most;
        let mut shrunk = false;
        for at in 0..self.old.len() {
            let (replicas, available) = (self.old[at].replicas, available(&self.old[at]));
            let less = left.min(replicas - available);
            if replicas > 0 && less > 0 {
                left -= less;
                shrunk |= self.resize(Which::Old(at), replicas - less);
            }
        }
        let mut left = of_old + of_new - self.size.least();
        for at in 0..self.old.len() {
            let replicas = self.old[at].replicas;
            let less = left.min(replicas);
            if less > 0 {
                left -= less;
                shrunk |= self.resize(Which::Old(at), replicas - less);
            }
        }
        shrunk
    }

    /// All old pods go before the first new one comes.
    pub(super) fn recreate(&mut self) {
        let mut shrunk = false;
        for at in 0..self.old.len() {
            shrunk |= self.resize_if_needed(Which::Old(at), 0);
        }
        if shrunk || self.old_pods_run() || !self.create_new() {
            return;
        }
        self.resize_if_needed(Which::New, self.size.desired);
        if self.is_complete() {
            self.clean_up();
        }
    }

    pub(super) fn old_pods_run(&self) -> bool {
        if self.old.iter().any(|set| set.count("replicas") > 0) {
            return true;
        }
        let olds: Vec<&str> = self.old.iter().map(|set| read::uid(&set.object)).collect();
        let of_old = |pod: &Value| {
            read::controller(pod).is_some_and(|owner| olds.contains(&read::text(&owner["uid"])))
        };
        let mut pods = self.store.list(super::pods(), Some(&self.key.namespace));
        !olds.is_empty() && pods.any(|(_, pod)| of_old(pod) && !read::has_ended(pod))
    }

    /// Deletes the oldest of the old sets that are empty, beyond as many as are to be kept.
    pub(super) fn clean_up(&mut self) {
        let Some(keep) = self.deployment["spec"]["revisionHistoryLimit"].as_i64() else { return };
        let mut sets: Vec<&Set> = self.old.iter().filter(|set| !read::is_deleting(&set.object)).collect();
        let Ok(many) = usize::try_from(i64::try_from(sets.len()).unwrap_or(i64::MAX) - keep) else { return };
        sets.sort_by_key(|set| (set.revision(), set.age()));
        let seen =
            |set: &Set| number(&set.object["metadata"]["generation"]) <= set.count("observedGeneration");
        let empty = |set: &Set| set.count("replicas") == 0 && set.replicas == 0 && seen(set);
        let gone = sets.into_iter().take(many).filter(|set| empty(set)).map(|set| Wish::Delete {
            key: set.key.clone(),
            uid: read::uid(&set.object).to_owned(),
            policy: None,
            grace: None,
        });
        let gone: Vec<Wish> = gone.collect();
        self.wishes.extend(gone);
    }
}
