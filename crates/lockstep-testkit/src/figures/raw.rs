//! The raw client: the same creates and deletes as a rollout, by somebody who has nothing to decide.
//!
//! It is the floor. It watches its pods, as anybody must who waits for them, and decodes of each no more than it
//! needs.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Service;
use kube::api::{DeleteParams, ObjectMeta, PostParams, Preconditions};
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use lockstep_feed::{InitialList, Source, feed};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::stage::Shape;
use crate::cluster::{Cluster, ClusterError};

/// How the raw client appears in the audit log.
pub const AGENT: &str = "raw-client";

/// The label that all its pods carry.
const SET: &str = "raw.dev/set-of-pods";

/// A pod as far as the raw client cares.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Raw")]
struct Lean {
    meta: ObjectMeta,
    ready: bool,
}

#[derive(Deserialize)]
struct Raw {
    metadata: RawMeta,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

#[derive(Default, Deserialize)]
struct RawStatus {
    #[serde(default)]
    conditions: Vec<RawCondition>,
}

#[derive(Deserialize)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl From<Raw> for Lean {
    fn from(Raw { metadata, status }: Raw) -> Self {
        let RawMeta { name, namespace, uid, resource_version } = metadata;
        let ready = status.conditions.iter().any(|it| it.kind == "Ready" && it.status == "True");
        Self { meta: ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() }, ready }
    }
}

impl Lean {
    fn uid(&self) -> String {
        self.meta.uid.clone().unwrap_or_default()
    }

    /// Its number, which is the end of its name.
    fn index(&self) -> Option<usize> {
        self.meta.name.as_deref()?.rsplit('-').next()?.parse().ok()
    }
}

lockstep_feed::watched_as_pod!(Lean, meta);

/// What the watch last showed of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    Absent,
    There(String),
    Ready(String),
}

impl Seen {
    fn uid(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::There(uid) | Self::Ready(uid) => Some(uid),
        }
    }
}

/// A client without a mind of its own.
pub struct RawClient<'a> {
    client: Client,
    namespace: String,
    shape: &'a Shape<'a>,
    stand_in: String,
    requests: Semaphore,
    seen: Arc<Vec<watch::Sender<Seen>>>,
    _watch: JoinSet<()>,
}

impl<'a> RawClient<'a> {
    /// A client for pods of this shape in an empty namespace, with so many requests under way at a time. Makes
    /// their service.
    pub async fn start(
        cluster: &Cluster,
        namespace: &str,
        shape: &'a Shape<'a>,
        parallel: usize,
    ) -> Result<Self, ClusterError> {
        let client = match cluster.access() {
            Some(access) => access.client(AGENT).await?,
            None => cluster.client(),
        };
        serve(&client, namespace, shape).await?;
        let seen: Vec<_> = (0..shape.pods).map(|_| watch::channel(Seen::Absent).0).collect();
        let seen = Arc::new(seen);
        let pods: Api<Lean> = Api::namespaced(client.clone(), namespace);
        let mut watch = JoinSet::new();
        watch.spawn(look(feed(Source::new(pods, InitialList::Paged)).boxed(), Arc::clone(&seen)));
        let stand_in = cluster.stand_in().to_owned();
        let (namespace, requests) = (namespace.to_owned(), Semaphore::new(parallel));
        Ok(Self { client, namespace, shape, stand_in, requests, seen, _watch: watch })
    }

    /// Creates all pods and waits until they are ready.
    pub async fn create_all(&self, image: &str) -> Result<(), ClusterError> {
        let all = stream::iter(0..self.shape.pods).map(|index| self.create(index, image));
        all.buffer_unordered(self.seen.len().max(1)).try_collect::<()>().await
    }

    /// Replaces all pods, the last first, with no more away at a time than the shape's window.
    pub async fn roll(&self, image: &str) -> Result<(), ClusterError> {
        let window = usize::try_from(self.shape.window).unwrap_or(1).max(1);
        let all = stream::iter((0..self.shape.pods).rev()).map(|index| async move {
            self.delete(index).await?;
            self.create(index, image).await
        });
        all.buffer_unordered(window).try_collect::<()>().await
    }

    async fn create(&self, index: u32, image: &str) -> Result<(), ClusterError> {
        let path = format!("/api/v1/namespaces/{}/pods?fieldManager={AGENT}", self.namespace);
        let body =
            serde_json::to_vec(&self.pod(index, image)).map_err(ClusterError::access("write a pod"))?;
        let request = http::Request::post(path).header("content-type", "application/json").body(body);
        let request = request.map_err(ClusterError::access("write a pod"))?;
        let made: Lean = {
            let _turn = self.requests.acquire().await;
            self.client.request(request).await.map_err(ClusterError::api("create a pod"))?
        };
        let ready = Seen::Ready(made.uid());
        self.until(index, |seen| *seen == ready).await
    }

    async fn delete(&self, index: u32) -> Result<(), ClusterError> {
        let uid = self.seen[index as usize].borrow().uid().map(ToOwned::to_owned);
        let parameters = DeleteParams {
            preconditions: Some(Preconditions { uid: uid.clone(), resource_version: None }),
            ..DeleteParams::default()
        };
        let body = serde_json::to_vec(&parameters).map_err(ClusterError::access("write a deletion"))?;
        let path = format!("/api/v1/namespaces/{}/pods/{}", self.namespace, name(index));
        let request = http::Request::delete(path).header("content-type", "application/json").body(body);
        let request = request.map_err(ClusterError::access("write a deletion"))?;
        {
            let _turn = self.requests.acquire().await;
            let deleted = self.client.request::<Lean>(request).await;
            deleted.map_err(ClusterError::api("delete a pod"))?;
        }
        self.until(index, |seen| seen.uid() != uid.as_deref()).await
    }

    async fn until(&self, index: u32, wanted: impl Fn(&Seen) -> bool) -> Result<(), ClusterError> {
        let mut seen = self.seen[index as usize].subscribe();
        seen.wait_for(wanted).await.map(drop).map_err(ClusterError::access("see a pod"))
    }

    /// A pod as the operator would make it, with labels of the same number and length, but without an owner.
    fn pod(&self, index: u32, image: &str) -> Value {
        let mut pod = self.shape.template(&self.stand_in, image);
        let name = name(index);
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["labels"] = json!({
            SET: self.shape.name, "raw.dev/group-of-pod": "0",
            "raw.dev/role-of-pod": "web", "raw.dev/instance-of-it": index.to_string(),
            "raw.dev/member-of-it": "pod", "raw.dev/pod-of-set": "0",
            "raw.dev/revision-of-it": "0123456789", "raw.dev/revision-of-set": "0123456789",
            "raw.dev/incarnation-of-it": "0",
        });
        pod["spec"]["hostname"] = json!(name);
        pod["spec"]["subdomain"] = json!(self.shape.name);
        pod
    }
}

/// A headless service for the pods, as every set has one: keeping its endpoints is a good part of what a rollout
/// costs the control plane, whoever rolls.
async fn serve(client: &Client, namespace: &str, shape: &Shape<'_>) -> Result<(), ClusterError> {
    let service = json!({
        "metadata": {"name": shape.name},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": true, "selector": {SET: shape.name}},
    });
    let service = serde_json::from_value(service).map_err(ClusterError::access("write a service"))?;
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let made = services.create(&PostParams::default(), &service).await;
    made.map(drop).map_err(ClusterError::api("create a service"))
}

fn name(index: u32) -> String {
    format!("raw-{index}")
}

/// Writes down what the watch shows.
async fn look(mut events: impl Stream<Item = Event<Lean>> + Unpin, seen: Arc<Vec<watch::Sender<Seen>>>) {
    let mut listed = HashSet::new();
    while let Some(event) = events.next().await {
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(pod) => {
                listed.extend(pod.index());
                note(&seen, &pod, false);
            }
            Event::InitDone => {
                for (_, seen) in seen.iter().enumerate().filter(|(index, _)| !listed.contains(index)) {
                    seen.send_replace(Seen::Absent);
                }
            }
            Event::Apply(pod) => note(&seen, &pod, false),
            Event::Delete(pod) => note(&seen, &pod, true),
        }
    }
}

fn note(seen: &[watch::Sender<Seen>], pod: &Lean, gone: bool) {
    let Some(desk) = pod.index().and_then(|index| seen.get(index)) else { return };
    desk.send_replace(match (gone, pod.ready) {
        (true, _) => Seen::Absent,
        (false, true) => Seen::Ready(pod.uid()),
        (false, false) => Seen::There(pod.uid()),
    });
}
