//! The conditions of a Deployment.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::read;

/// The conditions, being rewritten.
#[derive(Debug, Clone)]
pub(super) struct Conditions {
    all: Vec<Value>,
    now: String,
}

impl Conditions {
    pub(super) fn read(deployment: &Value, now: Timestamp) -> Self {
        Self { all: read::list(&deployment["status"]["conditions"]).to_vec(), now: read::stamp(now) }
    }

    pub(super) fn get(&self, kind: &str) -> Option<&Value> {
        self.all.iter().find(|condition| condition["type"] == kind)
    }

    /// The reason of a condition; empty if there is none such.
    pub(super) fn reason(&self, kind: &str) -> &str {
        self.get(kind).map_or("", |condition| read::text(&condition["reason"]))
    }

    /// Sets one. One that already says so, for the same reason, stays as it is.
    pub(super) fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let same = |found: &&Value| found["status"] == status && found["reason"] == reason;
        if self.get(kind).is_some_and(|found| same(&found)) {
            return;
        }
        self.renew(kind, status, reason, message);
    }

    /// Sets one, as of now, whatever it said before.
    pub(super) fn renew(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let since = self.get(kind).filter(|found| found["status"] == status);
        let since = since.map_or_else(|| json!(self.now), |found| found["lastTransitionTime"].clone());
        self.put(json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": self.now, "lastTransitionTime": since,
        }));
    }

    /// Sets one as a ReplicaSet has it.
    pub(super) fn copy(&mut self, of_set: &Value) {
        let found = self.all.iter().find(|found| found["type"] == of_set["type"]);
        if found
            .is_some_and(|found| found["status"] == of_set["status"] && found["reason"] == of_set["reason"])
        {
            return;
        }
        let mut condition = of_set.clone();
        condition["lastUpdateTime"] = of_set["lastTransitionTime"].clone();
        self.put(condition);
    }

    fn put(&mut self, condition: Value) {
        self.all.retain(|found| found["type"] != condition["type"]);
        self.all.push(condition);
    }

    pub(super) fn remove(&mut self, kind: &str) {
        self.all.retain(|found| found["type"] != kind);
    }

    pub(super) fn into_value(self) -> Value {
        Value::from(self.all)
    }
}
