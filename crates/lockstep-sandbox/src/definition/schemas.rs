//! What can be wrong with the schema of a version.

use serde_json::Value;

use super::{dump, list, rules, says, structural, text, there};
use crate::refusal::Cause;
use crate::schema::Schema;
use crate::schema::words::{self, Path};

/// What is wrong with the schema of a version; `status` if the status is written by a path of its own.
pub(super) fn check(at: &Path, version: &Value, status: bool) -> Vec<Cause> {
    let Some(schema) = there(&version["schema"], "openAPIV3Schema") else { return Vec::new() };
    let at = at.child("openAPIV3Schema");
    let mut causes = Vec::new();
    if status {
        causes.extend(at_root(&at, schema));
    }
    if says(schema, "nullable") {
        causes.push(words::forbidden(&at.child("nullable"), "nullable cannot be true at the root"));
    }
    let mut sound = !structural::is_beyond(schema);
    if sound {
        let mut wrong = structural::check(&at, schema);
        if wrong.is_empty() {
            wrong = defaults(&at, schema);
        }
        sound = wrong.is_empty();
        causes.extend(wrong);
    }
    let mut found = Found::default();
    let root = Place { root: true, rules: sound, ..Place::default() };
    written(&at, schema, &root, &mut found);
    causes.extend(found.schema);
    causes.extend(found.rules);
    causes
}

/// The status is cut out of the schema. What else stands at the root would be lost for it.
fn at_root(at: &Path, schema: &Value) -> Option<Cause> {
    const FIELDS: [(&str, &str); 22] = [
        ("description", "Description"),
        ("type", "Type"),
        ("format", "Format"),
        ("title", "Title"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "ExclusiveMaximum"),
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "ExclusiveMinimum"),
        ("maxLength", "MaxLength"),
        ("minLength", "MinLength"),
        ("pattern", "Pattern"),
        ("maxItems", "MaxItems"),
        ("minItems", "MinItems"),
        ("uniqueItems", "UniqueItems"),
        ("multipleOf", "MultipleOf"),
        ("required", "Required"),
        ("items", "Items"),
        ("properties", "Properties"),
        ("externalDocs", "ExternalDocs"),
        ("example", "Example"),
        ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
        ("x-kubernetes-validations", "XValidations"),
    ];
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                   enabled";
        return Some(words::invalid(&at.child("type"), &kind.into(), why));
    }
    let said = |value: &Value| !value.is_null() && *value != Value::Bool(false);
    let mut keys = schema.as_object().into_iter().flatten().filter(|(_, value)| said(value));
    let other = keys.any(|(key, _)| !FIELDS.iter().any(|(allowed, _)| allowed == key));
    other.then(|| {
        let names: Vec<&str> = FIELDS.iter().map(|(_, name)| *name).collect();
        let shown = dump::schema(schema);
        let names = names.join(" ");
        let message = format!(
            "Invalid value: {shown}: only [{names}] fields are allowed at the root of the schema if the status \
             subresource is enabled"
        );
        Cause { reason: "FieldValueInvalid", message, field: at.to_string() }
    })
}

/// Defaults are held against the schema like anything else.
fn defaults(at: &Path, written: &Value) -> Vec<Cause> {
    let schema = Schema::read(written);
    let mut causes = Vec::new();
    defaults_below(at, &schema, &mut causes);
    causes
}

fn defaults_below(at: &Path, schema: &Schema, causes: &mut Vec<Cause>) {
    if let Some(default) = schema.default.as_ref().filter(|default| !default.is_null()) {
        let at = at.child("default");
        if schema.prune_value(&mut default.clone()) {
            causes.push(words::invalid(&at, default, "must not have unknown fields"));
        }
        causes.extend(default_value(&at, schema, default));
    }
    if let Some(items) = &schema.items {
        defaults_below(&at.child("items"), items, causes);
    }
    for (name, schema) in &schema.properties {
        defaults_below(&at.child("properties").key(name), schema, causes);
    }
}

/// The first kind of thing that is wrong with a default.
fn default_value(at: &Path, schema: &Schema, default: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    schema.embedded_at(at, default, &mut causes);
    if causes.is_empty() {
        causes = schema.validate_values_at(at, default, None);
    }
    if causes.is_empty() {
        causes = schema.validate_rules_at(at, default, Some(default));
    }
    if causes.is_empty() {
        causes = schema.validate_rules_at(at, default, None);
    }
    causes
}

/// Where in a schema a schema stands.
#[derive(Clone, Default)]
struct Place {
    root: bool,
    /// Rules are read: all else is sound so far.
    rules: bool,
    /// Within the metadata of an object.
    metadata: bool,
    /// Why there may be no defaults.
    no_defaults: Option<String>,
    /// The outermost part whose elements are not known again.
    unknown_again: Option<Path>,
}

/// What is wrong with what is written, and with rules.
#[derive(Default)]
struct Found {
    schema: Vec<Cause>,
    rules: Vec<Cause>,
}

fn written(at: &Path, schema: &Value, place: &Place, found: &mut Found) {
    let before = found.schema.len();
    found.schema.extend(unsupported(at, schema, place));
    let inner = Place { root: false, ..place.clone() };
    if let Some(values) = there(schema, "additionalProperties") {
        let at = at.child("additionalProperties");
        if there(schema, "properties").is_some_and(has_any) && *values != Value::Bool(true) {
            found
                .schema
                .push(words::forbidden(&at, "additionalProperties and properties are mutual exclusive"));
        }
        if values.is_object() {
            let reason = "inside additionalProperties applying to object metadata";
            let no_defaults = inner.metadata.then(|| reason.to_owned()).or_else(|| inner.no_defaults.clone());
            written(&at, values, &Place { no_defaults, ..inner.clone() }, found);
        }
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let at = at.child("properties").key(name);
        written(&at, property, &field_place(schema, name, place), found);
    }
    let unread = Place { rules: false, ..inner.clone() };
    if let Some(not) = there(schema, "not") {
        written(&at.child("not"), not, &unread, found);
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, one) in list(schema, key).iter().enumerate() {
            written(&at.child(key).index(index), one, &unread, found);
        }
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        let known = text(schema, "x-kubernetes-list-type") == "map";
        let unknown_again = inner.unknown_again.clone().or_else(|| (!known).then(|| at.clone()));
        written(&at.child("items"), items, &Place { unknown_again, ..inner }, found);
    }
    found.schema.extend(extensions(at, schema));
    found.schema.extend(map_list(at, schema));
    found.schema.extend(rules::as_written(at, schema));
    if found.schema.len() == before && place.rules {
        found.rules.extend(rules::read(at, schema, place.root, place.unknown_again.as_ref()));
    }
}

fn has_any(map: &Value) -> bool {
    map.as_object().is_some_and(|map| !map.is_empty())
}

fn field_place(schema: &Value, name: &str, place: &Place) -> Place {
    let mut inner = Place { root: false, ..place.clone() };
    let whole = place.root || says(schema, "x-kubernetes-embedded-resource");
    if whole && matches!(name, "metadata" | "kind" | "apiVersion") {
        inner.metadata = true;
        if place.root {
            inner.no_defaults = Some(format!("in top-level {name}"));
        }
    }
    inner
}

/// Words of JSON schema that are not for definitions.
fn unsupported(at: &Path, schema: &Value, place: &Place) -> Vec<Cause> {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let mut causes = Vec::new();
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        let types: Vec<String> = TYPES.iter().map(|kind| (*kind).to_owned()).collect();
        causes.push(words::not_supported(&at.child("type"), &kind.into(), &types));
    }
    if let Some(reason) = place.no_defaults.as_ref().filter(|_| there(schema, "default").is_some()) {
        causes.push(words::forbidden(&at.child("default"), &format!("must not be set {reason}")));
    }
    for key in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if there(schema, key).is_some() {
            causes.push(words::forbidden(&at.child(key), &format!("{key} is not supported")));
        }
    }
    if kind == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        causes.push(words::forbidden(&at.child("type"), why));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        causes.push(words::forbidden(&at.child("items"), "items must be a schema object and not an array"));
    }
    if place.metadata && says(schema, "x-kubernetes-embedded-resource") {
        let at = at.child("x-kubernetes-embedded-resource");
        causes.push(words::forbidden(&at, "must not be used inside of resource meta"));
    }
    if says(schema, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(words::forbidden(&at.child("uniqueItems"), why));
    }
    causes
}

/// Words that Kubernetes adds to JSON schema.
fn extensions(at: &Path, schema: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let at = at.child("x-kubernetes-preserve-unknown-fields");
        causes.push(words::invalid(&at, &false.into(), "must be true or undefined"));
    }
    let kind = text(schema, "type");
    for (key, wanted, values) in [
        ("x-kubernetes-map-type", "object", &["atomic", "granular"][..]),
        ("x-kubernetes-list-type", "array", &["atomic", "set", "map"]),
    ] {
        let Some(value) = there(schema, key) else { continue };
        if kind != wanted {
            let (at, why) = (at.child("type"), format!("must be {wanted} if {key} is specified"));
            causes.push(match kind {
                "" => words::required(&at, &why),
                other => words::invalid(&at, &other.into(), &why),
            });
        } else if value == "set" {
            causes.extend(set_items(&at.child("items"), &schema["items"]));
        }
        if !values.iter().any(|one| value == one) {
            let values: Vec<String> = values.iter().map(|one| (*one).to_owned()).collect();
            causes.push(words::not_supported(&at.child(key), value, &values));
        }
    }
    let keys = list(schema, "x-kubernetes-list-map-keys");
    if !keys.is_empty() {
        let (at, why) =
            (at.child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty");
        match there(schema, "x-kubernetes-list-type") {
            None => causes.push(words::required(&at, why)),
            Some(kind) if kind != "map" => causes.push(words::invalid(&at, kind, why)),
            Some(_) => {}
        }
    }
    causes
}

/// Items of a set are compared as wholes.
fn set_items(at: &Path, items: &Value) -> Option<Cause> {
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = there(items, "x-kubernetes-list-type");
    match text(items, "type") {
        "array" => {
            let kind = list_type.filter(|kind| *kind != "atomic")?;
            Some(words::invalid(&at.child("x-kubernetes-list-type"), kind, why))
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            let shown = list_type.unwrap_or(&Value::Null);
            Some(words::invalid(&at.child("x-kubernetes-map-type"), shown, why))
        }
        _ => None,
    }
}

/// Lists that are maps: their keys are properties, and always there.
fn map_list(at: &Path, schema: &Value) -> Vec<Cause> {
    let kind = text(schema, "x-kubernetes-list-type");
    let (items_at, keys_at) = (at.child("items"), at.child("x-kubernetes-list-map-keys"));
    let keys = list(schema, "x-kubernetes-list-map-keys");
    let mut causes = Vec::new();
    let items = schema.get("items").filter(|items| items.is_object());
    if kind == "map" {
        if keys.is_empty() {
            causes.push(words::required(&keys_at, "must not be empty if x-kubernetes-list-type is map"));
        }
        match items {
            None if there(schema, "items").is_none() => {
                causes
                    .push(words::required(&items_at, "must have a schema if x-kubernetes-list-type is map"));
            }
            Some(items) if text(items, "type") != "object" => {
                let why = "must be object if parent array's x-kubernetes-list-type is map";
                causes.push(words::invalid(&items_at.child("type"), &text(items, "type").into(), why));
            }
            Some(items) => causes.extend(map_keys(&items_at, &keys_at, items, keys)),
            None => {}
        }
    }
    let Some(items) = items.filter(|_| matches!(kind, "map" | "set")) else { return causes };
    if says(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        causes.push(words::forbidden(&items_at.child("nullable"), &why));
    }
    let keys = keys.iter().filter_map(Value::as_str).filter(|_| kind == "map");
    for (key, property) in keys.filter_map(|key| Some((key, there(&items["properties"], key)?))) {
        let at = items_at.child("properties").key(key);
        let required = list(items, "required").iter().any(|name| name == key);
        if !required && there(property, "default").is_none() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                       property";
            causes.push(words::required(&at.child("default"), why));
        }
        if says(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(words::forbidden(&at.child("nullable"), why));
        }
    }
    causes
}

fn map_keys(items_at: &Path, keys_at: &Path, items: &Value, keys: &[Value]) -> Vec<Cause> {
    let mut causes = Vec::new();
    let all: Value = keys.to_vec().into();
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match there(&items["properties"], name) {
            None => {
                causes.push(words::invalid(keys_at, &all, "entries must all be names of item properties"))
            }
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let at = items_at.child("properties").key(name).child("type");
                causes.push(words::invalid(&at, &text(items, "type").into(), why));
            }
            Some(_) => {}
        }
        if keys.iter().take(index).any(|before| before == key) {
            causes.push(words::invalid(keys_at, &all, "must not contain duplicate entries"));
        }
    }
    causes
}
