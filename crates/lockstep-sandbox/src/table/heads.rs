//! The heads of columns.

use serde_json::{Value, json};

use crate::facts;

/// A `TableColumnDefinition` that is always shown and needs no format.
pub fn head(name: &str, kind: &str, description: &str) -> Value {
    json!({"name": name, "type": kind, "format": "", "description": description, "priority": 0})
}

/// What is said about a field of every object's metadata.
pub fn of_metadata(field: &str) -> &'static str {
    let metadata = facts::schemas().get("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    let field = metadata.and_then(|schema| schema.get("properties")?.get(field)?.get("description"));
    field.and_then(Value::as_str).unwrap_or_default()
}
