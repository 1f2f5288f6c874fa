//! What the host says of a workload while it rolls: whoever asks only there is told the truth.

use std::collections::BTreeSet;
use std::pin::pin;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, GroupVersionKind};
use kube::core::ApiResource;
use kube::runtime::watcher::Event;
use lockstep_feed::{InitialList, Source, feed};
use lockstep_testkit::cluster::apply;
use lockstep_testkit::federation::Site;
use lockstep_testkit::federation::case::{Case, FIRST, NAME};
use tokio::time::timeout;

const NEW: &str = "demo:v2";

/// The template says what all members say, and that it is rolled out no sooner than they are.
pub async fn nothing_is_rolled_out_too_soon<S: Site>(case: &Case<'_>, site: &S) {
    let namespace = site.new_namespace("told").await.expect("a namespace");
    let names: Vec<String> = site.names().into_iter().take(case.split.len()).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    let policy = case.policy(&namespace, &members, case.split);
    apply(&site.client(), &policy).await.expect("a policy");
    for image in [FIRST, NEW] {
        let applied = apply(&site.client(), &case.manifest(&namespace, image)).await.expect("a workload");
        let rolled = until_rolled_out(site, case, &namespace, applied.metadata.generation);
        let Ok(told) = timeout(S::PATIENCE, rolled).await else {
            let stands = templates(site, case, &namespace).get(NAME).await.expect("the workload");
            panic!("{} {image}: not rolled out, says the host: {:?}", case.name, stands.data["status"]);
        };
        assert_eq!(images(site, &namespace).await, [image.to_owned()].into(), "{}", case.name);
        let some = 1..u64::from(case.replicas());
        assert!(told.iter().any(|new| some.contains(new)), "{} {image}: {told:?}", case.name);
    }
    assert_eq!(collected(site, case, &namespace).await, names, "{}", case.name);
}

/// Follows a template until it is said to be rolled out: how many were said to be new meanwhile.
async fn until_rolled_out<S: Site>(
    site: &S,
    case: &Case<'_>,
    namespace: &str,
    generation: Option<i64>,
) -> BTreeSet<u64> {
    let mut told = BTreeSet::new();
    let mut events = pin!(feed(Source::new(templates(site, case, namespace), InitialList::Paged)));
    while let Some(event) = events.next().await {
        let (Event::InitApply(template) | Event::Apply(template)) = event else { continue };
        if template.metadata.generation != generation {
            continue;
        }
        if is_rolled_out(&template) {
            break;
        }
        told.insert(template.data["status"]["updatedReplicas"].as_u64().unwrap_or_default());
    }
    told
}

fn templates<S: Site>(site: &S, case: &Case<'_>, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(site.client(), namespace, &case.kind.resource())
}

/// As `kubectl rollout status` reads it, of whatever is counted.
fn is_rolled_out(template: &DynamicObject) -> bool {
    let (spec, status) = (&template.data["spec"], &template.data["status"]);
    let counts = ["replicas", "updatedReplicas", "readyReplicas"];
    status["observedGeneration"].as_i64() >= template.metadata.generation
        && counts.iter().all(|count| status[*count] == spec["replicas"])
}

/// The images of the pods that stay, in all members.
async fn images<S: Site>(site: &S, namespace: &str) -> BTreeSet<String> {
    let mut images = BTreeSet::new();
    for member in 0..site.names().len() {
        let pods: Api<Pod> = Api::namespaced(site.member(member), namespace);
        let pods = pods.list(&Default::default()).await.expect("pods").items;
        let stay = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        images.extend(stay.filter_map(|pod| pod.spec?.containers.into_iter().next()?.image));
    }
    images
}

/// The members whose status the binding has.
async fn collected<S: Site>(site: &S, case: &Case<'_>, namespace: &str) -> Vec<String> {
    let kind = GroupVersionKind::gvk("work.karmada.io", "v1alpha2", "ResourceBinding");
    let bindings: Api<DynamicObject> =
        Api::namespaced_with(site.client(), namespace, &ApiResource::from_gvk(&kind));
    let name = format!("{NAME}-{}", case.kind.resource().kind.to_lowercase());
    let binding = bindings.get(&name).await.expect("a binding");
    let items = binding.data["status"]["aggregatedStatus"].as_array().cloned().unwrap_or_default();
    let applied = items.iter().filter(|it| it["applied"] == true && it["status"]["replicas"].is_u64());
    applied.filter_map(|it| it["clusterName"].as_str()).map(str::to_owned).collect()
}
