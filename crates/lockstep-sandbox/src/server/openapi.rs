//! OpenAPI v3: enough for `kubectl explain`, `kubectl apply` and clients that read schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::definition;
use crate::facts;
use crate::kinds::Kind;
use crate::path::GroupVersion;

use super::Turn;
use super::render::{Body, Response};

impl Turn<'_> {
    pub(super) fn openapi_index(&self) -> Response {
        let versions: BTreeSet<&GroupVersion> = self.server.catalogue.all().map(|kind| &kind.of).collect();
        let paths: Map<String, Value> = versions
            .into_iter()
            .map(|of| {
                let path = path(of);
                // The address changes with what is defined, so that nobody keeps an old document.
                let hash = self.server.catalogue.generation();
                (path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")}))
            })
            .collect();
        Response::new(200, Body::Made(json!({"paths": paths})))
    }

    /// The old kind of document. Clients fall back to it where a kind is unknown, so it names none.
    pub(super) fn openapi_of_old(&self) -> Response {
        if self.request.accept.contains("proto-openapi.spec.v2@v1.0+protobuf") {
            let media_type = Some("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
            return Response { media_type, ..Response::new(200, Body::Bytes(OLD)) };
        }
        let info = json!({"title": "Kubernetes", "version": "v1.37.0"});
        Response::new(
            200,
            Body::Made(json!({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}})),
        )
    }

    pub(super) fn openapi_document(&self, at: &str) -> Response {
        let parts: Vec<&str> = at.split('/').collect();
        let of = match parts.as_slice() {
            ["api", version] => GroupVersion { group: String::new(), version: (*version).to_owned() },
            ["apis", group, version] => {
                GroupVersion { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            _ => return Response::new(404, Body::Nothing),
        };
        let kinds: Vec<&Kind> = self.server.catalogue.of_version(&of).map(|kind| &**kind).collect();
        if kinds.is_empty() {
            return Response::new(404, Body::Nothing);
        }
        let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
        let mut paths = Map::new();
        for kind in kinds {
            let name = self.schema(kind, &mut schemas);
            describe(kind, &name, &mut paths);
        }
        for name in OPTIONS {
            gather(name, &mut schemas);
        }
        let document = json!({
            "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.37.0"},
            "paths": paths, "components": {"schemas": schemas},
        });
        Response::new(200, Body::Made(document))
    }

    /// Adds the schema of a kind and all it names. Its name.
    fn schema(&self, kind: &Kind, schemas: &mut BTreeMap<String, Value>) -> String {
        if let Some(name) = &kind.schema {
            gather(name, schemas);
            return name.to_string();
        }
        let own = self.server.catalogue.custom_kind(kind);
        for (name, schema) in own.iter().flat_map(|own| definition::openapi(own, &kind.of.version)) {
            let mut others = Vec::new();
            named(&schema, &mut others);
            schemas.insert(name, schema);
            others.iter().for_each(|other| gather(other, schemas));
        }
        definition::model_name(&kind.of.group, &kind.of.version, &kind.kind)
    }
}

const OPTIONS: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
];

/// The old document, in protobuf: `swagger` and `info`, and no path.
const OLD: &[u8] = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.37.0";

/// Where the document of a version lies.
fn path(of: &GroupVersion) -> String {
    match of.group.as_str() {
        "" => format!("api/{}", of.version),
        group => format!("apis/{group}/{}", of.version),
    }
}

/// Takes a schema and all it names from those of the built-in kinds.
fn gather(name: &str, schemas: &mut BTreeMap<String, Value>) {
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        let Some(schema) = facts::schemas().get(&name) else { continue };
        named(schema, &mut waiting);
        schemas.insert(name, schema.clone());
    }
}

fn named(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                found.extend(name.rsplit('/').next().map(str::to_owned));
            }
            map.values().for_each(|value| named(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, found)),
        _ => {}
    }
}

/// The paths of a kind. Clients look for the kind behind them and for what queries they take.
fn describe(kind: &Kind, schema: &str, paths: &mut Map<String, Value>) {
    let root = format!("/{}", path(&kind.of));
    let space = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let many = format!("{root}{space}/{}", kind.plural);
    let one = format!("{many}/{{name}}");
    let content = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
    let query = |name: &str| json!({"in": "query", "name": name, "schema": {"type": "string"}});
    let operation = |action: &str| {
        json!({
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind.coordinates(),
            "parameters": [query("dryRun"), query("fieldManager"), query("fieldValidation"), query("force")],
        })
    };
    let pick = |verbs: &[(&str, &str, &str)]| -> Value {
        let allowed = verbs.iter().filter(|(_, verb, _)| kind.allows(verb));
        allowed.map(|(method, _, action)| ((*method).to_owned(), operation(action))).collect()
    };
    paths.insert(many, pick(&[("get", "list", "list"), ("post", "create", "post")]));
    let changes = [
        ("get", "get", "get"),
        ("put", "update", "put"),
        ("patch", "patch", "patch"),
        ("delete", "delete", "delete"),
    ];
    paths.insert(one, pick(&changes));
}
