//! One step of a rollout.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::conditions::Conditions;
use super::set::{self, REVISION, Set, Size};
use super::{Failure, NAME};
use crate::controllers::read::{self, number};
use crate::controllers::wish::{Event, Wish};
use crate::store::{Key, Store};

/// The names of the condition that tells how a rollout fares.
const PROGRESSING: &str = "Progressing";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const COMPLETE: &str = "NewReplicaSetAvailable";

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

    /// The deadline, if there is one.
    fn deadline(&self) -> Option<i64> {
        let seconds = self.deployment["spec"]["progressDeadlineSeconds"].as_i64();
        seconds.filter(|seconds| *seconds != i64::from(i32::MAX))
    }

    fn sets(&self) -> impl Iterator<Item = &Set> {
        self.old.iter().chain(&self.new)
    }

    fn sum(&self, field: &str) -> i64 {
        self.sets().map(|set| set.count(field)).sum()
    }

    fn replicas(&self) -> i64 {
        self.sets().map(|set| set.replicas).sum()
    }

    fn say_whether_paused(&mut self) {
        let reason = self.conditions.reason(PROGRESSING);
        let paused = self.deployment["spec"]["paused"] == true;
        if reason == TIMED_OUT || paused == (reason == "DeploymentPaused") {
            return;
        }
        let (reason, message) = match paused {
            true => ("DeploymentPaused", "Deployment is paused"),
            false => ("DeploymentResumed", "Deployment is resumed"),
        };
        self.conditions.set(PROGRESSING, "Unknown", reason, message);
    }

    /// If there is a set for the current template: it gets the Deployment's annotations and the newest revision.
    fn find_new(&mut self) {
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

    fn next_revision(&self) -> i64 {
        self.old.iter().map(Set::revision).max().unwrap_or_default() + 1
    }

    /// How large the new set may be at once.
    fn room_for_new(&self) -> i64 {
        let now = self.new.as_ref().map_or(0, |new| new.replicas);
        if !self.size.rolling {
            return self.size.desired;
        }
        let room = self.size.most() - self.replicas();
        if room <= 0 { now } else { now + room.min(self.size.desired - now) }
    }

    /// Creates the set for the current template. Whether there is one now.
    fn create_new(&mut self) -> bool {
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

    fn tell(&mut self, said: String) {
        let about = read::reference("apps/v1", "Deployment", self.deployment);
        self.wishes.push(Event::normal(about, "ScalingReplicaSet", said).by(NAME));
    }

    /// Gives a set a size. Whether that is another one.
    fn resize(&mut self, which: Which, replicas: i64) -> bool {
        let size = self.size;
        let set = match which {
            Which::New => self.new.as_mut(),
            Which::Old(at) => self.old.get_mut(at),
        };
        let Some(set) = set else { return false };
        let (key, before) = (set.key.clone(), set.replicas);
        set.replicas = replicas;
        let sizes = set::size_annotations(size);
        let has = &set.object["metadata"]["annotations"];
        let same = read::entries(&sizes).all(|(name, value)| has.get(name) == Some(value));
        if same && before == replicas {
            return false;
        }
        let patch = json!({"metadata": {"annotations": sizes}, "spec": {"replicas": replicas}});
        self.wishes.push(Wish::Merge { key: key.clone(), subresource: None, patch });
        if before != replicas {
            let way = if before < replicas { "up" } else { "down" };
            self.tell(format!("Scaled {way} replica set {} from {before} to {replicas}", key.name));
        }
        before != replicas
    }

    /// As `resize`, but only if the size is another one.
    fn resize_if_needed(&mut self, which: Which, replicas: i64) -> bool {
        let set = match which {
            Which::New => self.new.as_ref(),
            Which::Old(at) => self.old.get(at),
        };
        set.is_some_and(|set| set.replicas != replicas) && self.resize(which, replicas)
    }

    /// The Deployment was given another size since its sets were last sized.
    fn is_scaled(&self) -> bool {
        let mut active = self.sets().filter(|set| set.replicas > 0);
        active.any(|set| set.desired().is_some_and(|desired| desired != self.size.desired))
    }

    /// Spreads another size over the sets.
    fn scale(&mut self) {
        let mut active: Vec<Which> = (0..self.old.len()).map(Which::Old).chain([Which::New]).collect();
        active.retain(|which| self.set(*which).is_some_and(|set| set.replicas > 0));
        let desired = self.size.desired;
        match active.as_slice() {
            [] => {
                let latest = if self.new.is_some() {
                    Some(Which::New)
                } else {
                    self.old.len().checked_sub(1).map(Which::Old)
                };
                if let Some(latest) = latest {
                    self.resize_if_needed(latest, desired);
                }
            }
            [only] => {
                self.resize_if_needed(*only, desired);
            }
            _ if self.is_saturated() => {
                for at in 0..self.old.len() {
                    self.resize_if_needed(Which::Old(at), 0);
                }
            }
            _ if self.size.rolling => self.scale_in_proportion(active),
            _ => {}
        }
    }

    fn set(&self, which: Which) -> Option<&Set> {
        match which {
            Which::New => self.new.as_ref(),
            Which::Old(at) => self.old.get(at),
        }
    }

    /// The new set is all that is wanted.
    fn is_saturated(&self) -> bool {
        let desired = self.size.desired;
        let full = |new: &Set| {
            let counts = [Some(new.replicas), new.desired(), Some(new.count("availableReplicas"))];
            counts.into_iter().all(|count| count == Some(desired))
        };
        self.new.as_ref().is_some_and(full)
    }

    /// Each set gets its share of what is added or taken away; what is left over goes to the largest.
    fn scale_in_proportion(&mut self, mut active: Vec<Which>) {
        let allowed = if self.size.desired > 0 { self.size.most() } else { 0 };
        let to_add = allowed - self.replicas();
        let age = |rollout: &Self, which: Which| rollout.set(which).map(Set::age);
        let large = |rollout: &Self, which: Which| rollout.set(which).map(|set| -set.replicas);
        // The largest first; among equals the newest when growing, the oldest when shrinking.
        if to_add > 0 {
            active.sort_by_key(|which| (large(self, *which), std::cmp::Reverse(age(self, *which))));
        } else {
            active.sort_by_key(|which| (large(self, *which), age(self, *which)));
        }
        let mut added = 0;
        let mut sizes = Vec::new();
        for which in &active {
            let Some(set) = self.set(*which) else { continue };
            let left = to_add - added;
            let share = if left == 0 { 0 } else { self.share(set) };
            let share = if to_add > 0 { share.min(left) } else { share.max(left) };
            added += share;
            sizes.push((*which, set.replicas + share));
        }
        if let Some((_, size)) = sizes.first_mut() {
            *size = (*size + to_add - added).max(0);
        }
        for (which, size) in sizes {
            self.resize(which, size);
        }
    }

    /// By how much a set would grow if it grew as the Deployment does.
    fn share(&self, set: &Set) -> i64 {
        if self.size.desired == 0 {
            return -set.replicas;
        }
        let before = set.most().unwrap_or_else(|| number(&self.deployment["status"]["replicas"]));
        if before == 0 {
            return 0;
        }
        let product = set.replicas * self.size.most();
        // Rounded to the nearest, a half away from zero.
        (2 * product + before) / (2 * before) - set.replicas
    }

    fn roll(&mut self) {
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
    fn shrink_old(&mut self) -> bool {
        let unavailable = self.new.as_ref().map_or(0, |new| new.replicas - new.count("availableReplicas"));
        let most = self.replicas() - self.size.least() - unavailable;
        if most <= 0 || self.old.iter().all(|set| set.replicas == 0) {
            return false;
        }
        let mut left = most;
        let mut shrunk = false;
        for at in 0..self.old.len() {
            let (replicas, available) = (self.old[at].replicas, self.old[at].count("availableReplicas"));
            let less = left.min(replicas - available);
            if replicas > 0 && less > 0 {
                left -= less;
                shrunk |= self.resize(Which::Old(at), replicas - less);
            }
        }
        let mut left = self.sum("availableReplicas") - self.size.least();
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
    fn recreate(&mut self) {
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

    fn old_pods_run(&self) -> bool {
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

    /// What the status said so far: everything is as it should be.
    fn is_complete(&self) -> bool {
        self.is_complete_in(&self.deployment["status"])
    }

    fn is_complete_in(&self, status: &Value) -> bool {
        let counts = ["updatedReplicas", "replicas", "availableReplicas"];
        let generation = number(&self.deployment["metadata"]["generation"]);
        counts.iter().all(|field| number(&status[field]) == self.size.desired)
            && number(&status["observedGeneration"]) >= generation
    }

    /// Deletes the oldest of the old sets that are empty, beyond as many as are to be kept.
    fn clean_up(&mut self) {
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

    /// Writes the status of a rollout: how it fares, and whether it has been stuck too long.
    fn report(&mut self) {
        let status = self.counts();
        let old = &self.deployment["status"];
        match self.deadline() {
            None => self.conditions.remove(PROGRESSING),
            Some(deadline) => {
                let done = status["replicas"] == status["updatedReplicas"]
                    && self.conditions.reason(PROGRESSING) == COMPLETE;
                if !done {
                    self.judge(&status, old, deadline);
                }
            }
        }
        let of_sets = |set: &Set| read::condition(&set.object, "ReplicaFailure").cloned();
        match self.new.iter().chain(&self.old).find_map(of_sets) {
            Some(failure) => self.conditions.copy(&failure),
            None => self.conditions.remove("ReplicaFailure"),
        }
        self.write_status();
    }

    fn judge(&mut self, status: &Value, old: &Value, deadline: i64) {
        let (kind, name) = match &self.new {
            Some(new) => ("ReplicaSet", &*new.key.name),
            None => ("Deployment", &*self.key.name),
        };
        let whose = format!("{kind} {name:?}");
        if self.is_complete_in(status) {
            let said = format!("{whose} has successfully progressed.");
            self.conditions.set(PROGRESSING, "True", COMPLETE, &said);
        } else if has_progressed(old, status) {
            let said = format!("{whose} is progressing.");
            self.conditions.renew(PROGRESSING, "True", "ReplicaSetUpdated", &said);
        } else if let Some(since) = self.stuck_since() {
            let until = since.checked_add(SignedDuration::from_secs(deadline)).unwrap_or(Timestamp::MAX);
            if until < self.now {
                let said = format!("{whose} has timed out progressing.");
                self.conditions.set(PROGRESSING, "False", TIMED_OUT, &said);
            }
        }
        if let Some(since) = self.stuck_since().filter(|_| !self.is_complete_in(status)) {
            // Times are written in whole seconds.
            let then = since.checked_add(SignedDuration::from_secs(deadline + 1)).unwrap_or(Timestamp::MAX);
            self.again = Some(self.again.map_or(then, |again| again.min(then)));
        }
    }

    /// Since when nothing has moved, if something should.
    fn stuck_since(&self) -> Option<Timestamp> {
        let condition = self.conditions.get(PROGRESSING)?;
        let waiting = condition["reason"] != COMPLETE && condition["reason"] != TIMED_OUT;
        waiting.then(|| read::time(&condition["lastUpdateTime"])).flatten()
    }

    /// The numbers of the status.
    fn counts(&self) -> Value {
        let available = self.sum("availableReplicas");
        let updated = self.new.as_ref().map_or(0, |new| new.count("replicas"));
        let mut status = json!({"terminatingReplicas": self.sum("terminatingReplicas")});
        for (field, count) in [
            ("observedGeneration", number(&self.deployment["metadata"]["generation"])),
            ("replicas", self.sum("replicas")),
            ("updatedReplicas", updated),
            ("readyReplicas", self.sum("readyReplicas")),
            ("availableReplicas", available),
            ("unavailableReplicas", (self.replicas() - available).max(0)),
        ] {
            if count != 0 {
                status[field] = json!(count);
            }
        }
        if let Some(collisions) = self.collisions {
            status["collisionCount"] = json!(collisions);
        }
        status
    }

    fn write_status(&mut self) {
        let mut status = self.counts();
        if number(&status["availableReplicas"]) >= self.size.least() {
            let said = "Deployment has minimum availability.";
            self.conditions.set("Available", "True", "MinimumReplicasAvailable", said);
        } else {
            let said = "Deployment does not have minimum availability.";
            self.conditions.set("Available", "False", "MinimumReplicasUnavailable", said);
        }
        status["conditions"] = self.conditions.clone().into_value();
        let mut patch = json!({});
        let difference = read::difference(&self.deployment["status"], &status);
        if !difference.is_empty() {
            patch["status"] = Value::Object(difference);
        }
        let metadata = &self.deployment["metadata"];
        if let Some(revision) = &self.revision
            && metadata["annotations"][REVISION] != **revision
        {
            patch["metadata"] = json!({"annotations": {REVISION: revision}});
        }
        if patch != json!({}) {
            patch["metadata"]["resourceVersion"] = metadata["resourceVersion"].clone();
            self.wishes.push(Wish::Merge { key: self.key.clone(), subresource: Some("status"), patch });
        }
    }
}

/// One of the sets.
#[derive(Debug, Clone, Copy)]
enum Which {
    New,
    Old(usize),
}

/// More new pods, fewer old ones, more that are ready or available.
fn has_progressed(old: &Value, new: &Value) -> bool {
    let not_updated = |status: &Value| number(&status["replicas"]) - number(&status["updatedReplicas"]);
    let more = |field: &str| number(&new[field]) > number(&old[field]);
    more("updatedReplicas")
        || more("readyReplicas")
        || more("availableReplicas")
        || not_updated(new) < not_updated(old)
}
