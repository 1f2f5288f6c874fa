//! What a Deployment says of its rollout.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::rollout::Rollout;
use super::set::{REVISION, Set};
use crate::controllers::read::{self, number};
use crate::controllers::wish::Wish;

/// The names of the condition that tells how a rollout fares.
pub(super) const PROGRESSING: &str = "Progressing";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const COMPLETE: &str = "NewReplicaSetAvailable";

impl Rollout<'_> {
    /// The deadline, if there is one.
    pub(super) fn deadline(&self) -> Option<i64> {
        let seconds = self.deployment["spec"]["progressDeadlineSeconds"].as_i64();
        seconds.filter(|seconds| *seconds != i64::from(i32::MAX))
    }

    pub(super) fn say_whether_paused(&mut self) {
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

    /// What the status said so far: everything is as it should be.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete_in(&self.deployment["status"])
    }

    pub(super) fn is_complete_in(&self, status: &Value) -> bool {
        let counts = ["updatedReplicas", "replicas", "availableReplicas"];
        let generation = number(&self.deployment["metadata"]["generation"]);
        counts.iter().all(|field| number(&status[field]) == self.size.desired)
            && number(&status["observedGeneration"]) >= generation
    }

    /// Writes the status of a rollout: how it fares, and whether it has been stuck too long.
    pub(super) fn report(&mut self) {
        let status = self.counts();
        self.say_whether_available(&status);
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

    fn say_whether_available(&mut self, status: &Value) {
        let (truth, reason, message) = match number(&status["availableReplicas"]) >= self.size.least() {
            true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            false => {
                ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
            }
        };
        self.conditions.set("Available", truth, reason, message);
    }

    pub(super) fn judge(&mut self, status: &Value, old: &Value, deadline: i64) {
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
    pub(super) fn stuck_since(&self) -> Option<Timestamp> {
        let condition = self.conditions.get(PROGRESSING)?;
        let waiting = condition["reason"] != COMPLETE && condition["reason"] != TIMED_OUT;
        waiting.then(|| read::time(&condition["lastUpdateTime"])).flatten()
    }

    /// The numbers of the status.
    pub(super) fn counts(&self) -> Value {
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

    pub(super) fn write_status(&mut self) {
        let mut status = self.counts();
        self.say_whether_available(&status);
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

/// More new pods, fewer old ones, more that are ready or available.
fn has_progressed(old: &Value, new: &Value) -> bool {
    let not_updated = |status: &Value| number(&status["replicas"]) - number(&status["updatedReplicas"]);
    let more = |field: &str| number(&new[field]) > number(&old[field]);
    more("updatedReplicas")
        || more("readyReplicas")
        || more("availableReplicas")
        || not_updated(new) < not_updated(old)
}
