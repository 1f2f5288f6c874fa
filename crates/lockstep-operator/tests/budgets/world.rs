//! A cluster with budgets: pods laid out by hand, replicas of the webhook, and the controller.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use lockstep_api::budget::{PodUnavailableBudget, PodUnavailableBudgetStatus, definition};
use lockstep_operator::admission::{self, Limits};
use lockstep_operator::budgets::Budgets;
use lockstep_operator::certificates::Lifetimes;
use lockstep_operator::certificates::issue::issue;
use lockstep_operator::certificates::next::Next;
use lockstep_operator::clock::Clock;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::report::Herald;
use lockstep_operator::serve::{ServingCertificate, Trigger, serve_tls, shutdown};
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tower::ServiceExt;

/// Long enough for anything that happens.
const SOON: Duration = Duration::from_secs(30);

/// The two clusters everything is tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In this process.
    Embedded,
    /// etcd and kube-apiserver, without controllers: pods do what the test says.
    Real,
}

/// One replica of the webhook.
struct Replica {
    router: Router,
    watching: JoinHandle<()>,
    running: std::sync::Mutex<Vec<AbortHandle>>,
}

impl Replica {
    fn start(client: &Client) -> Self {
        let metrics = Metrics::new();
        let budgets = Budgets::new(client.clone(), None, metrics.clone(), Clock::default());
        let router = admission::router(metrics, Limits::default(), None, Some(&budgets));
        let watching = tokio::spawn(async move { budgets.run().await });
        Self { router, watching, running: std::sync::Mutex::default() }
    }

    /// Stops at once, wherever it is.
    fn kill(&self) {
        self.watching.abort();
        for running in self.running.lock().expect("not poisoned").drain(..) {
            running.abort();
        }
    }

    async fn answer(&self, request: Request) -> Response {
        let router = self.router.clone();
        let task = tokio::spawn(async move { router.oneshot(request).await });
        self.running.lock().expect("not poisoned").push(task.abort_handle());
        match task.await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    }
}

/// Sends each review to the next replica.
pub struct Replicas {
    all: Vec<std::sync::RwLock<Arc<Replica>>>,
    next: AtomicUsize,
    client: Client,
}

impl Replicas {
    async fn answer(&self, request: Request<Body>) -> Response {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.all.len();
        let replica = Arc::clone(&self.all[turn].read().expect("not poisoned"));
        replica.answer(request).await
    }

    /// Kills one and starts another in its place.
    pub fn replace(&self, which: usize) {
        let fresh = Arc::new(Replica::start(&self.client));
        let mut place = self.all[which % self.all.len()].write().expect("not poisoned");
        std::mem::replace(&mut *place, fresh).kill();
    }
}

/// A cluster in which budgets are kept.
pub struct World {
    _cluster: Cluster,
    pub client: Client,
    pub namespace: String,
    pub replicas: Arc<Replicas>,
    _trigger: Trigger,
    _tasks: JoinSet<()>,
}

impl World {
    /// Starts everything.
    pub async fn start(at: Where, replicas: usize) -> Option<Self> {
        let builder = match at {
            Where::Embedded => Cluster::builder().embedded(),
            Where::Real => Cluster::builder()
                .without(Component::Scheduler)
                .without(Component::ControllerManager)
                .our_own("a real API server"),
        };
        let cluster = builder.start_or_skip().await?;
        let client = cluster.client();
        cluster.define(&definition::definition()).await.expect("the kind of budgets");
        cluster.define(&clone_sets()).await.expect("the kind of workloads");
        let namespace = cluster.new_namespace("budgets").await.expect("a namespace");
        let mut tasks = JoinSet::new();
        let leader = Budgets::new(client.clone(), None, Metrics::new(), Clock::default());
        let herald = Herald::new(client.clone(), None, Clock::default());
        let watching = leader.clone();
        tasks.spawn(async move { watching.run().await });
        tasks.spawn(async move { leader.lead(herald, Arc::new(|| true)).await });
        let all = (0..replicas).map(|_| std::sync::RwLock::new(Arc::new(Replica::start(&client)))).collect();
        let replicas = Arc::new(Replicas { all, next: AtomicUsize::new(0), client: client.clone() });
        let (port, authority, trigger) = serve(&replicas, &mut tasks).await;
        ask(&client, port, &authority).await;
        let world = Self { _cluster: cluster, client, namespace, replicas, _trigger: trigger, _tasks: tasks };
        world.is_asked().await;
        Some(world)
    }

    /// API servers take a moment to know whom to ask.
    async fn is_asked(&self) {
        let budget = json!({"selector": {"matchLabels": {"app": "probe"}}, "minAvailable": 1});
        self.budget("probe", budget).await;
        let labels = json!({"app": "probe"});
        self.pod("probe", &labels, None).await;
        self.ready("probe", true).await;
        self.settled("probe", |status| status.current_available == 1).await;
        let patience = tokio::time::timeout(SOON, async {
            loop {
                let params = DeleteParams { dry_run: true, ..DeleteParams::default() };
                let refused =
                    |error: kube::Error| matches!(error, kube::Error::Api(status) if status.code == 429);
                let deleted = self.pods().delete("probe", &params).await;
                let evicted = self.evict_with("probe", "dryRun=All", json!({})).await;
                if deleted.is_err_and(refused) && evicted.is_some_and(|refusal| refusal.code == 429) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        patience.await.expect("the API server asks");
        self.budgets().delete("probe", &DeleteParams::default()).await.expect("deleted");
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub fn budgets(&self) -> Api<PodUnavailableBudget> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Applies a budget.
    pub async fn budget(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
            "metadata": {"name": name}, "spec": spec,
        });
        let params = PatchParams::apply("test").force();
        self.budgets().patch(name, &params, &Patch::Apply(&object)).await.expect("a budget");
    }

    /// Waits until a budget has been counted, and shows this.
    pub async fn settled(
        &self,
        name: &str,
        is: impl Fn(&PodUnavailableBudgetStatus) -> bool,
    ) -> PodUnavailableBudgetStatus {
        let mut last = None;
        let settled = tokio::time::timeout(SOON, async {
            loop {
                let budget = self.budgets().get(name).await.expect("the budget");
                let counted =
                    budget.status.filter(|it| Some(it.observed_generation) == budget.metadata.generation);
                if let Some(status) = counted {
                    if is(&status) {
                        return status;
                    }
                    last = Some(status);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let settled = settled.await;
        settled.unwrap_or_else(|_| panic!("budget {name} shows {last:#?}"))
    }

    /// A workload that nobody looks after; its UID.
    pub async fn workload(&self, name: &str, replicas: u32) -> String {
        let template = json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [container()]}});
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
        }))
        .expect("a CloneSet");
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "CloneSet"));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &kind);
        api.create(&PostParams::default(), &object).await.expect("created").uid().expect("a UID")
    }

    /// A pod that runs and is not ready.
    pub async fn pod(&self, name: &str, labels: &Value, owner: Option<(&str, &str)>) {
        let mut object = json!({
            "metadata": {"name": name, "labels": labels}, "spec": {"containers": [container()]},
        });
        if let Some((name, uid)) = owner {
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "name": name, "uid": uid, "controller": true,
            }]);
        }
        let object: Pod = serde_json::from_value(object).expect("a pod");
        self.pods().create(&PostParams::default(), &object).await.expect("created");
    }

    /// A pod gets ready, or stops being so.
    pub async fn ready(&self, name: &str, ready: bool) {
        let condition = json!({"type": "Ready", "status": if ready { "True" } else { "False" }});
        let patch = json!({"status": {"phase": "Running", "conditions": [condition]}});
        let params = PatchParams::default();
        self.pods().patch_status(name, &params, &Patch::Strategic(&patch)).await.expect("patched");
    }

    /// Groups of so many ready pods each, `llm-<group>-<pod>`, of one workload.
    pub async fn groups(&self, groups: u32, size: u32) -> String {
        let uid = self.workload("llm", groups * size).await;
        let all = (0..groups).flat_map(|group| (0..size).map(move |pod| (group, pod)));
        let made = all.map(|(group, pod)| {
            let uid = uid.clone();
            async move { self.member(group, pod, &uid).await }
        });
        futures::future::join_all(made).await;
        uid
    }

    /// One pod of a group, ready.
    pub async fn member(&self, group: u32, pod: u32, uid: &str) {
        let name = format!("llm-{group}-{pod}");
        self.pod(&name, &json!({"app": "llm", "group": group.to_string()}), Some(("llm", uid))).await;
        self.ready(&name, true).await;
    }

    /// What a replica answers to the review of an eviction, before anybody evicts anything.
    pub async fn review_eviction(&self, name: &str) -> Value {
        let object = json!({"metadata": {"name": name, "namespace": self.namespace}});
        let asked = json!({"name": name, "dryRun": true, "object": object});
        self.review("evict", asked).await
    }

    /// What a replica answers to the review of a deletion that nobody carries out.
    pub async fn review_deletion(&self, name: &str) -> Value {
        let pod = self.pods().get(name).await.expect("the pod");
        self.review("delete", json!({"name": name, "oldObject": pod})).await
    }

    async fn review(&self, kind: &str, mut asked: Value) -> Value {
        (asked["uid"], asked["namespace"]) = (json!("r"), json!(self.namespace));
        let review = json!({"request": asked});
        let request = Request::post(format!("/budgets/{kind}")).header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).expect("a request");
        let answer = self.replicas.answer(request).await.into_body();
        let bytes = axum::body::to_bytes(answer, usize::MAX).await.expect("an answer");
        serde_json::from_slice::<Value>(&bytes).expect("JSON")["response"].take()
    }

    /// Deletes a pod: nothing, or how it was refused.
    pub async fn delete(&self, name: &str) -> Option<Refusal> {
        self.delete_with(name, &DeleteParams::default()).await
    }

    pub async fn delete_with(&self, name: &str, params: &DeleteParams) -> Option<Refusal> {
        self.pods().delete(name, params).await.err().map(Refusal::of)
    }

    /// Evicts a pod: nothing, or how it was refused.
    pub async fn evict(&self, name: &str) -> Option<Refusal> {
        self.evict_with(name, "", json!({})).await
    }

    /// The same with parameters and options.
    pub async fn evict_with(&self, name: &str, query: &str, options: Value) -> Option<Refusal> {
        // kube's own way leaves the options out.
        let body = json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options,
        });
        let path = format!("/api/v1/namespaces/{}/pods/{name}/eviction?{query}", self.namespace);
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).expect("a request");
        self.client.request::<Value>(request).await.err().map(Refusal::of)
    }
}

/// How somebody was refused.
#[derive(Debug)]
pub struct Refusal {
    /// 0 if the API server did not even answer.
    pub code: u16,
    pub message: String,
    pub causes: Vec<String>,
    pub retry_after: u32,
}

impl Refusal {
    fn of(error: kube::Error) -> Self {
        let status = match error {
            kube::Error::Api(status) => status,
            unreached => {
                return Self { code: 0, message: unreached.to_string(), causes: Vec::new(), retry_after: 0 };
            }
        };
        let (causes, retry_after) =
            status.details.map_or_else(Default::default, |it| (it.causes, it.retry_after_seconds));
        Self {
            code: status.code,
            message: status.message,
            causes: causes.into_iter().map(|cause| cause.reason).collect(),
            retry_after,
        }
    }
}

/// A kind of workload whose scale counts pods, and that nobody looks after.
fn clone_sets() -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clonesets.apps.kruise.io"},
        "spec": {
            "group": "apps.kruise.io", "scope": "Namespaced",
            "names": {"plural": "clonesets", "singular": "cloneset", "kind": "CloneSet", "listKind": "CloneSetList"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": anything},
            }],
        },
    })
}

fn container() -> Value {
    json!({"name": "main", "image": "vllm:1"})
}

async fn serve(replicas: &Arc<Replicas>, tasks: &mut JoinSet<()>) -> (u16, String, Trigger) {
    let names = vec!["127.0.0.1".to_owned()];
    let made =
        issue(Next::Anew, None, &names, &Lifetimes::default(), Timestamp::now()).expect("a certificate");
    let shown = ServingCertificate::none();
    shown.install(made.certificate.as_bytes(), made.key.as_bytes()).expect("installed");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (trigger, told) = shutdown();
    let replicas = Arc::clone(replicas);
    let router = Router::new().fallback(move |request: Request| {
        let replicas = Arc::clone(&replicas);
        async move { Ok::<_, Infallible>(replicas.answer(request).await) }
    });
    tasks.spawn(async move { serve_tls(listener, router, shown, told).await.expect("served") });
    (port, made.authorities, trigger)
}

/// Has the API server ask.
async fn ask(client: &Client, port: u16, authority: &str) {
    use base64::Engine;
    let bundle = base64::engine::general_purpose::STANDARD.encode(authority);
    let webhook = |name: &str, path: &str, resource: &str, operation: &str| {
        json!({
            "name": format!("{name}.budgets.lockstep.dev"), "admissionReviewVersions": ["v1"],
            "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail", "timeoutSeconds": 10,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/budgets/{path}"), "caBundle": bundle},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": [operation],
            }],
        })
    };
    let validating: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "budgets"},
        "webhooks": [webhook("delete", "delete", "pods", "DELETE"), webhook("update", "update", "pods", "UPDATE")],
    }))
    .expect("a configuration");
    let mutating: MutatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "budgets"}, "webhooks": [webhook("evict", "evict", "pods/eviction", "CREATE")],
    }))
    .expect("a configuration");
    let params = PostParams::default();
    Api::all(client.clone()).create(&params, &validating).await.expect("created");
    Api::all(client.clone()).create(&params, &mutating).await.expect("created");
}
