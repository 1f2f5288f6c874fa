//! Mistakes others made first, each with a test that it is not made here.

mod budget_support;

use budget_support::*;
use lockstep_core::budget::FreeReason::*;
use lockstep_core::budget::*;
use lockstep_core::number::IntOrPercent::Int;

/// Pods without the group label were for ever unavailable and could be deleted freely.
#[test]
fn kruise_2278_unlabelled_pods_count_and_are_protected() {
    let mut scene = Scene::groups(3, 2, grouped(1, 2));
    scene.view.pods.extend([pod("loose-0", None), pod("loose-1", None)]);
    scene.seen();
    let figures = scene.figures();
    assert_eq!((figures.total_replicas, figures.current_available, figures.desired_available), (5, 5, 4));
    assert_eq!(scene.account().conditions(), [Condition::PodsMissingGroupLabel { pods: 2 }]);
    assert_eq!(scene.evict("loose-0"), Verdict::Pays, "a minimum of one, whatever groups need");
    refused(&scene.evict("loose-1"));
    refused(&scene.evict("0-0"));
    scene.gone("loose-0");
    assert_eq!(scene.figures().total_replicas, 5, "and is still expected when it is gone");
    refused(&scene.evict("loose-1"));
}

/// A surplus pod of a group cost the budget, though the group stayed available without it.
#[test]
fn kruise_2278_surplus_pods_are_free() {
    let mut scene = Scene::groups(3, 4, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), free(Surplus));
    assert_eq!(scene.figures().unavailable_allowed, 1);
    assert_eq!(scene.figures().current_available, 3);
}

/// Group 0 of one LeaderWorkerSet and group 0 of another were taken for one group.
#[test]
fn kruise_2278_group_index_of_two_roots_does_not_collide() {
    let mut scene = Scene::groups(2, 2, grouped(1, 2));
    let other = scene.view.pods.clone().into_iter().map(|pod| Pod {
        uid: uid(&format!("b-{}", pod.name)),
        name: format!("b-{}", pod.name),
        root: Some("other".to_owned()),
        ..pod
    });
    scene.view.pods.extend(other.collect::<Vec<_>>());
    scene.view.roots.insert("other".to_owned(), counted(2));
    scene.seen();
    assert_eq!((scene.figures().total_replicas, scene.figures().current_available), (4, 4));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    refused(&scene.evict("b-0-0"));
    assert_eq!(scene.evict("0-1"), free(UnitLeaving));
}

/// With a LeaderWorkerSet as its target only the leaders were seen: a worker could go unnoticed.
#[test]
fn kruise_2278_a_worker_counts_as_much_as_its_leader() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-2"), Verdict::Pays);
    refused(&scene.evict("1-0"));
}

/// A group that can never be available was silently counted as unavailable.
#[test]
fn kruise_2278_an_impossible_minimum_is_a_condition() {
    let scene = Scene::groups(3, 2, grouped(1, 3));
    assert_eq!(
        scene.account().conditions(),
        [Condition::MinReadyReplicasImpossible { groups: 3, largest: 2 }]
    );
}

/// When a second budget refused, what the first had charged stayed charged.
#[test]
fn kruise_a_charge_is_given_back() {
    let mut first = Scene::plain(4, 4, per_pod(Int(1)));
    let decision = first.decide("p0");
    let account = first.account();
    first.budget.state.record(&account, &decision.write);
    assert_eq!(first.figures().unavailable_allowed, 0);
    assert_eq!(first.budget.state.give_back(&decision.write), 1);
    assert_eq!(first.figures().unavailable_allowed, 1);
    assert_eq!(first.budget.state.give_back(&decision.write), 0, "once");
}

/// A removal that failed elsewhere kept its charge.
#[test]
fn kruise_a_charge_for_a_pod_that_stays_lapses() {
    let mut scene = Scene::plain(4, 4, per_pod(Int(1)));
    assert_eq!(scene.evict("p0"), Verdict::Pays);
    scene.seen();
    scene.wait(120);
    assert_eq!(scene.seen().lapsed.len(), 1);
    assert_eq!(scene.figures().unavailable_allowed, 1);
}

/// The refusal was final (403), so that a drain gave up instead of waiting.
#[test]
fn kruise_a_refusal_says_when_to_ask_again() {
    let mut scene = Scene::plain(4, 4, per_pod(Int(1)));
    assert_eq!(scene.evict("p0"), Verdict::Pays);
    let verdict = scene.evict("p1");
    let shortage = refused(&verdict);
    assert!(shortage.retry_after.0 > 0 && !shortage.never);
    assert_eq!(
        shortage.to_string(),
        "budget inference/budget: removing pod p1 would make pod p1 unavailable; \
         it needs 3 other units available and has 2"
    );
    // Out of retries for a fresh view is a refusal of the same kind.
    let account = scene.account();
    let gave_up = account.gave_up(&uid("p1"), NotYet::NeedsLiveView, scene.now).unwrap();
    assert!(gave_up.retry_after.0 > 0);
}
