//! A webhook that converts gizmos: what the first version calls a size, the second calls a count.

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use k8s_openapi::ByteString;
use lockstep_testkit::pki::Authority;
use lockstep_testkit::serve::{self, Body, Broken, Server};
use serde_json::{Value, json};

/// Serves it until it is dropped.
pub async fn start() -> Server {
    let authority = Authority::new("conversion").expect("an authority");
    Server::start(&authority, answer).await.expect("a server")
}

/// The definition of gizmos, which names the webhook.
pub fn definition(webhook: &Server) -> String {
    let mut definition: Value = serde_json::from_str(include_str!("gizmo.json")).expect("JSON");
    definition["spec"]["conversion"]["webhook"]["clientConfig"] = json!({
        "url": format!("{}/convert", webhook.url()), "caBundle": ByteString(webhook.ca_pem().as_bytes().to_vec()),
    });
    definition.to_string()
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, Broken> {
    let body = request.into_body().collect().await.map_err(|_| Broken)?.to_bytes();
    let review: Value = serde_json::from_slice(&body).map_err(|_| Broken)?;
    Ok(serve::json(StatusCode::OK, &reviewed(&review)))
}

fn reviewed(review: &Value) -> Value {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let odd = |wanted: &str| to.ends_with("v1") && objects.iter().any(|one| one["spec"]["mode"] == wanted);
    let result = match odd("Odd") {
        true => json!({"status": "Failure", "message": "odd ones cannot be converted"}),
        false => json!({"status": "Success"}),
    };
    let mut converted: Vec<Value> = objects.iter().map(|object| one(object, to)).collect();
    if odd("Lost") {
        converted.clear();
    }
    if odd("Other") {
        converted.iter_mut().for_each(|object| object["metadata"]["name"] = json!("other"));
    }
    json!({
        "kind": review["kind"], "apiVersion": review["apiVersion"],
        "response": {"uid": request["uid"], "convertedObjects": converted, "result": result},
    })
}

/// One object in another version. The second one also says where it comes from.
fn one(object: &Value, to: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(to);
    let second = to.ends_with("v2");
    let (from, into) = if second { ("size", "count") } else { ("count", "size") };
    if let Some(number) = object["spec"].as_object_mut().and_then(|spec| spec.remove(from)) {
        object["spec"][into] = number;
    }
    if second {
        object["metadata"]["annotations"]["from"] = json!("one");
    } else if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove("from");
    }
    object
}
