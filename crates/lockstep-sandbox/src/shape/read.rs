//! Reading shapes from OpenAPI schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{ListKind, ListShape, MapShape, Shape};

impl Shape {
    /// Reads a schema that stands alone.
    #[cfg(test)]
    pub(crate) fn read(schema: &Value) -> Self {
        Self::read_among(schema, &Map::new())
    }

    /// Reads a schema that may refer to others.
    pub fn read_among(schema: &Value, others: &Map<String, Value>) -> Self {
        if let Some(name) = reference(schema) {
            return Self::Named(Arc::from(name));
        }
        let says = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
        if says("x-kubernetes-int-or-string") || schema.get("oneOf").is_some() {
            return Self::Scalar;
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => Self::Text,
            Some("integer" | "number") => Self::Number,
            Some("boolean") => Self::Truth,
            Some("array") => Self::List(list(schema, others)),
            Some("object") => map(schema, others),
            _ if schema.get("properties").is_some() => map(schema, others),
            _ => Self::Any,
        }
    }
}

/// The name a schema refers to. One that adds a description or a default wraps the reference.
fn reference(schema: &Value) -> Option<&str> {
    let link = schema.get("$ref").or_else(|| match schema.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref"),
        _ => None,
    })?;
    link.as_str()?.rsplit('/').next()
}

fn map(schema: &Value, others: &Map<String, Value>) -> Shape {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields: BTreeMap<String, Shape> = properties
        .map(|all| {
            all.iter().map(|(name, schema)| (name.clone(), Shape::read_among(schema, others))).collect()
        })
        .unwrap_or_default();
    let values = schema.get("additionalProperties").filter(|values| values.is_object());
    let atomic = schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    if fields.is_empty() && values.is_none() && !atomic {
        return Shape::Any;
    }
    let retain_keys = strategies(schema).any(|strategy| strategy == "retainKeys");
    Shape::Map(MapShape {
        fields,
        values: values.map(|values| Box::new(Shape::read_among(values, others))),
        atomic,
        open: schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool).unwrap_or(false),
        retain_keys,
    })
}

fn strategies(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("x-kubernetes-patch-strategy").and_then(Value::as_str).unwrap_or_default().split(',')
}

fn list(schema: &Value, others: &Map<String, Value>) -> ListShape {
    let items = schema.get("items").unwrap_or(&Value::Null);
    let kind = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(keys(schema, items, others)),
        _ => ListKind::Atomic,
    };
    let merges = strategies(schema).any(|strategy| strategy == "merge");
    let key = schema.get("x-kubernetes-patch-merge-key").and_then(Value::as_str).unwrap_or_default();
    let merge_key = merges.then(|| key.to_owned());
    ListShape { items: Box::new(Shape::read_among(items, others)), kind, merge_key }
}

fn keys(schema: &Value, items: &Value, others: &Map<String, Value>) -> Vec<(String, Option<Value>)> {
    let items = reference(items).and_then(|name| others.get(name)).unwrap_or(items);
    let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let default = |name: &str| items.get("properties")?.get(name)?.get("default").cloned();
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| (name.to_owned(), default(name))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shapes_of_schemas() {
        let scalar = || Box::new(Shape::Text);
        let list = |kind, merge_key: Option<&str>| {
            Shape::List(ListShape { items: scalar(), kind, merge_key: merge_key.map(str::to_owned) })
        };
        let named = |name: &str| Shape::Named(Arc::from(name));
        let rows = [
            (json!({}), Shape::Any),
            (json!({"type": "object"}), Shape::Any),
            (json!({"type": "string"}), Shape::Text),
            (json!({"type": "integer"}), Shape::Number),
            (json!({"x-kubernetes-int-or-string": true}), Shape::Scalar),
            (json!({"oneOf": [{"type": "string"}, {"type": "number"}]}), Shape::Scalar),
            (json!({"$ref": "#/components/schemas/io.Pod"}), named("io.Pod")),
            (json!({"allOf": [{"$ref": "#/components/schemas/io.Pod"}], "default": {}}), named("io.Pod")),
            (json!({"type": "array", "items": {"type": "string"}}), list(ListKind::Atomic, None)),
            (
                json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
                       "x-kubernetes-patch-strategy": "merge"}),
                list(ListKind::Set, Some("")),
            ),
        ];
        for (schema, shape) in rows {
            assert_eq!(Shape::read(&schema), shape, "{schema}");
        }
    }

    #[test]
    fn ports_are_known_by_number_and_protocol() {
        let schema = json!({
            "type": "array",
            "items": {"type": "object", "properties": {
                "containerPort": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"},
            }},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        });
        let Shape::List(ports) = Shape::read(&schema) else { panic!("a list") };
        let element = ports.element(&json!({"containerPort": 80, "name": "http"})).expect("known");
        assert_eq!(element.as_str(), r#"k:{"containerPort":80,"protocol":"TCP"}"#);
    }
}
