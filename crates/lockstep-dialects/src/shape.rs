//! An object against the schema of its kind: what an API server would say, all of it at once, without one.

use lockstep_api::Problem;
use lockstep_core::number::IntOrPercent;
use serde_json::{Map, Value};

use crate::Lowered;

/// Lowers an object. One that does not fit its schema is lowered without what does not fit, so that whatever else is
/// wrong with it is said in the same breath.
pub(crate) fn all_at_once(
    schema: &Value,
    object: &Value,
    lower: impl FnOnce(&Value) -> Result<Lowered, Vec<Problem>>,
) -> Result<Lowered, Vec<Problem>> {
    let mut misfits = check(schema, object);
    if misfits.is_empty() {
        return lower(object);
    }
    let rest = rest(schema, object);
    if let Some(Err(others)) = rest.map(|rest| lower(&rest)) {
        // That a part is missing which was only taken out here is not worth a word.
        let news = |other: &Problem| misfits.iter().all(|misfit| !misfit.path.starts_with(&other.path));
        let others: Vec<Problem> = others.into_iter().filter(news).collect();
        misfits.extend(others);
    }
    Err(misfits)
}

/// What is left of an object without what does not fit, if that fits.
pub(crate) fn rest(schema: &Value, object: &Value) -> Option<Value> {
    fitting(schema, object).filter(|rest| check(schema, rest).is_empty())
}

/// What of a value fits, if it does itself. Places in lists mean something, so a list with a misfit goes as a whole.
fn fitting(schema: &Value, value: &Value) -> Option<Value> {
    if misfit(schema, value).is_some() {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let below = |(name, value): (&String, &Value)| match schema_of(schema, name)? {
                Below::Known(schema) => Some((name.clone(), fitting(schema, value)?)),
                Below::Open => Some((name.clone(), value.clone())),
            };
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(fields.filter_map(below).collect()))
        }
        Value::Array(items) => items.iter().map(|item| fitting(&schema["items"], item)).collect(),
        other => Some(other.clone()),
    }
}

/// What is known of a field.
enum Below<'a> {
    Known(&'a Value),
    /// Nobody says anything about it.
    Open,
}

/// What is known of a field, if it is known at all.
fn schema_of<'a>(schema: &'a Value, name: &str) -> Option<Below<'a>> {
    let known = schema["properties"].as_object();
    if let Some(schema) = known.and_then(|known| known.get(name)) {
        return Some(Below::Known(schema));
    }
    if schema["additionalProperties"].is_object() {
        return Some(Below::Known(&schema["additionalProperties"]));
    }
    // Nobody says anything about what is in metadata, in a pod template and the like.
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true || known.is_none();
    open.then_some(Below::Open)
}

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
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let is_property = known.is_some_and(|known| known.contains_key(name));
        match schema_of(schema, name) {
            Some(Below::Known(schema)) if is_property => below(schema, value, &at(name), problems),
            Some(Below::Known(schema)) => below(schema, value, &format!("{path}[{name}]"), problems),
            Some(Below::Open) => {}
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
