//! From the JSON schema of a Rust type to the structural form that an API server accepts.
//!
//! Every value has exactly one type there: choices are `enum`s, alternatives one object with the fields of all
//! of them, and what may be missing is simply not required.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The structural schema of a type, with its defaults.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    rewrite(&mut schema);
    schema
}

/// The structural schema of a type that nobody fills in: without defaults.
pub fn without_defaults<T: JsonSchema>() -> Value {
    let mut schema = of::<T>();
    each(&mut schema, &mut |schema| {
        schema.remove("default");
    });
    schema
}

fn rewrite(schema: &mut Value) {
    each(schema, &mut |schema| {
        schema.remove("title");
        // Fields nobody knows are refused or dropped by an API server unless a schema says otherwise.
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            schema.remove("additionalProperties");
        }
        drop_null(schema);
        choices(schema);
        alternatives(schema);
        numbers(schema);
        reflow(schema);
    });
}

/// Does something to a schema, and before that to all schemas below it.
fn each(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|property| each(property, change));
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(Value::Array(alternatives)) = fields.get_mut(list) {
            alternatives.iter_mut().for_each(|alternative| each(alternative, change));
        }
    }
    for one in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(one) {
            each(below, change);
        }
    }
    change(fields);
}

/// What may be null may as well be missing.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative["type"] != "null");
        if let [Value::Object(only)] = alternatives.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            add_missing(schema, only);
        }
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}

/// Words of which each has a comment of its own become one list of words.
fn choices(schema: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = schema.get("oneOf") else { return };
    let word = |alternative: &Value| alternative.get("const").cloned();
    let Some(words) = alternatives.iter().map(word).collect::<Option<Vec<_>>>() else { return };
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(words));
}

/// Objects that may take one's place become one object; which fields go together is for a rule to say.
fn alternatives(schema: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = schema.remove("anyOf") else { return };
    let mut properties = Map::new();
    for alternative in alternatives {
        if let Some(Value::Object(fields)) = alternative.get("properties") {
            add_missing(&mut properties, fields.clone());
        }
    }
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
}

/// Kubernetes knows no unsigned numbers; none of ours is beyond the signed ones.
fn numbers(schema: &mut Map<String, Value>) {
    if schema.get("format").is_some_and(|format| format == "uint32") {
        schema.insert("format".to_owned(), json!("int32"));
    }
}

/// Comments are wrapped in the source; on the screen they are not.
fn reflow(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

fn add_missing(to: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        to.entry(key).or_insert(value);
    }
}
