//! The CustomResourceDefinitions of rollouts over several clusters, and of the policies that ask for them.

use k8s_openapi::Resource;
use serde_json::{Value, json};

use super::{
    FederatedRollout, FederatedRolloutSpec, FederatedRolloutStatus, FederationPolicy, FederationPolicySpec,
};
use crate::crd::definition::{Column, Definition, schema};
use crate::crd::structural;

/// All of them.
pub fn all() -> [Value; 2] {
    [rollouts(), policies()]
}

fn policies() -> Value {
    let mut schema = schema(
        FederationPolicy::API_VERSION,
        "Which workloads roll over clusters as if they stood in one, and how they go from one to the next.",
        ("Which workloads, and how.", structural::of::<FederationPolicySpec>()),
        ("Nothing is said here.", json!({"type": "object"})),
    );
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove("status");
    }
    let mut definition = Definition {
        group: FederationPolicy::GROUP,
        kind: FederationPolicy::KIND,
        singular: "federationpolicy",
        plural: FederationPolicy::URL_PATH_SEGMENT,
        short: "fpol",
        columns: vec![
            Column::text("Split", ".spec.split", "How new pods are spread over clusters."),
            Column::text(
                "Bake Time",
                ".spec.bakeTime",
                "How long a cluster is watched before the next begins.",
            ),
            Column::age(),
        ],
        selectable: &[],
        scale: false,
        schema,
    }
    .to_json();
    definition["spec"]["versions"][0]["subresources"] = json!({});
    definition
}

fn rollouts() -> Value {
    Definition {
        group: FederatedRollout::GROUP,
        kind: FederatedRollout::KIND,
        singular: "federatedrollout",
        plural: FederatedRollout::URL_PATH_SEGMENT,
        short: "froll",
        columns: vec![
            Column::text("Phase", ".status.phase", "Where the rollout stands."),
            Column::text("Clusters", ".status.clusters", "The clusters."),
            Column::text("Replicas", ".status.replicas", "Replicas each was granted."),
            Column::text("New", ".status.updated", "New pods of each, of how many there are to be."),
            Column::text("Granted", ".status.granted", "Unavailable and surge that each was granted."),
            Column::text(
                "Acknowledged",
                ".status.acknowledged",
                "The lease each acknowledged, and its last one.",
            ),
            Column::text("Waiting For", ".status.waitingFor", "What the rollout waits for."),
            Column::age(),
        ],
        selectable: &[".status.phase"],
        scale: false,
        schema: schema(
            FederatedRollout::API_VERSION,
            "One rollout over several clusters that keeps the template's own numbers over all of them.",
            ("What is rolled out.", structural::of::<FederatedRolloutSpec>()),
            (
                "What every cluster was granted and has acknowledged, written by the operator.",
                structural::without_defaults::<FederatedRolloutStatus>(),
            ),
        ),
    }
    .to_json()
}
