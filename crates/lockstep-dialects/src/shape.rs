//! An object against the schema of its kind: what an API server would say, all of it at once, without one.

use lockstep_api::Problem;
use lockstep_core::number::IntOrPercent;
use serde_json::{Map, Value};

/// Everything that does not fit.
pub(crate) fn check(schema: &Value, object: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    below(schema, object, "", &mut problems);
    problems
}

fn below(schema: &Value, value: &Value, path: &str, problems: &mut Vec<Problem>) {
    if let Some(message) = misfit(schema, value) {
        let shown = (!value.is_object() && !value.is_array()).then(|| value.to_string());
        problems.push(Problem { path: path.to_owned(), value: shown, message, line: None });
        return;
    }
    match value {
        Value::Object(fields) => object(schema, fields, path, problems),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                below(&schema["items"], item, &format!("{path}[{i}]"), problems);
            }
        }
        _ => {}
    }
}

fn object(schema: &Value, fields: &Map<String, Value>, path: &str, problems: &mut Vec<Problem>) {
    let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in missing.filter(|name| fields.get(*name).is_none_or(Value::is_null)) {
        problems.push(Problem { path: at(name), value: None, message: "required".to_owned(), line: None });
    }
    let known = schema["properties"].as_object();
    // Nobody says anything about what is in metadata, in a pod template and the like.
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true
        || (known.is_none() && schema["additionalProperties"].is_null());
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        match known.and_then(|known| known.get(name)) {
            Some(schema) => below(schema, value, &at(name), problems),
            None if schema["additionalProperties"].is_object() => {
                below(&schema["additionalProperties"], value, &format!("{path}[{name}]"), problems);
            }
            None if open => {}
            None => {
                let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                let message = format!("unknown field; accepted here: {}", names.join(", "));
                problems.push(Problem { path: at(name), value: None, message, line: None });
            }
        }
    }
}

/// What is wrong with a value itself.
fn misfit(schema: &Value, value: &Value) -> Option<String> {
    if schema["x-kubernetes-int-or-string"] == true {
        let fits = serde_json::from_value::<IntOrPercent>(value.clone()).is_ok();
        return (!fits).then(|| "must be a whole number from 0 up or a percentage such as 25%".to_owned());
    }
    let (fits, wanted) = match schema["type"].as_str().unwrap_or_default() {
        "object" => (value.is_object(), "an object"),
        "array" => (value.is_array(), "a list"),
        "string" => (value.is_string(), "text; put it in quotes"),
        "boolean" => (value.is_boolean(), "true or false"),
        "integer" => (value.is_i64() || value.is_u64(), "a whole number"),
        "number" => (value.is_number(), "a number"),
        _ => (true, ""),
    };
    if !fits {
        return Some(format!("must be {wanted}"));
    }
    let choices: Vec<&Value> = schema["enum"].as_array().into_iter().flatten().collect();
    if !choices.is_empty() && !choices.contains(&value) {
        let words: Vec<String> =
            choices.iter().map(|it| it.as_str().map_or(it.to_string(), str::to_owned)).collect();
        return Some(format!("must be one of {}", words.join(", ")));
    }
    if let Some(message) = size(schema, value) {
        return Some(message);
    }
    let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
    match value.as_i64() {
        Some(n) if least.is_some_and(|least| n < least) => {
            Some(format!("must be at least {}", least.unwrap_or(0)))
        }
        Some(n) if most.is_some_and(|most| n > most) => {
            Some(format!("must be at most {}", most.unwrap_or(0)))
        }
        _ => None,
    }
}

/// What is wrong with the length of a text or a list.
fn size(schema: &Value, value: &Value) -> Option<String> {
    let (length, least, most, unit) = match value {
        Value::String(text) => (text.chars().count(), "minLength", "maxLength", "characters"),
        Value::Array(items) => (items.len(), "minItems", "maxItems", "items"),
        _ => return None,
    };
    let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
    match (bound(least), bound(most)) {
        (Some(_), _) if length == 0 => Some("must not be empty".to_owned()),
        (Some(least), _) if length < least => {
            Some(format!("has {length} {unit}; at least {least} are needed"))
        }
        (_, Some(most)) if length > most => Some(format!("has {length} {unit}; up to {most} are accepted")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_said_at_once() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "sort": {"type": "string", "enum": ["A", "B"]},
            "many": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "part": {"x-kubernetes-int-or-string": true},
            "short": {"type": "string", "minLength": 1, "maxLength": 3},
            "few": {"type": "array", "minItems": 2, "maxItems": 3},
        }});
        let object = json!({
            "sort": "C", "many": [1, 0, "2"], "free": {"x": 1}, "map": {"k": "v"}, "part": true, "more": 1, "nothing": null,
            "short": "four", "few": [1],
        });
        let said: Vec<String> = check(&schema, &object).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "name: required",
                "few: has 1 items; at least 2 are needed",
                "many[1]: 0: must be at least 1",
                "many[2]: \"2\": must be a whole number",
                "map[k]: \"v\": must be a whole number",
                "more: unknown field; accepted here: few, free, many, map, name, part, short, sort",
                "part: true: must be a whole number from 0 up or a percentage such as 25%",
                "short: \"four\": has 4 characters; up to 3 are accepted",
                "sort: \"C\": must be one of A, B",
            ]
        );
    }
}
