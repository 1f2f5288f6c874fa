//! JSON patches and merge patches, as a real API server takes them.

use serde_json::Value;
use thiserror::Error;

/// A patch that cannot be carried out.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum JsonPatchError {
    /// It is no list of operations.
    #[error("it is no list of operations")]
    Unreadable,
    /// There is nothing at the path of an operation.
    #[error("{operation} does not apply: nothing is at {path:?}")]
    Missing {
        /// Which.
        operation: String,
        /// Where.
        path: String,
    },
    /// There is something else than a test asks for.
    #[error("testing value {path} failed")]
    Test {
        /// Where.
        path: String,
    },
}

/// Carries the operations out, all or none.
///
/// The library that API servers use takes some freedom, on which clients rely: what is not there can be replaced,
/// copied as null, and is null for whoever tests it.
pub fn json(value: &Value, patch: &Value) -> Result<Value, JsonPatchError> {
    let operations = patch.as_array().ok_or(JsonPatchError::Unreadable)?;
    let mut patched = value.clone();
    for operation in operations {
        carry_out(&mut patched, operation)?;
    }
    Ok(patched)
}

fn carry_out(whole: &mut Value, operation: &Value) -> Result<(), JsonPatchError> {
    let said = |key: &str| operation[key].as_str().ok_or(JsonPatchError::Unreadable);
    let (word, path) = (said("op")?, said("path")?);
    let missing = |path: &str| JsonPatchError::Missing { operation: word.to_owned(), path: path.to_owned() };
    let given = operation.get("value").cloned().unwrap_or_default();
    match word {
        "add" => add(whole, path, given).ok_or_else(|| missing(path)),
        "remove" => remove(whole, path).map(drop).ok_or_else(|| missing(path)),
        "replace" if path.is_empty() => {
            *whole = given;
            Ok(())
        }
        "replace" => replace(whole, path, given).ok_or_else(|| missing(path)),
        "move" => {
            let from = said("from")?;
            let moved = remove(whole, from).ok_or_else(|| missing(from))?;
            add(whole, path, moved).ok_or_else(|| missing(path))
        }
        "copy" => {
            let from = said("from")?;
            let copied = find(whole, from).ok_or_else(|| missing(from))?;
            add(whole, path, copied).ok_or_else(|| missing(path))
        }
        "test" => match find(whole, path) {
            Some(found) if found == given => Ok(()),
            _ => Err(JsonPatchError::Test { path: path.to_owned() }),
        },
        _ => Err(JsonPatchError::Unreadable),
    }
}

/// What holds the last part of a path, and that part.
fn holder<'a>(whole: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let parts: Vec<String> = path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let (last, before) = parts.get(1..)?.split_last()?;
    let mut place = whole;
    for part in before {
        place = match place {
            Value::Object(map) => map.get_mut(part)?,
            Value::Array(items) => {
                let index = index(part, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    (place.is_object() || place.is_array()).then(|| (place, last.clone()))
}

/// The place of an item; those before the first count from the end.
fn index(part: &str, length: usize) -> Option<usize> {
    let number: isize = part.parse().ok()?;
    if number < 0 { length.checked_sub(number.unsigned_abs()) } else { usize::try_from(number).ok() }
}

/// What is at a path; null where a map could have it and has not.
fn find(whole: &mut Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(whole.clone());
    }
    match holder(whole, path)? {
        (Value::Object(map), key) => Some(map.get(&key).cloned().unwrap_or_default()),
        (Value::Array(items), key) => items.get(index(&key, items.len())?).cloned(),
        _ => None,
    }
}

fn add(whole: &mut Value, path: &str, value: Value) -> Option<()> {
    match holder(whole, path)? {
        (Value::Object(map), key) => drop(map.insert(key, value)),
        (Value::Array(items), key) if key == "-" => items.push(value),
        (Value::Array(items), key) => {
            let index = index(&key, items.len() + 1).filter(|index| *index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(whole: &mut Value, path: &str) -> Option<Value> {
    match holder(whole, path)? {
        (Value::Object(map), key) => map.remove(&key),
        (Value::Array(items), key) => {
            let index = index(&key, items.len()).filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

fn replace(whole: &mut Value, path: &str, value: Value) -> Option<()> {
    match holder(whole, path)? {
        (Value::Object(map), key) => drop(map.insert(key, value)),
        (Value::Array(items), key) => {
            let index = index(&key, items.len())?;
            *items.get_mut(index)? = value;
        }
        _ => return None,
    }
    Some(())
}

/// Lays a merge patch over a value: what is null goes, maps are merged, everything else is replaced.
pub fn merge(value: &Value, patch: &Value) -> Value {
    let mut merged = value.clone();
    json_patch::merge(&mut merged, patch);
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(value: Value, patch: Value) -> Result<Value, String> {
        json(&value, &patch).map_err(|error| error.to_string())
    }

    #[test]
    fn all_operations_or_none() {
        let value = json!({"a": [1, 2], "b": {"c": 3}});
        let patch = json!([
            {"op": "test", "path": "/b/c", "value": 3},
            {"op": "add", "path": "/a/-", "value": 4},
            {"op": "remove", "path": "/b/c"},
            {"op": "replace", "path": "/a/0", "value": 0},
        ]);
        assert_eq!(patched(value.clone(), patch), Ok(json!({"a": [0, 2, 4], "b": {}})));
        let wrong = json!([{"op": "remove", "path": "/b/c"}, {"op": "test", "path": "/a/0", "value": 9}]);
        assert!(patched(value.clone(), wrong).is_err());
        assert!(patched(value.clone(), json!([{"op": "remove", "path": "/nowhere"}])).is_err());
        assert!(patched(value, json!({"op": "remove"})).is_err());
    }

    #[test]
    fn what_is_not_there_can_be_replaced_and_copied() {
        let patch = json!([
            {"op": "replace", "path": "/a", "value": 1}, {"op": "copy", "from": "/b", "path": "/c"},
            {"op": "add", "path": "/d/-1", "value": 3},
        ]);
        let whole = json!({"d": [1, 2]});
        assert_eq!(patched(whole.clone(), patch), Ok(json!({"a": 1, "c": null, "d": [1, 2, 3]})));
        for wrong in [
            json!([{"op": "replace", "path": "/a/b", "value": 1}]),
            json!([{"op": "replace", "path": "/d/2", "value": 1}]),
            json!([{"op": "add", "path": "d", "value": 1}]),
        ] {
            assert!(patched(whole.clone(), wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_test_for_null_passes_where_nothing_is() {
        let patch = json!([
            {"op": "test", "path": "/metadata/finalizers", "value": null},
            {"op": "add", "path": "/metadata/finalizers", "value": ["x"]},
        ]);
        assert_eq!(patched(json!({"metadata": {}}), patch), Ok(json!({"metadata": {"finalizers": ["x"]}})));
    }

    #[test]
    fn merge_patches() {
        let value = json!({"a": {"b": 1, "c": 2}, "d": [1]});
        assert_eq!(
            merge(&value, &json!({"a": {"b": null}, "d": [2], "e": 3})),
            json!({"a": {"c": 2}, "d": [2], "e": 3})
        );
    }
}
