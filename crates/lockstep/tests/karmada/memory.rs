//! What `lockstep federation` holds in memory: 1,000 workloads over ten clusters, all of them at rest.

use futures::{StreamExt, stream};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use lockstep_federation::interpret;
use lockstep_federation::work::{BINDING_NAME, BINDING_NAMESPACE, GENERATION, PERMANENT_ID, reflect};
use lockstep_testkit::Component;
use lockstep_testkit::cluster::{Cluster, apply};
use serde_json::{Value, json};

use crate::installed::{free_ports, until_in};

const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");
const WORKLOADS: usize = 1_000;
const CLUSTERS: usize = 10;

/// So many requests are under way at a time.
const AT_ONCE: usize = 32;

/// Fills an API server with what Karmada would keep there, and looks at a process that watches over it.
pub async fn print() {
    let builder = Cluster::builder().our_own("the memory of a process beside it");
    let builder = builder.without(Component::Scheduler).without(Component::ControllerManager);
    let Some(host) = builder.start_or_skip().await else { return };
    let client = host.client();
    for definition in
        lockstep_spread::definitions().into_iter().chain(lockstep_api::federation::definition::all())
    {
        host.define(&definition).await.expect("defined");
    }
    for object in (0..CLUSTERS).flat_map(places) {
        put(&client, &object).await;
    }
    let objects = stream::iter((0..WORKLOADS).flat_map(workload));
    objects.for_each_concurrent(AT_ONCE, async |object| put(&client, &object).await).await;
    println!("{WORKLOADS} bindings over {CLUSTERS} clusters stand");

    let (_, health) = free_ports().await;
    let kubeconfig = format!("--kubeconfig={}", host.kubeconfig().display());
    let health = format!("--health-address=127.0.0.1:{health}");
    let process = host.process(LOCKSTEP, "federation", vec![&kubeconfig, &health]).expect("a process");
    let began = std::time::Instant::now();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "FederatedRollout"));
    let rollouts: Api<DynamicObject> = Api::all_with(client, &kind);
    until_in(600, "all are looked after", async || {
        // A kind that has only just been defined may not be served yet.
        let Ok(all) = rollouts.list(&ListParams::default()).await else { return false };
        all.iter().filter(|it| it.data["status"]["phase"] == "Complete").count() == WORKLOADS
    })
    .await;
    println!("taken over in {:.0} s", began.elapsed().as_secs_f64());
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id().expect("it runs")));
    let resident = status.expect("a status").lines().find(|it| it.starts_with("VmRSS")).map(str::to_owned);
    println!("{}", resident.expect("a size"));
}

/// Makes an object, and its status where it has one.
async fn put(client: &Client, object: &Value) {
    let mut object = object.clone();
    let status = object.as_object_mut().and_then(|it| it.remove("status"));
    apply(client, &object).await.expect("applied");
    let Some(status) = status else { return };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, version) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (group, version) = (group.split_once('/').expect("a group"), version);
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group.0, group.1, &version));
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    };
    let name = text(&object["metadata"]["name"]);
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(&name, &PatchParams::default(), &patch).await.expect("patched");
}

/// A cluster that can be reached, and the namespace of its Works.
fn places(cluster: usize) -> [Value; 2] {
    [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("karmada-es-m{cluster}")}}),
        json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": format!("m{cluster}")}, "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }),
    ]
}

/// A Deployment of twenty pods, its binding, and a Work for each cluster, which has said that its two pods stand.
fn workload(number: usize) -> Vec<Value> {
    let name = format!("web-{number}");
    let labels = json!({"app": name});
    let template = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": name, "namespace": "default", "labels": labels,
            "annotations": {"federation.lockstep.dev/rollout": "aligned"},
        },
        "spec": {
            "replicas": 2 * CLUSTERS, "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "web", "image": "registry.example/web:v1",
                    "env": (0..10).map(|i| json!({"name": format!("SETTING_{i}"), "value": "something"})).collect::<Vec<_>>(),
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                }]},
            },
        },
    });
    let binding = format!("{name}-deployment");
    let clusters: Vec<Value> =
        (0..CLUSTERS).map(|cluster| json!({"name": format!("m{cluster}"), "replicas": 2})).collect();
    let mut objects = vec![
        template.clone(),
        json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": binding, "namespace": "default", "labels": {PERMANENT_ID: name}},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
                "replicas": 2 * CLUSTERS, "clusters": clusters,
            },
        }),
    ];
    let mut manifest = template;
    manifest["spec"]["replicas"] = json!(2);
    manifest["metadata"]["annotations"][GENERATION] = json!("1");
    let mut live = manifest.clone();
    live["metadata"]["generation"] = json!(1);
    live["status"] = json!({
        "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
    });
    let kind = &interpret::built_in()[0];
    objects.extend((0..CLUSTERS).map(|cluster| {
        let identifier = json!({"group": "apps", "version": "v1", "kind": "Deployment", "name": name});
        json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {
                "name": binding, "namespace": format!("karmada-es-m{cluster}"), "labels": {PERMANENT_ID: name},
                "annotations": {BINDING_NAMESPACE: "default", BINDING_NAME: binding},
            },
            "spec": {"workload": {"manifests": [manifest]}},
            "status": {"manifestStatuses": [{"identifier": identifier, "status": reflect(kind, &live)}]},
        })
    }));
    objects
}
