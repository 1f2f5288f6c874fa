//! Karmada's kinds, as far as they are needed here.

use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// The definitions the host has to serve. What Karmada's own schemas say is not repeated: whatever is written is kept.
pub fn definitions() -> Vec<Value> {
    [
        (cluster_kind(), "Cluster", false),
        (bindings(), "rb", true),
        (works(), "wk", true),
        (policies(), "pp", true),
        (override_policies(), "op", true),
        (customizations(), "ric", false),
    ]
    .iter()
    .map(|(kind, short, namespaced)| definition(kind, short, *namespaced))
    .collect()
}

fn definition(kind: &ApiResource, short: &str, namespaced: bool) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": anything, "status": anything}});
    let short = short.to_lowercase();
    let shorts = if short == kind.kind.to_lowercase() { json!([]) } else { json!([short]) };
    let columns = if *kind == cluster_kind() { columns() } else { json!([]) };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", kind.plural, kind.group)},
        "spec": {
            "group": kind.group,
            "scope": if namespaced { "Namespaced" } else { "Cluster" },
            "names": {
                "kind": kind.kind, "plural": kind.plural, "singular": kind.kind.to_lowercase(), "shortNames": shorts,
            },
            "versions": [{
                "name": kind.version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
            }],
        },
    })
}

/// What `kubectl get clusters` shows.
fn columns() -> Value {
    json!([
        {"name": "Version", "type": "string", "jsonPath": ".status.kubernetesVersion"},
        {"name": "Mode", "type": "string", "jsonPath": ".spec.syncMode"},
        {"name": "Ready", "type": "string", "jsonPath": r#".status.conditions[?(@.type=="Ready")].status"#},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}

/// A kind by its API version and name.
pub(crate) fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The kind of clusters.
pub fn cluster_kind() -> ApiResource {
    resource("cluster.karmada.io/v1alpha1", "Cluster")
}

pub(crate) fn bindings() -> ApiResource {
    resource("work.karmada.io/v1alpha2", "ResourceBinding")
}

pub(crate) fn works() -> ApiResource {
    resource("work.karmada.io/v1alpha1", "Work")
}

pub(crate) fn policies() -> ApiResource {
    ApiResource {
        plural: "propagationpolicies".to_owned(),
        ..resource("policy.karmada.io/v1alpha1", "PropagationPolicy")
    }
}

pub(crate) fn override_policies() -> ApiResource {
    ApiResource {
        plural: "overridepolicies".to_owned(),
        ..resource("policy.karmada.io/v1alpha1", "OverridePolicy")
    }
}

pub(crate) fn customizations() -> ApiResource {
    resource("config.karmada.io/v1alpha1", "ResourceInterpreterCustomization")
}

pub(crate) fn namespaces() -> ApiResource {
    resource("v1", "Namespace")
}
