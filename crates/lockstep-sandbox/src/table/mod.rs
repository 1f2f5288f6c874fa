//! Lists as tables: what `kubectl get` shows.
//!
//! A table is made by the server, not by the client: cells are texts and numbers in the words of a real API server,
//! and ages are counted from the moment of the request.

mod age;
mod columns;
mod custom;
mod heads;
mod jsonpath;
mod look;
mod print;
#[cfg(test)]
mod recorded;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use columns::Columns;

/// What of an object comes with its row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Include {
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

impl Include {
    /// Reads the query parameter `includeObject`; nothing if there is no such choice.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            "None" => Some(Self::None),
            _ => None,
        }
    }
}

/// What is said above the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads {
    /// The definitions of the columns.
    Shown,
    /// Nothing: in a watch, only the first event has them.
    Left,
}

/// The table of some objects. `metadata` is that of the list, or of the only object (`resourceVersion` alone).
pub fn table<'a>(
    columns: &Columns,
    objects: impl IntoIterator<Item = &'a Value>,
    now: Timestamp,
    include: Include,
    metadata: Value,
) -> Value {
    with_heads(columns, objects, now, include, metadata, Heads::Shown)
}

/// The table of one object: as it is answered to a get, and as it comes in the events of a watch.
pub fn table_of_one(
    columns: &Columns,
    object: &Value,
    now: Timestamp,
    include: Include,
    heads: Heads,
) -> Value {
    let version = object.pointer("/metadata/resourceVersion");
    let metadata = version.map_or_else(|| json!({}), |version| json!({"resourceVersion": version}));
    with_heads(columns, [object], now, include, metadata, heads)
}

fn with_heads<'a>(
    columns: &Columns,
    objects: impl IntoIterator<Item = &'a Value>,
    now: Timestamp,
    include: Include,
    metadata: Value,
    heads: Heads,
) -> Value {
    let rows: Vec<Value> = objects.into_iter().map(|object| row(columns, object, now, include)).collect();
    let rows = if rows.is_empty() && columns.no_rows_are_null() { Value::Null } else { rows.into() };
    let definitions = match heads {
        Heads::Shown => columns.definitions().into(),
        Heads::Left => Value::Null,
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn row(columns: &Columns, object: &Value, now: Timestamp, include: Include) -> Value {
    let shown = match include {
        Include::Object => object.clone(),
        // Who asked for nothing must still learn that the initial events are over.
        Include::None if !ends_initial_events(object) => Value::Null,
        Include::None | Include::Metadata => partial(object),
    };
    let mut row = json!({"cells": columns.row(object, now), "object": shown});
    if let Some(conditions) = columns.conditions(object) {
        row["conditions"] = conditions;
    }
    row
}

fn ends_initial_events(object: &Value) -> bool {
    object.pointer("/metadata/annotations/k8s.io~1initial-events-end").is_some_and(|told| told == "true")
}

/// The metadata of an object alone: a `PartialObjectMetadata`.
pub fn partial(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

/// The metadata of some objects: a `PartialObjectMetadataList`. `metadata` is that of the list.
pub fn partial_list<'a>(objects: impl IntoIterator<Item = &'a Value>, metadata: Value) -> Value {
    let items: Vec<Value> = objects.into_iter().map(partial).collect();
    // Unlike other lists, an empty one has no list of items at all.
    let items = if items.is_empty() { Value::Null } else { items.into() };
    json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> Timestamp {
        "2026-01-02T12:00:00Z".parse().expect("a time")
    }

    fn namespace() -> Value {
        json!({
            "kind": "Namespace", "apiVersion": "v1",
            "metadata": {"name": "a", "resourceVersion": "7", "creationTimestamp": "2026-01-02T11:00:00Z"},
            "status": {"phase": "Active"},
        })
    }

    #[test]
    fn a_table_of_a_list() {
        let columns = Columns::built_in("", "namespaces");
        let made = table(&columns, [&namespace()], noon(), Include::None, json!({"resourceVersion": "9"}));
        assert_eq!((&made["kind"], &made["metadata"]), (&json!("Table"), &json!({"resourceVersion": "9"})));
        assert_eq!(made["columnDefinitions"].as_array().map(Vec::len), Some(3));
        assert_eq!(made["rows"], json!([{"cells": ["a", "Active", "60m"], "object": null}]));
    }

    #[test]
    fn what_comes_with_a_row() {
        let (columns, object) = (Columns::built_in("", "namespaces"), namespace());
        let shown = |include| {
            table_of_one(&columns, &object, noon(), include, Heads::Shown)["rows"][0]["object"].clone()
        };
        assert_eq!(shown(Include::None), Value::Null);
        assert_eq!(shown(Include::Object), object);
        let metadata = json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
        });
        assert_eq!(shown(Include::Metadata), metadata);
        assert_eq!(
            ["", "Metadata", "Object", "None", "x"].map(Include::read).map(|read| read.is_some()),
            [true, true, true, true, false]
        );
    }

    #[test]
    fn events_of_a_watch() {
        let columns = Columns::built_in("", "namespaces");
        let later = table_of_one(&columns, &namespace(), noon(), Include::Metadata, Heads::Left);
        assert_eq!(later["columnDefinitions"], Value::Null);
        assert_eq!(later["metadata"], json!({"resourceVersion": "7"}));
        let end = json!({"metadata": {
            "resourceVersion": "8", "annotations": {"k8s.io/initial-events-end": "true"},
        }});
        let end = table_of_one(&columns, &end, noon(), Include::None, Heads::Left);
        assert_eq!(end["rows"][0]["cells"], json!(["", "", "<unknown>"]));
        assert_eq!(end["rows"][0]["object"]["metadata"]["resourceVersion"], "8");
    }

    #[test]
    fn no_objects() {
        let rows = |group, plural| {
            table(&Columns::built_in(group, plural), [], noon(), Include::None, json!({}))["rows"].clone()
        };
        assert_eq!(rows("", "pods"), json!([]));
        assert_eq!(rows("rbac.authorization.k8s.io", "roles"), Value::Null);
        assert_eq!(rows("apiextensions.k8s.io", "customresourcedefinitions"), Value::Null);
        assert_eq!(partial_list([], json!({}))["items"], Value::Null);
        assert_eq!(partial_list([&namespace()], json!({}))["items"], json!([partial(&namespace())]));
    }
}
