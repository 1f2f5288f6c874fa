//! Watches: cursors over the changes.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::refusal::{Cause, Refusal};
use crate::request::{Query, meta};
use crate::store::Change;

use super::read::{Choice, read_revision};
use super::render::Look;
use super::routes::Target;
use super::{Server, Step, Turn};

/// Somebody who wants to be told. It holds nothing of the server but where it stands.
#[derive(Debug)]
pub struct Watch {
    look: Look,
    choice: Choice,
    namespace: Option<String>,
    /// The last revision that was looked at.
    at: u64,
    /// What is said first.
    first: VecDeque<Value>,
    bookmarks: bool,
    /// Columns of tables were named already.
    begun: bool,
    ended: bool,
    /// How long it lasts at most, in seconds.
    pub timeout: Option<u64>,
}

impl Watch {
    /// The events since the last call.
    pub fn take(&mut self, server: &Server, now: Timestamp) -> Vec<Value> {
        let mut events: Vec<Value> = self.first.drain(..).collect();
        if self.ended {
            return events;
        }
        let resource = Arc::clone(&self.look.kind.resource);
        match server.store.changes_after(self.at, &resource) {
            Ok(changes) => {
                let changes: Vec<&Change> = changes.collect();
                for change in changes {
                    let event = self.event(change, server, now);
                    events.extend(event);
                }
                self.at = self.at.max(server.store.revision());
            }
            Err(old) => {
                self.ended = true;
                events.push(json!({"type": "ERROR", "object": Refusal::expired(old.to_string()).object()}));
            }
        }
        events
    }

    /// How far it has come, for those who want to know.
    pub fn bookmark(&self) -> Option<Value> {
        (self.bookmarks && !self.ended).then(|| json!({"type": "BOOKMARK", "object": self.marker(None)}))
    }

    /// There will be no more.
    pub fn is_ended(&self) -> bool {
        self.ended && self.first.is_empty()
    }

    /// The last revision it has seen.
    pub fn revision(&self) -> u64 {
        self.at
    }

    /// Holds its cursor back or sets it forward: for faults.
    pub fn set_revision(&mut self, revision: u64) {
        self.at = revision;
    }

    /// The resource it is about.
    pub fn resource(&self) -> &Arc<str> {
        &self.look.kind.resource
    }

    fn marker(&self, annotations: Option<Value>) -> Value {
        let kind = &self.look.kind;
        let mut metadata = json!({"resourceVersion": self.at.to_string()});
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        json!({"kind": &*kind.kind, "apiVersion": kind.api_version(), "metadata": metadata})
    }

    fn event(&mut self, change: &Change, server: &Server, now: Timestamp) -> Option<Value> {
        let here = self.namespace.as_deref().is_none_or(|namespace| *change.key.namespace == *namespace);
        if !here {
            return None;
        }
        let chosen = |object: &Value| self.choice.chooses(&self.look.kind, object);
        let before = change.before.as_deref().is_some_and(chosen);
        let after = !change.removed && chosen(&change.after);
        let (word, object) = match (before, after) {
            (false, true) => ("ADDED", Arc::clone(&change.after)),
            (true, true) => ("MODIFIED", Arc::clone(&change.after)),
            (true, false) if change.removed => ("DELETED", Arc::clone(&change.after)),
            // It is no longer chosen: the last state in which it was, with the version that ended it.
            (true, false) => {
                let mut last = change.before.as_deref().cloned().unwrap_or_default();
                last["metadata"]["resourceVersion"] = Value::from(change.revision.to_string());
                ("DELETED", Arc::new(last))
            }
            (false, false) => return None,
        };
        Some(self.told(word, &object, server, now))
    }

    fn told(&mut self, word: &str, object: &Arc<Value>, server: &Server, now: Timestamp) -> Value {
        let object = server.shown_as(object, &self.look.kind);
        let first = !std::mem::replace(&mut self.begun, true);
        json!({"type": word, "object": self.look.in_event(&object, &server.catalogue, now, first)})
    }
}

impl Turn<'_> {
    pub(super) fn watch(&mut self, target: &Target) -> Step<Watch> {
        let look = Look::of_many(&target.kind, self.request)?;
        let choice = Choice::read(&target.kind, &self.server.catalogue, &self.request.query)?;
        let query = &self.request.query;
        check_options(query)?;
        let timeout = query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let revision =
            read_revision(query.get("resourceVersion").unwrap_or_default()).map_err(|refusal| {
                // Who watches is told so by another hand, which finds no better code for it.
                Refusal::failure(refusal.message.trim_start_matches("invalid resource version: "))
            })?;
        let initial = query.says("sendInitialEvents");
        let mut watch = Watch {
            look,
            choice,
            namespace: target.namespace.clone(),
            at: revision.unwrap_or(0),
            first: VecDeque::new(),
            bookmarks: query.says("allowWatchBookmarks"),
            begun: false,
            ended: false,
            timeout: timeout.filter(|seconds| *seconds > 0),
        };
        let silent = query.get("sendInitialEvents") == Some("false");
        if initial || (watch.at == 0 && !silent) {
            watch.at = self.server.store.revision();
            for (_, object) in self.chosen(target, &watch.choice) {
                let event = watch.told("ADDED", &object, self.server, self.now);
                watch.first.push_back(event);
            }
            if initial && watch.bookmarks {
                let end = json!({"k8s.io/initial-events-end": "true"});
                let object = watch.marker(Some(end));
                watch.first.push_back(json!({"type": "BOOKMARK", "object": object}));
            }
        } else if watch.at == 0 {
            watch.at = self.server.store.revision();
        }
        Ok(watch)
    }
}

fn check_options(query: &Query) -> Result<(), Refusal> {
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    let said = query.get("sendInitialEvents").is_some();
    let forbidden = |message: &str| Cause::new("FieldValueForbidden", "resourceVersionMatch", message);
    let mut causes = Vec::new();
    if said && matching.is_empty() {
        causes.push(forbidden(
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if !said && !matching.is_empty() {
        causes.push(forbidden(
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    if !matching.is_empty() && matching != "NotOlderThan" {
        let message = format!(r#"Unsupported value: {matching:?}: supported values: "NotOlderThan""#);
        causes.push(Cause::new("FieldValueNotSupported", "resourceVersionMatch", &message));
    }
    if causes.is_empty() { Ok(()) } else { Err(Refusal::invalid(meta("ListOptions"), causes)) }
}
