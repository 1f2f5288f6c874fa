//! Objects, versions and watchers.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::server::Request;

/// One who watches a kind of object.
pub struct Watcher {
    pub kind: String,
    pub sender: UnboundedSender<String>,
}

/// The state of the server.
#[derive(Default)]
pub struct Store {
    pub version: u64,
    /// Watches from before this version are refused.
    pub oldest: u64,
    objects: BTreeMap<(String, String), Value>,
    history: Vec<(u64, String, String)>,
    pub watchers: Vec<Watcher>,
    held: bool,
    /// How much of the history watchers have been told.
    told: usize,
    pub requests: Vec<Request>,
    pub failing: (usize, u16),
}

type Answer = Result<Value, u16>;

impl Store {
    pub fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.objects.get(&(kind.to_owned(), name.to_owned())).cloned()
    }

    pub fn list(&self, kind: &str) -> Vec<Value> {
        self.objects.iter().filter(|((of, _), _)| of == kind).map(|(_, object)| object.clone()).collect()
    }

    pub fn create(&mut self, kind: &str, mut object: Value) -> Answer {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        if self.get(kind, &name).is_some() {
            return Err(409);
        }
        object["metadata"]["uid"] = json!(format!("uid-{:04}", self.version + 1));
        object["metadata"]["generation"] = json!(1);
        Ok(self.put(kind, &name, "ADDED", object))
    }

    pub fn patch(&mut self, kind: &str, name: &str, patch: &Value) -> Answer {
        let mut object = self.get(kind, name).ok_or(404u16)?;
        let wanted = &patch["metadata"]["uid"];
        if !wanted.is_null() && *wanted != object["metadata"]["uid"] {
            // "Invalid", not "Conflict", as the real one says it.
            return Err(422);
        }
        merge(&mut object, patch);
        if Some(&object) == self.get(kind, name).as_ref() {
            return Ok(object);
        }
        Ok(self.put(kind, name, "MODIFIED", object))
    }

    /// Deletes a pod: with a grace period it is only marked.
    pub fn delete(&mut self, name: &str, options: &Value, now: Timestamp) -> Answer {
        let mut pod = self.get("pods", name).ok_or(404u16)?;
        let wanted = &options["preconditions"]["uid"];
        if !wanted.is_null() && *wanted != pod["metadata"]["uid"] {
            return Err(409);
        }
        let grace = options["gracePeriodSeconds"].as_u64().unwrap_or(30);
        let is_held = pod["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
        if grace == 0 && !is_held {
            let gone = self.put("pods", name, "DELETED", pod);
            self.objects.remove(&("pods".to_owned(), name.to_owned()));
            return Ok(gone);
        }
        let deadline = now.checked_add(Duration::from_secs(grace)).unwrap();
        let deadline = Timestamp::from_second(deadline.as_second()).unwrap();
        pod["metadata"]["deletionTimestamp"] = json!(deadline.to_string());
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        Ok(self.put("pods", name, "MODIFIED", pod))
    }

    fn put(&mut self, kind: &str, name: &str, event: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let line = format!("{}\n", json!({"type": event, "object": object}));
        self.objects.insert((kind.to_owned(), name.to_owned()), object.clone());
        self.history.push((self.version, kind.to_owned(), line));
        self.tell();
        object
    }

    pub fn hold(&mut self, hold: bool) {
        self.held = hold;
        self.tell();
    }

    fn tell(&mut self) {
        if self.held {
            return;
        }
        for (_, kind, line) in &self.history[self.told..] {
            self.watchers
                .retain(|watcher| watcher.kind != *kind || watcher.sender.send(line.clone()).is_ok());
        }
        self.told = self.history.len();
    }

    /// Begins a watch with what happened after `since`.
    pub fn watch(&mut self, kind: &str, since: u64, sender: UnboundedSender<String>) {
        if since < self.oldest {
            let status = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
            let _ = sender.send(format!("{}\n", json!({"type": "ERROR", "object": status})));
            return;
        }
        let missed = |(version, of, _): &&(u64, String, String)| *version > since && of == kind;
        for (.., line) in self.history[..self.told].iter().filter(missed) {
            let _ = sender.send(line.clone());
        }
        self.watchers.push(Watcher { kind: kind.to_owned(), sender });
    }
}

/// A strategic merge, as far as pods and nodes need it: conditions by type, everything else as a merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let (Some(target), Some(patch)) = (target.as_object_mut(), patch.as_object()) else { return };
    for (key, value) in patch {
        match (key.as_str(), value) {
            (_, Value::Null) => drop(target.remove(key)),
            ("conditions", Value::Array(list)) => {
                let all = target.entry(key.as_str()).or_insert(json!([]));
                list.iter().for_each(|condition| merge_condition(all, condition));
            }
            (_, Value::Object(_)) => {
                let inner = target.entry(key.as_str()).or_insert(json!({}));
                merge(inner, value);
            }
            _ => drop(target.insert(key.clone(), value.clone())),
        }
    }
}

fn merge_condition(all: &mut Value, condition: &Value) {
    let Some(list) = all.as_array_mut() else { return };
    if !list.iter().any(|old| old["type"] == condition["type"]) {
        list.push(json!({}));
    }
    let found = list.iter_mut().find(|old| old["type"] == condition["type"] || old["type"].is_null());
    if let Some(old) = found {
        merge(old, condition);
    }
}
