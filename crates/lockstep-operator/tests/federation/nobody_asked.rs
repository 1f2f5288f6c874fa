//! What nobody asks for is as Karmada makes it.

use kube::api::{Api, DynamicObject, GroupVersionKind, ListParams};
use kube::core::ApiResource;
use lockstep_testkit::federation::case::{CASES, NAME};
use serde_json::{Value, json};

use crate::world::{World, apply_in};

const ANNOTATION: &str = "federation.lockstep.dev/rollout";

/// A Deployment that does not ask, and kinds that cannot: their Works are byte for byte what they are where our webhook
/// is not. Takes the webhook away.
pub async fn works_are_as_karmada_made_them(world: &World) {
    let beside = works_of(world, "nobody-asked").await;
    world.take_the_webhook_away().await;
    let alone = works_of(world, "karmada-only").await;
    assert!(beside.iter().all(|work| work.contains("demo:v1") || work.contains("ConfigMap")));
    assert_eq!(beside, alone);
}

/// The Works of a Deployment and a ConfigMap, as the API server writes them, but for what is made up anew each time.
async fn works_of(world: &World, prefix: &str) -> Vec<String> {
    let client = world.federation().client();
    let namespace = world.federation().new_namespace(prefix).await.expect("a namespace");
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
    let mut written = Vec::new();
    for work in until_works(&client, &namespace).await {
        let text = |field: &str| work["metadata"][field].as_str().unwrap_or_default();
        let path =
            format!("/apis/work.karmada.io/v1alpha1/namespaces/{}/works/{}", text("namespace"), text("name"));
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        let raw = client.request_text(request).await.expect("a Work");
        written.push(without_chance(&raw, &work, &namespace));
    }
    written.sort();
    written
}

/// A Work as it is written, up to its status, with names for whatever is made up anew each time.
fn without_chance(raw: &str, work: &Value, namespace: &str) -> String {
    let raw = raw.split("\"status\":").next().unwrap_or_default();
    let start = raw.find("\"spec\":").expect("a spec");
    let metadata = &work["metadata"];
    let kept = json!({"labels": metadata["labels"], "annotations": metadata["annotations"], "finalizers": metadata["finalizers"]});
    let mut text = format!("{} {kept} {}", metadata["namespace"], &raw[start..]);
    let manifest = &work["spec"]["workload"]["manifests"][0]["metadata"];
    let made_up = [
        (namespace, "NAMESPACE"),
        (metadata["labels"]["work.karmada.io/permanent-id"].as_str().unwrap_or_default(), "WORK"),
        (
            metadata["labels"]["resourcebinding.karmada.io/permanent-id"].as_str().unwrap_or_default(),
            "BINDING",
        ),
        (
            manifest["labels"]["propagationpolicy.karmada.io/permanent-id"].as_str().unwrap_or_default(),
            "POLICY",
        ),
        (manifest["annotations"]["resourcetemplate.karmada.io/uid"].as_str().unwrap_or_default(), "TEMPLATE"),
        (metadata["name"].as_str().unwrap_or_default(), "NAME"),
    ];
    for (value, name) in made_up.into_iter().filter(|(value, _)| !value.is_empty()) {
        text = text.replace(value, name);
    }
    text
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
