//! Any object of a cluster, by what it says of itself.

use anyhow::{Context, Result, anyhow};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::Value;

/// Whether an answer says that there is no such object, or no such kind.
pub fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// An error in the server's own words, if it has any.
pub fn plainly(error: kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => anyhow!(status.message.clone()),
        other => other.into(),
    }
}

/// The API an object belongs to, and its name. The plural is the usual one, as it is for all we install.
pub fn api(client: &Client, object: &Value) -> Result<(Api<DynamicObject>, String)> {
    let text = |value: &Value, what: &'static str| value.as_str().map(str::to_owned).context(what);
    let version = text(&object["apiVersion"], "an object without apiVersion")?;
    let kind = text(&object["kind"], "an object without kind")?;
    let name = text(&object["metadata"]["name"], "an object without name")?;
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    Ok((api, name))
}
