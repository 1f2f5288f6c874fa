//! Requests and answers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use http::{Method, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use lockstep_kubelet::{Clock, TokioClock};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tower::service_fn;

use super::store::Store;

/// A write as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub content_type: String,
    pub body: Value,
}

type Stream = UnsyncBoxBody<Bytes, Infallible>;

/// A client whose requests end up in this store.
pub fn client(store: Arc<Mutex<Store>>, clock: TokioClock) -> Client {
    let service = service_fn(move |request: http::Request<Body>| {
        let store = store.clone();
        async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            Ok::<_, Infallible>(answer(&store, clock, &parts, &bytes))
        }
    });
    Client::new(service, "default")
}

fn answer(
    store: &Mutex<Store>,
    clock: TokioClock,
    parts: &http::request::Parts,
    body: &[u8],
) -> Response<Stream> {
    let mut store = store.lock().unwrap();
    let path = parts.uri.path().to_owned();
    let (kind, name) = target(&path);
    let query = parts.uri.query().unwrap_or_default();
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if parts.method == Method::GET {
        return if query.contains("watch=true") {
            watch(&mut store, &kind, query)
        } else {
            list(&store, &kind)
        };
    }
    let content_type =
        parts.headers.get("content-type").map_or("", |value| value.to_str().unwrap()).to_owned();
    let method = parts.method.clone();
    store.requests.push(Request { method, path: path.clone(), content_type, body: body.clone() });
    if store.failing.0 > 0 {
        store.failing.0 -= 1;
        return refusal(store.failing.1);
    }
    let result = match parts.method {
        Method::POST => store.create(&kind, body),
        Method::PATCH => store.patch(&kind, &name, &body),
        Method::DELETE => store.delete(&name, &body, clock.now()),
        _ => Err(405),
    };
    result.map_or_else(refusal, |object| ok(object.to_string()))
}

/// The kind and the name that a path is about.
fn target(path: &str) -> (String, String) {
    let mut rest =
        path.split('/').skip_while(|part| !matches!(*part, "pods" | "nodes" | "leases" | "events"));
    (rest.next().unwrap_or_default().to_owned(), rest.next().unwrap_or_default().to_owned())
}

fn list(store: &Store, kind: &str) -> Response<Stream> {
    let metadata = json!({"resourceVersion": store.version.to_string()});
    ok(json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": store.list(kind)})
        .to_string())
}

fn watch(store: &mut Store, kind: &str, query: &str) -> Response<Stream> {
    let version = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion=")).unwrap_or("0");
    let (sender, receiver) = unbounded_channel();
    store.watch(kind, version.parse().unwrap_or(0), sender);
    let lines = stream::unfold(receiver, |mut receiver| async {
        let line: String = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(line))), receiver))
    });
    Response::new(StreamBody::new(lines).boxed_unsync())
}

fn ok(text: String) -> Response<Stream> {
    Response::new(Full::from(text).boxed_unsync())
}

fn refusal(code: u16) -> Response<Stream> {
    let mut status =
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": "no"});
    if code == 422 {
        let cause = json!({"reason": "FieldValueInvalid", "message": "immutable", "field": "metadata.uid"});
        status["details"] = json!({"causes": [cause]});
    }
    let mut response = ok(status.to_string());
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}
