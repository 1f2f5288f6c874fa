//! Mutating webhooks: who is asked a second time, and in which version.

#![allow(clippy::expect_used)]

mod client;

use std::sync::{Arc, Mutex, PoisonError};

use http::Method;
use lockstep_sandbox::cluster::{Carried, Cluster, Setup, Webhooks};
use serde_json::{Value, json};

use crate::client::{ask, create};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const THINGS: &str = "/apis/example.io/v1/namespaces/default/things";

/// What every webhook was sent, in order.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A webhook: its name, whether it is asked again, and what it changes.
type Spec<'a> = (&'a str, &'a str, Value);

async fn cluster(hooks: &[Spec<'_>], rule: Value) -> (Cluster, Asked) {
    let asked = Asked::default();
    let webhooks = Arc::new(Webhooks::default());
    let mut configured = Vec::new();
    for (name, policy, patch) in hooks {
        let full = format!("{name}.example.io");
        let (name, asked, patch) = ((*name).to_owned(), Arc::clone(&asked), patch.clone());
        let answer = move |review: Value| answer(&name, &asked, &patch, &review);
        webhooks.answer(&full, Arc::new(answer));
        configured.push(json!({
            "name": full, "sideEffects": "None", "admissionReviewVersions": ["v1"], "reinvocationPolicy": policy,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": if rule.is_array() { rule.clone() } else { json!([rule]) },
        }));
    }
    let origin = "2026-01-01T00:00:00Z".parse().expect("a time");
    let cluster = Cluster::start(Setup { caller: webhooks, ..Setup::at(origin) });
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let object = json!({"metadata": {"name": "all"}, "webhooks": configured});
    let (code, made) = create(&cluster, path, object).await;
    assert_eq!(code, 201, "{made}");
    (cluster, asked)
}

fn answer(name: &str, asked: &Asked, patch: &Value, review: &Value) -> Carried<'static> {
    let request = &review["request"];
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    asked.push((name.to_owned(), request.clone()));
    let mut response = json!({"uid": request["uid"], "allowed": true});
    if !patch.is_null() {
        use base64::Engine as _;
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(base64::engine::general_purpose::STANDARD.encode(patch.to_string()));
    }
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Box::pin(std::future::ready(Ok(review)))
}

fn add(path: &str, value: Value) -> Value {
    json!([{"op": "add", "path": path, "value": value}])
}

#[tokio::test(start_paused = true)]
async fn who_wants_to_see_what_others_changed_is_asked_once_more() {
    let rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
    let rows: [(&str, [Spec<'_>; 3], &[&str]); 4] = [
        (
            "the one before sees what the one after did",
            [
                ("a", "IfNeeded", Value::Null),
                ("b", "Never", add("/data/b", json!("1"))),
                ("c", "IfNeeded", Value::Null),
            ],
            &["a", "b", "c", "a"],
        ),
        (
            "nobody sees again what they did themselves",
            [
                ("a", "IfNeeded", add("/data/a", json!("1"))),
                ("b", "IfNeeded", Value::Null),
                ("c", "Never", Value::Null),
            ],
            &["a", "b", "c"],
        ),
        (
            "what changes nothing is no change",
            [
                ("a", "IfNeeded", Value::Null),
                ("b", "IfNeeded", add("/data/x", json!("1"))),
                ("c", "IfNeeded", Value::Null),
            ],
            &["a", "b", "c"],
        ),
        (
            "there is no third time",
            [
                ("a", "IfNeeded", add("/data/a", json!("1"))),
                ("b", "IfNeeded", add("/metadata/labels", json!({"b": "1"}))),
                ("c", "IfNeeded", add("/data/c", json!("1"))),
            ],
            &["a", "b", "c", "a", "b"],
        ),
    ];
    for (why, hooks, expected) in rows {
        let (cluster, asked) = cluster(&hooks, rule.clone()).await;
        let object = json!({"metadata": {"name": "x"}, "data": {"x": "1"}});
        let (code, made) = create(&cluster, CONFIG_MAPS, object).await;
        assert_eq!(code, 201, "{why}: {made}");
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_sees_the_version_it_names() {
    let rule = json!({"operations": ["*"], "apiGroups": ["example.io"], "apiVersions": ["v2"], "resources": ["things"]});
    let hooks = [("a", "Never", add("/spec/color", json!("red")))];
    let (cluster, asked) = cluster(&hooks, rule).await;
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        })
    };
    let definition = json!({
        "metadata": {"name": "things.example.io"},
        "spec": {
            "group": "example.io", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version("v1", true), version("v2", false)],
        },
    });
    let (code, made) =
        create(&cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(code, 201, "{made}");
    let thing = json!({"apiVersion": "example.io/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"size": 1}});
    let (code, made) = create(&cluster, THINGS, thing).await;
    assert_eq!((code, &made["spec"]), (201, &json!({"size": 1, "color": "red"})), "{made}");
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, request) = asked.first().expect("it was asked");
    let versions = ["kind", "requestKind", "resource", "requestResource"].map(|key| &request[key]["version"]);
    assert_eq!(versions, ["v2", "v1", "v2", "v1"]);
    assert_eq!(request["object"]["apiVersion"], "example.io/v2");
}

/// What a webhook makes of an eviction counts, and the deletion it ends in is no question any more.
#[tokio::test(start_paused = true)]
async fn an_eviction_is_asked_about_once_and_does_what_was_agreed() {
    let pin =
        json!([{"op": "add", "path": "/deleteOptions", "value": {"preconditions": {"uid": "another"}}}]);
    let rule = json!([
        {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/eviction"]},
        {"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]},
    ]);
    for (patch, code, names) in [(Value::Null, 201, vec!["CREATE p"]), (pin, 409, vec!["CREATE p"])] {
        let (cluster, asked) = cluster(&[("pin", "Never", patch)], rule.clone()).await;
        let pods = "/api/v1/namespaces/default/pods";
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        assert_eq!(create(&cluster, pods, pod).await.0, 201);
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
        let (got, answer) = create(&cluster, &format!("{pods}/p/eviction"), eviction).await;
        assert_eq!(got, code, "{answer}");
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<String> = asked
            .iter()
            .map(|(_, request)| {
                let text = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
                format!("{} {}", text("operation"), text("name"))
            })
            .collect();
        assert_eq!(said, names);
    }
}

/// A definition takes its objects along, and everybody who watches hears of it.
#[tokio::test(start_paused = true)]
async fn objects_go_with_their_definition() {
    let cluster = Cluster::start(Setup::at("2026-01-01T00:00:00Z".parse().expect("a time")));
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({
        "metadata": {"name": "things.example.io"},
        "spec": {
            "group": "example.io", "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    assert_eq!(create(&cluster, definitions, definition.clone()).await.0, 201);
    let thing = json!({"apiVersion": "example.io/v1", "kind": "Thing", "metadata": {"name": "x"}});
    assert_eq!(create(&cluster, THINGS, thing).await.0, 201);
    ask(&cluster, Method::DELETE, &format!("{definitions}/things.example.io"), None).await;
    assert_eq!(create(&cluster, definitions, definition).await.0, 201);
    let (code, list) = ask(&cluster, Method::GET, THINGS, None).await;
    assert_eq!((code, list["items"].as_array().map(Vec::len)), (200, Some(0)), "{list}");
}
