//! Kruise's controllers: CloneSets, and PodUnavailableBudgets of its own.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

use super::manifests::read;
use super::{Door, Home, Neighbour};
use crate::build::Part;
use crate::cluster::{Cluster, ClusterError, apply};

/// How it appears in the audit log.
pub const AGENT: &str = "kruise-manager";

const NAMESPACE: &str = "kruise-system";

/// What it needs a kubelet or a webhook of pods for is left out.
const CLONE_SETS_ONLY: &str = "KruiseDaemon=false,PodWebhook=false,PodUnavailableBudgetDeleteGate=false";

const GUARDING_PODS: &str = "KruiseDaemon=false,PodUnavailableBudgetUpdateGate=true";

/// The kind `CloneSet`.
pub fn clone_sets() -> ApiResource {
    let kind = GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "CloneSet");
    ApiResource::from_gvk_with_plural(&kind, "clonesets")
}

/// The kind `PodUnavailableBudget`, as Kruise serves it.
pub fn budgets() -> ApiResource {
    let kind = GroupVersionKind::gvk("policy.kruise.io", "v1alpha1", "PodUnavailableBudget");
    ApiResource::from_gvk_with_plural(&kind, "podunavailablebudgets")
}

/// Makes its kinds known, as its own chart does.
pub async fn define_kinds(cluster: &Cluster) -> Result<(), ClusterError> {
    let home = Home::of(Part::Kruise).await?;
    cluster.define_all(&home.sources.join("config/crd/bases")).await
}

/// The definition of the kind `CloneSet`, for a cluster that only keeps such objects.
pub async fn clone_set_definition() -> Result<Value, ClusterError> {
    let home = Home::of(Part::Kruise).await?;
    let file = home.sources.join("config/crd/bases/apps.kruise.io_clonesets.yaml");
    let first = read(&file)?.into_iter().next();
    first.ok_or_else(|| ClusterError::access("define CloneSet")(format!("{} is empty", file.display())))
}

/// Starts it beside a cluster of our own, and waits until it looks after CloneSets. It is built if it is not there yet.
pub async fn start(cluster: &Cluster) -> Result<Neighbour, ClusterError> {
    let (home, door) = prepare(cluster).await?;
    for configuration in webhooks(&home)? {
        apply(&cluster.client(), &configuration).await?;
    }
    let neighbour = run(cluster, &home, &door, CLONE_SETS_ONLY)?;
    neighbour.until(async || keeps_clone_sets(cluster).await).await?;
    Ok(neighbour)
}

/// Starts it with all of its webhooks, and waits until budgets of its own guard pods.
///
/// It runs as it comes but for three things: no node has its daemon, nobody else wants to lead, and updates of pods in
/// place are protected, which it can do and does not do unless told.
pub async fn start_guarding_pods(cluster: &Cluster) -> Result<Neighbour, ClusterError> {
    let (home, door) = prepare(cluster).await?;
    // It looks for its configurations by name, and puts certificates into them that it issues itself.
    cluster.register(&home.sources.join("config/webhook"), "kruise", &door).await?;
    let neighbour = run(cluster, &home, &door, GUARDING_PODS)?;
    neighbour.until(async || guards_pods(cluster).await).await?;
    Ok(neighbour)
}

async fn prepare(cluster: &Cluster) -> Result<(Home, Door), ClusterError> {
    define_kinds(cluster).await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    apply(&cluster.client(), &namespace).await?;
    Ok((Home::of(Part::Kruise).await?, Door::new(cluster, "kruise", &[])?))
}

fn run(cluster: &Cluster, home: &Home, door: &Door, gates: &str) -> Result<Neighbour, ClusterError> {
    let environment = [
        format!("POD_NAMESPACE={NAMESPACE}"),
        "WEBHOOK_HOST=127.0.0.1".to_owned(),
        format!("WEBHOOK_PORT={}", door.port),
        // It makes certificates of its own, and tells the API server of them.
        format!("WEBHOOK_CERT_DIR={}", door.certificates.join("own").display()),
    ];
    let flags = [
        format!("--kubeconfig={}", cluster.kubeconfig().display()),
        "--enable-leader-election=false".to_owned(),
        "--metrics-addr=0".to_owned(),
        "--health-probe-addr=0".to_owned(),
        "--enable-pprof=false".to_owned(),
        "--rest-config-qps=1000".to_owned(),
        "--rest-config-burst=2000".to_owned(),
        format!("--protection-log-path={}", door.certificates.join("log").display()),
        format!("--feature-gates={gates}"),
        "--v=3".to_owned(),
    ];
    Neighbour::start_in(cluster, home, "kruise-manager", &environment, &flags)
}

/// Its webhook configurations, for CloneSets only. It fills in how it is called.
fn webhooks(home: &Home) -> Result<Vec<Value>, ClusterError> {
    let mut configurations = read(&home.sources.join("config/webhook/manifests.yaml"))?;
    for configuration in &mut configurations {
        let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
        configuration["metadata"]["name"] = json!(format!("kruise-{name}"));
        if let Some(hooks) = configuration["webhooks"].as_array_mut() {
            hooks.retain(|hook| {
                let path = hook["clientConfig"]["service"]["path"].as_str();
                path.is_some_and(|path| path.contains("cloneset"))
            });
        }
    }
    Ok(configurations)
}

/// It works when it has seen a CloneSet, which its webhook has let pass.
async fn keeps_clone_sets(cluster: &Cluster) -> Result<(), String> {
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), "default", &clone_sets());
    let labels = json!({"app": "attempt"});
    let attempt = json!({
        "apiVersion": "apps.kruise.io/v1alpha1",
        "kind": "CloneSet",
        "metadata": {"name": "attempt", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "any"}]},
            },
        },
    });
    let applied = apply(&cluster.client(), &attempt).await.map_err(|error| error.to_string())?;
    if applied.data["status"]["observedGeneration"].is_null() {
        return Err("it does not look after CloneSets".to_owned());
    }
    api.delete("attempt", &DeleteParams::default()).await.map(drop).map_err(|error| error.to_string())
}

/// Pods may be made, and a budget that says nothing may not. Nothing is stored.
async fn guards_pods(cluster: &Cluster) -> Result<(), String> {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let containers = json!([{"name": "main", "image": "any"}]);
    let pod = json!({"metadata": {"name": "attempt"}, "spec": {"containers": containers}});
    let pod: Pod = serde_json::from_value(pod).map_err(|error| error.to_string())?;
    pods.create(&dry, &pod).await.map_err(|error| error.to_string())?;
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), "default", &budgets());
    let object =
        DynamicObject::new("attempt", &budgets()).data(json!({"spec": Value::Object(Default::default())}));
    match api.create(&dry, &object).await {
        Ok(_) => Err("it refuses nothing".to_owned()),
        Err(error) if error.to_string().contains("denied the request") => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
