//! What the answer to a removal costs: beside a bare compare-and-swap of the same status on the same API server, one
//! at a time and many at a time, and what the operator holds in memory for it.

use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use lockstep_api::budget::definition;
use lockstep_feed::versioned;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::memory::resident;
use super::reaction::Spread;
use super::wait;
use crate::cluster::{Cluster, ClusterError, Component, apply, create};
use crate::neighbours::Door;
use crate::operator::Operator;

const BUDGETS: usize = 500;
/// Pods of each.
const PODS: usize = 20;
/// Budgets of a namespace.
const TOGETHER: usize = 10;
/// How many requests are under way at a time, where it is not one.
const PARALLEL: usize = 64;
/// How many removals of each budget are asked for, many at a time.
const EACH: usize = 10;
/// How long everything may take to be counted.
const PATIENCE: Duration = Duration::from_secs(120);

/// What removals cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Budgets {
    /// The answer to a delete, which has the pod in it.
    pub delete: Spread,
    /// The answer to an eviction, for which the pod is read.
    pub evict: Spread,
    /// A bare compare-and-swap.
    pub swap: Spread,
    /// The same of a kind that one client watches, as it does budgets.
    pub watched_swap: Spread,
    /// The answer about a pod in whose namespace there is no budget: the way there and back.
    pub uncovered: Spread,
    /// Answers per second, many at a time, each budget one after the other.
    pub answers_per_second: f64,
    /// Bare compare-and-swaps per second, likewise.
    pub swaps_per_second: f64,
    /// Resident memory of the operator in KiB: with nothing, and with everything.
    pub idle: u64,
    /// With 10,000 pods and 500 budgets.
    pub full: u64,
}

/// Measures everything.
pub(super) async fn measure(program: &Path) -> Result<Budgets, ClusterError> {
    let builder = Cluster::builder().our_own("what a real API server takes").without(Component::Scheduler);
    let cluster = builder.without(Component::ControllerManager).start().await?;
    cluster.define(&definition::definition()).await?;
    for kind in [SHADOW, WATCHED] {
        cluster.define(&shadow_definition(kind)).await?;
    }
    let bench = Bench::start(&cluster, program).await?;
    let mut figures = Budgets { idle: bench.resident()?, ..Budgets::default() };
    let units: Vec<Unit> = stream::iter(0..BUDGETS)
        .map(|number| bench.lay_out(number))
        .buffer_unordered(PARALLEL)
        .try_collect()
        .await?;
    bench.until_counted().await?;
    figures.full = bench.resident()?;
    let measured = {
        let _watching = bench.watch_shadows();
        bench.one_at_a_time(&units).await?
    };
    [figures.swap, figures.watched_swap, figures.delete, figures.evict, figures.uncovered] = measured;
    (figures.answers_per_second, figures.swaps_per_second) = bench.many_at_a_time(&units).await?;
    figures.full = figures.full.max(bench.resident()?);
    Ok(figures)
}

/// A control plane with an operator that is asked by us.
struct Bench {
    client: Client,
    /// Speaks to the operator.
    asking: Client,
    operator: Operator,
}

/// One budget with its pods.
struct Unit {
    namespace: String,
    name: String,
    pods: Vec<Value>,
}

impl Bench {
    async fn start(cluster: &Cluster, program: &Path) -> Result<Self, ClusterError> {
        let door = Door::new(cluster, "figures", &[])?;
        let flags = [
            format!("--webhook-address=127.0.0.1:{}", door.port),
            format!("--cert-dir={}", door.certificates.display()),
            "--dialects=none".to_owned(),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let operator = cluster.operator(&program.display().to_string(), &flags).await?;
        let access = cluster.access().ok_or_else(|| lacking("a way in"))?;
        let asking = access.through(&format!("https://127.0.0.1:{}", door.port), &door.ca_pem);
        let asking = asking.client("lockstep-figures").await?;
        let bench = Self { client: cluster.client(), asking, operator };
        // It answers once it has looked around.
        let ready = async { while bench.ask("delete", &nobody()).await.is_err() {} };
        tokio::time::timeout(PATIENCE, ready).await.map_err(ClusterError::access("reach the operator"))?;
        Ok(bench)
    }

    fn resident(&self) -> Result<u64, ClusterError> {
        self.operator.id().map_or(Ok(0), resident)
    }

    fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
    }

    /// A budget that lets everything go, its twenty ready pods of one ReplicaSet, and its shadows.
    async fn lay_out(&self, number: usize) -> Result<Unit, ClusterError> {
        let name = format!("b-{number}");
        let namespace = self.namespace(number / TOGETHER).await?;
        let labels = json!({"app": name});
        let containers = json!([{"name": "main", "image": "vllm:1"}]);
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": PODS, "selector": {"matchLabels": labels}, "template": template},
        });
        let uid = create(&self.client, &set).await?["metadata"]["uid"].take();
        let owner = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": true,
        }]);
        let mut pods = Vec::with_capacity(PODS);
        for i in 0..PODS {
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": format!("{name}-{i}"), "namespace": namespace, "labels": labels, "ownerReferences": owner,
                },
                "spec": {"containers": containers},
            });
            pods.push(self.ready_pod(&namespace, &pod).await?);
        }
        let spec = json!({"selector": {"matchLabels": labels}, "maxUnavailable": "100%"});
        for kind in [BUDGET, SHADOW, WATCHED] {
            let budget = json!({
                "apiVersion": resource(kind).api_version, "kind": kind,
                "metadata": {"name": name, "namespace": namespace}, "spec": spec,
            });
            create(&self.client, &budget).await?;
        }
        Ok(Unit { namespace, name, pods })
    }

    async fn namespace(&self, number: usize) -> Result<String, ClusterError> {
        let name = format!("budgets-{number}");
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        apply(&self.client, &object).await.map(|_| name)
    }

    async fn ready_pod(&self, namespace: &str, pod: &Value) -> Result<Value, ClusterError> {
        let made = create(&self.client, pod).await?;
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let ready =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        let patched = api.patch_status(name, &PatchParams::default(), &Patch::Merge(&ready)).await;
        let patched = patched.map_err(ClusterError::api("make a pod ready"))?;
        serde_json::to_value(patched).map_err(ClusterError::access("write a pod"))
    }

    async fn until_counted(&self) -> Result<(), ClusterError> {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(BUDGET));
        let counted = |budget: &DynamicObject| budget.data["status"]["currentAvailable"] == json!(PODS);
        wait::until(&all, PATIENCE, "see budgets counted", |listed| listed.iter().all(counted)).await
    }

    /// Asks the operator about a removal, as an API server does.
    async fn ask(&self, how: &str, pod: &Value) -> Result<(), ClusterError> {
        let (namespace, name) = (&pod["metadata"]["namespace"], &pod["metadata"]["name"]);
        let mut request = json!({
            "uid": "figures", "namespace": namespace, "name": name, "userInfo": {"username": "figures"},
        });
        match how {
            "evict" => request["object"] = json!({"metadata": {"name": name, "namespace": namespace}}),
            _ => request["oldObject"] = pod.clone(),
        }
        let review =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let request =
            http::Request::post(format!("/budgets/{how}")).header("content-type", "application/json");
        let request = request.body(review.to_string().into_bytes());
        let request = request.map_err(ClusterError::access("write a review"))?;
        let answer = self.asking.request::<Value>(request).await;
        let answer = answer.map_err(ClusterError::api("ask the operator"))?;
        match &answer["response"]["allowed"] {
            Value::Bool(true) => Ok(()),
            _ => Err(lacking(&format!("leave for {name}: {answer}"))),
        }
    }

    /// Writes the status that a budget has into its shadow, if that stands as it was read. Says how long it took.
    async fn swap(&self, unit: &Unit, kind: &str) -> Result<f64, ClusterError> {
        let (mut budget, mut shadow) = self.look(unit, kind).await?;
        shadow.data["status"] = budget.data["status"].take();
        // What is the same as before is not written.
        shadow.data["status"]["totalReplicas"] = json!(jiff::Timestamp::now().subsec_nanosecond());
        let shadows = self.api(kind, &unit.namespace);
        let began = Instant::now();
        let stored = shadows.replace_status(&unit.name, &PostParams::default(), &shadow).await;
        stored.map_err(ClusterError::api("write a shadow"))?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// A budget and its shadow as they stand. Whatever is timed comes after this: who has just answered answers the
    /// next one sooner.
    async fn look(&self, unit: &Unit, kind: &str) -> Result<(DynamicObject, DynamicObject), ClusterError> {
        let budget = self.api(BUDGET, &unit.namespace).get(&unit.name).await;
        let shadow = self.api(kind, &unit.namespace).get(&unit.name).await;
        for _ in 0..3 {
            self.ask("delete", &nobody()).await?;
        }
        let budget = budget.map_err(ClusterError::api("read a budget"))?;
        Ok((budget, shadow.map_err(ClusterError::api("read a shadow"))?))
    }

    async fn timed(&self, unit: &Unit, how: &str, pod: &Value) -> Result<f64, ClusterError> {
        self.look(unit, SHADOW).await?;
        let began = Instant::now();
        self.ask(how, pod).await?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Somebody reads all that happens to the watched shadows, until this is dropped.
    fn watch_shadows(&self) -> JoinSet<()> {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(WATCHED));
        let mut watching = JoinSet::new();
        watching.spawn(async move { versioned(all, None).for_each(|_| std::future::ready(())).await });
        watching
    }

    /// A compare-and-swap of either shadow, a delete and an eviction of every budget, and a delete of no budget's pod,
    /// in turns.
    async fn one_at_a_time(&self, units: &[Unit]) -> Result<[Spread; 5], ClusterError> {
        let mut took = [const { Vec::new() }; 5];
        for (turn, unit) in units.iter().enumerate() {
            for which in (0..5).map(|step| (turn + step) % 5) {
                took[which].push(match which {
                    0 => self.swap(unit, SHADOW).await?,
                    1 => self.swap(unit, WATCHED).await?,
                    2 => self.timed(unit, "delete", &unit.pods[0]).await?,
                    3 => self.timed(unit, "evict", &unit.pods[1]).await?,
                    _ => self.timed(unit, "delete", &nobody()).await?,
                });
            }
        }
        Ok(took.map(|times| Spread::of(&times)))
    }

    /// Answers, then compare-and-swaps, per second.
    async fn many_at_a_time(&self, units: &[Unit]) -> Result<(f64, f64), ClusterError> {
        let all = (units.len() * EACH) as f64;
        let began = Instant::now();
        let asked = stream::iter(units).map(|unit| async move {
            for pod in unit.pods.iter().skip(2).take(EACH) {
                self.ask("delete", pod).await?;
            }
            Ok::<_, ClusterError>(())
        });
        asked.buffer_unordered(PARALLEL).try_collect::<Vec<_>>().await?;
        let answers = all / began.elapsed().as_secs_f64();
        let began = Instant::now();
        let swapped = stream::iter(units).map(|unit| self.swap_again_and_again(unit));
        swapped.buffer_unordered(PARALLEL).try_collect::<Vec<_>>().await?;
        Ok((answers, all / began.elapsed().as_secs_f64()))
    }

    async fn swap_again_and_again(&self, unit: &Unit) -> Result<(), ClusterError> {
        let shadows = self.api(SHADOW, &unit.namespace);
        let mut shadow = shadows.get(&unit.name).await.map_err(ClusterError::api("read a shadow"))?;
        for count in 0..EACH {
            shadow.data["status"]["totalReplicas"] = json!(count);
            let stored = shadows.replace_status(&unit.name, &PostParams::default(), &shadow).await;
            shadow = stored.map_err(ClusterError::api("write a shadow"))?;
        }
        Ok(())
    }
}

/// Budgets, and what has the same schema and nobody looks after: one kind that nobody watches, one that is watched.
const BUDGET: &str = "PodUnavailableBudget";
const SHADOW: &str = "Shadow";
const WATCHED: &str = "WatchedShadow";

fn resource(kind: &str) -> ApiResource {
    match kind {
        BUDGET => crate::neighbours::kruise::budgets(),
        shadow => ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1alpha1", shadow)),
    }
}

const GROUP: &str = "figures.lockstep.dev";

/// The same schema under another name.
fn shadow_definition(kind: &str) -> Value {
    let plural = resource(kind).plural;
    let mut shadow = definition::definition();
    shadow["metadata"] = json!({"name": format!("{plural}.{GROUP}")});
    shadow["spec"]["group"] = json!(GROUP);
    shadow["spec"]["names"] = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
    shadow
}

/// A pod where there are no budgets.
fn nobody() -> Value {
    json!({"metadata": {"name": "nobody", "namespace": "default", "uid": "u"}})
}

fn lacking(what: &str) -> ClusterError {
    ClusterError::Access { what: "measure budgets".to_owned(), reason: format!("there is no {what}") }
}
