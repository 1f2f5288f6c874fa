//! The cases that must come out exactly, one after the other.

use std::time::Duration;

use base64::Engine;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::world::{Refusal, Where, World};

/// The leader writes a status every 200 ms at most.
const SEVERAL_TURNS: Duration = Duration::from_millis(800);

fn by_group(limit: Value, min_ready: u32) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "llm"}},
        "podGroupPolicy": {"groupLabelKey": "group", "minReadyReplicas": min_ready},
    });
    for (field, value) in limit.as_object().expect("limits") {
        spec[field] = value.clone();
    }
    spec
}

/// Refused as a budget refuses, in words that name what a person needs.
fn is_refused(refusal: Option<Refusal>, words: &[&str]) {
    let refusal = refusal.expect("refused");
    assert_eq!(refusal.code, 429, "{refusal:?}");
    assert_eq!(refusal.causes, ["DisruptionBudget"], "{refusal:?}");
    assert!(refusal.retry_after > 0, "{refusal:?}");
    for word in words {
        assert!(refusal.message.contains(word), "{word:?} in {:?}", refusal.message);
    }
}

fn is_admitted(refusal: Option<Refusal>) {
    assert!(refusal.is_none(), "{refusal:?}");
}

/// Runs a case on both clusters.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(world) = super::World::start(super::Where::Embedded, 2).await {
                    super::$name(&world).await;
                }
            })*
        }
        mod real {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(world) = super::World::start(super::Where::Real, 2).await {
                    super::$name(&world).await;
                }
            })*
        }
    };
}

on_both! {
    one_group_at_a_time,
    surplus_is_free,
    both_limits_hold,
    pods_without_a_policy,
    whoever_comes_back_is_charged_again,
    what_was_freed_and_stayed_pays,
    a_dry_run_writes_nothing,
    a_promise_is_one_write,
    an_eviction_is_for_one_pod,
    an_eviction_is_for_whom_it_found,
    two_budgets_or_none,
    what_is_not_covered_is_not_held,
    updates_in_place_pay_where_asked_for,
}

async fn one_group_at_a_time(world: &World) {
    let uid = world.groups(3, 3).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 3)).await;
    let status = world.settled("b", |status| status.current_available == 3).await;
    assert_eq!((status.total_replicas, status.desired_available, status.unavailable_allowed), (3, 2, 1));
    is_admitted(world.evict("llm-0-0").await);
    is_admitted(world.delete("llm-0-1").await);
    is_refused(
        world.evict("llm-1-0").await,
        &["/b:", "llm-1-0", "group \"1\" of CloneSet/llm", "needs 2", "has 1"],
    );
    is_refused(world.delete("llm-2-2").await, &["group \"2\""]);
    is_admitted(world.evict("llm-0-2").await);
    let status = world.settled("b", |status| status.disrupted_pods.is_empty()).await;
    assert_eq!(
        (status.total_replicas, status.unavailable_replicas),
        (3, 1),
        "a group that is gone is still expected"
    );
    is_refused(world.delete("llm-1-0").await, &["group \"1\""]);
    for pod in 0..3 {
        world.member(0, pod, &uid).await;
    }
    world.settled("b", |status| status.unavailable_allowed == 1).await;
    is_admitted(world.delete("llm-1-0").await);
}

async fn surplus_is_free(world: &World) {
    world.groups(3, 4).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 3)).await;
    world.settled("b", |status| status.current_available == 3).await;
    for group in 0..3 {
        is_admitted(world.evict(&format!("llm-{group}-3")).await);
    }
    is_admitted(world.delete("llm-1-2").await);
    is_refused(world.delete("llm-2-2").await, &["group \"2\""]);
}

async fn both_limits_hold(world: &World) {
    world.groups(3, 2).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1, "minAvailable": 3}), 2)).await;
    let status = world.settled("b", |status| status.current_available == 3).await;
    assert!(
        status.conditions.iter().any(|one| one.type_ == "DrainCanNeverFinish"),
        "{:?}",
        status.conditions
    );
    is_refused(world.delete("llm-0-0").await, &["needs 3", "has 2"]);
    is_refused(world.evict("llm-2-1").await, &["group \"2\""]);
}

async fn pods_without_a_policy(world: &World) {
    let uid = world.workload("llm", 10).await;
    world.budget("b", json!({"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": "30%"})).await;
    for pod in 0..12 {
        world.member(0, pod, &uid).await;
    }
    let status = world.settled("b", |status| status.current_available == 12).await;
    assert_eq!((status.total_replicas, status.desired_available, status.unavailable_allowed), (10, 7, 5));
    for pod in 0..3 {
        is_admitted(world.delete(&format!("llm-0-{pod}")).await);
    }
    world.settled("b", |status| (status.current_available, status.unavailable_allowed) == (9, 2)).await;
    for pod in 3..5 {
        is_admitted(world.evict(&format!("llm-0-{pod}")).await);
    }
    world.settled("b", |status| (status.current_available, status.unavailable_allowed) == (7, 0)).await;
    is_refused(world.evict("llm-0-5").await, &["pod llm-0-5", "needs 7", "has 6"]);
    world.ready("llm-0-5", false).await;
    is_admitted(world.evict("llm-0-5").await);
}

async fn whoever_comes_back_is_charged_again(world: &World) {
    let uid = world.groups(2, 1).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 1)).await;
    world.settled("b", |status| status.current_available == 2).await;
    is_admitted(world.delete("llm-0-0").await);
    is_refused(world.delete("llm-1-0").await, &["group \"1\""]);
    world.member(0, 0, &uid).await;
    world.settled("b", |status| status.unavailable_allowed == 1).await;
    is_admitted(world.delete("llm-1-0").await);
    is_refused(world.delete("llm-0-0").await, &["group \"0\""]);
}

async fn what_was_freed_and_stayed_pays(world: &World) {
    world.groups(2, 1).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 1)).await;
    world.settled("b", |status| status.current_available == 2).await;
    world.ready("llm-0-0", false).await;
    world.settled("b", |status| status.current_available == 1).await;
    let options = json!({"preconditions": {"resourceVersion": "1"}});
    let failed = world.evict_with("llm-0-0", "", options).await.expect("it fails elsewhere");
    assert_eq!(failed.code, 409, "{failed:?}");
    world.ready("llm-0-0", true).await;
    is_admitted(world.delete("llm-0-0").await);
    is_refused(world.delete("llm-1-0").await, &["group \"1\""]);
}

async fn a_dry_run_writes_nothing(world: &World) {
    world.groups(2, 1).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 1)).await;
    world.settled("b", |status| status.current_available == 2).await;
    is_admitted(
        world.delete_with("llm-0-0", &DeleteParams { dry_run: true, ..DeleteParams::default() }).await,
    );
    is_admitted(world.evict_with("llm-0-0", "dryRun=All", json!({})).await);
    is_admitted(world.evict_with("llm-0-0", "", json!({"dryRun": ["All"]})).await);
    let status = world.settled("b", |_| true).await;
    assert!(status.disrupted_pods.is_empty() && status.unavailable_allowed == 1, "{status:?}");
    is_admitted(world.delete("llm-1-0").await);
}

async fn an_eviction_is_for_one_pod(world: &World) {
    world.groups(2, 1).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 1)).await;
    world.settled("b", |status| status.current_available == 2).await;
    let options = json!({"preconditions": {"uid": "another"}});
    let refusal = world.evict_with("llm-0-0", "", options).await.expect("refused");
    assert_eq!(refusal.code, 409, "{refusal:?}");
    let status = world.settled("b", |_| true).await;
    assert!(status.disrupted_pods.is_empty(), "{status:?}");
}

/// Nobody may come back under the name before the eviction arrives: not in place of one that was leaving, not of one
/// that no budget covered, and not where there was none.
async fn an_eviction_is_for_whom_it_found(world: &World) {
    world.groups(2, 1).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 1)).await;
    world.settled("b", |status| status.current_available == 2).await;
    world.pod("other", &json!({"app": "other"}), None).await;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    world.pods().patch("llm-0-0", &PatchParams::default(), &Patch::Merge(&hold)).await.expect("patched");
    is_admitted(world.delete("llm-0-0").await);
    for name in ["llm-0-0", "llm-1-0", "other"] {
        let uid = world.pods().get(name).await.expect("a pod").metadata.uid.expect("a UID");
        if name == "llm-1-0" {
            world.settled("b", |status| status.current_available == 1).await;
            assert_eq!(world.review_eviction(name).await["status"]["code"], 429);
            continue;
        }
        let answer = world.review_eviction(name).await;
        let patch =
            base64::engine::general_purpose::STANDARD.decode(answer["patch"].as_str().unwrap_or_default());
        let patch = String::from_utf8(patch.expect("base64")).expect("text");
        assert!(answer["allowed"] == true && patch.contains(&uid), "{name}: {answer} {patch}");
    }
    let answer = world.review_eviction("nobody").await;
    assert_eq!((&answer["allowed"], &answer["status"]["code"]), (&json!(false), &json!(404)), "{answer}");
}

/// What whoever promises leaves out of the status, the leader writes after it: twice the writes, and conflicts.
async fn a_promise_is_one_write(world: &World) {
    world.groups(3, 1).await;
    world.budget("b", by_group(json!({"maxUnavailable": 2}), 1)).await;
    world.settled("b", |status| status.current_available == 3).await;
    let version = async || world.budgets().get("b").await.expect("the budget").metadata.resource_version;
    let at_rest = async || {
        let before = version().await;
        tokio::time::sleep(SEVERAL_TURNS).await;
        (version().await == before).then_some(before)
    };
    let before = loop {
        if let Some(version) = at_rest().await {
            break version;
        }
    };
    assert_eq!(world.review_deletion("llm-0-0").await["allowed"], true);
    let after = version().await;
    assert_ne!(before, after, "nothing was promised");
    tokio::time::sleep(SEVERAL_TURNS).await;
    assert_eq!(version().await, after, "written again: {:#?}", world.budgets().get("b").await);
    let status = world.settled("b", |_| true).await;
    assert!(status.conditions[0].message.ends_with("1 may go now"), "{:?}", status.conditions);
}

async fn two_budgets_or_none(world: &World) {
    world.groups(3, 1).await;
    world.budget("a", by_group(json!({"maxUnavailable": 2}), 1)).await;
    world.budget("b", by_group(json!({"maxUnavailable": 1}), 1)).await;
    for name in ["a", "b"] {
        world.settled(name, |status| status.current_available == 3).await;
    }
    is_admitted(world.delete("llm-0-0").await);
    is_refused(world.delete("llm-1-0").await, &["/b:"]);
    let status = world.settled("a", |status| status.disrupted_pods.is_empty()).await;
    assert_eq!(status.unavailable_allowed, 1, "nothing is held for a removal that the other refused");
}

async fn what_is_not_covered_is_not_held(world: &World) {
    world.groups(2, 1).await;
    world.budget("b", by_group(json!({"minAvailable": 2}), 1)).await;
    world.settled("b", |status| status.current_available == 2).await;
    world.pod("other", &json!({"app": "other"}), None).await;
    world.ready("other", true).await;
    is_admitted(world.evict("other").await);
    is_refused(world.delete("llm-0-0").await, &["group \"0\""]);
    let opt_out = json!({"metadata": {"annotations": {"pub.kruise.io/no-protect": "true"}}});
    world.pods().patch("llm-0-0", &PatchParams::default(), &Patch::Merge(&opt_out)).await.expect("patched");
    is_admitted(world.delete("llm-0-0").await);
}

async fn updates_in_place_pay_where_asked_for(world: &World) {
    world.groups(2, 1).await;
    let mut spec = by_group(json!({"maxUnavailable": 1}), 1);
    spec["protectOperations"] = json!(["DELETE", "EVICT", "UPDATE"]);
    world.budget("b", spec).await;
    world.settled("b", |status| status.current_available == 2).await;
    let image =
        |image: &str| Patch::Strategic(json!({"spec": {"containers": [{"name": "main", "image": image}]}}));
    let params = PatchParams::default();
    world.pods().patch("llm-0-0", &params, &image("vllm:2")).await.expect("updated");
    let status = world.settled("b", |status| status.unavailable_pods.contains_key("llm-0-0")).await;
    assert_eq!(status.unavailable_allowed, 0);
    let refused = world.pods().patch("llm-1-0", &params, &image("vllm:2")).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 429));
    is_refused(world.delete("llm-1-0").await, &["group \"1\""]);
    let label = json!({"metadata": {"labels": {"other": "label"}}});
    world.pods().patch("llm-1-0", &params, &Patch::Merge(&label)).await.expect("not an update of images");
}
