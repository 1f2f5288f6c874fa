//! What nobody asks for is as Karmada makes it.

use kube::api::{Api, DynamicObject, GroupVersionKind, ListParams};
use kube::core::ApiResource;
use lockstep_testkit::federation::case::{CASES, NAME};
use serde_json::{Value, json};

use crate::world::{World, apply_in};

const ANNOTATION: &str = "federation.lockstep.dev/rollout";

/// A Deployment that does not ask, and kinds that cannot: their Works carry what the template says and nothing of ours.
pub async fn works_are_as_karmada_made_them(world: &World) {
    let client = world.federation().client();
    let namespace = world.federation().new_namespace("nobody-asked").await.expect("a namespace");
    let case = CASES.first().expect("a case");
    let members: Vec<&str> = world.federation().members().iter().map(|member| member.name()).collect();
    let mut deployment = case.manifest(&namespace, "demo:v1");
    let asked = deployment["metadata"]["annotations"].as_object_mut().and_then(|it| it.remove(ANNOTATION));
    assert!(asked.is_some(), "the case asks");
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": namespace},
        "data": {"a": "b"},
    });
    let mut policy = case.policy(&namespace, &members, case.split);
    policy["spec"]["resourceSelectors"] = json!([
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": NAME},
    ]);
    for object in [&policy, &settings, &deployment] {
        apply_in(&client, &namespace, object).await;
    }
    let works = until_works(&client, &namespace).await;
    for work in works {
        let manifest = &work["spec"]["workload"]["manifests"][0];
        assert!(!work.to_string().contains("federation.lockstep.dev"), "{work:#}");
        if manifest["kind"] == "Deployment" {
            assert_eq!(manifest["spec"]["strategy"], deployment["spec"]["strategy"]);
            assert_eq!(manifest["spec"]["template"]["spec"]["containers"][0]["image"], "demo:v1");
        } else {
            assert_eq!(manifest["data"], settings["data"]);
        }
    }
}

/// Waits until Karmada has made the four Works.
async fn until_works(client: &kube::Client, namespace: &str) -> Vec<Value> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("work.karmada.io", "v1alpha1", "Work"));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    for _ in 0..120 {
        let works = api.list(&ListParams::default()).await.expect("works").items;
        let works = works.into_iter().map(|it| serde_json::to_value(it).expect("JSON"));
        let ours: Vec<Value> = works
            .filter(|it| {
                let manifest = &it["spec"]["workload"]["manifests"][0];
                manifest["metadata"]["namespace"] == namespace
            })
            .collect();
        if ours.len() >= 4 {
            return ours;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    panic!("Karmada made no Works");
}
