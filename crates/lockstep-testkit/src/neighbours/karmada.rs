//! Karmada as processes beside the API server that keeps its objects.

use std::fs;
use std::path::Path;

use futures::future::try_join_all;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::{Value, json};

use super::manifests::documents;
use super::{Door, Home, Neighbour};
use crate::build::Part;
use crate::cluster::{Cluster, ClusterError, apply};

/// The namespace of Karmada's own objects.
const SYSTEM: &str = "karmada-system";

/// The namespace of what it needs to reach its members.
pub const CLUSTERS: &str = "karmada-cluster";

/// The name by which the API server knows the one that answers for clusters.
const AGGREGATED: &str = "karmada-aggregated-apiserver";

/// Karmada's four processes.
#[derive(Debug)]
pub struct Karmada {
    /// Answers for the kind `Cluster`, and passes requests on to the members.
    pub clusters: Neighbour,
    /// Karmada's own admission.
    pub webhook: Neighbour,
    /// Makes bindings and Works, applies them to the members and reads their status.
    pub controllers: Neighbour,
    /// Chooses members and splits replicas.
    pub scheduler: Neighbour,
}

impl Karmada {
    /// All of them, by name.
    pub fn all(&self) -> [(&'static str, &Neighbour); 4] {
        [
            (AGGREGATED, &self.clusters),
            ("karmada-webhook", &self.webhook),
            ("karmada-controller-manager", &self.controllers),
            ("karmada-scheduler", &self.scheduler),
        ]
    }
}

/// A kind of Karmada's.
pub fn kind(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(&format!("{group}.karmada.io"), version, kind))
}

/// The members it knows.
pub fn clusters(client: kube::Client) -> Api<DynamicObject> {
    Api::all_with(client, &kind("cluster", "v1alpha1", "Cluster"))
}

/// Starts it beside a cluster of our own whose API server has others answer for some kinds, and waits until its API and
/// its webhooks work. Kinds that are to be propagated should be known before: it looks for new ones twice a minute.
pub async fn start(host: &Cluster) -> Result<Karmada, ClusterError> {
    let home = Home::of(Part::Karmada).await?;
    let door = Door::new(host, "karmada-webhook", &[])?;
    for name in [SYSTEM, CLUSTERS] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        apply(&host.client(), &namespace).await?;
    }
    define(host, &home, &door).await?;
    let (clusters, webhook) =
        futures::try_join!(answer_for_clusters(host, &home), admit(host, &home, &door))?;
    let controllers = run(host, &home, "karmada-controller-manager", &CONTROLLERS)?;
    let scheduler = run(host, &home, "karmada-scheduler", &SCHEDULER)?;
    Ok(Karmada { clusters, webhook, controllers, scheduler })
}

/// Members are looked at often, so that tests need not wait for it; the rest is as it comes.
const CONTROLLERS: [&str; 9] = [
    "--cluster-status-update-frequency=1s",
    "--cluster-failure-threshold=3s",
    "--cluster-success-threshold=1s",
    "--cluster-monitor-period=1s",
    "--leader-elect=false",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
];

const SCHEDULER: [&str; 3] =
    ["--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"];

fn run(host: &Cluster, home: &Home, program: &str, flags: &[&str]) -> Result<Neighbour, ClusterError> {
    let mut all = vec![format!("--kubeconfig={}", host.kubeconfig().display())];
    all.extend(flags.iter().map(|flag| (*flag).to_owned()));
    Neighbour::start(host, home, program, &all)
}

/// Makes Karmada's kinds known. Those of several versions are converted by its webhook.
async fn define(host: &Cluster, home: &Home, door: &Door) -> Result<(), ClusterError> {
    let mut definitions = host.kustomize(&home.sources.join("charts/karmada/_crds"))?;
    for definition in &mut definitions {
        if definition.pointer("/spec/conversion/webhook").is_some() {
            definition["spec"]["conversion"]["webhook"]["clientConfig"] = door.client_config("/convert");
        }
    }
    try_join_all(definitions.iter().map(|definition| host.define(definition))).await?;
    Ok(())
}

/// Starts the server of the kind `Cluster`, and has the API server ask it. The API server looks for it by a Service,
/// and calls it by that name.
async fn answer_for_clusters(host: &Cluster, home: &Home) -> Result<Neighbour, ClusterError> {
    let known_as = format!("{AGGREGATED}.{SYSTEM}.svc");
    let door = Door::new(host, AGGREGATED, &[&known_as])?;
    let kubeconfig = host.kubeconfig().display();
    let certificate = |file: &str| door.certificates.join(file).display().to_string();
    let flags = [
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        format!("--etcd-servers={}", host.store().unwrap_or_default()),
        format!("--tls-cert-file={}", certificate("tls.crt")),
        format!("--tls-private-key-file={}", certificate("tls.key")),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", door.port),
    ];
    let neighbour = Neighbour::start(host, home, AGGREGATED, &flags)?;
    let file = home.sources.join("artifacts/deploy/karmada-aggregated-apiserver-apiservice.yaml");
    for mut manifest in filled(&file)? {
        match manifest["kind"].as_str() {
            Some("APIService") => {
                manifest["spec"]["caBundle"] = door.client_config("")["caBundle"].take();
                manifest["spec"]["service"]["port"] = json!(door.port);
            }
            _ => manifest["spec"]["externalName"] = json!("localhost"),
        }
        apply(&host.client(), &manifest).await?;
    }
    let listed = async || clusters(host.client()).list(&ListParams::default()).await.map(drop);
    neighbour.until(async || listed().await.map_err(|error| error.to_string())).await?;
    Ok(neighbour)
}

/// Starts Karmada's webhook, and registers it when it answers: nothing could be written before.
async fn admit(host: &Cluster, home: &Home, door: &Door) -> Result<Neighbour, ClusterError> {
    let flags = [
        format!("--kubeconfig={}", host.kubeconfig().display()),
        format!("--cert-dir={}", door.certificates.display()),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", door.port),
        "--metrics-bind-address=0".to_owned(),
        "--health-probe-bind-address=0".to_owned(),
    ];
    let neighbour = Neighbour::start(host, home, "karmada-webhook", &flags)?;
    let connected = async || tokio::net::TcpStream::connect(("127.0.0.1", door.port)).await.map(drop);
    neighbour.until(async || connected().await.map_err(|error| error.to_string())).await?;
    for mut manifest in filled(&home.sources.join("artifacts/deploy/webhook-configuration.yaml"))? {
        door.answer_for(&mut manifest);
        apply(&host.client(), &manifest).await?;
    }
    Ok(neighbour)
}

/// The manifests of a file in which Karmada's installer fills in values, `{{like}}` this; what it would fill in is
/// replaced afterwards.
fn filled(path: &Path) -> Result<Vec<Value>, ClusterError> {
    let text = fs::read_to_string(path).map_err(ClusterError::file(path))?;
    documents(&text.replace("{{", "").replace("}}", ""), path)
}
