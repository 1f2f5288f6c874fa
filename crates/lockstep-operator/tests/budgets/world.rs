//! A cluster with budgets: pods laid out by hand, replicas of the webhook, and the controller.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use lockstep_api::budget::{PodUnavailableBudget, PodUnavailableBudgetStatus, definition};
use lockstep_operator::budgets::Budgets;
use lockstep_operator::clock::Clock;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::report::Herald;
use lockstep_sandbox::cluster::Carried;
use lockstep_sandbox::cluster::faults::Profile;
use lockstep_testkit::embedded::Embedded;
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::replicas::{HOOKS, Replicas, ask, serve};

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

/// A cluster in which budgets are kept.
pub struct World {
    /// What has to live as long as it does.
    _ground: Box<dyn Any + Send + Sync>,
    pub client: Client,
    pub namespace: String,
    pub replicas: Arc<Replicas>,
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
        let clock = Clock::default();
        let replicas = Replicas::start(vec![client.clone(); replicas], clock.clone());
        let mut tasks = JoinSet::new();
        let (port, authority, trigger) = serve(&replicas, &mut tasks).await;
        ask(&client, port, Some(&authority)).await;
        let ground = Box::new((cluster, trigger));
        Some(Self::furnish(ground, client, replicas, tasks, clock).await)
    }

    /// The same in this process and in its own time. Whoever asks, whoever answers and the leader have ways to the API
    /// server of their own, drawn from the seed, on which things take their time and go wrong.
    pub async fn virtually(seed: u64, replicas: usize, way: &Profile) -> Self {
        let embedded = Embedded::host(seed).await.expect("an embedded cluster");
        let through =
            |way: &Profile, which: u64| embedded.client_through(way.clone(), seed ^ (which << 32)).0;
        let clock = Clock::new(embedded.clock());
        let clients = (1..=replicas as u64).map(|which| through(way, which)).collect();
        let replicas = Replicas::start(clients, clock.clone());
        for (name, kind) in HOOKS {
            let (replicas, path) = (Arc::clone(&replicas), format!("/budgets/{kind}"));
            let answer = move |review: Value| -> Carried<'static> {
                let (replicas, path) = (Arc::clone(&replicas), path.clone());
                Box::pin(async move { replicas.carry(&path, review).await })
            };
            embedded.webhooks().answer(name, Arc::new(answer));
        }
        ask(&embedded.client(), 9443, None).await;
        let asking = Profile { travel: way.travel, ..Profile::default() };
        let client = through(&asking, 0);
        Self::furnish(Box::new(embedded), client, replicas, JoinSet::new(), clock).await
    }

    async fn furnish(
        ground: Box<dyn Any + Send + Sync>,
        client: Client,
        replicas: Arc<Replicas>,
        mut tasks: JoinSet<()>,
        clock: Clock,
    ) -> Self {
        for kind in [definition::definition(), clone_sets()] {
            lockstep_testkit::cluster::define(&client, &kind).await.expect("a kind");
        }
        let namespace = json!({"metadata": {"name": "budgets"}});
        let namespace: Namespace = serde_json::from_value(namespace).expect("a namespace");
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.expect("a namespace");
        let leader = Budgets::new(client.clone(), None, Metrics::new(), clock.clone());
        let herald = Herald::new(client.clone(), None, clock);
        let watching = leader.clone();
        tasks.spawn(async move { watching.run().await });
        tasks.spawn(async move { leader.lead(herald, Arc::new(|| true)).await });
        let world =
            Self { _ground: ground, client, namespace: "budgets".to_owned(), replicas, _tasks: tasks };
        world.is_asked().await;
        world
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

    /// Waits until every replica refuses to let a pod go, for the sake of a budget. Says whether they came to.
    pub async fn is_known(&self, budget: &str, pod: &str) -> bool {
        let patience = tokio::time::timeout(20 * SOON, async {
            // They are asked in turns.
            let mut refused = 0;
            while refused < 2 * self.replicas.count() {
                let answer = self.review_eviction(pod).await;
                let said = answer["status"]["message"].as_str().unwrap_or_default();
                refused = if said.contains(budget) { refused + 1 } else { 0 };
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        patience.await.is_ok()
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
        match self.pods().patch_status(name, &params, &Patch::Strategic(&patch)).await {
            // Somebody may have taken it meanwhile.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            patched => drop(patched.expect("patched")),
        }
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
        let answer = self.replicas.carry(&format!("/budgets/{kind}"), json!({"request": asked})).await;
        answer.expect("an answer")["response"].take()
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
