//! Looking into objects. What is not there is empty, as it is to a server written in Go: `""`, `0`, `false`.

use serde_json::{Map, Value};

/// The text at this place.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The text at this place, or other words where there is none.
pub fn text_or<'a>(object: &'a Value, pointer: &str, other: &'a str) -> &'a str {
    or(text(object, pointer), other)
}

/// The text, or other words if it is empty.
pub fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// The number at this place.
pub fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The truth value at this place.
pub fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// The list at this place.
pub fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The map at this place.
pub fn map<'a>(object: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    object.pointer(pointer).and_then(Value::as_object)
}

/// How many entries the list or the map at this place has.
pub fn count(object: &Value, pointer: &str) -> usize {
    match object.pointer(pointer) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    }
}

/// Whether something is at this place.
pub fn is_there(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).is_some_and(|found| !found.is_null())
}

/// The name of an object, as a cell.
pub fn name(object: &Value) -> Value {
    text(object, "/metadata/name").into()
}

/// A number or a text as text: `3`, `50%`, `10Gi`.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Condition of a type. With `last`, several of one type count as the last of them, else as the first.
pub fn condition<'a>(object: &'a Value, kind: &str, last: bool) -> Option<&'a Value> {
    let mut found = list(object, "/status/conditions").iter().filter(|one| text(one, "/type") == kind);
    if last { found.next_back() } else { found.next() }
}

/// Whether the first condition of a type is true.
pub fn holds(object: &Value, kind: &str) -> bool {
    condition(object, kind, false).is_some_and(|found| text(found, "/status") == "True")
}

/// The texts at this place, joined.
pub fn joined(object: &Value, pointer: &str, by: &str) -> String {
    let texts: Vec<&str> = list(object, pointer).iter().filter_map(Value::as_str).collect();
    texts.join(by)
}

/// The labels at this place: `a=b,c=d`, or `<none>`.
pub fn labels(object: &Value, pointer: &str) -> String {
    let pairs = pairs(object, pointer);
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

fn pairs(object: &Value, pointer: &str) -> Vec<String> {
    let pair = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
    map(object, pointer).into_iter().flatten().map(pair).collect()
}

/// The label selector at this place: `a=b,c in (d,e),!f`. Nothing if it has an operator nobody knows.
pub fn selector(object: &Value, pointer: &str) -> Option<String> {
    let Some(selector) = object.pointer(pointer) else { return Some(String::new()) };
    let labels = map(selector, "/matchLabels").into_iter().flatten();
    let mut parts: Vec<(String, String)> = labels
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in list(selector, "/matchExpressions") {
        parts.push((text(expression, "/key").to_owned(), requirement(expression)?));
    }
    parts.sort_by(|one, other| one.0.cmp(&other.0));
    let parts: Vec<String> = parts.into_iter().map(|(_, shown)| shown).collect();
    Some(parts.join(","))
}

fn requirement(expression: &Value) -> Option<String> {
    let key = text(expression, "/key");
    let mut values: Vec<&str> = list(expression, "/values").iter().filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    match text(expression, "/operator") {
        "In" => Some(format!("{key} in ({values})")),
        "NotIn" => Some(format!("{key} notin ({values})")),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}

/// The label selector at this place, as most kinds show it.
pub fn selector_or_none(object: &Value, pointer: &str) -> String {
    match selector(object, pointer) {
        None => "<error>".to_owned(),
        Some(shown) => or(&shown, "<none>").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors() {
        let expression = |key: &str, operator: &str, values: Value| json!({"key": key, "operator": operator, "values": values});
        for (selector, shown) in [
            (json!({}), "<none>"),
            (json!({"matchLabels": {"b": "1", "a": "2"}}), "a=2,b=1"),
            (
                json!({"matchLabels": {"c": "1"}, "matchExpressions": [
                    expression("d", "NotIn", json!(["z"])), expression("b", "In", json!(["y", "x"])),
                    expression("a", "Exists", json!([])), expression("e", "DoesNotExist", json!([])),
                ]}),
                "a,b in (x,y),c=1,d notin (z),!e",
            ),
            (json!({"matchExpressions": [expression("a", "Near", json!([]))]}), "<error>"),
        ] {
            assert_eq!(selector_or_none(&json!({"spec": selector}), "/spec"), shown);
        }
        assert_eq!(selector_or_none(&json!({}), "/spec"), "<none>");
    }
}
