//! Applying manifests of any kind.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, TypeMeta};
use serde_json::Value;

use super::ClusterError;

/// Applies a manifest, whatever its kind, in the namespace it names. Nobody else's opinion of a field counts.
pub async fn apply(client: &kube::Client, manifest: &Value) -> Result<DynamicObject, ClusterError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let types = TypeMeta { api_version: text(&manifest["apiVersion"]), kind: text(&manifest["kind"]) };
    let name = text(&manifest["metadata"]["name"]);
    let what = format!("apply {} {name}", types.kind);
    let kind = GroupVersionKind::try_from(&types).map_err(ClusterError::access(&what))?;
    let kind = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match manifest["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    };
    let parameters = PatchParams::apply("lockstep-testkit").force();
    api.patch(&name, &parameters, &Patch::Apply(manifest)).await.map_err(ClusterError::api(what))
}
