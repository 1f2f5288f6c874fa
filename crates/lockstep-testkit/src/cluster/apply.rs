//! Writing manifests of any kind.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, TypeMeta};
use serde_json::Value;

use super::ClusterError;

/// Applies a manifest, whatever its kind, in the namespace it names. Nobody else's opinion of a field counts.
pub async fn apply(client: &kube::Client, manifest: &Value) -> Result<DynamicObject, ClusterError> {
    let (api, called) = place(client, manifest)?;
    let parameters = PatchParams::apply("lockstep-testkit").force();
    let applied = api.patch(text(&manifest["metadata"]["name"]), &parameters, &Patch::Apply(manifest)).await;
    applied.map_err(ClusterError::api(format!("apply {called}")))
}

/// Creates an object, whatever its kind, in the namespace it names; what was stored.
pub(crate) async fn create(client: &kube::Client, manifest: &Value) -> Result<Value, ClusterError> {
    let (api, called) = place(client, manifest)?;
    let object = serde_json::from_value(manifest.clone());
    let object = object.map_err(ClusterError::access(&format!("make {called}")))?;
    let made = api.create(&PostParams::default(), &object).await;
    let made = made.map_err(ClusterError::api(format!("create {called}")))?;
    serde_json::to_value(made).map_err(ClusterError::access(&format!("read {called}")))
}

/// Where an object belongs, and what it is called.
fn place(client: &kube::Client, manifest: &Value) -> Result<(Api<DynamicObject>, String), ClusterError> {
    let types = TypeMeta {
        api_version: text(&manifest["apiVersion"]).to_owned(),
        kind: text(&manifest["kind"]).to_owned(),
    };
    let called = format!("{} {}", types.kind, text(&manifest["metadata"]["name"]));
    let kind = GroupVersionKind::try_from(&types).map_err(ClusterError::access(&called))?;
    let kind = ApiResource::from_gvk(&kind);
    let api = match manifest["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    };
    Ok((api, called))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
