//! A field that is null is a field that is missing: to the readers, and to every API server.

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use lockstep_api::Document;
use lockstep_dialects::{ALL, Kind, Served, World};
use lockstep_testkit::Cluster;
use serde_json::Value;

/// All objects of the manifests of the dialects' own tests.
fn objects() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../lockstep-dialects/tests/manifests");
    let mut all = Vec::new();
    for dialect in ["rbg", "kthena", "grove"] {
        for file in std::fs::read_dir(format!("{folder}/{dialect}")).expect("a folder") {
            let path = file.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("a text");
            all.extend(Document::all(&text).expect("YAML").iter().map(Document::to_json));
        }
    }
    assert!(all.len() > 15, "{}", all.len());
    all
}

/// What an API server is told of the objects of a kind.
fn schema(object: &Value) -> Option<(Kind, Value)> {
    let (dialect, kind) = ALL.into_iter().find_map(|dialect| {
        dialect.kinds().iter().find(|kind| kind.is_of(object)).map(|kind| (dialect, *kind))
    })?;
    let definition = dialect.definitions().into_iter().find(|it| it["spec"]["names"]["kind"] == kind.kind)?;
    let version = object["apiVersion"].as_str()?.rsplit('/').next()?;
    let versions = definition["spec"]["versions"].as_array()?;
    let schema = versions.iter().find(|it| it["name"] == version)?["schema"]["openAPIV3Schema"].clone();
    Some((kind, schema["properties"]["spec"].clone()))
}

/// Writes null for everything that may be missing and is; how often.
fn fill(schema: &Value, value: &mut Value) -> usize {
    match value {
        Value::Object(fields) => {
            let mut filled = 0;
            for (name, below) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(value) = fields.get_mut(name) {
                    filled += fill(below, value);
                } else if below["nullable"] == true {
                    fields.insert(name.clone(), Value::Null);
                    filled += 1;
                }
            }
            filled
        }
        Value::Array(items) => items.iter_mut().map(|item| fill(&schema["items"], item)).sum(),
        _ => 0,
    }
}

/// Every object with all the nulls that it may have.
fn with_nulls() -> Vec<(Kind, Value, Value)> {
    let mut filled = 0;
    let all: Vec<_> = objects()
        .into_iter()
        .filter_map(|object| {
            let (kind, schema) = schema(&object)?;
            let mut nulls = object.clone();
            filled += fill(&schema, &mut nulls["spec"]);
            Some((kind, object, nulls))
        })
        .collect();
    assert!(filled > 500, "{filled}");
    all
}

#[test]
fn a_set_is_the_same_with_and_without_them() {
    let world = World {
        objects: objects(),
        served: Served { pod_groups: true, volcano: true, pod_gangs: true },
        ..World::default()
    };
    for (kind, object, nulls) in with_nulls() {
        let Some((dialect, _)) = lockstep_dialects::of(&object) else { continue };
        let set = |object: &Value| dialect.lower(object, &world).map(|lowered| lowered.set);
        let wanted = set(&object);
        assert_eq!(set(&nulls), wanted, "{nulls}");
        for version in kind.versions {
            let there = dialect.convert(&nulls, &format!("{}/{version}", kind.group)).expect("converted");
            assert_eq!(set(&there), wanted, "in {version}: {there}");
        }
    }
}

/// Every object is taken as it is.
async fn are_taken(client: &Client) {
    for definition in ALL.iter().flat_map(|dialect| dialect.definitions()) {
        lockstep_testkit::cluster::define(client, &definition).await.expect("a kind");
    }
    for (index, (kind, _, mut object)) in with_nulls().into_iter().enumerate() {
        object["metadata"]["name"] = format!("nulls-{index}").into();
        let version =
            object["apiVersion"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let of = GroupVersionKind::gvk(kind.group, version, kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&of, kind.plural);
        let api: Api<DynamicObject> = match kind.namespaced {
            true => {
                object["metadata"]["namespace"] = "default".into();
                Api::namespaced_with(client.clone(), "default", &resource)
            }
            false => Api::all_with(client.clone(), &resource),
        };
        let typed = serde_json::from_value(object.clone()).expect("an object");
        if let Err(refused) = api.create(&PostParams::default(), &typed).await {
            panic!("{refused}: {object}");
        }
    }
}

#[tokio::test]
async fn a_real_api_server_takes_them() {
    if let Some(cluster) = Cluster::builder().not_a_guest().start_or_skip().await {
        are_taken(&cluster.client()).await;
    }
}

#[tokio::test]
async fn the_embedded_one_takes_them() {
    let cluster = Cluster::builder().embedded().start().await.expect("an embedded cluster");
    are_taken(&cluster.client()).await;
}
