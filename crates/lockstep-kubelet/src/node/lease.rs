//! A node's lease: the sign that its kubelet lives.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

const NAMESPACE: &str = "kube-node-lease";

/// Renews the lease of a node, and makes one if there is none.
pub(crate) async fn renew(
    client: &Client,
    node: &str,
    uid: &str,
    period: Duration,
    now: Timestamp,
) -> kube::Result<()> {
    let api: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let lease = lease(node, uid, period, now);
    match api.patch(node, &PatchParams::default(), &Patch::Merge(&lease)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let lease = serde_json::from_value(lease).map_err(kube::Error::SerdeError)?;
            api.create(&PostParams::default(), &lease).await.map(drop)
        }
        other => other.map(drop),
    }
}

/// The lease belongs to the node with this UID: if the node goes, so does it. A real kubelet's lease lasts four
/// periods.
fn lease(node: &str, uid: &str, period: Duration, now: Timestamp) -> Value {
    let lasts = period.saturating_mul(4).as_secs().clamp(1, i32::MAX.unsigned_abs().into());
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node,
            "namespace": NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
        },
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": lasts,
            "renewTime": MicroTime(now),
        },
    })
}
