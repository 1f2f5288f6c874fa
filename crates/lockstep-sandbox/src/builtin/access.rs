//! Reading and changing objects that are plain JSON, where what is missing, null or of another sort reads as nothing.

use serde_json::{Map, Value};

const NOTHING: &Value = &Value::Null;

/// The value under a path of fields; null where there is none.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(value, |value, field| value.get(field)).unwrap_or(NOTHING)
}

/// The text of a field; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The number of a field.
pub(crate) fn int(value: &Value, field: &str) -> Option<i64> {
    value.get(field).and_then(Value::as_i64)
}

/// A field that is true.
pub(crate) fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// A field that is there.
pub(crate) fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}

/// The items of a list.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list of texts.
pub(crate) fn texts<'a>(value: &'a Value, field: &str) -> Vec<&'a str> {
    list(value, field).iter().filter_map(Value::as_str).collect()
}

/// The entries of a map, in the order of their keys.
pub(crate) fn entries<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let map = value.get(field).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The items of a list, to change.
pub(crate) fn list_mut<'a>(value: &'a mut Value, field: &str) -> &'a mut [Value] {
    value.get_mut(field).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// The map of a field, made if there is none.
pub(crate) fn made<'a>(value: &'a mut Value, field: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let field = &mut value[field];
    if !field.is_object() {
        *field = Value::Object(Map::new());
    }
    field
}

/// Sets a field that is not there.
pub(crate) fn default(value: &mut Value, field: &str, preset: impl Into<Value>) {
    if !has(value, field) {
        put(value, field, preset);
    }
}

/// Sets a field that is not there, or holds nothing: an empty text, a zero.
pub(crate) fn default_empty(value: &mut Value, field: &str, preset: impl Into<Value>) {
    let empty = match value.get(field) {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        Some(Value::Null) | None => true,
        Some(_) => false,
    };
    if empty {
        put(value, field, preset);
    }
}

/// Sets a field.
pub(crate) fn put(value: &mut Value, field: &str, to: impl Into<Value>) {
    if let Some(map) = value.as_object_mut() {
        map.insert(field.to_owned(), to.into());
    }
}

/// Removes a field.
pub(crate) fn drop_field(value: &mut Value, field: &str) {
    if let Some(map) = value.as_object_mut() {
        map.remove(field);
    }
}

/// Gives a field the value it has elsewhere, or none.
pub(crate) fn keep(value: &mut Value, field: &str, of: &Value) {
    match of.get(field) {
        Some(kept) => put(value, field, kept.clone()),
        None => drop_field(value, field),
    }
}

/// Whether two values are the same to the API server: what is empty is as good as what is not there.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let within = |a: &Map<String, Value>, b: &Map<String, Value>| {
                a.iter().all(|(key, value)| same(value, b.get(key).unwrap_or(NOTHING)))
            };
            within(one, other) && other.iter().all(|(key, value)| one.contains_key(key) || nothing(value))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one, other) => one == other || (nothing(one) && nothing(other)),
    }
}

fn nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
