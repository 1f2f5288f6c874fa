//! A cluster in which somebody else has defined the kind: nothing of theirs is touched, and that is said.

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use lockstep_api::budget::{PodUnavailableBudget, definition};
use lockstep_testkit::Cluster;
use lockstep_testkit::neighbours::kruise;
use serde_json::{Value, json};
use tokio::process::Command;

use super::cluster::LOCKSTEP;
use super::installed::until;

/// Runs the operator, and `lockstep install`, in a cluster that knows the kind from somebody else.
async fn is_respected(cluster: &Cluster) {
    let client = cluster.client();
    let before = defined(&client).await;
    let operator = cluster.operator(LOCKSTEP, &["--budgets=true", "--dialects=none"]).await;
    let mut operator = operator.expect("an operator");
    budget_and_pod(&client).await;
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    until("it is said whose the kind is", async || {
        let told = events.list(&ListParams::default()).await.expect("events");
        told.iter().any(|event| {
            event.involved_object.name.as_deref() == Some(definition::NAME)
                && event.reason.as_deref() == Some("NotServed")
                && event.message.as_deref().is_some_and(|said| said.contains("Lockstep leaves budgets alone"))
        })
    })
    .await;
    let installed = Command::new(LOCKSTEP)
        .args(["install", "--kubeconfig"])
        .arg(cluster.kubeconfig())
        .output()
        .await
        .expect("it runs");
    let said = String::from_utf8_lossy(&installed.stdout);
    assert!(installed.status.success() && said.contains("is somebody else's and left to them"), "{said}");
    assert_eq!(operator.ended(), None, "it goes on");
    assert_eq!(defined(&client).await, before, "the definition is as it was, to the byte");
    let budgets: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "default", &ApiResource::erase::<PodUnavailableBudget>(&()));
    let budget = budgets.get("theirs").await.expect("the budget");
    assert_eq!(budget.data["status"], Value::Null, "nobody of ours counts it");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    pods.delete("any", &DeleteParams::default()).await.expect("nobody of ours guards it");
}

/// The definition, to the byte.
async fn defined(client: &Client) -> String {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    serde_json::to_string(&api.get(definition::NAME).await.expect("defined")).expect("JSON")
}

async fn budget_and_pod(client: &Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let containers = json!([{"name": "main", "image": "any"}]);
    let pod =
        json!({"metadata": {"name": "any", "labels": {"app": "any"}}, "spec": {"containers": containers}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).expect("a pod")).await.expect("created");
    let budgets: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "default", &ApiResource::erase::<PodUnavailableBudget>(&()));
    let object = DynamicObject::new("theirs", &ApiResource::erase::<PodUnavailableBudget>(&()));
    let spec = json!({"selector": {"matchLabels": {"app": "any"}}, "maxUnavailable": 0});
    budgets.create(&PostParams::default(), &object.data(json!({"spec": spec}))).await.expect("created");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_somebody_else_defined() {
    let Some(cluster) = Cluster::builder().not_a_guest().start_or_skip().await else { return };
    let mut foreign = definition::definition();
    foreign["metadata"]["labels"] = json!({});
    cluster.define(&foreign).await.expect("defined");
    is_respected(&cluster).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Kruise from Go modules, some minutes: see docs/testing.md"]
async fn the_kinds_of_kruise() {
    let Some(cluster) = Cluster::builder().not_a_guest().start_or_skip().await else { return };
    kruise::define_kinds(&cluster).await.expect("defined");
    is_respected(&cluster).await;
}
