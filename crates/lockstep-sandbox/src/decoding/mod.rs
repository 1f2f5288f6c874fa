//! Reading objects of built-in kinds as strictly as a real server: fields it does not know, and fields that are there
//! twice.

mod strict;
mod syntax;
mod tree;

use serde_json::Value;

pub use self::syntax::syntax_error;
use self::tree::Node;
use crate::facts;

/// Fields of an object that its kind does not have: `unknown field "spec.foo"`. `schema` names it among the facts:
/// `io.k8s.api.core.v1.Pod`.
pub fn unknown_fields(object: &Value, schema: &str) -> Vec<String> {
    strict::problems(&Node::from(object), Some(schema))
}

/// Fields that are there twice in a body of JSON: `duplicate field "spec.foo"`.
pub fn duplicate_fields(body: &[u8]) -> Vec<String> {
    Node::read(body).map(|node| strict::problems(&node, None)).unwrap_or_default()
}

/// Both, in the order of a body of JSON.
pub fn strict_problems(body: &[u8], schema: &str) -> Vec<String> {
    Node::read(body).map(|node| strict::problems(&node, Some(schema))).unwrap_or_default()
}

/// Drops fields that a kind does not have. `found` gets their paths.
pub(crate) fn prune(value: &mut Value, schema: &str, at: &str, found: &mut Vec<String>) {
    prune_by(value, named(schema), at, found);
}

fn prune_by(value: &mut Value, schema: &'static Value, at: &str, found: &mut Vec<String>) {
    let schema = resolve(schema);
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let at = format!("{at}.{key}");
            match below(schema, key) {
                Below::Of(schema) => prune_by(value, schema, &at, found),
                Below::Unknown => {
                    found.push(at);
                    return false;
                }
                Below::Anything => {}
            }
            true
        }),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune_by(item, &schema["items"], &format!("{at}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// What may be under a key of an object.
enum Below {
    /// This.
    Of(&'static Value),
    /// Nothing.
    Unknown,
    /// Nobody knows.
    Anything,
}

fn below(schema: &'static Value, key: &str) -> Below {
    match (schema.get("properties"), schema.get("additionalProperties")) {
        (Some(properties), _) => properties.get(key).map_or(Below::Unknown, Below::Of),
        (None, Some(values)) if values.is_object() => Below::Of(values),
        _ => Below::Anything,
    }
}

/// A schema by its name.
fn named(name: &str) -> &'static Value {
    facts::schemas().get(name).unwrap_or(&Value::Null)
}

/// The name a schema refers to.
fn reference(schema: &'static Value) -> Option<&'static str> {
    let link = schema.get("$ref").or_else(|| schema.get("allOf")?.get(0)?.get("$ref"))?;
    link.as_str()?.rsplit('/').next()
}

/// The schema itself, where one is only named.
fn resolve(schema: &'static Value) -> &'static Value {
    reference(schema).map_or(schema, named)
}

#[cfg(test)]
mod tests;
