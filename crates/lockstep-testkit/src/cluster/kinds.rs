//! Making kinds known to an API server.

use std::time::Duration;

use futures::future::try_join_all;
use http::header::ACCEPT;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::Value;

use super::{Cluster, ClusterError};

/// How long the API server may take to serve a kind.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is asked what it serves.
const ASK: Duration = Duration::from_millis(50);

/// Asks for all groups, versions and kinds at once, as controllers do.
const AT_ONCE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

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

/// Applies definitions and waits until their kinds are served.
pub(super) async fn define_all(client: &kube::Client, definitions: &[Value]) -> Result<(), ClusterError> {
    try_join_all(definitions.iter().map(|definition| define(client, definition))).await.map(drop)
}

/// The same, and waits until whoever asks what is served is told of them, which an API server does in its own time.
pub(super) async fn make_known(client: &kube::Client, definitions: &[Value]) -> Result<(), ClusterError> {
    define_all(client, definitions).await?;
    let wanted: Vec<Served> = definitions.iter().flat_map(defined).collect();
    let listed = async {
        while !wanted.is_empty() {
            let served = served(client).await?;
            if wanted.iter().all(|kind| served.contains(kind)) {
                break;
            }
            tokio::time::sleep(ASK).await;
        }
        Ok(())
    };
    let listed = tokio::time::timeout(PATIENCE, listed).await;
    listed.map_err(ClusterError::access("see kinds listed"))?
}

/// Group, version and plural of a kind.
type Served = [String; 3];

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The kinds of a definition.
fn defined(definition: &Value) -> Vec<Served> {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let versions = versions.filter(|version| version["served"] == true);
    let kind = |version: &Value| [&spec["group"], &version["name"], &spec["names"]["plural"]].map(text);
    versions.map(kind).collect()
}

/// All kinds that an API server tells of.
async fn served(client: &kube::Client) -> Result<Vec<Served>, ClusterError> {
    let ask = http::Request::get("/apis").header(ACCEPT, AT_ONCE).body(Vec::new());
    let ask = ask.map_err(ClusterError::access("ask what is served"))?;
    let told: Value = client.request(ask).await.map_err(ClusterError::api("ask what is served"))?;
    let mut served = Vec::new();
    for group in told["items"].as_array().into_iter().flatten() {
        for version in group["versions"].as_array().into_iter().flatten() {
            let resources = version["resources"].as_array().into_iter().flatten();
            served.extend(resources.map(|resource| {
                [&group["metadata"]["name"], &version["version"], &resource["resource"]].map(text)
            }));
        }
    }
    Ok(served)
}

fn is_established(definition: Option<&DynamicObject>) -> bool {
    let conditions = definition.and_then(|definition| definition.data["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Established" && it["status"] == "True"))
}
