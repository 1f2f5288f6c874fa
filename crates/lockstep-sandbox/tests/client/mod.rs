//! A client in the process.

#![allow(dead_code)]

use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use lockstep_sandbox::cluster::{Answered, Cluster};
use serde_json::Value;
use tower::{Service, ServiceExt};

pub const JSON: &str = "application/json";

/// Sends a request.
pub async fn send(
    cluster: &Cluster,
    method: Method,
    path: &str,
    body: Option<(&str, Value)>,
) -> Response<Answered> {
    let (media, body) = body.map_or((JSON, String::new()), |(media, body)| (media, body.to_string()));
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let request = request.header("user-agent", "test/1").body(Full::new(bytes::Bytes::from(body)));
    let mut service = cluster.service();
    let service = ServiceExt::<Request<Full<bytes::Bytes>>>::ready(&mut service).await.expect("ready");
    service.call(request.expect("a request")).await.expect("an answer")
}

/// Sends a request, and reads all of the answer.
pub async fn ask(cluster: &Cluster, method: Method, path: &str, body: Option<(&str, Value)>) -> (u16, Value) {
    let response = send(cluster, method, path, body).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Creates an object.
pub async fn create(cluster: &Cluster, path: &str, object: Value) -> (u16, Value) {
    ask(cluster, Method::POST, path, Some((JSON, object))).await
}

/// The next event of a watch; nothing once it is over.
pub async fn next(watch: &mut Answered) -> Option<Value> {
    let frame = watch.frame().await?.expect("a frame");
    let bytes = frame.into_data().expect("data");
    Some(serde_json::from_slice(&bytes).expect("an event"))
}
