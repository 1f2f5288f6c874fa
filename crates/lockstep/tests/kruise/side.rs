//! One cluster with one of the two, and what is done there.

use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, DynamicObject, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Error, ResourceExt};
use lockstep_testkit::neighbours::{Neighbour, kruise};
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};

use super::installed::{Installed, Replica};
use super::table::{Case, Deed, Object, Outcome};

/// How long a budget may take to show what is expected.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whose controller looks after budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    Kruise,
    Ours,
}

/// A cluster without anybody else who would touch pods.
pub struct Side {
    keeper: Keeper,
    client: Client,
    running: Running,
}

enum Running {
    Kruise { cluster: Cluster, _manager: Neighbour },
    Ours { installed: Installed, _replica: Replica },
}

impl Side {
    /// Starts everything; nothing where there is no control plane to be had.
    pub async fn start(keeper: Keeper) -> Option<Self> {
        let builder = Cluster::builder().without(Component::Scheduler).without(Component::ControllerManager);
        let running = match keeper {
            Keeper::Kruise => {
                let cluster = builder.our_own("the controllers of Kruise").start_or_skip().await?;
                let manager = kruise::start_guarding_pods(&cluster).await.expect("Kruise");
                Running::Kruise { cluster, _manager: manager }
            }
            Keeper::Ours => {
                let installed = Installed::start_with(builder, &["--dialects=none"]).await?;
                let replica = installed.replica("one").await;
                installed.route_admission_to(&replica).await;
                installed.until_leading(&replica).await;
                Running::Ours { installed, _replica: replica }
            }
        };
        let client = match &running {
            Running::Kruise { cluster, .. } => cluster.client(),
            Running::Ours { installed, .. } => installed.cluster.client(),
        };
        Some(Self { keeper, client, running })
    }

    fn cluster(&self) -> &Cluster {
        match &self.running {
            Running::Kruise { cluster, .. } => cluster,
            Running::Ours { installed, .. } => &installed.cluster,
        }
    }

    fn budgets(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &kruise::budgets())
    }

    /// Plays a case in a namespace of its own.
    pub async fn play(&self, case: &Case) -> Outcome {
        let namespace = self.cluster().new_namespace("case").await.expect("a namespace");
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        self.lay_out(case, &namespace, &pods).await;
        let budget = budget(&case.spec, &case.annotations);
        // The API server takes a moment to know a webhook.
        let budgets = self.budgets(&namespace);
        let made = async {
            while let Err(error) = budgets.create(&PostParams::default(), &budget).await {
                is_on_its_way(&error, case.name);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, made).await.expect("the budget is taken");
        let figures = self.settled(&budgets, &pods, case.want.of(self.keeper).figures).await;
        let mut answers = Vec::new();
        for deed in &case.deeds {
            answers.push(ask(&pods, *deed).await);
        }
        Outcome { figures, answers }
    }

    /// Pods as the case has them, ready but for some.
    async fn lay_out(&self, case: &Case, namespace: &str, pods: &Api<Pod>) {
        let mut owners = Value::Null;
        if let Some(replicas) = case.replicas {
            let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), namespace);
            let template =
                json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers()}});
            let spec = json!({"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template});
            let set =
                serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).expect("a set");
            let set = sets.create(&PostParams::default(), &set).await.expect("created");
            owners = json!([{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": set.uid(), "controller": true,
            }]);
        }
        for i in 0..case.pods {
            let mut labels = json!({"app": "web"});
            if case.labelled.contains(&i) {
                labels["unavailable-pod.kruise.io/by"] = json!("us");
            }
            let opted_out = case.opted_out.contains(&i).to_string();
            let pod = json!({
                "metadata": {
                    "name": name(i), "labels": labels, "ownerReferences": owners,
                    "annotations": {"pub.kruise.io/no-protect": opted_out},
                },
                "spec": {"containers": containers()},
            });
            let pod = serde_json::from_value(pod).expect("a pod");
            pods.create(&PostParams::default(), &pod).await.expect("created");
            let ready = if case.unready.contains(&i) { "False" } else { "True" };
            let condition = json!({"type": "Ready", "status": ready});
            let status = json!({"status": {"phase": "Running", "conditions": [condition]}});
            let patched = pods.patch_status(&name(i), &PatchParams::default(), &Patch::Merge(&status)).await;
            patched.expect("patched");
        }
    }

    /// What a budget shows in the end: what is wanted, or what it shows when patience is over.
    async fn settled(&self, budgets: &Api<DynamicObject>, pods: &Api<Pod>, want: [u64; 4]) -> [u64; 4] {
        let mut shown = [0; 4];
        let looking = async {
            loop {
                let budget = budgets.get("guard").await.expect("the budget");
                let status = &budget.data["status"];
                let figure = |name: &str| status[name].as_u64().unwrap_or_default();
                shown = ["totalReplicas", "desiredAvailable", "currentAvailable", "unavailableAllowed"]
                    .map(figure);
                let counted = status["observedGeneration"].as_i64() == budget.metadata.generation;
                if shown == want && counted && self.knows(pods).await {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, looking).await;
        shown
    }

    /// Kruise protects what it has marked.
    async fn knows(&self, pods: &Api<Pod>) -> bool {
        let marked = |pod: &Pod| pod.annotations().contains_key("kruise.io/related-pub");
        self.keeper == Keeper::Ours
            || pods.list(&ListParams::default()).await.expect("pods").iter().all(marked)
    }

    /// Whether a budget is taken.
    pub async fn takes(&self, object: &Object) -> Result<(), String> {
        let namespace = self.cluster().new_namespace("object").await.expect("a namespace");
        let budgets = self.budgets(&namespace);
        if let Some(before) = &object.before {
            let before = budget(before, &json!({}));
            budgets.create(&PostParams::default(), &before).await.expect("created");
        }
        let wanted = budget(&object.spec, &object.annotations);
        let params = PatchParams::apply("test").force();
        let taken = budgets.patch("guard", &params, &Patch::Apply(&wanted)).await;
        taken.map(drop).map_err(|error| error.to_string())
    }
}

/// Whoever is not reached yet is asked again.
fn is_on_its_way(error: &Error, case: &str) {
    let Error::Api(status) = error else { panic!("{case}: {error}") };
    assert!(status.message.contains("failed calling webhook"), "{case}: {}", status.message);
}

fn budget(spec: &Value, annotations: &Value) -> DynamicObject {
    let mut object = DynamicObject::new("guard", &kruise::budgets()).data(json!({"spec": spec}));
    object.metadata.annotations = serde_json::from_value(annotations.clone()).expect("annotations");
    object
}

fn name(i: u32) -> String {
    format!("web-{i}")
}

fn containers() -> Value {
    json!([{"name": "main", "image": "web:1"}])
}

/// Does something to a pod: `+`, or how it was refused.
async fn ask(pods: &Api<Pod>, deed: Deed) -> String {
    let answer = match deed {
        Deed::Evict(i) => pods.evict(&name(i), &EvictParams::default()).await.map(drop),
        Deed::Delete(i) => pods.delete(&name(i), &DeleteParams::default()).await.map(drop),
        Deed::Update(i) => {
            let image = json!({"spec": {"containers": [{"name": "main", "image": "web:2"}]}});
            pods.patch(&name(i), &PatchParams::default(), &Patch::Strategic(&image)).await.map(drop)
        }
    };
    match answer {
        Ok(()) => "+".to_owned(),
        Err(Error::Api(status)) => status.code.to_string(),
        Err(error) => error.to_string(),
    }
}
