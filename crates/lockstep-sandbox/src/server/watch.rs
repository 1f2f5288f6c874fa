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
use super::{Call, Server, Step, Stop, Told, Turn};

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
    /// What the client is told besides.
    pub warnings: Vec<String>,
}

/// A change, in the version that is watched.
struct Changed {
    before: Option<Arc<Value>>,
    after: Arc<Value>,
    revision: u64,
    removed: bool,
}

impl Watch {
    /// The events since the last call, or the question a webhook has to be asked before there are any.
    pub fn take(&mut self, server: &Server, now: Timestamp, told: &Told) -> Result<Vec<Value>, Box<Call>> {
        let changes = match self.ended {
            true => Ok(Vec::new()),
            false => self.changes(server, told),
        };
        let changes = match changes {
            Err(Stop::Ask(call)) => return Err(call),
            Err(Stop::No(refusal)) => Err(refusal),
            Ok(changes) => Ok(changes),
        };
        let mut events: Vec<Value> = self.first.drain(..).collect();
        match changes {
            Ok(changes) => {
                for change in changes {
                    let event = self.event(change, server, now);
                    events.extend(event);
                }
                self.at = self.at.max(server.store.revision());
            }
            Err(refusal) => {
                self.ended = true;
                events.push(json!({"type": "ERROR", "object": refusal.object()}));
            }
        }
        Ok(events)
    }

    /// What changed here since, in the version that is watched.
    fn changes(&self, server: &Server, told: &Told) -> Step<Vec<Changed>> {
        let kind = &self.look.kind;
        let resource = Arc::clone(&kind.resource);
        let changes = server.store.changes_after(self.at, &resource);
        let changes = changes.map_err(|old| Refusal::expired(old.to_string()))?;
        let here = |change: &&Change| {
            self.namespace.as_deref().is_none_or(|namespace| *change.key.namespace == *namespace)
        };
        let changes: Vec<&Change> = changes.filter(here).collect();
        let objects = changes.iter().flat_map(|change| change.before.iter().chain([&change.after]));
        server.ask_for(&objects.collect::<Vec<_>>(), kind, told)?;
        let shown = |change: &&Change| {
            let before = change.before.as_ref().map(|before| server.shown_as(before, kind, told));
            Ok(Changed {
                before: before.transpose()?,
                after: server.shown_as(&change.after, kind, told)?,
                revision: change.revision,
                removed: change.removed,
            })
        };
        changes.iter().map(shown).collect()
    }

    /// How far it has come, for those who want to know.
    pub fn bookmark(&self) -> Option<Value> {
        (self.bookmarks && !self.ended).then(|| json!({"type": "BOOKMARK", "object": self.marker(None)}))
    }

    /// There will be no more.
    pub fn is_ended(&self) -> bool {
        self.ended && self.first.is_empty()
    }

    fn marker(&self, annotations: Option<Value>) -> Value {
        let kind = &self.look.kind;
        let mut metadata = json!({"resourceVersion": self.at.to_string()});
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        json!({"kind": &*kind.kind, "apiVersion": kind.api_version(), "metadata": metadata})
    }

    fn event(&mut self, change: Changed, server: &Server, now: Timestamp) -> Option<Value> {
        let chosen = |object: &Value| self.choice.chooses(&self.look.kind, object);
        let before = change.before.as_deref().is_some_and(chosen);
        let after = !change.removed && chosen(&change.after);
        let (word, object) = match (before, after) {
            (false, true) => ("ADDED", change.after),
            (true, true) => ("MODIFIED", change.after),
            (true, false) if change.removed => ("DELETED", change.after),
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
        let first = !std::mem::replace(&mut self.begun, true);
        json!({"type": word, "object": self.look.in_event(object, &server.catalogue, now, first)})
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
            warnings: Vec::new(),
        };
        let silent = query.get("sendInitialEvents") == Some("false");
        if initial || (watch.at == 0 && !silent) {
            watch.at = self.server.store.revision();
            for (_, object) in self.chosen(target, &watch.choice)? {
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
