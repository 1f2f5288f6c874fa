//! An API server that knows pods of one namespace, and nothing else.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use futures::stream;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ObjectMeta;
use kube::{Api, Client};
use lockstep_testkit::pki::Authority;
use lockstep_testkit::proxy::{Proxy, Upstream};
use lockstep_testkit::serve::{self, Body, Broken, Server};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// What it remembers.
pub struct Pods {
    /// The names of pods that were created, once per create.
    pub created: Mutex<Vec<String>>,
    /// The `authorization` headers that came.
    pub tokens: Mutex<Vec<String>>,
    events: broadcast::Sender<String>,
}

impl Pods {
    /// Tells all watches about a pod.
    pub fn event(&self, name: &str) {
        let event = json!({"type": "ADDED", "object": pod_json(name)});
        let _ = self.events.send(format!("{event}\n"));
    }

    pub fn names(&self) -> Vec<String> {
        self.created.lock().unwrap().clone()
    }

    pub fn watchers(&self) -> usize {
        self.events.receiver_count()
    }
}

/// The API server, a proxy in front of it, and a client of the proxy.
pub struct World {
    pub pods: Arc<Pods>,
    pub proxy: Proxy,
    pub client: Client,
    pub upstream: Server,
}

impl World {
    pub async fn start() -> Self {
        let authority = Authority::new("test").unwrap();
        let pods = Arc::new(Pods {
            created: Mutex::default(),
            tokens: Mutex::default(),
            events: broadcast::channel(64).0,
        });
        let state = Arc::clone(&pods);
        let upstream =
            Server::start(&authority, move |request| answer(Arc::clone(&state), request)).await.unwrap();
        let address = Upstream { url: upstream.url(), ca_pem: upstream.ca_pem().to_owned() };
        let proxy = Proxy::start(&address, &authority).await.unwrap();
        let client = client(&proxy.url(), proxy.ca_pem());
        Self { pods, proxy, client, upstream }
    }

    pub fn api(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "x")
    }
}

/// A client that trusts this certificate, has a token, and never retries by itself.
pub fn client(url: &str, ca_pem: &str) -> Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.root_cert = Some(vec![CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap().to_vec()]);
    config.auth_info.token = Some("secret".to_owned().into());
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

pub fn pod(name: &str) -> Pod {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    Pod { metadata, ..Pod::default() }
}

fn pod_json(name: &str) -> Value {
    let metadata = json!({"name": name, "namespace": "x", "resourceVersion": "7"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
}

async fn answer(pods: Arc<Pods>, request: http::Request<Incoming>) -> Result<Response<Body>, Broken> {
    let token = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    pods.tokens.lock().unwrap().extend(token);
    let watching = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/api/v1/namespaces/x/pods") if watching => Ok(stream_of(&pods)),
        (&Method::GET, "/api/v1/namespaces/x/pods") => {
            let items: Vec<Value> = pods.names().iter().map(|name| pod_json(name)).collect();
            let metadata = json!({"resourceVersion": "7"});
            let list = json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": items});
            Ok(serve::json(StatusCode::OK, &list))
        }
        (&Method::POST, "/api/v1/namespaces/x/pods") => {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let pod: Value = serde_json::from_slice(&body).unwrap();
            pods.created.lock().unwrap().push(pod["metadata"]["name"].as_str().unwrap().to_owned());
            Ok(serve::json(StatusCode::CREATED, &pod))
        }
        _ => Ok(serve::json(StatusCode::NOT_FOUND, &json!({"kind": "Status", "code": 404}))),
    }
}

fn stream_of(pods: &Pods) -> Response<Body> {
    let events = stream::unfold(pods.events.subscribe(), |mut events| async move {
        let event = events.recv().await.ok()?;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(event))), events))
    });
    let body = StreamBody::new(events).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    response
}
