//! A webhook as an API server would call it.

#![allow(clippy::unwrap_used)]

mod raw;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use lockstep_testkit::pki::Authority;
use lockstep_testkit::webhook::{AdmissionRequest, Decision, Webhook};
use serde_json::{Value, json};

/// Calls the webhook its configuration points to.
struct Caller {
    url: String,
    client: raw::Http,
}

impl Caller {
    fn of(webhook: &Webhook) -> Self {
        let config = webhook.client_config();
        let client = raw::client(&config.ca_bundle.unwrap().0, Version::HTTP_11);
        Self { url: config.url.unwrap(), client }
    }

    async fn post(&self, body: String) -> Option<(StatusCode, Value)> {
        let request = Request::post(&self.url).body(Full::from(body)).unwrap();
        let response = self.client.request(request).await.ok()?;
        let status = response.status();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// The response to a question; nothing if the connection broke.
    async fn ask(&self, name: &str) -> Option<Value> {
        let (status, review) = self.post(question(name).to_string()).await?;
        assert_eq!((status, review["kind"].as_str()), (StatusCode::OK, Some("AdmissionReview")));
        Some(review["response"].clone())
    }
}

fn question(name: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u1", "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "name": name, "namespace": "x", "operation": "DELETE",
            "userInfo": {"username": "admin", "groups": ["system:masters"], "extra": {}},
            "object": null, "oldObject": {"metadata": {"name": name}}, "dryRun": false,
            "options": {"kind": "DeleteOptions", "gracePeriodSeconds": 0},
        },
    })
}

/// What to do is in the name.
fn decide(request: &AdmissionRequest) -> Decision {
    match request.name.as_str() {
        "deny" => Decision::deny(403, "not this one"),
        "patch" => Decision::patch(json!([{"op": "add", "path": "/a", "value": 1}])),
        "warn" => Decision::allow().warn("careful"),
        "hang" => Decision::hang(),
        "break" => Decision::break_connection(),
        _ => Decision::allow(),
    }
}

async fn start() -> Webhook {
    Webhook::start(&Authority::new("test").unwrap(), decide).await.unwrap()
}

#[tokio::test]
async fn every_answer() {
    let webhook = start().await;
    let caller = Caller::of(&webhook);
    let table = [
        ("allow", json!({"uid": "u1", "allowed": true})),
        ("warn", json!({"uid": "u1", "allowed": true, "warnings": ["careful"]})),
        ("deny", json!({"uid": "u1", "allowed": false, "status": {"code": 403, "message": "not this one"}})),
        (
            "patch",
            json!({
                "uid": "u1", "allowed": true, "patchType": "JSONPatch",
                "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6MX1d",
            }),
        ),
    ];
    for (name, response) in table {
        assert_eq!(caller.ask(name).await, Some(response));
    }
}

#[tokio::test]
async fn no_answer() {
    let webhook = start().await;
    let caller = Caller::of(&webhook);
    assert_eq!(caller.ask("break").await, None);
    let hanging = tokio::spawn(async move { caller.ask("hang").await });
    assert!(webhook.called(2, Duration::from_secs(60)).await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!hanging.is_finished());
    drop(webhook);
    assert_eq!(hanging.await.unwrap(), None);
}

#[tokio::test]
async fn calls_are_recorded() {
    let webhook = start().await;
    let caller = Caller::of(&webhook);
    assert!(!webhook.called(1, Duration::from_millis(50)).await);
    caller.ask("a").await.unwrap();
    caller.ask("b").await.unwrap();
    assert!(webhook.called(2, Duration::from_secs(60)).await);
    let calls = webhook.calls();
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!((calls[0].operation.as_str(), calls[0].resource.resource.as_str()), ("DELETE", "pods"));
    assert_eq!(calls[0].user_info.username, "admin");
    assert_eq!((&calls[0].object, &calls[0].old_object["metadata"]["name"]), (&Value::Null, &json!("a")));
}

#[tokio::test]
async fn a_decision_may_change() {
    let count = AtomicUsize::new(0);
    let decide = move |_: &AdmissionRequest| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Decision::deny(429, "later"),
        _ => Decision::allow(),
    };
    let webhook = Webhook::start(&Authority::new("test").unwrap(), decide).await.unwrap();
    let caller = Caller::of(&webhook);
    assert_eq!(caller.ask("a").await.unwrap()["allowed"], json!(false));
    assert_eq!(caller.ask("a").await.unwrap()["allowed"], json!(true));
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    let webhook = start().await;
    let (status, _) = Caller::of(&webhook).post("hello".to_owned()).await.unwrap();
    assert_eq!((status, webhook.calls().len()), (StatusCode::BAD_REQUEST, 0));
}
