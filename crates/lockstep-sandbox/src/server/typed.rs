//! Whether a value fits the shape of a kind, in the words of those who type values by shape.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::Kind;
use crate::shape::{ListKind, ListShape, Shape, Shapes};

/// What sort of JSON a value is.
pub(crate) fn json_sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as Go prints maps.
pub(crate) fn go_map(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", go_map(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go_map).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// Where a value does not fit the shape of its kind.
pub(crate) fn misfit(value: &Value, kind: &Kind) -> Option<String> {
    let mut found = Vec::new();
    walk("", value, &kind.shape, &kind.shapes, &mut found);
    match found.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("errors:\n  {}", several.join("\n  "))),
    }
}

fn walk(path: &str, value: &Value, shape: &Shape, shapes: &Shapes, found: &mut Vec<String>) {
    let mut wrong = |why: String| found.push(if path.is_empty() { why } else { format!("{path}: {why}") });
    match (shapes.resolve(shape), value) {
        (_, Value::Null) | (Shape::Any, _) => {}
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                let below = format!("{path}.{name}");
                if !map.fields.contains_key(name) && map.values.is_none() && !map.open {
                    found.push(format!("{below}: field not declared in schema"));
                    return;
                }
                walk(&below, value, map.field(name), shapes, found);
            }
        }
        (Shape::Map(_), other) => wrong(format!("expected map, got {}", go_value(other))),
        (Shape::List(list), Value::Array(items)) => walk_items(path, items, list, shapes, found),
        (Shape::List(_), other) => wrong(format!("expected list, got {}", go_value(other))),
        (Shape::Text, Value::String(_))
        | (Shape::Number, Value::Number(_))
        | (Shape::Truth, Value::Bool(_)) => {}
        (Shape::Text, other) => {
            wrong(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_literal(other)));
        }
        (Shape::Number, other) => wrong(format!("expected numeric (int or float), got {}", go_type(other))),
        (Shape::Truth, other) => wrong(format!("expected boolean, got {}", go_value(other))),
        (_, other @ (Value::Object(_) | Value::Array(_))) => {
            wrong(format!("expected any scalar, got {}", go_value(other)));
        }
        _ => {}
    }
}

fn walk_items(path: &str, items: &[Value], list: &ListShape, shapes: &Shapes, found: &mut Vec<String>) {
    let mut known = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        if list.kind == ListKind::Atomic {
            walk(&format!("{path}[{index}]"), item, &list.items, shapes, found);
            continue;
        }
        let Some(element) = list.element(item) else {
            found.push(format!("{path}: element {index}: {}", unknown(list, item)));
            return;
        };
        let place = element.shown();
        if !known.insert(element) {
            found.push(format!("{path}: duplicate entries for key {place}"));
        }
        walk(&format!("{path}{place}"), item, &list.items, shapes, found);
    }
}

/// Why an item cannot be known again.
fn unknown(list: &ListShape, item: &Value) -> String {
    match (&list.kind, item) {
        (ListKind::Map(_), Value::Null) => {
            "associative list with keys may not have a null element".to_owned()
        }
        (ListKind::Map(keys), Value::Object(_)) => {
            let keys: Vec<String> = keys.iter().map(|(key, _)| format!("{key:?}")).collect();
            format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                keys.join(" ")
            )
        }
        (ListKind::Map(_), _) => "associative list with keys may not have non-map elements".to_owned(),
        (_, Value::Object(_)) => "associative list without keys has an element that's a map type".to_owned(),
        (_, Value::Array(_)) => "not supported: associative list with lists as elements".to_owned(),
        _ => "associative list without keys has an element that's an explicit null".to_owned(),
    }
}

/// A value behind a pointer, as Go prints it.
fn go_value(value: &Value) -> String {
    format!("&{{{}}}", go_map(value))
}

/// A value as Go source has it.
fn go_literal(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{key:?}:{}", go_literal(value))).collect();
            format!("map[string]interface {{}}{{{}}}", pairs.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_literal).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "map[string]interface {}",
        Value::Array(_) => "[]interface {}",
        Value::Bool(_) => "bool",
        _ => "string",
    }
}
