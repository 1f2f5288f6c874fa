//! Budgets that make no sense, as the API server answers them where Lockstep is installed.

use kube::api::{DynamicObject, PostParams};
use kube::{Api, core::ApiResource};
use lockstep_api::budget::PodUnavailableBudget;
use lockstep_testkit::Cluster;
use serde_json::{Value, json};

use super::{World, set, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_makes_no_sense_is_refused_or_said() {
    let Some(world) = World::start(Cluster::builder()).await else { return };
    let client = world.installed.cluster.client();
    let budgets: Api<DynamicObject> = Api::namespaced_with(
        client.clone(),
        &world.namespace,
        &ApiResource::erase::<PodUnavailableBudget>(&()),
    );
    let create = async |spec: &Value| {
        let object = json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
            "metadata": {"name": "wrong"}, "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        budgets.create(&PostParams::default(), &object).await
    };
    let pods = json!({"matchLabels": {"app": "llama"}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let grouped = |policy: Value| json!({"selector": pods, "maxUnavailable": 1, "podGroupPolicy": policy});
    for (spec, words) in [
        (json!({"maxUnavailable": 1}), "needs one of selector, targetRef and targetReference"),
        (json!({"selector": pods, "targetRef": target, "maxUnavailable": 1}), "only one of them is accepted"),
        (json!({"selector": pods}), "needs maxUnavailable, minAvailable or both"),
        (json!({"selector": pods, "maxUnavailable": "101%"}), "spec.maxUnavailable"),
        (json!({"selector": pods, "minAvailable": "200%"}), "spec.minAvailable"),
        (grouped(json!({"groupLabelKey": "shard", "minReadyReplicas": 0})), "minReadyReplicas"),
        (grouped(json!({"groupLabelKey": "two words"})), "groupLabelKey"),
        (
            json!({"selector": {"matchLabels": {"two words": "x"}}, "maxUnavailable": 1}),
            "must be a label's key",
        ),
        (
            json!({"selector": {"matchLabels": {"app": "-x-"}}, "maxUnavailable": 1}),
            "must be a label's value",
        ),
    ] {
        let refused = create(&spec).await.expect_err(&spec.to_string());
        let kube::Error::Api(status) = &refused else { panic!("{spec}: {refused}") };
        assert!((400..500).contains(&status.code) && status.code != 429, "{spec}: {status:?}");
        assert!(status.message.contains(words), "{spec}: {}", status.message);
    }

    // More ready pods than any group has is no mistake that a budget shows alone: its status says it.
    world.apply(set("vllm:1")).await;
    create(&grouped(json!({"groupLabelKey": "lockstep.dev/group", "minReadyReplicas": 9})))
        .await
        .expect("taken");
    until("it is said that no group can ever be available", async || {
        let budget = budgets.get("wrong").await.expect("the budget");
        let conditions = budget.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|it| {
            it["type"] == "MinReadyReplicasImpossible"
                && it["message"].as_str().is_some_and(|said| said.contains("the largest has 2 pods"))
        })
    })
    .await;
}
