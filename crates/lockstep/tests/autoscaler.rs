//! The HorizontalPodAutoscaler of a real controller manager drives one role of a set through its RoleScale.

#![allow(clippy::expect_used)]

mod cluster;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cluster::{role, set, with_operator};
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use lockstep_api::role_scale::RoleScale;
use lockstep_api::{label, yaml_to_json};
use lockstep_operator::set::resource;
use lockstep_testkit::cluster::Builder;
use lockstep_testkit::operator::Operator;
use lockstep_testkit::serve::{Server, json as answer};
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};

/// Long enough for anything that happens.
const SOON: Duration = Duration::from_secs(120);

/// An autoscaler that looks every second and believes what it sees at once.
const QUICK: [&str; 4] = [
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-downscale-stabilization=1s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
];

/// What each instance of a role should have to do, in thousandths of a processor.
const SHARE: u64 = 100;

/// A metrics API: each group has so much to do, and the pods that were asked for share it evenly.
struct Load {
    of_a_group: Arc<AtomicU64>,
    _server: Server,
}

impl Load {
    /// Serves it, and has the API server ask it for `metrics.k8s.io`.
    async fn serve(cluster: &Cluster, at_first: u64) -> Self {
        let of_a_group = Arc::new(AtomicU64::new(at_first));
        let (client, load) = (cluster.client(), Arc::clone(&of_a_group));
        let server = Server::start(cluster.authority().expect("an authority"), move |request| {
            let (client, load) = (client.clone(), Arc::clone(&load));
            async move {
                let query = request.uri().query().unwrap_or_default().to_owned();
                let content = measured(&client, request.uri().path(), &query, load.load(Ordering::Relaxed));
                let (status, content) = content.await.unwrap_or((StatusCode::NOT_FOUND, json!({})));
                Ok(answer(status, &content))
            }
        })
        .await
        .expect("a server");
        register(&cluster.client(), server.address().port()).await;
        Self { of_a_group, _server: server }
    }

    fn set(&self, of_a_group: u64) {
        self.of_a_group.store(of_a_group, Ordering::Relaxed);
    }
}

const METRICS: &str = "/apis/metrics.k8s.io/v1beta1";

/// The answer to one question.
async fn measured(client: &Client, path: &str, query: &str, load: u64) -> Option<(StatusCode, Value)> {
    if path == METRICS {
        let pods = json!({
            "name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": ["get", "list"],
        });
        let list = json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1",
            "resources": [pods],
        });
        return Some((StatusCode::OK, list));
    }
    let namespace = path.strip_prefix(METRICS)?.strip_prefix("/namespaces/")?.strip_suffix("/pods")?;
    let selector = query.split('&').find_map(|part| part.strip_prefix("labelSelector="))?;
    let selector = selector.replace("%3D", "=").replace("%2C", ",").replace("%2F", "/");
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pods = pods.list(&ListParams::default().labels(&selector)).await.ok()?.items;
    let group = |pod: &Pod| pod.labels().get(label::GROUP).cloned().unwrap_or_default();
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for pod in &pods {
        *sizes.entry(group(pod)).or_default() += 1;
    }
    let items: Vec<Value> = pods
        .iter()
        .map(|pod| {
            let usage = json!({"cpu": format!("{}m", load / sizes[&group(pod)]), "memory": "1Mi"});
            json!({
                "metadata": {"name": pod.name_any(), "namespace": namespace, "labels": pod.labels()},
                "timestamp": Timestamp::now(), "window": "1s",
                "containers": [{"name": "main", "usage": usage}],
            })
        })
        .collect();
    let list = json!({
        "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items,
    });
    Some((StatusCode::OK, list))
}

/// Registers a server on this machine as the API of resource metrics.
async fn register(client: &Client, port: u16) {
    let services: Api<Service> = Api::namespaced(client.clone(), "kube-system");
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "metrics"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    let params = PatchParams::apply("test").force();
    services.patch("metrics", &params, &Patch::Apply(&service)).await.expect("a service");
    let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    let registered: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let name = "v1beta1.metrics.k8s.io";
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name},
        "spec": {
            "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"name": "metrics", "namespace": "kube-system", "port": port},
            "insecureSkipTLSVerify": true,
        },
    });
    registered.patch(name, &params, &Patch::Apply(&service)).await.expect("registered");
    let available = |service: Option<&DynamicObject>| {
        let conditions = service.and_then(|service| service.data["status"]["conditions"].as_array());
        conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Available" && it["status"] == "True"))
    };
    let waiting = tokio::time::timeout(SOON, await_condition(registered, name, available)).await;
    waiting.expect("available in time").expect("a watch");
}

/// A namespace with the set and its autoscaler.
struct Stage {
    client: Client,
    namespace: String,
}

impl Stage {
    async fn new(cluster: &Cluster) -> Self {
        let namespace = cluster.new_namespace("autoscaled").await.expect("a namespace");
        Self { client: cluster.client(), namespace }
    }

    fn api(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, resource)
    }

    fn autoscalers(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("autoscaling", "v2", "HorizontalPodAutoscaler");
        self.api(&ApiResource::from_gvk(&kind))
    }

    async fn apply(&self, api: &Api<DynamicObject>, object: &Value) {
        let name = object["metadata"]["name"].as_str().expect("a name");
        let params = PatchParams::apply("user").force();
        api.patch(name, &params, &Patch::Apply(object)).await.expect("applied");
    }

    async fn wish(&self, manifest: &str) {
        self.apply(&self.api(&resource()), &yaml_to_json(manifest).expect("YAML")).await;
    }

    /// Puts an autoscaler on a role, and waits until it measures.
    async fn autoscale(&self, role: &str, most: u32) {
        let target = json!({"type": "AverageValue", "averageValue": format!("{SHARE}m")});
        let autoscaler = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": role},
            "spec": {
                "scaleTargetRef": {
                    "apiVersion": "lockstep.dev/v1alpha1", "kind": "RoleScale", "name": format!("llama-{role}"),
                },
                "minReplicas": 1, "maxReplicas": most,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            },
        });
        self.apply(&self.autoscalers(), &autoscaler).await;
        let active = |autoscaler: Option<&DynamicObject>| {
            let conditions = autoscaler.and_then(|it| it.data["status"]["conditions"].as_array());
            conditions.is_some_and(|all| {
                all.iter().any(|it| it["type"] == "ScalingActive" && it["status"] == "True")
            })
        };
        let waiting = tokio::time::timeout(SOON, await_condition(self.autoscalers(), role, active)).await;
        waiting.expect("active in time").expect("a watch");
    }

    /// Waits until a status of the set says this.
    async fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        let sets = self.api(&resource());
        let known = |set: Option<&DynamicObject>| {
            set.is_some_and(|set| {
                let status = &set.data["status"];
                status["observedGeneration"].as_i64() >= set.metadata.generation && holds(status)
            })
        };
        let waiting = tokio::time::timeout(SOON, await_condition(sets.clone(), "llama", known)).await;
        if waiting.is_err() {
            let set = sets.get("llama").await.expect("the set").data;
            let autoscalers = self.autoscalers().list(&ListParams::default()).await.expect("a list");
            let says: Vec<&Value> = autoscalers.items.iter().map(|it| &it.data["status"]).collect();
            panic!("in vain: {what}; the set is {:#}, its autoscalers {says:#?}", set["status"]);
        }
    }

    /// Waits until each of the two groups has so many of a role, and nothing is left to do.
    async fn until_each_group_has(&self, role: &str, count: u32) {
        self.until(&format!("{count} {role} in each group"), |status| {
            let there =
                |it: &Value| it["name"] == role && it["ready"] == 2 * count && it["replicas"] == 2 * count;
            status["roles"].as_array().is_some_and(|all| all.iter().any(there))
                && status["rollout"]["phase"] == "Complete"
        })
        .await;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        for group in 0..2 {
            let of = format!("{}={role},{}={group}", label::ROLE, label::GROUP);
            let pods = pods.list(&ListParams::default().labels(&of)).await.expect("a list").items;
            let stay = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).count();
            assert_eq!(stay, count as usize, "{role} of group {group}");
        }
    }

    async fn pod(&self, name: &str) -> Pod {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let there =
            tokio::time::timeout(SOON, await_condition(pods, name, |pod: Option<&Pod>| pod.is_some()));
        there.await.expect("in time").expect("a watch").expect("a pod")
    }

    async fn scale(&self, role: &str) -> Value {
        let scale = self
            .api(&ApiResource::erase::<RoleScale>(&()))
            .get(&format!("llama-{role}"))
            .await
            .expect("a scale");
        scale.data
    }
}

fn llama(prefill: u32, more: &str) -> String {
    let spec = format!("replicas: 2\n{more}");
    set(&spec, &[role("prefill", prefill, "1", ""), role("decode", 2, "1", "")])
}

/// A cluster with an operator and an autoscaler that looks often.
async fn with_autoscaler() -> Option<(Cluster, Operator)> {
    let quick = |builder: Builder, flag: &&str| builder.flag(Component::ControllerManager, flag);
    let builder = Cluster::builder().our_own("the autoscaler of a real controller manager");
    with_operator(QUICK.iter().fold(builder, quick), &[]).await
}

#[tokio::test]
async fn one_role_follows_its_load() {
    let Some((cluster, mut operator)) = with_autoscaler().await else { return };
    let load = Load::serve(&cluster, 2 * SHARE).await;
    let stage = Stage::new(&cluster).await;
    stage.wish(&llama(2, "")).await;
    stage.until_each_group_has("prefill", 2).await;
    stage.autoscale("prefill", 8).await;

    // Half as much again in every group: half as many again, not more because there are two groups.
    load.set(3 * SHARE);
    stage.until_each_group_has("prefill", 3).await;
    load.set(6 * SHARE);
    stage.until_each_group_has("prefill", 6).await;
    stage.until_each_group_has("decode", 2).await;

    // The same manifest again says nothing new about how many.
    stage.wish(&llama(2, "")).await;
    stage.wish(&llama(2, "revisionHistoryLimit: 3")).await;
    stage.until_each_group_has("prefill", 6).await;
    assert_eq!(stage.scale("prefill").await["spec"]["replicas"], 6);

    load.set(SHARE / 2);
    stage.until_each_group_has("prefill", 1).await;
    load.set(4 * SHARE);
    stage.until_each_group_has("prefill", 4).await;

    // Another number in the manifest takes over; an autoscaler would go on from there.
    stage.autoscalers().delete("prefill", &Default::default()).await.expect("deleted");
    stage.wish(&llama(5, "")).await;
    stage.until_each_group_has("prefill", 5).await;
    assert_eq!(stage.scale("prefill").await["spec"]["replicas"], 5);
    assert_eq!(operator.ended(), None);
}

fn created(pod: &Pod) -> Timestamp {
    pod.creation_timestamp().expect("a time").0
}

fn ready(pod: &Pod) -> Timestamp {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|it| it.type_ == "Ready" && it.status == "True");
    ready.next().and_then(|it| it.last_transition_time.as_ref()).expect("ready").0
}

#[tokio::test]
async fn a_role_that_is_to_grow_waits_for_one_that_grows() {
    let Some((cluster, mut operator)) = with_autoscaler().await else { return };
    let load = Load::serve(&cluster, 2 * SHARE).await;
    let stage = Stage::new(&cluster).await;
    let slowly = "annotations: {kubelet.lockstep.dev/ready-after: 10s}";
    let decode = role("decode", 2, "1", "").replace("annotations: {}", slowly);
    let llama =
        |rule: &str| set(&format!("replicas: 2\n{rule}"), &[role("prefill", 2, "1", ""), decode.clone()]);
    stage.wish(&llama("")).await;
    stage.until_each_group_has("decode", 2).await;
    let rule = "coordination:\n- name: side-by-side\n  roles: [prefill, decode]\n  scaling: {maxSkew: 25%}";
    stage.wish(&llama(rule)).await;
    stage.autoscale("prefill", 8).await;

    // Decode is at 2 of 4, so prefill may be at 3/4 of what its load asks for: 4 of 6.
    let four = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let scales = stage.api(&ApiResource::erase::<RoleScale>(&()));
    scales.patch("llama-decode", &PatchParams::default(), &four).await.expect("scaled");
    for group in 0..2 {
        stage.pod(&format!("llama-{group}-decode-3")).await;
    }
    load.set(6 * SHARE);
    stage.until_each_group_has("prefill", 6).await;
    for group in 0..2 {
        let pod = async |name: &str| stage.pod(&format!("llama-{group}-{name}")).await;
        let decode = [ready(&pod("decode-2").await), ready(&pod("decode-3").await)];
        let decode = decode.into_iter().min().expect("two");
        assert!(created(&pod("prefill-3").await) < decode, "the rule lets four stand");
        assert!(created(&pod("prefill-4").await) >= decode, "and no more before decode has grown");
    }
    assert_eq!(operator.ended(), None);
}
