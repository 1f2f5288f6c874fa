//! Custom kinds: what a definition makes of objects in one of its versions.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::definition::{self, Definition, Version};
use crate::facts;
use crate::kinds::{Kind, Subresource, resource_of};
use crate::path::GroupVersion;
use crate::shape::{Shape, Shapes};

/// The kind a definition adds, in one of its versions.
pub(super) fn kind(definition: &Definition, version: &Version) -> Kind {
    let names = &definition.names;
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let (shape, shapes) = shapes(version);
    Kind {
        of: GroupVersion { group: definition.group.clone(), version: version.name.clone() },
        kind: Arc::from(names.kind.as_str()),
        list_kind: Arc::from(names.list_kind.as_str()),
        resource: resource_of(&names.plural, &definition.group),
        plural: Arc::from(names.plural.as_str()),
        singular: names.singular.clone(),
        short: names.short.clone(),
        categories: names.categories.clone(),
        namespaced: definition.namespaced,
        verbs: verbs.map(str::to_owned).to_vec(),
        subresources: subresources(definition, version),
        stored: definition.storage().map(|stored| stored.name.clone()).unwrap_or_default(),
        shape,
        shapes,
        schema: None,
    }
}

fn subresources(definition: &Definition, version: &Version) -> Vec<Subresource> {
    let verbs = || ["get", "patch", "update"].map(str::to_owned).to_vec();
    let status = version.status.then(|| Subresource {
        name: "status".to_owned(),
        kind: (definition.group.clone(), version.name.clone(), definition.names.kind.clone()),
        verbs: verbs(),
    });
    let scale = version.scale.as_ref().map(|_| Subresource {
        name: "scale".to_owned(),
        kind: ("autoscaling".to_owned(), "v1".to_owned(), "Scale".to_owned()),
        verbs: verbs(),
    });
    scale.into_iter().chain(status).collect()
}

/// The shape of its objects: theirs below, that of every object above.
fn shapes(version: &Version) -> (Shape, Arc<Shapes>) {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
    let mut schemas: Map<String, Value> = facts::schemas()
        .iter()
        .filter(|(name, _)| name.starts_with(META))
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    schemas.insert("this".to_owned(), definition::shape(version));
    (Shape::Named(Arc::from("this")), Arc::new(Shapes::read(&schemas)))
}

/// The columns of a table, as they were written.
pub(super) fn columns(version: &Version) -> Vec<Value> {
    let column = |column: &definition::Column| {
        json!({
            "name": column.name, "type": column.type_name, "format": column.format,
            "description": column.description, "priority": column.priority, "jsonPath": column.json_path,
        })
    };
    version.columns.iter().map(column).collect()
}

/// Where a scale finds its numbers, as it was written.
pub(super) fn scale(version: &Version) -> Value {
    let Some(scale) = &version.scale else { return json!({}) };
    json!({"specReplicasPath": scale.spec_replicas, "statusReplicasPath": scale.status_replicas})
}

/// Drops what nobody described, and nulls where there may be none. Metadata is every object's own.
pub(super) fn prune(version: &Version, object: &mut Value) -> Vec<String> {
    let metadata = object.get("metadata").cloned();
    let dropped = version.schema.prune(object);
    version.schema.drop_nulls(object);
    if let (Some(metadata), Some(object)) = (metadata, object.as_object_mut()) {
        object.insert("metadata".to_owned(), metadata);
    }
    dropped
}

/// Nobody creates a status, where that has a path of its own.
pub(super) fn prepare_create(version: &Version, object: &mut Value) {
    if version.status
        && let Some(object) = object.as_object_mut()
    {
        object.remove("status");
    }
    object["metadata"]["generation"] = Value::from(1);
}

/// The status stays, and the generation tells whether anything else changed.
pub(super) fn prepare_update(version: &Version, object: &mut Value, live: &Value) {
    if version.status {
        keep(object, live, "status");
    }
    let generation = live["metadata"]["generation"].as_u64().unwrap_or(1);
    let changed = below(object) != below(live);
    object["metadata"]["generation"] = Value::from(generation + u64::from(changed));
}

/// Nothing but the status changes.
pub(super) fn prepare_status_update(object: &mut Value, live: &Value) {
    let mut kept = live.clone();
    keep(&mut kept, object, "status");
    keep(&mut kept["metadata"], &object["metadata"], "managedFields");
    kept["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
    *object = kept;
}

/// A field as another object has it.
fn keep(object: &mut Value, from: &Value, field: &str) {
    let Some(object) = object.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => drop(object.insert(field.to_owned(), value.clone())),
        None => drop(object.remove(field)),
    }
}

/// All of an object but its metadata.
fn below(object: &Value) -> Map<String, Value> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(key, _)| *key != "metadata").map(|(key, value)| (key.clone(), value.clone())).collect()
}
