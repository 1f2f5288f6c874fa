//! Kinds that are there from the start are known to the garbage collector when their first object goes.

#![allow(clippy::expect_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Resource, ResourceExt};
use lockstep_testkit::Cluster;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An object of a kind that the collector learned of late it asks after every 1000 s.
const SOON: Duration = Duration::from_secs(120);

/// More than it takes for the collector to turn from an owner that it has only heard of.
const ADOPTED: usize = 12;

fn toys() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Toy", "plural": "toys"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open}}],
        },
    })
}

async fn create<K: Resource + Clone + Serialize + DeserializeOwned + std::fmt::Debug>(
    api: &Api<K>,
    object: Value,
) -> K {
    let object = serde_json::from_value(object).expect("an object");
    api.create(&PostParams::default(), &object).await.expect("created")
}

#[tokio::test]
async fn what_an_owner_leaves_is_collected_even_if_others_have_turned_from_it() {
    let builder = Cluster::builder().our_own("the real garbage collector").kinds([toys()]);
    let Some(cluster) = builder.start_or_skip().await else { return };
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Toy"));
    let toys: Api<DynamicObject> = Api::default_namespaced_with(cluster.client(), &kind);
    let toy =
        create(&toys, json!({"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "toy"}}))
            .await;
    let owned = |name: &str| {
        let owner = json!({
            "apiVersion": "example.com/v1", "kind": "Toy", "name": "toy", "uid": toy.uid(),
            "controller": true, "blockOwnerDeletion": true,
        });
        json!({"metadata": {"name": name, "ownerReferences": [owner]}})
    };
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let left = create(&maps, owned("left")).await;
    for i in 0..ADOPTED {
        let name = format!("adopted-{i}");
        create(&maps, owned(&name)).await;
        let free = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
        maps.patch(&name, &PatchParams::default(), &free).await.expect("it is nobody's");
    }
    toys.delete("toy", &DeleteParams::default()).await.expect("deleted");

    let uid = left.uid().expect("a UID");
    let gone = await_condition(maps.clone(), "left", conditions::is_deleted(&uid));
    if tokio::time::timeout(SOON, gone).await.is_err() {
        panic!("it stays; the collector knows:\n{}", cluster.known_to_the_collector(&[uid]).await);
    }
    let kept = maps.list(&Default::default()).await.expect("maps").items;
    assert_eq!(kept.iter().filter(|map| map.name_any().starts_with("adopted-")).count(), ADOPTED);
}
