//! What others shipped, shown to be impossible on a real control plane: each test is named after the bug.

#![allow(clippy::expect_used)]

mod cluster;

use std::time::Duration;

use cluster::{LOCKSTEP, START, Stage, gang, role, set, with_operator};
use futures::StreamExt;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::What;
use lockstep_testkit::Cluster;
use lockstep_testkit::scenario::{Scenario, Verdict, World};

fn given(from: &str) -> Scenario {
    let (shortest, longest) = START;
    Scenario::given(from).expect("a scenario").starting_in(shortest, longest).terminating_in(shortest)
}

async fn played(scenario: &Scenario) -> Option<Verdict> {
    let (cluster, _operator) = with_operator(Cluster::builder(), &[]).await?;
    Some(scenario.play(&World::Cluster(&cluster)).await.expect("played"))
}

fn creates<'a>(verdict: &'a Verdict, name: &'a str) -> impl Iterator<Item = &'a What> {
    verdict
        .events
        .iter()
        .map(|event| &event.what)
        .filter(move |what| matches!(what, What::Create { of, .. } if of.to_string() == name))
}

#[tokio::test]
async fn grove_697_a_ready_pod_with_an_old_crash_is_not_unhealthy() {
    let web = |image: &str| set("", &[role("web", 3, image, "")]);
    let scenario = given(&web("1"))
        .strike(Duration::ZERO, "web", 0, Blow::Crash)
        .strike(Duration::ZERO, "web", 2, Blow::Crash)
        .change(Duration::from_secs(3), &web("2"))
        .expect("a change");
    let Some(verdict) = played(&scenario).await else { return };
    verdict.assert_kept();
}

#[tokio::test]
async fn grove_400_565_a_second_and_a_third_update_in_mid_update_end_with_the_last() {
    let web = |image: &str| set("replicas: 2", &[role("web", 3, image, ""), role("cache", 2, image, "")]);
    let soon = |n: u64| Duration::from_millis(n);
    let scenario = given(&web("1"))
        .change(Duration::ZERO, &web("2"))
        .and_then(|given| given.change(soon(700), &web("3")))
        .and_then(|given| given.change(soon(1100), &web("4")))
        .and_then(|given| given.change(soon(1500), &web("2")))
        .expect("changes");
    let Some(verdict) = played(&scenario).await else { return };
    verdict.assert_kept();
}

#[tokio::test]
async fn grove_template_by_suffix_every_role_gets_its_own_template() {
    let two = |image: &str| {
        set("", &[role("worker", 2, image, ""), role("prefill-worker", 2, &format!("p{image}"), "")])
    };
    let Some((cluster, _operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let stage = Stage::new(&cluster).await;
    for image in ["1", "2"] {
        stage.apply(&two(image)).await;
        stage.until_ready().await;
        for pod in stage.pods().await {
            let wanted =
                if pod.name.contains("prefill") { format!("vllm:p{image}") } else { format!("vllm:{image}") };
            assert_eq!(pod.image, wanted, "{}", pod.name);
        }
    }
}

#[tokio::test]
async fn kthena_1661_a_deleted_pod_comes_back_without_a_restart_policy() {
    let Some((cluster, _operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let stage = Stage::new(&cluster).await;
    stage.apply(&set("", &[gang("prefill", 1, 2, "1", "restartPolicy: {type: None}")])).await;
    stage.until_ready().await;
    let uids = async || stage.kubectl(&["get", "pods", "-o", "jsonpath={.items[*].metadata.uid}"]).await;
    let before = uids().await;
    stage.kubectl(&["delete", "pod", "llama-0-prefill-0-worker-1"]).await;
    stage.until("three ready pods again", |pods| pods.iter().filter(|pod| pod.ready).count() == 3).await;
    let after = uids().await;
    let same = before.split(' ').filter(|uid| after.contains(uid)).count();
    assert_eq!(same, 2, "only the one that was deleted is new: {before} and {after}");
}

#[tokio::test]
async fn an_instance_is_replaced_as_a_whole_when_one_of_its_pods_crashes() {
    let pair = |image: &str| set("", &[gang("prefill", 2, 1, image, "")]);
    let scenario = given(&pair("1")).strike(Duration::ZERO, "prefill", 1, Blow::Crash);
    let Some(verdict) = played(&scenario).await else { return };
    verdict.assert_kept();
    assert_eq!(creates(&verdict, "0/prefill-1").count(), 2);
    assert_eq!(creates(&verdict, "0/prefill-0").count(), 1);
}

#[tokio::test]
async fn lws_1048_a_crashing_instance_is_not_recreated_thirty_times() {
    let Some((cluster, _operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let stage = Stage::new(&cluster).await;
    let crashing = gang("prefill", 1, 1, "1", "restartPolicy: {baseDelaySeconds: 60}")
        .replace("{spec:", "{metadata: {annotations: {kubelet.lockstep.dev/ready-after: 100ms, kubelet.lockstep.dev/crash-after: 500ms, kubelet.lockstep.dev/crashes: '9'}}, spec:");
    stage.apply(&set("", &[crashing])).await;
    let made = || {
        let audit = cluster.audit().expect("the audit log");
        let made = audit.writes().filter(|entry| {
            entry.request.resource == "pods"
                && entry.request.verb.as_str() == "create"
                && entry.request.user_agent.contains("lockstep-operator")
        });
        made.count()
    };
    // The first restart is at once, the second waits for a minute: in the twenty seconds after it there are two lives.
    stage.until("the first restart", |_| made() >= 4).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(made(), 4, "two lives of two pods");
    let status = stage.kubectl(&["get", "lss/llama", "-o", "jsonpath={.status.restarts[0]}"]).await;
    assert!(status.contains("llama-0/prefill-0"), "{status}");
}

#[tokio::test]
async fn dynamo_3567_ready_means_updated_available_and_seen() {
    let Some((cluster, _operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let stage = Stage::new(&cluster).await;
    let web = |image: &str| set("", &[role("web", 4, image, "")]);
    let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "LockstepSet");
    let resource = ApiResource::from_gvk_with_plural(&kind, "lockstepsets");
    let sets: Api<DynamicObject> = Api::namespaced_with(cluster.client(), &stage.namespace, &resource);
    let mut sets = watcher(sets, watcher::Config::default()).applied_objects().boxed();
    stage.apply(&web("1")).await;
    stage.until_ready().await;
    stage.apply(&web("2")).await;
    let mut seen = 0;
    while let Some(Ok(set)) = sets.next().await {
        let status = &set.data["status"];
        let ready =
            status["conditions"].as_array().into_iter().flatten().find(|it| it["type"] == "Ready").cloned();
        let Some(ready) = ready.filter(|it| it["status"] == "True") else { continue };
        let observed = status["observedGeneration"].as_i64();
        assert_eq!(ready["observedGeneration"].as_i64(), observed);
        assert_eq!(status["roles"][0]["updatedReady"], 4, "{status}");
        assert_eq!(status["revision"]["stable"], status["revision"]["update"], "{status}");
        seen += 1;
        if observed == Some(2) {
            break;
        }
    }
    assert!(seen >= 1);
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let Some((cluster, _operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let stage = Stage::new(&cluster).await;
    let kubectl = [
        "run",
        "llama-0-web-0",
        "--image=foreign",
        "--labels=lockstep.dev/set=llama,lockstep.dev/group=0,lockstep.dev/role=web,lockstep.dev/instance=0",
    ];
    stage.kubectl(&kubectl).await;
    stage.apply(&set("", &[role("web", 2, "1", "")])).await;
    stage
        .until("the other pod, and the foreign one untouched", |pods| {
            pods.iter().any(|pod| pod.name == "llama-0-web-1" && pod.ready)
                && pods.iter().any(|pod| pod.name == "llama-0-web-0" && pod.image == "foreign")
        })
        .await;
    let said = "--for=jsonpath={.status.rollout.blocked[0].reason}=CreateFailed";
    stage.kubectl(&["wait", "lss/llama", said, "--timeout=20s"]).await;
    let said =
        stage.kubectl(&["get", "lss/llama", "-o", "jsonpath={.status.rollout.blocked[0].message}"]).await;
    assert!(said.contains("llama-0-web-0"), "{said}");
    stage.kubectl(&["delete", "pod", "llama-0-web-0"]).await;
    stage.until_ready().await;
}

#[tokio::test]
async fn pods_that_are_orphaned_stay_and_are_nobodys() {
    let Some((cluster, mut operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let stage = Stage::new(&cluster).await;
    stage.apply(&set("", &[role("web", 2, "1", "")])).await;
    stage.until_ready().await;
    stage.kubectl(&["delete", "lss/llama", "--cascade=orphan"]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(stage.pods().await.iter().filter(|pod| pod.ready).count(), 2);
    assert_eq!(operator.ended(), None, "{LOCKSTEP} goes on");
}
