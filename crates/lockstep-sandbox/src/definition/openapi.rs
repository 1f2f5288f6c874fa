//! What is published about a definition: its schemas, as clients read them.

use serde_json::{Map, Value, json};

use super::{Definition, Version, text};

const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// The name of a kind among schemas: `io.example.v1.Thing`.
pub fn model_name(group: &str, version: &str, kind: &str) -> String {
    let reversed: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{version}.{kind}", reversed.join("."))
}

/// The schemas of a version by name: of the kind, and of its lists. They refer to those of built-in kinds.
pub fn openapi(definition: &Definition, version: &str) -> Map<String, Value> {
    let names = &definition.names;
    let mut schemas = Map::new();
    let Some(version) = definition.version(version) else { return schemas };
    let name = |kind: &str| model_name(&definition.group, &version.name, kind);
    schemas.insert(name(&names.kind), of_kind(definition, version));
    schemas.insert(name(&names.list_kind), of_list(definition, version));
    schemas
}

/// The shape of a version's objects, for those who merge them: its schema without what only narrows values.
pub fn shape(version: &Version) -> Value {
    let mut schema = published(&version.written);
    add_type_and_metadata(&mut schema);
    without_narrowing(&mut schema);
    schema
}

fn of_kind(definition: &Definition, version: &Version) -> Value {
    let mut schema = published(&version.written);
    add_type_and_metadata(&mut schema);
    schema["x-kubernetes-group-version-kind"] = kind(definition, version, &definition.names.kind);
    if let Some(fields) = selectable(version) {
        schema["x-kubernetes-selectable-fields"] = fields;
    }
    schema
}

fn of_list(definition: &Definition, version: &Version) -> Value {
    let names = &definition.names;
    let item = model_name(&definition.group, &version.name, &names.kind);
    let mut schema = json!({
        "description": format!("{} is a list of {}", names.list_kind, names.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": api_version(), "type": "string"},
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", names.plural),
                "type": "array",
                "items": {"$ref": format!("#/components/schemas/{item}")},
            },
            "kind": {"description": kind_description(), "type": "string"},
            "metadata": {
                "description": format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds"),
                "allOf": [{"$ref": LIST_META}],
            },
        },
        "x-kubernetes-group-version-kind": kind(definition, version, &names.list_kind),
    });
    if let Some(fields) = selectable(version) {
        schema["x-kubernetes-selectable-fields"] = fields;
    }
    schema
}

fn kind(definition: &Definition, version: &Version, kind: &str) -> Value {
    json!([{"group": definition.group, "kind": kind, "version": version.name}])
}

fn selectable(version: &Version) -> Option<Value> {
    let fields = version.selectable.iter().map(|path| json!({"fieldPath": path.trim_start_matches('.')}));
    (!version.selectable.is_empty()).then(|| fields.collect())
}

fn api_version() -> String {
    format!(
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert \
         recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
         {CONVENTIONS}#resources"
    )
}

fn kind_description() -> String {
    format!(
        "Kind is a string value representing the REST resource this object represents. Servers may infer this \
         from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
         {CONVENTIONS}#types-kinds"
    )
}

fn metadata() -> Value {
    json!({
        "description": format!("Standard object's metadata. More info: {CONVENTIONS}#metadata"),
        "allOf": [{"$ref": OBJECT_META}],
    })
}

fn add_type_and_metadata(schema: &mut Value) {
    schema["properties"]["apiVersion"] = json!({"description": api_version(), "type": "string"});
    schema["properties"]["kind"] = json!({"description": kind_description(), "type": "string"});
    schema["properties"]["metadata"] = metadata();
}

/// A schema as it is published: an integer or a string is spelt out, and objects within it have their metadata.
fn published(written: &Value) -> Value {
    const LEFT_OUT: [&str; 4] = ["example", "externalDocs", "$schema", "id"];
    let Some(map) = written.as_object() else { return written.clone() };
    let mut schema = Value::Object(Map::new());
    for (key, value) in map.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
        schema[key] = match (key.as_str(), value) {
            ("properties", Value::Object(all)) => {
                all.iter().map(|(name, one)| (name.clone(), published(one))).collect::<Map<_, _>>().into()
            }
            ("items" | "additionalProperties", one) => published(one),
            (_, other) => other.clone(),
        };
    }
    if written["x-kubernetes-int-or-string"] == true {
        spell_out(&mut schema);
    }
    if written["x-kubernetes-embedded-resource"] == true {
        embed(&mut schema);
    }
    schema
}

fn spell_out(schema: &mut Value) {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let first = schema["allOf"].get(0).map(|first| first["anyOf"] == either);
    if schema["anyOf"] == either || first == Some(true) {
        return;
    }
    if schema["anyOf"].is_null() {
        schema["anyOf"] = either;
        return;
    }
    let mut all = vec![json!({"anyOf": either})];
    all.extend(schema["allOf"].as_array().into_iter().flatten().cloned());
    schema["allOf"] = all.into();
}

fn embed(schema: &mut Value) {
    let version = format!(
        "apiVersion defines the versioned schema of this representation of an object. More info: \
         {CONVENTIONS}#resources"
    );
    let kind = format!(
        "kind is a string value representing the type of this object. In CamelCase. More info: \
         {CONVENTIONS}#types-kinds"
    );
    schema["properties"]["apiVersion"] = json!({"description": version, "type": "string"});
    schema["properties"]["kind"] = json!({"description": kind, "type": "string"});
    schema["properties"]["metadata"] = metadata();
    let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    for name in ["kind", "apiVersion"] {
        if !required.iter().any(|known| known == name) {
            required.push(name.into());
        }
    }
    schema["required"] = required.into();
}

/// Drops what says which values there may be, and keeps what says how they are built.
fn without_narrowing(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if !map.get("allOf").is_some_and(refers) {
        map.remove("allOf");
    }
    for key in ["anyOf", "oneOf", "not"] {
        map.remove(key);
    }
    for key in ["items", "additionalProperties"] {
        map.get_mut(key).into_iter().for_each(without_narrowing);
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flatten().for_each(|(_, schema)| without_narrowing(schema));
}

fn refers(all: &Value) -> bool {
    all.as_array().is_some_and(|all| all.iter().any(|one| !text(one, "$ref").is_empty()))
}
