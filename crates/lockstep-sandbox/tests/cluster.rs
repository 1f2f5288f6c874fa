//! The cluster at work, in process and in virtual time.

#![allow(clippy::expect_used)]

mod client;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use jiff::{SignedDuration, Timestamp};
use lockstep_sandbox::cluster::data::Data;
use lockstep_sandbox::cluster::{Carried, Cluster, Setup, Webhooks};
use serde_json::{Value, json};

use crate::client::{ask, create, next, send};

fn setup() -> Setup {
    Setup::at("2026-01-01T00:00:00Z".parse().expect("a time"))
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"x": value}})
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_what_comes_and_ends_when_it_is_too_far_behind() {
    let cluster = Cluster::start(setup());
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion=1");
    let mut watch = send(&cluster, Method::GET, &path, None).await.into_body();
    let (code, made) = create(&cluster, CONFIG_MAPS, config_map("a", "1")).await;
    assert_eq!((code, &made["metadata"]["managedFields"][0]["manager"]), (201, &json!("test")));
    let event = next(&mut watch).await.expect("an event");
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &made));
    ask(&cluster, Method::DELETE, &format!("{CONFIG_MAPS}/a"), None).await;
    assert_eq!(next(&mut watch).await.expect("an event")["type"], "DELETED");
    create(&cluster, CONFIG_MAPS, config_map("b", "1")).await;
    cluster.compact();
    let last = next(&mut watch).await.expect("an event");
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(next(&mut watch).await, None);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute_and_a_watch_ends_in_time() {
    let cluster = Cluster::start(setup());
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=90");
    let began = tokio::time::Instant::now();
    let mut watch = send(&cluster, Method::GET, &path, None).await.into_body();
    assert_eq!(next(&mut watch).await.expect("a bookmark")["type"], "BOOKMARK");
    assert_eq!(began.elapsed().as_secs(), 60);
    assert_eq!(next(&mut watch).await.expect("a bookmark")["type"], "BOOKMARK");
    assert_eq!(next(&mut watch).await, None);
    assert_eq!(began.elapsed().as_secs(), 90);
}

fn webhook(name: &str, policy: &str) -> Value {
    json!({
        "name": name, "failurePolicy": policy, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5, "clientConfig": {"url": "https://127.0.0.1:1/"},
        "matchConditions": [{"name": "named", "expression": "object.metadata.name.startsWith('hook')"}],
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    })
}

async fn configure(cluster: &Cluster, sort: &str, hook: Value) {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", sort.to_lowercase());
    let object = json!({"metadata": {"name": hook["name"]}, "webhooks": [hook]});
    let (code, answer) = create(cluster, &path, object).await;
    assert_eq!(code, 201, "{answer}");
}

/// Says no to values of 0, and changes others.
fn answer(review: Value) -> Carried<'static> {
    Box::pin(async move {
        let request = &review["request"];
        let allowed = request["object"]["data"]["x"] != "0";
        let patch = r#"[{"op": "add", "path": "/data/seen", "value": "yes"}]"#;
        let response = match allowed {
            true => {
                json!({"uid": request["uid"], "allowed": true, "patchType": "JSONPatch", "patch": base64(patch)})
            }
            false => json!({"uid": request["uid"], "allowed": false, "status": {"message": "no zeros"}}),
        };
        Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
    })
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test(start_paused = true)]
async fn webhooks_change_and_refuse() {
    let webhooks = Arc::new(Webhooks::default());
    webhooks.answer("seen.example.com", Arc::new(answer));
    let cluster = Cluster::start(Setup { caller: webhooks, ..setup() });
    configure(&cluster, "Mutating", webhook("seen.example.com", "Fail")).await;
    let (_, made) = create(&cluster, CONFIG_MAPS, config_map("hook-a", "1")).await;
    assert_eq!(made["data"], json!({"x": "1", "seen": "yes"}));
    let (_, unseen) = create(&cluster, CONFIG_MAPS, config_map("other", "0")).await;
    assert_eq!(unseen["data"], json!({"x": "0"}));
    let (code, refused) = create(&cluster, CONFIG_MAPS, config_map("hook-b", "0")).await;
    let message = "admission webhook \"seen.example.com\" denied the request: no zeros";
    assert_eq!((code, &refused["message"]), (400, &json!(message)));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_silent_is_waited_for_no_longer_than_it_says() {
    let webhooks = Arc::new(Webhooks::default());
    let silent = |_| -> Carried<'static> { Box::pin(std::future::pending()) };
    webhooks.answer("strict.example.com", Arc::new(silent));
    webhooks.answer("lenient.example.com", Arc::new(silent));
    let cluster = Cluster::start(Setup { caller: webhooks, ..setup() });
    configure(&cluster, "Validating", webhook("lenient.example.com", "Ignore")).await;
    let began = tokio::time::Instant::now();
    assert_eq!(create(&cluster, CONFIG_MAPS, config_map("hook-a", "1")).await.0, 201);
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    configure(&cluster, "Validating", webhook("strict.example.com", "Fail")).await;
    let (code, refused) = create(&cluster, CONFIG_MAPS, config_map("hook-b", "1")).await;
    assert_eq!((code, &refused["reason"]), (500, &json!("InternalError")));
}

#[tokio::test(start_paused = true)]
async fn pods_are_put_on_nodes_and_collected_with_their_owner() {
    let cluster = Cluster::start(setup());
    let node = json!({
        "metadata": {"name": "n"},
        "status": {
            "allocatable": {"cpu": "4", "pods": "10"}, "capacity": {"cpu": "4", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    assert_eq!(create(&cluster, "/api/v1/nodes", node).await.0, 201);
    let (_, owner) = create(&cluster, CONFIG_MAPS, config_map("owner", "1")).await;
    let reference =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    let spec = json!({
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"operator": "Exists"}],
    });
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p", "ownerReferences": reference}, "spec": spec});
    assert_eq!(create(&cluster, pods, pod).await.0, 201);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (_, pod) = ask(&cluster, Method::GET, &format!("{pods}/p"), None).await;
    assert_eq!(pod["spec"]["nodeName"], "n", "{pod}");
    ask(&cluster, Method::DELETE, &format!("{CONFIG_MAPS}/owner"), None).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (_, pod) = ask(&cluster, Method::GET, &format!("{pods}/p"), None).await;
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30, "{pod}");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_started_over_its_data_has_lost_nothing() {
    let cluster = Cluster::start(setup());
    create(&cluster, CONFIG_MAPS, config_map("a", "1")).await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer", "default": 3}}}}}}}],
        },
    });
    let (code, answer) =
        create(&cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(code, 201, "{answer}");
    let things = "/apis/example.com/v1/namespaces/default/things";
    let thing = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"other": 1},
    });
    let (code, thing) = create(&cluster, things, thing).await;
    assert_eq!((code, &thing["spec"]), (201, &json!({"size": 3})), "{thing}");
    let text = serde_json::to_string(&cluster.data()).expect("writable");
    let (_, before) = ask(&cluster, Method::GET, CONFIG_MAPS, None).await;
    let data: Data = serde_json::from_str(&text).expect("readable");
    let again = Cluster::start(Setup { data: Some(data), ..setup() });
    let (_, after) = ask(&again, Method::GET, CONFIG_MAPS, None).await;
    assert_eq!(before["items"], after["items"]);
    assert_eq!(ask(&again, Method::GET, &format!("{things}/t"), None).await, (200, thing));
    let (_, made) = create(&again, CONFIG_MAPS, config_map("b", "1")).await;
    let version =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
    let (old, new): (Option<u64>, Option<u64>) = (version(&before), version(&made));
    assert!(new > old, "{old:?} {new:?}");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_history() {
    async fn history() -> String {
        let cluster = Cluster::start(setup());
        for name in ["a", "b"] {
            let object = json!({"metadata": {"generateName": name}, "data": {"x": "1"}});
            create(&cluster, CONFIG_MAPS, object).await;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        serde_json::to_string(&cluster.data()).expect("writable")
    }
    assert_eq!(history().await, history().await);
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_it_is_told_who_asked_for_what() {
    let cluster = Cluster::start(Setup { audit: true, ..setup() });
    let watch = send(&cluster, Method::GET, &format!("{CONFIG_MAPS}?watch=1"), None).await;
    create(&cluster, CONFIG_MAPS, config_map("a", "1")).await;
    create(&cluster, CONFIG_MAPS, config_map("a", "1")).await;
    drop(watch);
    ask(&cluster, Method::DELETE, &format!("{CONFIG_MAPS}/a"), None).await;
    let log = cluster.audit();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ours = lines.filter(|line| line["userAgent"] == "test/1").map(|line| {
        let (object, code) = (&line["objectRef"], &line["responseStatus"]["code"]);
        assert_eq!(object["resource"], "configmaps");
        format!("{} {} {code}", line["verb"], object["name"]).replace('"', "")
    });
    // A watch is told of when it is over.
    let told = ["create a 201", "create a 409", "watch null 200", "delete a 200"];
    assert_eq!(ours.collect::<Vec<_>>(), told);
    assert!(log.contains("system:"), "the controllers of the cluster ask for things, too");
    assert_eq!(Cluster::start(setup()).audit(), "", "nobody has asked for it");
}

#[tokio::test]
async fn its_clock_is_not_behind_by_the_time_a_start_takes() {
    let before = Instant::now();
    let cluster = Cluster::start(Setup::now());
    let took = before.elapsed();
    let behind = Timestamp::now().duration_since(cluster.now());
    assert!(behind < SignedDuration::try_from(took / 2).expect("short"), "{behind:?} of {took:?}");
}
