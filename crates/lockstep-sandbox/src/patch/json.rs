//! JSON patches and merge patches, as a real API server takes them.

use json_patch::PatchOperation;
use serde_json::Value;
use thiserror::Error;

/// A patch that cannot be carried out.
#[derive(Debug, Error)]
pub enum JsonPatchError {
    /// It is no list of operations.
    #[error("{0}")]
    Unreadable(#[from] serde_json::Error),
    /// One of its operations fails.
    #[error("{0}")]
    Operation(#[from] json_patch::PatchError),
}

/// Carries the operations out, all or none.
pub fn json(value: &Value, patch: &Value) -> Result<Value, JsonPatchError> {
    let operations: Vec<PatchOperation> = serde_json::from_value(patch.clone())?;
    let mut patched = value.clone();
    for operation in operations {
        if !is_about_nothing(&patched, &operation) {
            json_patch::patch(&mut patched, std::slice::from_ref(&operation))?;
        }
    }
    Ok(patched)
}

/// A test for null passes where there is nothing at all, as it does with the library that API servers use; clients
/// rely on it.
fn is_about_nothing(value: &Value, operation: &PatchOperation) -> bool {
    match operation {
        PatchOperation::Test(test) => test.value.is_null() && value.pointer(test.path.as_str()).is_none(),
        _ => false,
    }
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
