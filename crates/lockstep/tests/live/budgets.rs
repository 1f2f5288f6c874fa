//! Unavailable budgets on a cluster in which nobody does anything unless the test does.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::Resource;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use lockstep_api::budget::{PodUnavailableBudget, definition};
use lockstep_core::budget::{BudgetState, Memory, RootMemory};
use lockstep_testkit::{Cluster, Component};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::stage::Stage;

async fn create<K>(api: &Api<K>, object: Value) -> K
where
    K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("an object");
    api.create(&PostParams::default(), &object).await.expect("created")
}

/// Three groups of two pods of one StatefulSet: the first two on `here`, the third on `there`.
struct Scene {
    stage: Stage,
}

impl Scene {
    async fn start() -> Option<Self> {
        let builder = Cluster::builder().our_own("StatefulSets").without(Component::Scheduler);
        let cluster = builder.without(Component::ControllerManager).start_or_skip().await?;
        cluster.define(&definition::definition()).await.expect("the kind");
        // Removals are asked about, as far as anybody can see.
        let guards: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
        create(&guards, json!({
            "metadata": {"name": "lockstep-budgets"},
            "webhooks": [{
                "name": "evict.budgets.lockstep.dev", "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/eviction"], "operations": ["CREATE"]}],
                "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun", "failurePolicy": "Ignore",
            }],
        }))
        .await;
        let stage = Stage::new(cluster).await;
        let scene = Self { stage };
        let nodes: Api<Node> = Api::all(scene.stage.cluster.client());
        for name in ["here", "there"] {
            create(&nodes, json!({"metadata": {"name": name}})).await;
        }
        // Service accounts are made by a controller that is not there.
        let accounts = scene.api::<k8s_openapi::api::core::v1::ServiceAccount>();
        create(&accounts, json!({"metadata": {"name": "default"}})).await;
        let owner = scene.workload("llm").await;
        for i in 0..6 {
            scene.pod(i, &owner).await;
        }
        Some(scene)
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.stage.cluster.client(), &self.stage.namespace)
    }

    /// A StatefulSet that nobody looks after.
    async fn workload(&self, name: &str) -> StatefulSet {
        let labels = json!({"app": "llm"});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
        let object = json!({
            "metadata": {"name": name},
            "spec": {"replicas": 6, "serviceName": name, "selector": {"matchLabels": labels}, "template": template},
        });
        create(&self.api(), object).await
    }

    async fn pod(&self, i: u32, owner: &StatefulSet) {
        let name = format!("llm-{i}");
        let pods: Api<Pod> = self.api();
        let node = if i < 4 { "here" } else { "there" };
        create(&pods, json!({
            "metadata": {
                "name": name, "labels": {"app": "llm", "shard": (i / 2).to_string()},
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "llm", "controller": true,
                    "uid": owner.metadata.uid,
                }],
            },
            "spec": {
                "nodeName": node, "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "x"}],
            },
        }))
        .await;
        self.ready(&name, true).await;
    }

    async fn ready(&self, name: &str, ready: bool) {
        let ready = if ready { "True" } else { "False" };
        let status =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}});
        let pods: Api<Pod> = self.api();
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.expect("patched");
    }

    /// Has a budget of groups, counted by the operator that the test plays.
    async fn budget(&self, most: u32) {
        let budgets: Api<PodUnavailableBudget> = self.api();
        let _ = budgets.delete("llm", &DeleteParams::default()).await;
        create(
            &budgets,
            json!({
                "apiVersion": PodUnavailableBudget::API_VERSION, "kind": PodUnavailableBudget::KIND,
                "metadata": {"name": "llm"},
                "spec": {
                    "selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": most,
                    "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 2},
                },
            }),
        )
        .await;
        let counted = json!({"status": {"observedGeneration": 1}});
        budgets.patch_status("llm", &PatchParams::default(), &Patch::Merge(&counted)).await.expect("counted");
    }
}

#[tokio::test]
async fn a_budget_is_told_unit_by_unit() {
    let Some(scene) = Scene::start().await else { return };
    let stage = &scene.stage;
    assert!(stage.lockstep(&["budget"]).await.err.contains("No PodUnavailableBudgets in"));
    stage.lockstep(&["budget", "llm"]).await.refuses("podunavailablebudget \"llm\" not found");
    scene.budget(1).await;

    let told = stage.lockstep(&["budget", "pub/llm"]).await;
    told.says("llm: 1 group may be taken away now. Of 3, 3 are available and 2 must stay.");
    let rows: Vec<Vec<&str>> =
        told.out.lines().skip(2).map(|line| line.split("   ").map(str::trim).collect()).collect();
    let cells = |row: &[&str]| {
        row.iter().filter(|cell| !cell.is_empty()).map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(cells(&rows[0]), ["UNIT", "READY", "NEEDED", "AVAILABLE", "EVICTING ONE"]);
    assert_eq!(cells(&rows[1]), ["group \"0\" of StatefulSet/llm", "2/2", "2", "yes", "pays"]);

    scene.ready("llm-5", false).await;
    let told = stage.lockstep(&["budget", "llm", "-o", "json"]).await.json();
    assert_eq!((&told["unavailableAllowed"], &told["currentAvailable"]), (&json!(0), &json!(2)));
    let verdicts: Vec<&Value> =
        told["units"].as_array().expect("units").iter().map(|unit| &unit["eviction"]["verdict"]).collect();
    assert_eq!(verdicts, ["refused", "refused", "free"]);
    stage.lockstep(&["budget"]).await.says("llm    groups   3       2           2         0");
}

/// A group is expected for as long as its workload stands, also when no pod of that workload does: the ledger
/// remembers it.
#[tokio::test]
async fn a_workload_without_pods_is_still_expected() {
    let Some(scene) = Scene::start().await else { return };
    let gone = scene.workload("gone").await;
    scene.budget(1).await;
    let told = async || scene.stage.lockstep(&["budget", "llm"]).await;
    told().await.says("llm: 1 group may be taken away now. Of 3, 3 are available and 2 must stay.");

    let key = format!("StatefulSet/gone@{}@apps/v1", gone.metadata.uid.expect("a UID"));
    let groups =
        RootMemory { groups: BTreeSet::from(["0".to_owned(), "1".to_owned()]), ..RootMemory::default() };
    let state = BudgetState { memory: Memory(BTreeMap::from([(key, groups)])), ..BudgetState::default() };
    let budgets: Api<PodUnavailableBudget> = scene.api();
    let ledger = json!({"status": {"ledger": state}});
    budgets.patch_status("llm", &PatchParams::default(), &Patch::Merge(&ledger)).await.expect("remembered");
    told().await.says("llm: 0 groups may be taken away now. Of 5, 3 are available and 4 must stay.");
    let waits = scene.stage.lockstep(&["drain-check", "there"]).await;
    assert_eq!(waits.code, 1, "{}{}", waits.out, waits.err);
    assert!(waits.out.contains("after 2 missing of budget llm"), "{}", waits.out);

    let sets: Api<StatefulSet> = scene.api();
    sets.delete("gone", &DeleteParams::default()).await.expect("deleted");
    told().await.says("llm: 1 group may be taken away now. Of 3, 3 are available and 2 must stay.");
}

#[tokio::test]
async fn a_drain_is_told_before_it_happens() {
    let Some(scene) = Scene::start().await else { return };
    let check = async |node: &str| scene.stage.lockstep(&["drain-check", node]).await;
    check("here").await.says("Draining here would pass at once: 4 pods to evict, 0 left where they are.");
    check("nowhere").await.refuses("nodes \"nowhere\" not found");

    scene.budget(1).await;
    check("there").await.says("would pass at once: 2 pods");
    let waits = check("node/here").await;
    assert_eq!(waits.code, 1, "{}{}", waits.out, waits.err);
    assert!(waits.out.contains("would pass, after waiting"), "{}", waits.out);
    assert!(waits.out.contains("after group \"0\" of StatefulSet/llm is back"), "{}", waits.out);

    scene.budget(0).await;
    let never = scene.stage.lockstep(&["drain-check", "here", "-o", "json"]).await;
    assert_eq!(never.code, 2, "{}{}", never.out, never.err);
    let said: Value = serde_json::from_str(&never.out).expect("JSON");
    assert_eq!((&said["verdict"], said["never"].as_array().map(Vec::len)), (&json!("never"), Some(4)));
    let why = said["never"][0]["why"].as_str().expect("why");
    assert!(why.contains("spec.maxUnavailable 0 must be 1 or more"), "{why}");
}
