//! Installing and uninstalling on a real API server.

#![allow(clippy::expect_used)]

mod common;

use std::time::{Duration, Instant};

use common::{Ran, lockstep};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use lockstep_api::budget::definition;
use lockstep_testkit::cluster::Builder;
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};

const NAMESPACE: &str = "lockstep-system";

/// A cluster in which nobody starts the operator, so that things stay as they were installed. The rest of it
/// is needed: the controller manager also ends what is deleted.
fn builder() -> Builder {
    Cluster::builder().without(Component::Scheduler)
}

async fn cluster() -> Option<Cluster> {
    builder().not_a_guest().start_or_skip().await
}

fn run(cluster: &Cluster, args: &[&str]) -> Ran {
    let kubeconfig = cluster.kubeconfig().to_str().expect("a path");
    lockstep(&[args, &["--kubeconfig", kubeconfig]].concat())
}

fn ok(cluster: &Cluster, args: &[&str]) -> String {
    let ran = run(cluster, args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {}", ran.out);
    ran.out
}

fn sets(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "LockstepSet");
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&kind))
}

fn pods(client: &Client) -> Api<Pod> {
    Api::namespaced(client.clone(), "default")
}

/// Makes a set with a pod past the webhook, which nobody answers here.
async fn make_a_set(client: &Client, name: &str) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let known = await_condition(definitions, "lockstepsets.lockstep.dev", conditions::is_crd_established());
    known.await.expect("an answer");
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let ignore = json!({"webhooks": [{"name": "validate.lockstep.dev", "failurePolicy": "Ignore"}]});
    let patch = Patch::Strategic(&ignore);
    webhooks.patch("lockstep", &PatchParams::default(), &patch).await.expect("patched");
    let template = json!({"spec": {"containers": [{"name": "main", "image": "x:1"}]}});
    let set: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "lockstep.dev/v1alpha1", "kind": "LockstepSet", "metadata": {"name": name},
        "spec": {"roles": [{"name": "web", "template": template}]},
    }))
    .expect("a set");
    let set = sets(client).create(&PostParams::default(), &set).await.expect("created");
    let pod = json!({
        "metadata": {"name": format!("{name}-0-web-0"), "ownerReferences": [{
            "apiVersion": "lockstep.dev/v1alpha1", "kind": "LockstepSet", "name": name,
            "uid": set.metadata.uid, "controller": true, "blockOwnerDeletion": true,
        }]},
        "spec": {"containers": [{"name": "main", "image": "x:1"}]},
    });
    let pod = serde_json::from_value(pod).expect("a pod");
    pods(client).create(&PostParams::default(), &pod).await.expect("created");
}

#[tokio::test]
async fn installing_again_changes_nothing_and_keeps_what_the_operator_wrote() {
    let Some(cluster) = cluster().await else { return };
    let first = ok(&cluster, &["install"]);
    for title in
        ["customresourcedefinition/lockstepsets.lockstep.dev", "deployment/lockstep", "role/lockstep"]
    {
        assert!(first.contains(&format!("{title} created")), "{first}");
    }

    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    // A certificate, in base64 as an API server wants it.
    let pem = cluster.authority().expect("an authority").certificate_pem().to_owned();
    let bundle = k8s_openapi::ByteString(pem.into_bytes());
    let bundle =
        json!({"webhooks": [{"name": "validate.lockstep.dev", "clientConfig": {"caBundle": bundle}}]});
    let patch = Patch::Strategic(&bundle);
    webhooks.patch("lockstep", &PatchParams::default(), &patch).await.expect("patched");

    let second = ok(&cluster, &["install"]);
    let lines: Vec<&str> = second.lines().filter(|line| !line.starts_with("Lockstep")).collect();
    assert_eq!(lines.len(), 15, "{second}");
    for line in lines {
        assert!(line.ends_with(" unchanged"), "{second}");
    }
    let webhook = webhooks.get("lockstep").await.expect("the webhook").webhooks.expect("one").remove(0);
    assert!(webhook.client_config.ca_bundle.is_some(), "the operator's certificate is kept");

    let changed = ok(&cluster, &["install", "--replicas", "3", "--image", "other:2"]);
    assert!(changed.contains("deployment/lockstep changed"), "{changed}");
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let spec = deployments.get("lockstep").await.expect("the deployment").spec;
    assert_eq!(spec.replicas, Some(3));
    let pod = spec.template.spec.expect("a pod");
    assert_eq!(pod.containers[0].image.as_deref(), Some("other:2"));
}

#[tokio::test]
async fn what_is_printed_is_what_kubectl_takes() {
    let Some(cluster) = cluster().await else { return };
    // Objects of a namespace cannot be tried while there is none.
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let metadata = ObjectMeta { name: Some("elsewhere".to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    namespaces.create(&PostParams::default(), &namespace).await.expect("created");
    let printed = ok(&cluster, &["install", "--dry-run", "--namespace", "elsewhere"]);
    let file = cluster.dir().expect("a folder").join("install.yaml");
    std::fs::write(&file, &printed).expect("written");
    let kubectl = cluster.program("kubectl").expect("kubectl");
    let tried = std::process::Command::new(kubectl)
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .args(["apply", "--dry-run=server", "-f"])
        .arg(&file)
        .output()
        .expect("kubectl runs");
    let said = String::from_utf8_lossy(&tried.stderr);
    assert!(tried.status.success() && !said.contains("unknown field"), "{said}");
    assert_eq!(String::from_utf8_lossy(&tried.stdout).lines().count(), 15);

    let said = ok(&cluster, &["install", "--namespace", "elsewhere"]);
    assert!(said.contains("namespace/elsewhere is not Lockstep's own and left as it is"), "{said}");
    let labels = namespaces.get("elsewhere").await.expect("a namespace").metadata.labels.unwrap_or_default();
    assert!(!labels.contains_key("pod-security.kubernetes.io/enforce"), "{labels:?}");
}

#[tokio::test]
async fn the_operator_may_run_where_only_restricted_pods_may() {
    let builder = builder().our_own("the admission plugin PodSecurity");
    let Some(cluster) = builder.start_or_skip().await else { return };
    ok(&cluster, &["install"]);
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let labels = namespaces.get(NAMESPACE).await.expect("the namespace").metadata.labels.expect("labels");
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let template = deployments.get("lockstep").await.expect("the deployment").spec.template;
    let metadata = ObjectMeta { name: Some("try".to_owned()), ..template.metadata.unwrap_or_default() };
    let pod = Pod { metadata, spec: template.spec, ..Pod::default() };
    let pods: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    pods.create(&dry, &pod).await.expect("admitted");
    // The test can fail: the same pod as root is not admitted.
    let mut root = pod;
    root.spec.as_mut().and_then(|spec| spec.security_context.as_mut()).expect("a context").run_as_non_root =
        None;
    let refused = pods.create(&dry, &root).await.expect_err("refused");
    assert!(refused.to_string().contains("restricted"), "{refused}");
}

#[tokio::test]
async fn uninstalling_leaves_sets_unless_all_is_to_go() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client();
    ok(&cluster, &["install"]);
    make_a_set(&client, "keep").await;

    let said = ok(&cluster, &["uninstall"]);
    assert!(said.contains("deployment/lockstep deleted"), "{said}");
    assert!(said.contains("What runs goes on running: 1 set with all pods."), "{said}");
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    assert!(deployments.get_opt("lockstep").await.expect("an answer").is_none());
    let roles: Api<ClusterRole> = Api::all(client.clone());
    assert!(roles.get_opt("lockstep").await.expect("an answer").is_none());
    assert!(sets(&client).get_opt("keep").await.expect("an answer").is_some());
    assert!(pods(&client).get_opt("keep-0-web-0").await.expect("an answer").is_some());
    let again = ok(&cluster, &["uninstall"]);
    assert!(!again.contains("deleted"), "{again}");

    let asked = run(&cluster, &["uninstall", "--all"]);
    assert_eq!(asked.code, 1);
    assert!(
        asked.out.contains("1 LockstepSet with all pods") && asked.out.contains("default/keep"),
        "{}",
        asked.out
    );
    assert!(asked.err.contains("nothing was deleted; say --yes"), "{}", asked.err);
    assert!(sets(&client).get_opt("keep").await.expect("an answer").is_some());

    let gone = ok(&cluster, &["uninstall", "--all", "--yes"]);
    assert!(gone.contains("lockstepset/keep deleted"), "{gone}");
    assert!(pods(&client).get_opt("keep-0-web-0").await.expect("an answer").is_none());
    assert!(gone.contains("customresourcedefinition/lockstepsets.lockstep.dev deleted"), "{gone}");
    ok(&cluster, &["uninstall", "--all", "--yes"]);
}

#[tokio::test]
async fn budgets_that_somebody_else_defined_are_left_to_them() {
    let Some(cluster) = cluster().await else { return };
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let mut foreign = definition::definition();
    foreign["metadata"]["labels"] = json!({});
    let foreign = serde_json::from_value(foreign).expect("a definition");
    definitions.create(&PostParams::default(), &foreign).await.expect("created");
    let guards: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let flag = async || {
        let spec = deployments.get("lockstep").await.expect("the deployment").spec.template.spec;
        let arguments = spec.expect("a pod").containers.remove(0).args.unwrap_or_default();
        arguments.into_iter().find(|it| it.starts_with("--budgets")).expect("the flag")
    };

    let said = ok(&cluster, &["install"]);
    let left = format!("customresourcedefinition/{} is somebody else's and left to them", definition::NAME);
    assert!(said.contains(&left), "{said}");
    assert!(guards.get_opt("lockstep-budgets").await.expect("an answer").is_none(), "no pod is guarded");
    assert_eq!(flag().await, "--budgets=false");

    // Handed over.
    let ours = json!({"metadata": {"labels": {definition::MADE_BY.0: definition::MADE_BY.1}}});
    let patch = Patch::Merge(&ours);
    definitions.patch(definition::NAME, &PatchParams::default(), &patch).await.expect("labelled");
    let said = ok(&cluster, &["install"]);
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        assert!(said.contains(&format!("{kind}/lockstep-budgets created")), "{said}");
    }
    assert_eq!(flag().await, "--budgets=true");

    let said = ok(&cluster, &["install", "--budgets", "false"]);
    assert!(said.contains("mutatingwebhookconfiguration/lockstep-budgets deleted"), "{said}");
    assert!(said.contains("validatingwebhookconfiguration/lockstep-budgets deleted"), "{said}");
    assert!(guards.get_opt("lockstep-budgets").await.expect("an answer").is_none());

    // What is left of it goes with everything else.
    let gone = ok(&cluster, &["uninstall", "--all", "--yes"]);
    assert!(gone.contains(&format!("customresourcedefinition/{} deleted", definition::NAME)), "{gone}");
}

#[tokio::test]
async fn the_operator_may_do_what_it_does_and_no_more() {
    let Some(cluster) = builder().our_own("rights (RBAC)").start_or_skip().await else { return };
    ok(&cluster, &["install"]);
    let may = |verb: &'static str, group: &'static str, resource: &'static str, rest: Value| {
        let client = cluster.client();
        async move {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let mut asked =
                json!({"verb": verb, "group": group, "resource": resource, "subresource": subresource});
            for (key, value) in rest.as_object().into_iter().flatten() {
                asked[key] = value.clone();
            }
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
                "spec": {"user": "system:serviceaccount:lockstep-system:lockstep", "resourceAttributes": asked},
            });
            let kind = GroupVersionKind::gvk("authorization.k8s.io", "v1", "SubjectAccessReview");
            let reviews: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
            let review = serde_json::from_value(review).expect("a review");
            let answer = reviews.create(&PostParams::default(), &review).await.expect("an answer");
            answer.data["status"]["allowed"] == true
        }
    };
    let home = json!({"namespace": NAMESPACE});
    let named = |name: &str| json!({"namespace": NAMESPACE, "name": name});
    assert!(may("delete", "", "pods", json!({"namespace": "default"})).await);
    assert!(may("patch", "lockstep.dev", "lockstepsets/status", json!({"namespace": "default"})).await);
    assert!(may("update", "coordination.k8s.io", "leases", named("lockstep")).await);
    assert!(may("create", "", "secrets", home.clone()).await);
    assert!(may("get", "", "secrets", named("lockstep-webhook-cert")).await);
    let webhook = json!({"name": "lockstep"});
    assert!(may("patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", webhook).await);

    assert!(!may("get", "", "secrets", named("another")).await);
    assert!(!may("list", "", "secrets", json!({})).await);
    assert!(!may("patch", "lockstep.dev", "lockstepsets", json!({"namespace": "default"})).await);
    assert!(
        !may("update", "coordination.k8s.io", "leases", json!({"namespace": "kube-system", "name": "x"}))
            .await
    );
    let other = json!({"name": "other"});
    assert!(!may("patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", other).await);
}

#[tokio::test]
async fn while_nobody_answers_only_specs_are_refused() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client();
    ok(&cluster, &["install"]);
    make_a_set(&client, "a").await;
    let again = ok(&cluster, &["install"]);
    assert!(again.contains("validatingwebhookconfiguration/lockstep changed"), "{again}");

    let sets = sets(&client);
    let patch = |patch: Value| {
        let sets = sets.clone();
        async move { sets.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await }
    };
    // The server takes up a changed configuration in its own time.
    let began = Instant::now();
    let refused = loop {
        match patch(json!({"spec": {"replicas": began.elapsed().as_millis() % 1000 + 2}})).await {
            Err(refused) => break refused.to_string(),
            Ok(_) => assert!(began.elapsed() < Duration::from_secs(180), "nothing is refused"),
        }
    };
    assert!(refused.contains("validate.lockstep.dev"), "{refused}");
    patch(json!({"metadata": {"labels": {"a": "b"}}})).await.expect("a label");
    let status = json!({"status": {"replicas": 1}});
    sets.patch_status("a", &PatchParams::default(), &Patch::Merge(&status)).await.expect("a status");
    patch(json!({"metadata": {"finalizers": ["example.com/wait"]}})).await.expect("a finalizer");
    sets.delete("a", &DeleteParams::default()).await.expect("deleted");
    patch(json!({"metadata": {"finalizers": null}})).await.expect("the last step of its end");
    assert!(sets.get_opt("a").await.expect("an answer").is_none());
}
