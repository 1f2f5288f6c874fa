//! A kind in two versions, converted by a webhook in the process: a thing has a size in one, a count in the other.

#![allow(clippy::expect_used)]

mod client;

use std::sync::Arc;

use http::Method;
use lockstep_sandbox::cluster::{Carried, Cluster, Setup, Webhooks};
use serde_json::{Value, json};

use crate::client::{JSON, ask, create, next, send};

const APPLY: &str = "application/apply-patch+yaml";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ONE: &str = "/apis/example.io/v1/namespaces/default/things";
const TWO: &str = "/apis/example.io/v2/namespaces/default/things";

/// Answers a review. Broken things cannot be had in the second version.
fn convert(review: Value) -> Carried<'static> {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let (from, into) = if to.ends_with('2') { ("size", "count") } else { ("count", "size") };
    let one = |object: &Value| {
        let mut object = object.clone();
        object["apiVersion"] = json!(to);
        if let Some(number) = object["spec"].as_object_mut().and_then(|spec| spec.remove(from)) {
            object["spec"][into] = number;
        }
        object
    };
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let broken = to.ends_with('2') && objects.iter().any(|object| object["spec"]["size"] == 13);
    let result = match broken {
        true => json!({"status": "Failure", "message": "unlucky"}),
        false => json!({"status": "Success"}),
    };
    let converted: Vec<Value> = objects.iter().map(one).collect();
    let answer = json!({
        "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "response": {"uid": request["uid"], "convertedObjects": converted, "result": result},
    });
    Box::pin(std::future::ready(Ok(answer)))
}

fn version(name: &str, number: &str, storage: bool) -> Value {
    json!({
        "name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": number, "type": "integer", "jsonPath": format!(".spec.{number}")}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                number: {"type": "integer"}, "color": {"type": "string", "default": name}}}}}},
    })
}

fn definition() -> Value {
    let mut old = version("v1alpha1", "size", false);
    old["deprecated"] = json!(true);
    json!({
        "metadata": {"name": "things.example.io"},
        "spec": {
            "group": "example.io", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "default", "name": "here"}},
            }},
            "versions": [old, version("v1", "size", true), version("v2", "count", false)],
        },
    })
}

async fn cluster() -> Cluster {
    let webhooks = Arc::new(Webhooks::default());
    webhooks.answer("things.example.io", Arc::new(convert));
    let origin = "2026-01-01T00:00:00Z".parse().expect("a time");
    let cluster = Cluster::start(Setup { caller: webhooks, ..Setup::at(origin) });
    let (code, made) = create(&cluster, DEFINITIONS, definition()).await;
    assert_eq!((code, &made["status"]["storedVersions"]), (201, &json!(["v1"])), "{made}");
    cluster
}

async fn get(cluster: &Cluster, path: &str) -> (u16, Value) {
    ask(cluster, Method::GET, path, None).await
}

fn thing(version: &str, name: &str, number: &str, value: i64) -> Value {
    json!({
        "apiVersion": format!("example.io/{version}"), "kind": "Thing", "metadata": {"name": name},
        "spec": {number: value},
    })
}

#[tokio::test(start_paused = true)]
async fn every_version_reads_and_writes_what_the_other_wrote() {
    let cluster = cluster().await;
    let watch = format!("{ONE}?watch=1");
    let mut watch = send(&cluster, Method::GET, &watch, None).await.into_body();
    let (code, made) = create(&cluster, TWO, thing("v2", "a", "count", 3)).await;
    assert_eq!((code, &made["spec"]), (201, &json!({"count": 3, "color": "v2"})), "{made}");
    let (_, one) = get(&cluster, &format!("{ONE}/a")).await;
    assert_eq!(one["spec"], json!({"size": 3, "color": "v2"}));
    assert_eq!(one["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert_eq!(next(&mut watch).await.expect("an event")["object"], one);
    let applied = thing("v1", "a", "size", 4);
    let path = format!("{ONE}/a?fieldManager=one&force=true");
    let (code, applied) = ask(&cluster, Method::PATCH, &path, Some((APPLY, applied))).await;
    assert_eq!((code, &applied["metadata"]["generation"]), (200, &json!(2)), "{applied}");
    let owners: Vec<String> = applied["metadata"]["managedFields"]
        .as_array()
        .expect("owners")
        .iter()
        .map(|entry| format!("{} {} {}", entry["manager"], entry["apiVersion"], entry["fieldsV1"]))
        .collect();
    // Whoever wrote the count lost it to whoever applied the size.
    let expected = [
        r#""one" "example.io/v1" {"f:spec":{"f:size":{}}}"#,
        r#""test" "example.io/v2" {"f:spec":{".":{},"f:color":{}}}"#,
    ];
    assert_eq!(owners, expected);
    assert_eq!(next(&mut watch).await.expect("an event")["object"]["spec"]["size"], 4);
    let (_, listed) = get(&cluster, TWO).await;
    let items = listed["items"].as_array().expect("items");
    assert_eq!((items.len(), &items[0]["spec"]["count"]), (1, &json!(4)));
    let (code, _) = ask(&cluster, Method::DELETE, TWO, None).await;
    assert_eq!((code, &next(&mut watch).await.expect("an event")["type"]), (200, &json!("DELETED")));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_converted_is_not_shown() {
    let cluster = cluster().await;
    let watch = format!("{TWO}?watch=1");
    let mut watch = send(&cluster, Method::GET, &watch, None).await.into_body();
    let unlucky = "conversion webhook for example.io/v1, Kind=Thing failed: unlucky";
    // It can be stored, but whoever wrote it cannot read it again.
    let (code, refused) = create(&cluster, TWO, thing("v2", "b", "count", 13)).await;
    assert_eq!((code, &refused["message"]), (500, &json!(unlucky)), "{refused}");
    assert_eq!(get(&cluster, &format!("{ONE}/b")).await.0, 200);
    let (code, _) = create(&cluster, ONE, thing("v1", "a", "size", 13)).await;
    assert_eq!((code, get(&cluster, &format!("{ONE}/a")).await.0), (201, 200));
    for path in [TWO.to_owned(), format!("{TWO}/a")] {
        let (code, refused) = get(&cluster, &path).await;
        assert_eq!((code, &refused["message"]), (500, &json!(unlucky)), "{path}");
    }
    let last = next(&mut watch).await.expect("an event");
    assert_eq!((&last["type"], &last["object"]["message"]), (&json!("ERROR"), &json!(unlucky)));
    assert_eq!(next(&mut watch).await, None);
}

#[tokio::test(start_paused = true)]
async fn versions_come_by_their_worth_and_old_ones_warn() {
    let cluster = cluster().await;
    let (_, group) = get(&cluster, "/apis/example.io").await;
    let versions: Vec<&Value> =
        group["versions"].as_array().expect("versions").iter().map(|version| &version["version"]).collect();
    assert_eq!(versions, ["v2", "v1", "v1alpha1"]);
    let path = ONE.replace("/v1/", "/v1alpha1/");
    for query in ["", "?watch=1"] {
        let answer = send(&cluster, Method::GET, &format!("{path}{query}"), None).await;
        let warning = answer.headers().get("warning").and_then(|warning| warning.to_str().ok());
        assert_eq!(
            warning,
            Some("299 - \"example.io/v1alpha1 Thing is deprecated; use example.io/v2 Thing\"")
        );
    }
    assert_eq!(send(&cluster, Method::GET, ONE, None).await.headers().get("warning"), None);
}

#[tokio::test(start_paused = true)]
async fn objects_move_to_another_storage_version_as_they_are_written() {
    let cluster = cluster().await;
    for name in ["a", "b"] {
        create(&cluster, ONE, thing("v1", name, "size", 1)).await;
    }
    let path = format!("{DEFINITIONS}/things.example.io");
    let (_, mut crd) = get(&cluster, &path).await;
    for (index, stored) in [(1, false), (2, true)] {
        crd["spec"]["versions"][index]["storage"] = json!(stored);
    }
    let (code, crd) = ask(&cluster, Method::PUT, &path, Some((JSON, crd))).await;
    assert_eq!((code, &crd["status"]["storedVersions"]), (200, &json!(["v1", "v2"])), "{crd}");
    // Writing what is there already moves it.
    let (_, a) = get(&cluster, &format!("{ONE}/a")).await;
    let (code, moved) = ask(&cluster, Method::PUT, &format!("{ONE}/a"), Some((JSON, a.clone()))).await;
    assert_eq!((code, &moved["spec"]), (200, &a["spec"]), "{moved}");
    assert_ne!(moved["metadata"]["resourceVersion"], a["metadata"]["resourceVersion"]);
    let stored = cluster.look(|server| {
        let things = server.store().all().filter(|(key, _)| *key.resource == *"things.example.io");
        things.map(|(_, object)| object["apiVersion"].clone()).collect::<Vec<_>>()
    });
    assert_eq!(stored, ["example.io/v2", "example.io/v1"]);
    let mut crd = crd;
    crd["spec"]["versions"].as_array_mut().expect("versions").retain(|version| version["name"] != "v1");
    let (code, refused) = ask(&cluster, Method::PUT, &path, Some((JSON, crd))).await;
    let message = refused["message"].as_str().expect("a message");
    assert!(code == 422 && message.contains("v1 was previously a storage version"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn whole_numbers_are_stored_whole_and_lists_are_published_too() {
    let cluster = cluster().await;
    let mut object = thing("v1", "a", "size", 2);
    object["spec"]["size"] = json!(2.0);
    let (code, made) = create(&cluster, "/apis/example.io/v1/namespaces/default/things", object).await;
    assert_eq!((code, made["spec"]["size"].to_string()), (201, "2".to_owned()), "{made}");
    let (_, document) = get(&cluster, "/openapi/v3/apis/example.io/v1").await;
    for name in
        ["io.example.v1.Thing", "io.example.v1.ThingList", "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"]
    {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}
