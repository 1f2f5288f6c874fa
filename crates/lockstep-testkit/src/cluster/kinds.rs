//! Making kinds known to an API server.

use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::Value;

use super::{Cluster, ClusterError};

/// How long the API server may take to serve a kind.
const PATIENCE: Duration = Duration::from_secs(30);

impl Cluster {
    /// Applies a CustomResourceDefinition and waits until its kind is served.
    pub async fn define(&self, definition: &Value) -> Result<(), ClusterError> {
        define(&self.client, definition).await
    }
}

/// Applies a CustomResourceDefinition and waits until its kind is served.
pub async fn define(client: &kube::Client, definition: &Value) -> Result<(), ClusterError> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let parameters = PatchParams::apply("lockstep-testkit").force();
    let applied = api.patch(name, &parameters, &Patch::Apply(definition)).await;
    applied.map_err(ClusterError::api(format!("define {name}")))?;
    let waiting = await_condition(api, name, is_established);
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    let waited = waited.map_err(ClusterError::access("see a definition established"))?;
    waited.map(drop).map_err(ClusterError::access("watch definitions"))
}

fn is_established(definition: Option<&DynamicObject>) -> bool {
    let conditions = definition.and_then(|definition| definition.data["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Established" && it["status"] == "True"))
}
