//! The LeaderWorkerSet controller, which has the DisaggregatedSet controller in it.

use std::fs;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

use super::{Door, Home, Neighbour};
use crate::build::Part;
use crate::cluster::{Cluster, ClusterError};

/// How it appears in the audit log.
pub const AGENT: &str = "lws/";

/// The kind `LeaderWorkerSet`.
pub fn leader_worker_sets() -> ApiResource {
    resource("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets")
}

/// The kind `DisaggregatedSet`: LeaderWorkerSets that are updated together, one for each role and revision.
pub fn disaggregated_sets() -> ApiResource {
    resource("disaggregatedset.x-k8s.io", "DisaggregatedSet", "disaggregatedsets")
}

/// Brings its kinds alone.
pub async fn define_kinds(cluster: &Cluster) -> Result<(), ClusterError> {
    let home = Home::of(Part::LeaderWorkerSet).await?;
    cluster.define_all(&home.sources.join("config/crd/bases")).await
}

/// Starts it beside a cluster of our own, and waits until its controllers and its webhooks work. It is built if it
/// is not there yet.
pub async fn start(cluster: &Cluster) -> Result<Neighbour, ClusterError> {
    let home = Home::of(Part::LeaderWorkerSet).await?;
    // Its caches are of these kinds: it gives up if they are not served.
    cluster.define_all(&home.sources.join("config/crd/bases")).await?;
    let door = Door::new(cluster, "lws", &[])?;
    let settings = door.certificates.join("config.json");
    fs::write(&settings, configuration(&door).to_string()).map_err(ClusterError::file(&settings))?;
    let flags = [
        format!("--config={}", settings.display()),
        format!("--kubeconfig={}", cluster.kubeconfig().display()),
        "--leader-elect=false".to_owned(),
        "--zap-log-level=2".to_owned(),
    ];
    let neighbour = Neighbour::start(cluster, &home, "lws-manager", &flags)?;
    // The folder as a whole, because its patches keep the webhooks away from pods that are not its own.
    cluster.register(&home.sources.join("config/webhook"), "lws", &door).await?;
    neighbour.until(async || works(cluster).await).await?;
    Ok(neighbour)
}

/// Its configuration file. Requests per second are left as it comes.
fn configuration(door: &Door) -> Value {
    json!({
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": false},
        "webhook": {"host": "127.0.0.1", "port": door.port, "certDir": door.certificates},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    })
}

/// The webhooks are served one after the other, and the API server takes a moment to know them: they work when the
/// first has set a default and the last has refused what it should refuse. Nothing is stored.
async fn works(cluster: &Cluster) -> Result<(), String> {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "any"}]}});
    let mut spec = json!({"leaderWorkerTemplate": {"size": 1, "workerTemplate": template}});
    let defaulted = attempt(cluster, &leader_worker_sets(), &spec).await?;
    if defaulted.data["spec"]["networkConfig"]["subdomainPolicy"] != "Shared" {
        return Err("it does not set defaults".to_owned());
    }
    spec["replicas"] = json!(1);
    spec["rolloutStrategy"] = json!({"rollingUpdateConfiguration": {"partition": 1}});
    let roles = json!({"roles": [{"name": "a", "spec": spec}, {"name": "b", "spec": spec}]});
    match attempt(cluster, &disaggregated_sets(), &roles).await {
        Ok(_) => Err("it refuses nothing".to_owned()),
        Err(reason) if reason.contains("denied the request") => Ok(()),
        Err(reason) => Err(reason),
    }
}

async fn attempt(cluster: &Cluster, kind: &ApiResource, spec: &Value) -> Result<DynamicObject, String> {
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), "default", kind);
    let object = DynamicObject::new("attempt", kind).data(json!({"spec": spec}));
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&parameters, &object).await.map_err(|error| error.to_string())
}

fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}
