//! A CustomResourceDefinition around a schema.

use serde_json::{Value, json};

use super::{GROUP, scale};

/// What a definition is put together from.
pub(crate) struct Definition {
    pub group: &'static str,
    pub kind: &'static str,
    pub singular: &'static str,
    pub plural: &'static str,
    pub short: &'static str,
    pub columns: Vec<Column>,
    /// Fields that `--field-selector` knows.
    pub selectable: &'static [&'static str],
    /// Whether it can be scaled.
    pub scale: bool,
    pub schema: Value,
}

impl Definition {
    pub fn to_json(&self) -> Value {
        let columns: Vec<Value> = self.columns.iter().map(Column::to_json).collect();
        let selectable: Vec<Value> = self.selectable.iter().map(|path| json!({"jsonPath": path})).collect();
        let mut subresources = json!({"status": {}});
        if self.scale {
            subresources["scale"] = scale();
        }
        let mut definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "singular": self.singular,
                    "plural": self.plural,
                    "shortNames": [self.short],
                },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1alpha1",
                    "served": true,
                    "storage": true,
                    "subresources": subresources,
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": self.schema},
                }],
            },
        });
        if self.group == GROUP {
            definition["spec"]["names"]["categories"] = json!(["lockstep"]);
        }
        if !selectable.is_empty() {
            definition["spec"]["versions"][0]["selectableFields"] = json!(selectable);
        }
        definition
    }
}

/// A column of `kubectl get`.
pub(crate) struct Column {
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
pub(crate) fn schema(version: &str, what: &str, spec: (&str, Value), status: (&str, Value)) -> Value {
    let described = |(text, mut schema): (&str, Value)| {
        schema["description"] = json!(text);
        schema
    };
    json!({
        "description": what,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": format!("The version of the kind: {version}.")},
            "kind": {"type": "string", "description": "The kind of the object."},
            // Named so that rules can point at it; Kubernetes itself describes it.
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 253}}},
            "spec": described(spec),
            "status": described(status),
        },
    })
}
