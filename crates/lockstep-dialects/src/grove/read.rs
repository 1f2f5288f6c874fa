//! From an object to what it says, or everything that does not fit.

use std::sync::LazyLock;

use lockstep_api::Problem;
use serde_json::{Value, json};

use super::kinds;
use super::spec::PodCliqueSetSpec;
use crate::shape;

/// What an API server would hold a PodCliqueSet against.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "namespace": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": true,
            },
            "spec": kinds::schema_of_set(),
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    })
});

/// The spec of a PodCliqueSet.
pub(super) fn spec(object: &Value) -> Result<PodCliqueSetSpec, Vec<Problem>> {
    let problems = shape::check(&SCHEMA, object);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut given = object["spec"].clone();
    without_nulls(&mut given);
    serde_path_to_error::deserialize(&given).map_err(|error| {
        let path = format!("spec.{}", error.path());
        let value = crate::findings::find(object, &path).filter(|it| !it.is_object() && !it.is_array());
        vec![Problem {
            path,
            value: value.map(Value::to_string),
            message: error.inner().to_string(),
            line: None,
        }]
    })
}

/// A field without a value is a field that is not there.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}
