//! What the operator does with a set whose pods come from somebody else, in virtual time.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use lockstep_api::label;
use lockstep_operator::set::resource;
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use serde_json::{Value, json};

use crate::inside::{Operator, nodes};

async fn names(client: &Client) -> Vec<String> {
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let pods = pods.list(&ListParams::default()).await.expect("pods");
    pods.iter().map(ResourceExt::name_any).collect()
}

fn set() -> Value {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "vllm:1"}]}});
    json!({
        "apiVersion": lockstep_api::API_VERSION, "kind": lockstep_api::KIND,
        "metadata": {"name": "llama", "annotations": {label::MIGRATION: label::HELD}},
        "spec": {"roles": [{"name": "decode", "replicas": 2, "template": template}]},
    })
}

#[test]
fn nothing_is_made_before_all_pods_are_known_whatever_they_are_called() {
    in_virtual_time(async {
        let embedded = Embedded::start(0, &nodes()).await.expect("an embedded cluster");
        let client = embedded.client();
        let _operator = Operator::start(&embedded, client.clone());
        let sets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource());
        let how = PatchParams::apply("someone").force();
        let made = sets.patch("llama", &how, &Patch::Apply(&set())).await.expect("a set");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(names(&client).await.is_empty(), "a held set has nothing created");
        let status = &sets.get("llama").await.expect("the set").data["status"];
        assert_eq!(status["rollout"]["blocked"][0]["reason"], "Migrating", "{status:#}");

        // A pod that was taken over under a name that the set would not give it, and at once the set goes.
        let parsed = lockstep_api::parse_json(&set()).expect("it is valid");
        let revision = lockstep_api::lower(&parsed.set).roles[0].revision.to_string();
        let labels = json!({
            label::SET: "llama", label::GROUP: "0", label::ROLE: "decode", label::INSTANCE: "1",
            label::MEMBER: "decode", label::POD: "0", label::REVISION: revision, label::INCARNATION: "1",
        });
        let owner = json!({
            "apiVersion": lockstep_api::API_VERSION, "kind": lockstep_api::KIND, "name": "llama",
            "uid": made.uid(), "controller": true,
        });
        let pod = json!({
            "metadata": {"name": "llama-x7k2p", "labels": labels, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "main", "image": "vllm:1"}]},
        });
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let pod = serde_json::from_value(pod).expect("a pod");
        pods.create(&PostParams::default(), &pod).await.expect("created");
        let go = json!({"metadata": {"annotations": {label::MIGRATION: label::ADOPTED}}});
        sets.patch("llama", &PatchParams::default(), &Patch::Merge(go)).await.expect("patched");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(names(&client).await, ["llama-0-decode-0", "llama-x7k2p"]);
        let set = sets.get("llama").await.expect("the set");
        assert_eq!(set.data["status"]["rollout"]["phase"], "Complete", "{:#}", set.data["status"]);
    });
}
