//! Whether a value fits the shape of a kind, in the words of those who type values by shape.

use serde_json::Value;

use crate::kinds::Kind;
use crate::shape::{Shape, Shapes};

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

/// The first place where a value does not fit the shape of its kind.
pub(crate) fn misfit(value: &Value, kind: &Kind) -> Option<String> {
    walk("", value, &kind.shape, &kind.shapes)
}

fn walk(path: &str, value: &Value, shape: &Shape, shapes: &Shapes) -> Option<String> {
    match (shapes.resolve(shape), value) {
        (_, Value::Null) => None,
        (Shape::Map(map), Value::Object(fields)) => fields.iter().find_map(|(name, value)| {
            let below = format!("{path}.{name}");
            if !map.fields.contains_key(name) && map.values.is_none() && !map.open {
                return Some(format!("{below}: field not declared in schema"));
            }
            walk(&below, value, map.field(name), shapes)
        }),
        (Shape::Map(_), other) => Some(format!("{path}: expected map, got {}", go_value(other))),
        (Shape::List(list), Value::Array(items)) => items.iter().enumerate().find_map(|(index, item)| {
            let place = match list.element(item) {
                Some(element) => element.shown(),
                None => format!("[{index}]"),
            };
            walk(&format!("{path}{place}"), item, &list.items, shapes)
        }),
        (Shape::List(_), other) => Some(format!("{path}: expected list, got {}", go_value(other))),
        (Shape::Scalar, Value::Object(_) | Value::Array(_)) => {
            Some(format!("{path}: expected scalar, got {}", go_value(value)))
        }
        (Shape::Text, other) if !other.is_string() => {
            Some(format!("{path}: expected string, got {}", go_value(other)))
        }
        _ => None,
    }
}

fn go_value(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{value}}}")
}
