//! Whether a schema is structural: whether it says, without looking at an object, what may be where.

use serde_json::Value;

use super::{list, says, text, there};
use crate::refusal::Cause;
use crate::schema::pattern;
use crate::schema::words::{self, Path};

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What is not structural about a schema, in the order of the words.
pub(super) fn check(at: &Path, schema: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    invariants(at, schema, Level::Root, &mut causes);
    complete_all(at, schema, at, schema, &mut causes);
    causes.sort_by_key(|cause| format!("{}: {}", cause.field, cause.message));
    causes
}

/// A schema says something that structural schemas have no place for.
pub(super) fn is_beyond(schema: &Value) -> bool {
    const BEYOND: [&str; 6] =
        ["id", "$ref", "additionalItems", "patternProperties", "definitions", "dependencies"];
    BEYOND.iter().any(|key| there(schema, key).is_some())
        || schema.get("items").is_some_and(Value::is_array)
        || below(schema).any(is_beyond)
}

/// All schemas within a schema.
fn below(schema: &Value) -> impl Iterator<Item = &Value> {
    let properties =
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
    let single = ["items", "additionalProperties", "not"].into_iter().filter_map(|key| schema.get(key));
    let several = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| list(schema, key));
    properties.chain(single).chain(several).filter(|schema| schema.is_object())
}

fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn invariants(at: &Path, schema: &Value, level: Level, causes: &mut Vec<Cause>) {
    let kind = text(schema, "type");
    let items = schema.get("items").filter(|items| items.is_object());
    if kind == "array" && items.is_none() {
        causes.push(words::required(&at.child("items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(&at.child("items"), items, Level::Item, causes);
    }
    for (name, schema) in fields(schema) {
        invariants(&at.child("properties").key(name), schema, Level::Field, causes);
    }
    if let Some(values) = there(schema, "additionalProperties") {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            causes.push(words::forbidden(&at, "must not be used at the root"));
        }
        if values.is_object() {
            invariants(&at, values, Level::Field, causes);
        }
    }
    for key in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if says(schema, "x-kubernetes-int-or-string") && says(schema, key) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            causes.push(words::invalid(&at.child(key), &true.into(), why));
        }
    }
    let skipped = Skipped { any: is_int_or_string(schema), first_of_all: first_is_int_or_string(schema) };
    combined(at, schema, skipped, causes);
    typed(at, schema, level, causes);
    metadata(at, schema, level, causes);
}

fn typed(at: &Path, schema: &Value, level: Level, causes: &mut Vec<Cause>) {
    let kind = text(schema, "type");
    let embedded = says(schema, "x-kubernetes-embedded-resource");
    let preserves = says(schema, "x-kubernetes-preserve-unknown-fields");
    let type_at = at.child("type");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(match kind {
            "" => words::required(&type_at, why),
            other => words::invalid(&type_at, &other.into(), why),
        });
    } else if kind.is_empty() && !says(schema, "x-kubernetes-int-or-string") && !preserves {
        let what = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        causes.push(words::required(&type_at, &format!("must not be empty {what}")));
    }
    if embedded && there(schema, "additionalProperties").is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(words::forbidden(&at.child("additionalProperties"), why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(words::invalid(&type_at, &kind.into(), "must be object at the root"));
    }
    if embedded && !preserves && fields(schema).next().is_none() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        causes.push(words::required(&at.child("properties"), why));
    }
}

/// Objects have a kind and metadata anyhow; a schema can only repeat it.
fn metadata(at: &Path, schema: &Value, level: Level, causes: &mut Vec<Cause>) {
    let checked = level == Level::Root || says(schema, "x-kubernetes-embedded-resource");
    let properties = &schema["properties"];
    let type_of = |name: &str| there(properties, name).map(|schema| text(schema, "type"));
    for name in ["kind", "apiVersion"] {
        if let Some(kind) = type_of(name).filter(|kind| checked && *kind != "string") {
            let at = at.child("properties").key(name).child("type");
            causes.push(words::invalid(&at, &kind.into(), "must be string"));
        }
    }
    let Some(written) = there(properties, "metadata") else { return };
    let at = at.child("properties").key("metadata");
    let kind = text(written, "type");
    if checked && kind != "object" {
        causes.push(words::invalid(&at.child("type"), &kind.into(), "must be object"));
    }
    if level == Level::Root {
        let named = fields(written).all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
        let keys = written.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let more = keys.filter(|key| !matches!(*key, "type" | "default" | "properties")).count() > 0;
        if !named || more {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly \
                       specified";
            causes.push(words::forbidden(&at, why));
        }
    }
}

/// An integer or a string is said by two types, which are not looked at.
#[derive(Clone, Copy, Default)]
struct Skipped {
    any: bool,
    first_of_all: bool,
}

fn is_int_or_string(schema: &Value) -> bool {
    let only = |schema: &Value, kind: &str| {
        schema.as_object().is_some_and(|map| map.len() == 1) && text(schema, "type") == kind
    };
    matches!(list(schema, "anyOf"), [one, other] if only(one, "integer") && only(other, "string"))
}

fn first_is_int_or_string(schema: &Value) -> bool {
    list(schema, "allOf").first().is_some_and(is_int_or_string)
}

fn combined(at: &Path, schema: &Value, skipped: Skipped, causes: &mut Vec<Cause>) {
    for key in ["anyOf", "allOf", "oneOf"] {
        if key == "anyOf" && skipped.any {
            continue;
        }
        for (index, inner) in list(schema, key).iter().enumerate() {
            let any = key == "allOf" && index == 0 && skipped.first_of_all;
            nested(&at.child(key).index(index), inner, Skipped { any, ..Skipped::default() }, causes);
        }
    }
    if let Some(not) = there(schema, "not") {
        nested(&at.child("not"), not, Skipped::default(), causes);
    }
    let written = text(schema, "pattern");
    if let Err(error) = pattern::compile(written) {
        let why =
            format!("must be a valid regular expression, but isn't: {}", pattern::problem(written, &error));
        causes.push(words::invalid(&at.child("pattern"), &written.into(), &why));
    }
}

/// Schemas put together only narrow what another schema describes.
fn nested(at: &Path, schema: &Value, skipped: Skipped, causes: &mut Vec<Cause>) {
    combined(at, schema, skipped, causes);
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        nested(&at.child("items"), items, Skipped::default(), causes);
    }
    for (name, schema) in fields(schema) {
        nested(&at.child("properties").key(name), schema, Skipped::default(), causes);
    }
    let mut must = |key: &str, what: &str, said: bool| {
        if said {
            causes.push(words::forbidden(&at.child(key), &format!("must be {what} to be structural")));
        }
    };
    for key in ["type", "title", "description"] {
        must(key, "empty", !text(schema, key).is_empty());
    }
    for key in ["additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        must(key, "undefined", there(schema, key).is_some());
    }
    for key in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        must(key, "false", says(schema, key));
    }
    for key in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        must(key, "empty", !list(schema, key).is_empty());
    }
    if there(&schema["properties"], "metadata").is_some() {
        let at = at.child("properties").key("metadata");
        causes.push(words::forbidden(&at, "must not be specified in a nested context"));
    }
}

/// What is narrowed must be described. `at` and `schema` are what describes, `from` and `narrowing` what narrows.
fn complete_all(at: &Path, schema: &Value, from: &Path, narrowing: &Value, causes: &mut Vec<Cause>) {
    if let Some(not) = there(narrowing, "not") {
        complete(at, schema, &from.child("not"), not, causes);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, inner) in list(narrowing, key).iter().enumerate() {
            complete(at, schema, &from.child(key).index(index), inner, causes);
        }
    }
}

fn complete(at: &Path, schema: &Value, from: &Path, narrowing: &Value, causes: &mut Vec<Cause>) {
    let missing = |at: &Path, from: &Path| words::required(at, &format!("because it is defined in {from}"));
    complete_all(at, schema, from, narrowing, causes);
    if let Some(items) = there(narrowing, "items") {
        let (at, from) = (at.child("items"), from.child("items"));
        match there(schema, "items") {
            Some(schema) => complete(&at, schema, &from, items, causes),
            None => causes.push(missing(&at, &from)),
        }
    }
    for (name, inner) in fields(narrowing) {
        let (at, from) = (at.child("properties").key(name), from.child("properties").key(name));
        match there(&schema["properties"], name) {
            Some(schema) => complete(&at, schema, &from, inner, causes),
            None => causes.push(missing(&at, &from)),
        }
    }
}
