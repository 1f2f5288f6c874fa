//! Writes to the API. Every one of them carries the UID of the object it is meant for.

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::{Request, Status};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::pod::{PodView, StatusChange};

const MANAGER: &str = "lockstep-kubelet";

/// A pod, by name and by what tells it from its namesakes.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl Target {
    pub(crate) fn of(pod: &PodView) -> Self {
        Self { namespace: pod.namespace().into(), name: pod.name().into(), uid: pod.uid().into() }
    }
}

/// How a write went.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    /// Well.
    Done(T),
    /// The object is gone, or another one has its name: what we knew was old.
    Stale(Box<Status>),
    /// Not at all; worth another try.
    Failed(kube::Error),
}

impl<T> From<kube::Result<T>> for Outcome<T> {
    fn from(result: kube::Result<T>) -> Self {
        match result {
            Ok(answer) => Self::Done(answer),
            Err(kube::Error::Api(status)) if is_stale(&status) => Self::Stale(status),
            Err(error) => Self::Failed(error),
        }
    }
}

/// Whether the object is not there, or not the one that was meant. For a patch with another UID than the stored
/// one the API server does not say "conflict" but that the UID cannot be changed.
fn is_stale(status: &Status) -> bool {
    let is_about_uid = || {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        causes.clone().any(|cause| cause.field == "metadata.uid")
    };
    matches!(status.code, 404 | 409) || (status.code == 422 && is_about_uid())
}

#[derive(Debug, Serialize)]
struct Body {
    metadata: Meta,
    status: Box<StatusChange>,
}

#[derive(Debug, Serialize)]
struct Meta {
    /// With another UID than the stored one, the API server refuses the patch.
    uid: String,
}

/// Writes a pod's status; answers with the pod as it then is.
pub(crate) async fn patch(
    client: Client,
    target: Target,
    status: Box<StatusChange>,
) -> Outcome<Box<PodView>> {
    let api: Api<PodView> = Api::namespaced(client, &target.namespace);
    let body = Body { metadata: Meta { uid: target.uid }, status };
    let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    api.patch_status(&target.name, &params, &Patch::Strategic(body)).await.map(Box::new).into()
}

/// Finishes a pod's deletion.
pub(crate) async fn finish(client: Client, target: Target) -> Outcome<()> {
    let preconditions = Preconditions { uid: Some(target.uid), resource_version: None };
    let params = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    let request = Request::new(PodView::url_path(&(), Some(&target.namespace)));
    let request = match request.delete(&target.name, &params) {
        Ok(request) => request,
        Err(error) => return Outcome::Failed(kube::Error::BuildRequest(error)),
    };
    // The answer is the whole pod, which nobody will look at again.
    client.request::<IgnoredAny>(request).await.map(drop).into()
}

/// Writes a node's status.
pub(crate) async fn patch_node(client: Client, name: String, body: Value) -> Outcome<()> {
    let api: Api<Node> = Api::all(client);
    let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    api.patch_status(&name, &params, &Patch::Strategic(body)).await.map(drop).into()
}
