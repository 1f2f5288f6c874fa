//! A CustomResourceDefinition around a schema.

use serde_json::{Value, json};

use super::{GROUP, scale};

/// What a definition is put together from.
pub(super) struct Definition {
    pub kind: &'static str,
    pub singular: &'static str,
    pub plural: &'static str,
    pub short: &'static str,
    pub columns: Vec<Column>,
    /// Fields that `--field-selector` knows.
    pub selectable: &'static [&'static str],
    pub schema: Value,
}

impl Definition {
    pub fn to_json(&self) -> Value {
        let columns: Vec<Value> = self.columns.iter().map(Column::to_json).collect();
        let selectable: Vec<Value> = self.selectable.iter().map(|path| json!({"jsonPath": path})).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{GROUP}", self.plural)},
            "spec": {
                "group": GROUP,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "singular": self.singular,
                    "plural": self.plural,
                    "shortNames": [self.short],
                    "categories": ["lockstep"],
                },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1alpha1",
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}, "scale": scale()},
                    "additionalPrinterColumns": columns,
                    "selectableFields": selectable,
                    "schema": {"openAPIV3Schema": self.schema},
                }],
            },
        })
    }
}

/// A column of `kubectl get`.
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    description: &'static str,
    wide: bool,
}

impl Column {
    pub fn number(name: &'static str, path: &'static str, description: &'static str) -> Self {
        Self { name, kind: "integer", path, description, wide: false }
    }

    pub fn text(name: &'static str, path: &'static str, description: &'static str) -> Self {
        Self { name, kind: "string", path, description, wide: false }
    }

    pub fn age() -> Self {
        let (path, description) = (".metadata.creationTimestamp", "Since when it exists.");
        Self { name: "Age", kind: "date", path, description, wide: false }
    }

    /// Shown by `-o wide` only.
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    fn to_json(&self) -> Value {
        let mut column = json!({
            "name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.description,
        });
        if self.wide {
            column["priority"] = json!(1);
        }
        column
    }
}

/// The schema of a whole object.
pub(super) fn schema(what: &str, spec: (&str, Value), status: (&str, Value)) -> Value {
    let described = |(text, mut schema): (&str, Value)| {
        schema["description"] = json!(text);
        schema
    };
    json!({
        "description": what,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "The version of the kind: lockstep.dev/v1alpha1."},
            "kind": {"type": "string", "description": "The kind of the object."},
            // Named so that rules can point at it; Kubernetes itself describes it.
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 253}}},
            "spec": described(spec),
            "status": described(status),
        },
    })
}
