//! CustomResourceDefinitions of other projects' kinds, as we serve them.

use serde_json::{Value, json};

use crate::kind::Kind;

pub use lockstep_api::crd::MADE_BY;

/// One version of a kind.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1alpha1`
    pub name: &'static str,
    /// The schema of `spec`.
    pub spec: Value,
    /// The schema of `status`; an open object if nobody minds.
    pub status: Option<Value>,
    /// Columns of `kubectl get`: name, type, path.
    pub columns: &'static [(&'static str, &'static str, &'static str)],
    /// Paths of `/scale`: wished, present, selector.
    pub scale: Option<[&'static str; 3]>,
}

/// The definition of a kind, its stored version first.
pub fn definition(kind: &Kind, short: &[&str], versions: &[Version]) -> Value {
    let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
    let first = kind.versions.first().copied().unwrap_or_default();
    let served: Vec<Value> = versions.iter().map(|version| version.to_json(version.name == first)).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{}.{}", kind.plural, kind.group),
            "labels": {MADE_BY.0: MADE_BY.1},
        },
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": format!("{}List", kind.kind),
                "singular": kind.kind.to_lowercase(),
                "plural": kind.plural,
                "shortNames": short,
            },
            "scope": scope,
            "versions": served,
        },
    })
}

impl Version {
    fn to_json(&self, storage: bool) -> Value {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let column =
            |(name, kind, path): &(&str, &str, &str)| json!({"name": name, "type": kind, "jsonPath": path});
        let mut subresources = json!({"status": {}});
        if let Some([wished, present, selector]) = self.scale {
            subresources["scale"] = json!({"specReplicasPath": wished, "statusReplicasPath": present, "labelSelectorPath": selector});
        }
        let mut spec = self.spec.clone();
        allow_nulls(&mut spec);
        if let (Some(_), Some(replicas)) = (self.scale, spec.pointer_mut("/properties/replicas")) {
            // Whoever serves `/scale` wants a number there, or nothing at all.
            replicas.as_object_mut().map(|schema| schema.remove("nullable"));
        }
        json!({
            "name": self.name,
            "served": true,
            "storage": storage,
            "subresources": subresources,
            "additionalPrinterColumns": self.columns.iter().map(column).collect::<Vec<_>>(),
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {"type": "object"},
                    "spec": spec,
                    "status": self.status.clone().unwrap_or(open),
                },
            }},
        })
    }
}

/// What may be missing may as well be null. Clients of the originals write fields so that nobody set, and an API server
/// takes null only where a schema says so.
fn allow_nulls(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, below) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        allow_nulls(below);
        let Value::Object(below) = below else { continue };
        if required.iter().any(|it| it == name) {
            continue;
        }
        below.insert("nullable".to_owned(), json!(true));
        // Null is none of the words, whatever `nullable` says; one level down they are compared with what is not null.
        if let Some(words) = below.remove("enum") {
            below.insert("allOf".to_owned(), json!([{"enum": words}]));
        }
    }
    for one in ["items", "additionalProperties"] {
        schema.get_mut(one).into_iter().for_each(allow_nulls);
    }
}
