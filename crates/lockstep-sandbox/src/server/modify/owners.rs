//! Who owns which fields of what is written.

use std::sync::Arc;

use serde_json::Value;

use crate::apply::{Managers, NotApplied, Operation, Versioned, Versions, Who, Writing};
use crate::fields::Fields;
use crate::kinds::Kind;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::server::routes::Target;
use crate::server::{Step, Stop, Turn, events, typed, written};

use super::managers;

/// Who writes.
pub(in crate::server) fn who(request: &Request, target: &Target, operation: Operation) -> Who {
    Who {
        manager: request.manager(),
        operation,
        subresource: target.subresource.clone().unwrap_or_default(),
        api_version: target.kind.api_version(),
    }
}

/// The managers an update starts from: those it brings, or those that stand. An empty entry wipes them.
pub(in crate::server) fn of_update(live: &Value, object: &Value) -> Managers {
    let brought = &object["metadata"]["managedFields"];
    match brought.as_array().map(Vec::as_slice) {
        None | Some([]) => managers(live),
        Some([wiped]) if wiped.as_object().is_some_and(serde_json::Map::is_empty) => Managers::default(),
        Some(_) => match Managers::read(brought) {
            Ok(read) if !read.is_empty() => read,
            _ => managers(live),
        },
    }
}

/// An object after an update, with its managed fields.
pub(in crate::server) fn updated(
    turn: &Turn<'_>,
    target: &Target,
    live: &Value,
    mut object: Value,
    before: &Managers,
    who: &Who,
) -> Step<Value> {
    let as_it_was = live;
    let live = bare(live);
    strip(&mut object);
    if before.is_empty() && stands(&live) {
        // Once nobody owns anything, owners are not kept until somebody applies.
        return Ok(object);
    }
    let time = written(turn.now);
    let reset = turn.reset_fields(target);
    let writing =
        Writing { who, time: &time, shape: &target.kind.shape, shapes: &target.kind.shapes, reset: &reset };
    match before.update(&live, object.clone(), &writing, &InVersions { turn, target }) {
        Ok(outcome) => Ok(put(outcome.object, &outcome.managers)),
        // Where it cannot be told who owns what now, it is left as it was.
        Err(Stop::No(_)) => Ok(put(object, &managers(as_it_was))),
        Err(ask) => Err(ask),
    }
}

/// An object after an apply, with its managed fields.
pub(in crate::server) fn applied(
    turn: &Turn<'_>,
    target: &Target,
    live: &Value,
    applied: &Value,
    force: bool,
) -> Step<Value> {
    let who = who(turn.request, target, Operation::Apply);
    let mut before = managers(live);
    let live = bare(live);
    if before.is_empty() && stands(&live) {
        before = before_first(turn, target, &live)?;
    }
    let time = written(turn.now);
    let reset = turn.reset_fields(target);
    let kind = &target.kind;
    let writing = Writing { who: &who, time: &time, shape: &kind.shape, shapes: &kind.shapes, reset: &reset };
    match before.apply(&live, applied, &writing, &InVersions { turn, target }, force) {
        Ok(outcome) => Ok(put(outcome.object, &outcome.managers)),
        Err(NotApplied::Conflicts(conflicts)) => Err(Refusal::owned_by_others(&conflicts).into()),
        Err(NotApplied::Unconverted(stop)) => Err(stop),
    }
}

/// The kind of a request, in all its versions.
struct InVersions<'a> {
    turn: &'a Turn<'a>,
    target: &'a Target,
}

impl InVersions<'_> {
    /// What cannot be written in another version: whoever writes a status writes nothing else in any.
    fn reset(&self, kind: &Arc<Kind>) -> Fields {
        match self.target.subresource.as_deref() {
            _ if kind.of == self.target.kind.of => self.turn.reset_fields(self.target),
            Some("status") if kind.subresource("status").is_some() => {
                self.turn.reset_fields(&Target { kind: Arc::clone(kind), ..self.target.clone() })
            }
            _ => Fields::default(),
        }
    }
}

impl Versions for InVersions<'_> {
    type Error = Stop;

    fn convert<'a>(&'a self, object: &Value, to: &str, why: &str) -> Step<Option<Versioned<'a>>> {
        let asked = &self.target.kind;
        let server = &*self.turn.server;
        let same = object.is_null() || object["apiVersion"] == to;
        let kind =
            if asked.api_version() == to { Some(asked) } else { server.catalogue.in_version(asked, to) };
        if let Some(kind) = kind.filter(|_| same) {
            let reset = self.reset(kind);
            let object = object.clone();
            return Ok(Some(Versioned { object, shape: &kind.shape, shapes: &kind.shapes, reset }));
        }
        let said = |words: String| Stop::No(Refusal::failure(format!("{why}{words}")));
        let object = match server.catalogue.custom_kind(asked) {
            Some(definition) => server.in_version(definition, object.clone(), to, self.turn.told).map_err(
                |stop| match stop {
                    Stop::No(refusal) => said(refusal.message),
                    ask => ask,
                },
            )?,
            None => Value::clone(&*events::converted(&Arc::new(object.clone()), to)),
        };
        let Some(kind) = kind else { return Ok(None) };
        match typed::misfit(&object, kind) {
            Some(words) => Err(said(words)),
            None => {
                let reset = self.reset(kind);
                Ok(Some(Versioned { object, shape: &kind.shape, shapes: &kind.shapes, reset }))
            }
        }
    }
}

/// An object that is there, not one that is about to be.
fn stands(live: &Value) -> bool {
    live["metadata"].get("uid").is_some()
}

/// Who owns what nobody was known to own when it is applied to for the first time.
fn before_first(turn: &Turn<'_>, target: &Target, live: &Value) -> Step<Managers> {
    let mut who = who(turn.request, target, Operation::Update);
    who.manager = "before-first-apply".to_owned();
    let time = written(turn.now);
    let reset = turn.reset_fields(target);
    let kind = &target.kind;
    let writing = Writing { who: &who, time: &time, shape: &kind.shape, shapes: &kind.shapes, reset: &reset };
    let versions = InVersions { turn, target };
    let outcome = Managers::default().update(&turn.blank(target), live.clone(), &writing, &versions)?;
    Ok(outcome.managers)
}

/// Nothing differs but who owns it.
pub(in crate::server) fn same_but_for_owners(one: &Value, other: &Value) -> bool {
    bare(one) == bare(other)
}

/// Nothing differs but when somebody owned it.
pub(in crate::server) fn same_but_for_times(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let timeless = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        let entries: Vec<Value> = entries
            .map(|entry| {
                let mut entry = entry.clone();
                if let Some(entry) = entry.as_object_mut() {
                    entry.remove("time");
                }
                entry
            })
            .collect();
        entries
    };
    bare(one) == bare(other) && timeless(one) == timeless(other)
}

/// An object without its managed fields.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    strip(&mut object);
    object
}

fn strip(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

fn put(mut object: Value, managers: &Managers) -> Value {
    if !managers.is_empty() {
        object["metadata"]["managedFields"] = managers.write();
    }
    object
}
