//! What `lockstep federation` holds in memory: a thousand workloads, each over ten clusters, on a real API server with
//! Karmada's kinds and without Karmada. We are the members: each says at once that it stands as it was told.

use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use lockstep_api::federation::definition;
use lockstep_federation::work::{Work, reflect};
use lockstep_federation::{IN_FORCE, interpret, lease_of};
use lockstep_feed::{InitialList, Source, feed};
use lockstep_spread::{binding, cluster_kind, definitions, work};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::memory::resident;
use super::wait;
use crate::cluster::{Cluster, ClusterError, Component, create};
use crate::operator::Operator;

const BINDINGS: usize = 1_000;
const CLUSTERS: usize = 10;
/// How many requests are under way at a time.
const PARALLEL: usize = 64;
/// How long everything may take to be granted and acknowledged.
const PATIENCE: Duration = Duration::from_secs(600);
const NAMESPACE: &str = "web";

/// What a thousand workloads over ten clusters take.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Federation {
    /// Resident memory in KiB with one workload over ten clusters.
    pub idle: u64,
    /// With a thousand, which came while it ran.
    pub full: u64,
    /// With a thousand that stood when it was started.
    pub restarted: u64,
    /// Seconds from that start until a change of one of them was taken up.
    pub awake: f64,
}

/// Measures everything.
pub(super) async fn measure(program: &Path) -> Result<Federation, ClusterError> {
    let builder = Cluster::builder().our_own("what a real API server takes").without(Component::Scheduler);
    let cluster = builder.without(Component::ControllerManager).start().await?;
    for definition in definitions().into_iter().chain(definition::all()) {
        cluster.define(&definition).await?;
    }
    let host = Host { client: cluster.client() };
    host.prepare().await?;
    let _members = host.speak_for_members();
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let mut operator = cluster.process(&program.display().to_string(), "federation", vec![&kubeconfig])?;
    let held = |operator: &Operator| operator.id().map_or(Ok(0), resident);

    host.spread(0).await?;
    host.until_complete(1).await?;
    let mut figures = Federation { idle: held(&operator)?, ..Federation::default() };
    stream::iter(1..BINDINGS)
        .map(|number| host.spread(number))
        .buffer_unordered(PARALLEL / CLUSTERS)
        .try_collect::<Vec<_>>()
        .await?;
    host.until_complete(BINDINGS).await?;
    figures.full = held(&operator)?;

    operator.stop().await;
    operator.start(&cluster)?;
    let began = Instant::now();
    host.change_and_see(0).await?;
    figures.awake = began.elapsed().as_secs_f64();
    figures.restarted = held(&operator)?;
    Ok(figures)
}

/// The API server on which everything is told.
struct Host {
    client: Client,
}

impl Host {
    fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(api_version, kind))
    }

    fn works(&self, cluster: &str) -> Api<DynamicObject> {
        self.api("work.karmada.io/v1alpha1", "Work", &work::space(cluster))
    }

    /// Clusters that answer, and the namespaces there are for them.
    async fn prepare(&self) -> Result<(), ClusterError> {
        let clusters: Api<DynamicObject> = Api::all_with(self.client.clone(), &cluster_kind());
        create(&self.client, &named("v1", "Namespace", NAMESPACE)).await?;
        for cluster in names() {
            create(&self.client, &named("v1", "Namespace", &work::space(&cluster))).await?;
            create(&self.client, &named("cluster.karmada.io/v1alpha1", "Cluster", &cluster)).await?;
            let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            let told = clusters.patch_status(&cluster, &PatchParams::default(), &Patch::Merge(&ready)).await;
            told.map_err(ClusterError::api("make a cluster ready"))?;
        }
        Ok(())
    }

    /// A workload, its binding and its Works, as they are after Karmada has spread it.
    async fn spread(&self, number: usize) -> Result<(), ClusterError> {
        let name = format!("w-{number}");
        let template = create(&self.client, &template(&name, "vllm:1")).await?;
        let Some(kind) = interpret::of(&template) else {
            return Err(ClusterError::access("align StatefulSets")("that kind is not known"));
        };
        let mut spread = binding::made(kind, &template);
        let shares = names().map(|cluster| json!({"name": cluster, "replicas": 2}));
        spread["spec"]["clusters"] = shares.collect();
        let spread = create(&self.client, &spread).await?;
        let works = names().map(|cluster| {
            let made = work::made(kind, &template, &spread, &cluster, 2);
            async move { create(&self.client, &made).await }
        });
        futures::future::try_join_all(works).await.map(drop)
    }

    /// Every member stands as its Work tells it, and says so.
    fn speak_for_members(&self) -> JoinSet<()> {
        let mut speaking = JoinSet::new();
        for cluster in names() {
            let works = self.works(&cluster);
            speaking.spawn(async move {
                let events = feed(Source::new(works.clone(), InitialList::Paged));
                events
                    .for_each_concurrent(PARALLEL / CLUSTERS, |event| {
                        let works = works.clone();
                        async move {
                            if let Event::Apply(work) | Event::InitApply(work) = event {
                                answer(&works, work).await;
                            }
                        }
                    })
                    .await;
            });
        }
        speaking
    }

    async fn until_complete(&self, count: usize) -> Result<(), ClusterError> {
        let complete = |it: &DynamicObject| {
            let status = &it.data["status"];
            let acknowledged = |member: &Value| member["lease"] == member["acknowledged"];
            status["phase"] == "Complete"
                && status["members"].as_array().is_some_and(|members| members.iter().all(acknowledged))
        };
        self.until("see rollouts complete", |all| all.iter().filter(|it| complete(it)).count() == count).await
    }

    /// Changes the wish for one and waits until its rollout shows that.
    async fn change_and_see(&self, number: usize) -> Result<(), ClusterError> {
        let name = format!("w-{number}");
        let changed = template(&name, "vllm:2");
        let templates = self.api("apps/v1", "StatefulSet", NAMESPACE);
        let changed = templates.patch(&name, &PatchParams::default(), &Patch::Merge(&changed)).await;
        changed.map_err(ClusterError::api("change a template"))?;
        let rolls = |it: &DynamicObject| it.data["status"]["phase"] != "Complete";
        self.until("see a rollout begin", |all| all.iter().any(rolls)).await
    }

    async fn until(&self, what: &str, test: impl Fn(&[DynamicObject]) -> bool) -> Result<(), ClusterError> {
        let rollouts = self.api("lockstep.dev/v1alpha1", "FederatedRollout", NAMESPACE);
        wait::until(&rollouts, PATIENCE, what, test).await
    }
}

fn names() -> impl Iterator<Item = String> {
    (1..=CLUSTERS).map(|number| format!("member{number}"))
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(group, version, kind))
}

/// A server of a model as people write it: some two kilobytes.
fn template(name: &str, image: &str) -> Value {
    let labels = json!({"app": name, "app.kubernetes.io/part-of": "inference"});
    let variable = |number: usize| json!({"name": format!("SETTING_{number}"), "value": format!("value of setting {number}")});
    let probe =
        json!({"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 5, "failureThreshold": 60});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {
            "name": name, "namespace": NAMESPACE, "labels": labels,
            "annotations": {"federation.lockstep.dev/rollout": "aligned"},
        },
        "spec": {
            "replicas": 2 * CLUSTERS, "serviceName": name, "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [{
                    "name": "main", "image": image, "args": ["--model", "/models/llama", "--tensor-parallel-size", "8"],
                    "env": (0..20).map(variable).collect::<Vec<_>>(),
                    "ports": [{"containerPort": 8000, "name": "http"}],
                    "resources": {"limits": {"cpu": "16", "memory": "128Gi", "nvidia.com/gpu": "8"}},
                    "readinessProbe": probe, "startupProbe": probe,
                    "volumeMounts": [{"name": "models", "mountPath": "/models"}, {"name": "shm", "mountPath": "/dev/shm"}],
                }],
                "volumes": [
                    {"name": "models", "persistentVolumeClaim": {"claimName": "models"}},
                    {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
                ],
                "nodeSelector": {"accelerator": "h100"},
            }},
        },
    })
}

/// What a member says that stands as it was told; nothing if it has said so.
fn said(work: &Value) -> Option<Value> {
    let workload = Work(work).manifest()?;
    let kind = interpret::of(workload)?;
    let told = Work(work).status().map(|status| status[IN_FORCE]["lease"].clone());
    if told.is_some_and(|told| told == json!(lease_of(workload).map(|it| it.to_string()))) {
        return None;
    }
    let replicas = kind.replicas(workload);
    let mut workload = workload.clone();
    let version = &work["metadata"]["resourceVersion"];
    workload["metadata"]["generation"] = work["metadata"]["generation"].clone();
    workload["metadata"]["resourceVersion"] = version.clone();
    workload["metadata"]["uid"] = work["metadata"]["uid"].clone();
    workload["status"] = json!({
        "observedGeneration": work["metadata"]["generation"], "replicas": replicas, "readyReplicas": replicas,
        "availableReplicas": replicas, "updatedReplicas": replicas, "currentReplicas": replicas,
        "currentRevision": "r1", "updateRevision": "r1",
    });
    Some(json!({"status": {"manifestStatuses": [{"status": reflect(kind, &workload)}]}}))
}

async fn answer(works: &Api<DynamicObject>, work: DynamicObject) {
    let name = work.name_any();
    let Some(status) = serde_json::to_value(work).ok().as_ref().and_then(said) else { return };
    if let Err(error) = works.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await {
        tracing::warn!(%error, name, "a member cannot answer");
    }
}
