//! The cases that must come out exactly.

mod budget_support;

use budget_support::*;
use lockstep_core::budget::FreeReason::*;
use lockstep_core::budget::*;
use lockstep_core::number::IntOrPercent::{Int, Percent};
use lockstep_core::time::{Millis, Time};

#[test]
fn three_groups_of_three_lose_one_whole_group_and_no_second() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(
        scene.figures(),
        Figures {
            current_available: 3,
            desired_available: 2,
            unavailable_allowed: 1,
            total_replicas: 3,
            unavailable_replicas: 0
        }
    );
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    assert_eq!(scene.evict("0-1"), free(UnitLeaving));
    scene.gone("0-0");
    assert_eq!(scene.evict("0-2"), free(UnitBroken));
    for name in ["1-0", "1-1", "1-2", "2-0"] {
        let verdict = scene.evict(name);
        let shortage = refused(&verdict);
        assert_eq!((shortage.needs, shortage.has, shortage.never), (2, 1, false), "{name}");
    }
    for name in ["0-1", "0-2"] {
        scene.gone(name);
    }
    assert_eq!(scene.figures().unavailable_replicas, 1);
    scene.back("0-0", Some("0"));
    scene.back("0-1", Some("0"));
    refused(&scene.evict("1-0"));
    scene.back("0-2", Some("0"));
    assert_eq!(scene.evict("1-0"), Verdict::Pays);
}

#[test]
fn three_groups_of_four_spare_one_pod_each() {
    let mut scene = Scene::groups(3, 4, grouped(1, 3));
    for name in ["0-0", "1-0", "2-0"] {
        assert_eq!(scene.evict(name), free(Surplus));
    }
    assert_eq!(scene.figures().unavailable_allowed, 1);
    assert_eq!(scene.evict("1-3"), Verdict::Pays);
    refused(&scene.evict("0-1"));
    refused(&scene.evict("2-1"));
    assert_eq!(scene.evict("1-2"), free(UnitLeaving));
}

#[test]
fn two_surplus_pods_through_two_replicas_the_second_pays() {
    let mut scene = Scene::groups(3, 4, grouped(1, 3));
    // Both replicas read the same version of the budget and find their pod to be surplus.
    let (left, right) = (scene.decide("0-0"), scene.decide("0-1"));
    assert_eq!((&left.verdict, &right.verdict), (&free(Surplus), &free(Surplus)));
    // The left one's write wins. The right one's compare-and-swap fails, so it reads and decides again.
    let account = scene.account();
    scene.budget.state.record(&account, &left.write);
    assert_eq!(scene.evict("0-1"), Verdict::Pays);
}

#[test]
fn both_limits_bind() {
    let spec = BudgetSpec { min_available: Some(Int(3)), ..grouped(1, 3) };
    let mut scene = Scene::groups(3, 3, spec);
    assert_eq!(scene.account().conditions(), [Condition::DrainCanNeverFinish { desired: 3, expected: 3 }]);
    for name in ["0-0", "1-1", "2-2"] {
        refused(&scene.evict(name));
    }
    scene.pod("0-0").ready = false;
    assert_eq!(scene.evict("0-0"), free(NotReady), "what is not ready costs nothing");
}

#[test]
fn a_deployment_of_ten_at_thirty_percent() {
    for (replicas, max, available, desired, allowed) in [
        (10, Percent(30), 12, 7, 5),
        (10, Percent(30), 10, 7, 3),
        (10, Percent(30), 9, 7, 2),
        (10, Percent(30), 7, 7, 0),
        (10, Percent(30), 5, 7, 0),
        (1, Percent(30), 1, 0, 1),
        (15, Percent(10), 15, 13, 2),
        (10, Int(0), 10, 10, 0),
        (10, Int(20), 10, 0, 10),
        (10, Percent(200), 10, 0, 10),
    ] {
        let figures = Scene::plain(replicas, available, per_pod(max)).figures();
        assert_eq!(
            (figures.desired_available, figures.unavailable_allowed, figures.total_replicas),
            (desired, allowed, replicas),
            "{max} of {replicas}, {available} available"
        );
        assert_eq!(figures.unavailable_replicas, replicas.saturating_sub(available));
    }
}

#[test]
fn min_available_rounds_up_and_may_exceed_the_total() {
    for (min, replicas, desired, allowed) in
        [(Percent(30), 10, 3, 7), (Percent(31), 10, 4, 6), (Int(12), 10, 12, 0), (Percent(50), 1, 1, 0)]
    {
        let spec = BudgetSpec { min_available: Some(min), ..BudgetSpec::default() };
        let scene = Scene::plain(replicas, replicas, spec);
        let figures = scene.figures();
        assert_eq!((figures.desired_available, figures.unavailable_allowed), (desired, allowed), "{min}");
        assert_eq!(scene.account().conditions().len(), usize::from(desired >= replicas));
    }
}

#[test]
fn a_budget_without_any_limit_lets_nothing_go() {
    let mut scene = Scene::plain(3, 3, BudgetSpec::default());
    refused(&scene.evict("p0"));
}

#[test]
fn the_protected_total_stands_for_the_expected_count() {
    let spec = BudgetSpec { protect_total_replicas: Some(20), ..per_pod(Percent(10)) };
    let figures = Scene::plain(10, 19, spec).figures();
    assert_eq!((figures.total_replicas, figures.desired_available, figures.unavailable_allowed), (20, 18, 1));
}

#[test]
fn a_drain_takes_one_of_two_groups_on_the_node() {
    let mut scene = Scene::groups(3, 2, grouped(1, 2));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    refused(&scene.evict("1-0"));
    assert_eq!(scene.evict("0-1"), free(UnitLeaving));
    refused(&scene.evict("1-1"));
    scene.gone("0-0");
    scene.gone("0-1");
    refused(&scene.evict("1-1"));
    scene.back("0-0", Some("0"));
    scene.back("0-1", Some("0"));
    assert_eq!(scene.evict("1-1"), Verdict::Pays);
    assert_eq!(scene.evict("1-0"), free(UnitLeaving));
}

#[test]
fn a_leader_goes_and_its_worker_may_be_collected() {
    let pods = vec![pod("lws-0", None), pod("lws-0-1", None), pod("lws-1", None), pod("lws-1-1", None)];
    // Two replicas of two pods: four units, one of which may be away.
    let mut scene = Scene::new(per_pod(Int(1)), pods, Root { pods_per_replica: Some(2), ..uncounted(2) });
    scene.seen();
    assert_eq!(scene.figures().desired_available, 3);
    assert_eq!(scene.evict("lws-0"), Verdict::Pays);
    refused(&scene.evict("lws-0-1"));
    // The leader is terminating, and it is the worker's controller: nothing is left to protect.
    scene.pod("lws-0").terminating = true;
    scene.pod("lws-0-1").controller_gone = true;
    scene.seen();
    assert_eq!(scene.ask("lws-0-1", Operation::Delete).verdict, free(ControllerGone));
    assert_eq!(scene.evict("lws-0-1"), free(ControllerGone));
    refused(&scene.evict("lws-1"));
    scene.gone("lws-0");
    scene.gone("lws-0-1");
    assert_eq!(scene.figures().total_replicas, 4, "two pods that are away are still expected");
    refused(&scene.evict("lws-1"));
    scene.back("lws-0", None);
    refused(&scene.evict("lws-1"));
    scene.back("lws-0-1", None);
    assert_eq!(scene.evict("lws-1"), Verdict::Pays);
}

#[test]
fn a_promised_pod_that_comes_back_under_its_name_is_charged_again() {
    let mut scene = Scene::plain(3, 3, per_pod(Int(1)));
    assert_eq!(scene.evict("p0"), Verdict::Pays);
    assert_eq!(scene.evict("p0"), free(AlreadyPaid));
    scene.view.pods.retain(|pod| pod.name != "p0");
    scene.back("p0", None);
    assert_eq!(scene.evict("p1"), Verdict::Pays);
    refused(&scene.evict("p0"));
    scene.gone("p1");
    scene.back("p1", None);
    assert_eq!(scene.evict("p0"), Verdict::Pays, "the new pod has not been paid for");
}

#[test]
fn an_old_promise_under_the_same_name_says_nothing_about_the_new_pod() {
    let mut scene = Scene::plain(3, 3, per_pod(Int(1)));
    assert_eq!(scene.evict("p0"), Verdict::Pays);
    // Nobody has pruned yet: the promise of the old pod still stands beside the new one.
    scene.pod("p0").uid = uid("p0-anew");
    assert_eq!(scene.budget.state.promises.len(), 1);
    assert_eq!(scene.evict("p0"), Verdict::Pays);
    assert_eq!(scene.budget.state.promises.len(), 2);
}

#[test]
fn an_unready_pod_that_was_freed_and_became_ready_pays() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    scene.pod("0-0").ready = false;
    assert_eq!(scene.evict("0-0"), free(NotReady));
    assert_eq!(scene.budget.state.promises.len(), 1, "an eviction names the pod, not this state of it");
    // The eviction fails elsewhere and the pod recovers; the group counts as on its way out.
    scene.pod("0-0").ready = true;
    scene.seen();
    assert_eq!(scene.figures().current_available, 2);
    refused(&scene.evict("1-0"));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    let promise = &scene.budget.state.promises[&uid("0-0")];
    assert!(promise.paid && promise.shared, "another request's promise was replaced: never given back");
}

#[test]
fn the_delete_of_an_unready_pod_writes_nothing() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    scene.pod("0-0").ready = false;
    let decision = scene.ask("0-0", Operation::Delete);
    assert_eq!(decision.verdict, free(NotReady));
    assert!(decision.write.is_empty());
}

#[test]
fn what_is_terminating_or_opted_out_is_free() {
    let mut scene = Scene::groups(3, 3, grouped(0, 3));
    scene.pod("0-0").terminating = true;
    let decision = scene.decide("0-0");
    assert_eq!(decision.verdict, free(Terminating));
    assert!(decision.write.is_empty());
    scene.pod("1-0").opted_out = true;
    assert_eq!(scene.evict("1-0"), free(OptedOut));
    assert_eq!(scene.figures().current_available, 1, "free, and yet written down");
}

#[test]
fn an_operation_nobody_protects_against_is_free() {
    let spec = BudgetSpec { operations: [Operation::Evict].into(), ..grouped(0, 3) };
    let scene = Scene::groups(3, 3, spec);
    assert_eq!(scene.ask("0-0", Operation::Delete).verdict, free(OperationNotProtected));
    assert_eq!(scene.ask("0-0", Operation::Update).verdict, free(OperationNotProtected));
    refused(&scene.ask("0-0", Operation::Evict).verdict);
}

#[test]
fn an_update_in_place_is_charged_where_it_is_protected() {
    let operations = [Operation::Delete, Operation::Evict, Operation::Update].into();
    let mut scene = Scene::groups(3, 3, BudgetSpec { operations, ..grouped(1, 3) });
    let decision = scene.ask("0-0", Operation::Update);
    assert_eq!(decision.verdict, Verdict::Pays);
    assert_eq!(decision.write.put[0].operation, Operation::Update);
    let account = scene.account();
    scene.budget.state.record(&account, &decision.write);
    refused(&scene.ask("1-0", Operation::Update).verdict);
    // Seen unready and ready again: the update may have come in between, or not yet.
    scene.pod("0-0").ready = false;
    assert_eq!(scene.seen(), Pruned::default());
    scene.pod("0-0").ready = true;
    scene.wait(120);
    assert_eq!(scene.seen().lapsed.len(), 1);
    assert_eq!(scene.ask("1-0", Operation::Update).verdict, Verdict::Pays);
}

#[test]
fn a_promise_is_relied_on_for_thirty_seconds_and_then_has_to_lapse() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    scene.seen();
    scene.wait(29);
    assert_eq!(scene.evict("0-0"), free(AlreadyPaid));
    assert_eq!(scene.budget.state.promises[&uid("0-0")].time, Time(1_000_000), "its time never moves");
    assert_eq!(scene.evict("0-1"), free(UnitLeaving));
    scene.wait(1);
    let verdict = scene.evict("0-0");
    assert_eq!(refused(&verdict).cause, ShortageCause::PromiseOutstanding);
    assert_eq!(refused(&verdict).retry_after, Millis::seconds(90));
    assert_eq!(scene.decide("0-1").verdict, Verdict::Pays, "nothing young to rely on: the unit pays again");
    refused(&scene.evict("1-0"));
    scene.wait(89);
    assert_eq!(scene.seen(), Pruned::default());
    scene.wait(1);
    let pruned = scene.seen();
    assert_eq!(pruned.lapsed.len(), 1, "120 s after the controller first saw it");
    assert_eq!(scene.figures().current_available, 2, "the second one is still promised");
    scene.wait(120);
    assert_eq!(scene.seen().lapsed.len(), 1);
    assert_eq!(scene.figures().current_available, 3);
    assert_eq!(scene.evict("1-0"), Verdict::Pays);
}

#[test]
fn a_terminating_pod_holds_its_promise_until_it_is_gone() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    scene.pod("0-0").terminating = true;
    scene.seen();
    scene.wait(3600);
    assert_eq!(scene.seen(), Pruned::default());
    scene.view.pods.retain(|pod| pod.name != "0-0");
    assert_eq!(scene.seen().kept.len(), 1);
    assert!(scene.budget.state.promises.is_empty());
}

#[test]
fn a_promise_lapses_only_in_a_live_view() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    // The controller's cache stands still: the pod is long gone, and is still shown.
    scene.view.live = false;
    scene.seen();
    scene.wait(300);
    assert_eq!(scene.seen(), Pruned { overdue: 1, ..Pruned::default() });
    let stale = scene.view.clone();
    scene.view.live = true;
    scene.view.pods.retain(|pod| pod.name != "0-0");
    assert_eq!(scene.seen().kept.len(), 1);
    assert!(account(&scene.budget, &stale, scene.now).not_yet().is_some());
}

#[test]
fn the_lapse_runs_on_the_controllers_clock_and_starts_anew_with_the_promise() {
    let mut scene = Scene::groups(3, 4, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), free(Surplus));
    scene.wait(100);
    scene.seen();
    scene.wait(60);
    assert_eq!(scene.seen(), Pruned::default(), "160 s old, but seen for 60 s");
    // Old and still surplus: written anew, so that it cannot lapse under the request that relies on it.
    assert_eq!(scene.evict("0-0"), free(Surplus));
    scene.seen();
    scene.wait(119);
    assert_eq!(scene.seen(), Pruned::default());
    scene.wait(1);
    assert_eq!(scene.seen().lapsed.len(), 1);
}

#[test]
fn a_broken_unit_is_believed_only_in_a_live_view() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    scene.pod("0-0").ready = false;
    scene.seen();
    assert_eq!(scene.decide("0-1").verdict, free(UnitBroken));
    scene.view.live = false;
    assert_eq!(scene.decide("0-1").verdict, Verdict::ReadAgain(NotYet::NeedsLiveView));
    assert!(scene.decide("0-0").is_admitted(), "an unready pod needs no list");
}

#[test]
fn nobody_decides_from_an_older_view_or_for_another_generation() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    let old = scene.view.clone();
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    scene.gone("0-0");
    // The promise is pruned; a cache that still shows the pod ready would let a second unit go.
    let need = scene.budget.state.rests_on;
    let stale = account(&scene.budget, &old, scene.now);
    let request = Request { pod: uid("1-0"), operation: Operation::Evict };
    assert_eq!(decide(&stale, &request, scene.now).verdict, Verdict::ReadAgain(NotYet::ViewTooOld { need }));
    assert!(scene.controller.clone().prune(&mut scene.budget, &old, scene.now).is_err());
    assert_eq!(stale.clone().try_remove(&[uid("1-0")]).unwrap_err().has, 2, "figures are still told");
    scene.budget.generation += 1;
    assert_eq!(scene.evict("0-1"), Verdict::ReadAgain(NotYet::GenerationLags));
    scene.seen();
    assert!(scene.decide("0-1").is_admitted());
}

#[test]
fn a_pod_the_view_has_never_shown_is_read_again() {
    let scene = Scene::groups(3, 3, grouped(1, 3));
    let mut account = scene.account();
    let stranger = pod("0-9", Some("0"));
    assert!(!account.refresh(&stranger, 77));
    let request = Request { pod: stranger.uid, operation: Operation::Evict };
    assert_eq!(decide(&account, &request, scene.now).verdict, Verdict::ReadAgain(NotYet::PodUnknown));
}

#[test]
fn a_request_knows_its_own_pod_better_than_the_list() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    scene.pod("0-0").ready = false;
    let mut account = scene.account();
    assert_eq!(account.available(), 2);
    assert!(account.refresh(&pod("0-0", Some("0")), 77));
    assert_eq!(account.available(), 3);
    assert_eq!(account.since(), Version(77), "whoever comes next sees at least this much");
    let request = Request { pod: uid("0-0"), operation: Operation::Evict };
    assert_eq!(decide(&account, &request, scene.now).verdict, Verdict::Pays);
}

#[test]
fn a_newer_list_knows_a_pod_better_than_the_request_that_read_it_before() {
    let mut scene = Scene::groups(2, 1, grouped(1, 1));
    let mut read = pod("0-0", Some("0"));
    read.ready = false;
    let first_read = 1;
    // It becomes ready, everybody sees it, and the other group is let go on the strength of it.
    scene.seen();
    scene.seen();
    assert_eq!(scene.evict("1-0"), Verdict::Pays);
    let request = Request { pod: uid("0-0"), operation: Operation::Evict };
    let mut account = scene.account();
    assert!(account.refresh(&read, first_read));
    assert_eq!(refused(&decide(&account, &request, scene.now).verdict).cause, ShortageCause::Exhausted);
    let mut account = scene.account();
    assert!(account.refresh(&read, scene.view.version.0 + 1), "it lost readiness after the list");
    assert_eq!(decide(&account, &request, scene.now).verdict, free(FreeReason::NotReady));
    // The other way round the list may be of a blink that is over: nothing is free on the strength of it.
    scene.pod("0-0").ready = false;
    let mut account = scene.account();
    assert!(account.refresh(&pod("0-0", Some("0")), first_read));
    assert_eq!(refused(&decide(&account, &request, scene.now).verdict).cause, ShortageCause::Exhausted);
}

#[test]
fn the_map_of_promises_is_capped() {
    let mut scene = Scene::plain(2_100, 2_100, per_pod(Percent(100)));
    let account = scene.account();
    let pods: Vec<_> = (0..MAX_PROMISES).map(|k| uid(&format!("p{k}"))).collect();
    let all = decide_instance(&account, &pods, Operation::Evict, scene.now);
    assert_eq!((&all.verdict, all.write.put.len()), (&Verdict::Pays, MAX_PROMISES));
    scene.budget.state.record(&account, &all.write);
    let verdict = scene.evict("p2050");
    assert_eq!(refused(&verdict).cause, ShortageCause::TooManyPromises);
    assert_eq!(scene.evict("p3"), free(AlreadyPaid), "a promise that stands needs no room");
    scene.pod("p2051").opted_out = true;
    let decision = scene.decide("p2051");
    assert_eq!(decision.verdict, free(OptedOut));
    assert!(decision.write.put.is_empty());
    scene.gone("p0");
    assert_eq!(scene.evict("p2050"), Verdict::Pays);
}

#[test]
fn a_group_that_is_gone_whole_is_still_expected() {
    // The owner's replicas are pods, not groups: only what was seen can tell how many groups there are.
    let mut scene = Scene::groups(3, 2, grouped(1, 2));
    scene.view.roots.insert("lws".to_owned(), uncounted(6));
    scene.seen();
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    assert_eq!(scene.evict("0-1"), free(UnitLeaving));
    scene.gone("0-0");
    scene.gone("0-1");
    assert_eq!(scene.figures().total_replicas, 3);
    refused(&scene.evict("1-0"));
}

#[test]
fn a_unit_only_the_webhook_has_seen_is_remembered_too() {
    let mut scene = Scene::groups(3, 2, grouped(1, 2));
    scene.view.roots.insert("lws".to_owned(), uncounted(6));
    // The controller has not counted yet; the admitting request writes down what it saw.
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    scene.view.pods.retain(|pod| !pod.name.starts_with("0-"));
    scene.seen();
    assert_eq!(scene.figures().total_replicas, 3);
}

#[test]
fn scaling_in_is_forgotten_when_the_owner_is_complete_again() {
    let mut scene = Scene::groups(5, 1, grouped(1, 1));
    let deployment = |replicas, settled| Root { settled, pods_per_replica: Some(1), ..uncounted(replicas) };
    scene.view.roots.insert("lws".to_owned(), deployment(5, true));
    scene.seen();
    // 5 → 3: the pods still stand, and one that is to stay is just being replaced.
    scene.view.roots.insert("lws".to_owned(), deployment(3, false));
    scene.seen();
    scene.gone("4-0");
    scene.gone("0-0");
    assert_eq!(scene.figures().total_replicas, 5);
    scene.view.roots.insert("lws".to_owned(), deployment(3, true));
    scene.gone("3-0");
    assert_eq!(scene.figures().total_replicas, 5, "nobody can tell yet which of the three comes back");
    scene.back("0-0", Some("0"));
    assert_eq!(scene.figures().total_replicas, 3);
    scene.gone("1-0");
    assert_eq!(scene.figures().total_replicas, 3, "what goes now is expected back");
    // The root is deleted: nobody brings its groups back.
    scene.view.roots.clear();
    assert_eq!(scene.figures().total_replicas, 2);
}

#[test]
fn a_scale_in_is_not_over_before_the_pods_show_it() {
    let mut scene = Scene::groups(3, 2, grouped(1, 2));
    let deployment = |replicas| Root { pods_per_replica: Some(1), ..uncounted(replicas) };
    scene.view.roots.insert("lws".to_owned(), deployment(6));
    scene.seen();
    // The owner says that it is done before the cache of pods has shown anything go.
    scene.view.roots.insert("lws".to_owned(), deployment(4));
    scene.seen();
    assert_eq!(scene.figures().total_replicas, 3);
    scene.gone("2-0");
    scene.gone("2-1");
    assert_eq!(scene.figures().total_replicas, 2);
    scene.gone("1-0");
    scene.gone("1-1");
    assert_eq!(scene.figures().total_replicas, 2);
}

#[test]
fn a_surge_of_single_pods_does_not_raise_what_is_expected() {
    let mut scene = Scene::plain(4, 4, per_pod(Int(1)));
    scene.view.roots.insert("lws".to_owned(), Root { pods_per_replica: Some(1), ..uncounted(4) });
    scene.seen();
    scene.back("p4", None);
    assert_eq!((scene.figures().total_replicas, scene.figures().unavailable_allowed), (4, 2));
    scene.gone("p0");
    scene.gone("p1");
    assert_eq!((scene.figures().total_replicas, scene.figures().unavailable_allowed), (4, 0));
    scene.view.roots.insert("lws".to_owned(), Root { pods_per_replica: Some(1), ..uncounted(2) });
    scene.seen();
    assert_eq!(scene.figures().total_replicas, 2, "what the owner does not want is not expected");
}

#[test]
fn an_impossible_minimum_is_told() {
    let mut scene = Scene::groups(2, 3, grouped(1, 4));
    let condition = Condition::MinReadyReplicasImpossible { groups: 2, largest: 3 };
    assert_eq!(scene.account().conditions(), [condition]);
    assert_eq!(scene.figures().current_available, 0);
    // A group that is just being rebuilt is no reason for alarm.
    let mut scene2 = Scene::groups(2, 3, grouped(1, 3));
    scene2.gone("0-0");
    assert_eq!(scene2.account().conditions(), []);
    scene.view.roots.insert("lws".to_owned(), Root { pods_per_replica: Some(4), ..counted(2) });
    assert_eq!(scene.account().conditions(), [], "the owner says that groups will have four");
}

#[test]
fn several_budgets_must_all_agree_and_an_early_charge_is_given_back() {
    let mut wide = Scene::plain(4, 4, per_pod(Int(2)));
    let mut tight = Scene::plain(4, 4, per_pod(Int(1)));
    tight.budget.name = "inference/tight".to_owned();
    let request = Request { pod: uid("p0"), operation: Operation::Evict };
    let decisions = decide_covering(&[wide.account(), tight.account()], &request, wide.now).unwrap();
    assert!(decisions.iter().all(|decision| decision.verdict == Verdict::Pays));

    // Another request takes what the tight budget has while ours is written to the wide one.
    let account = wide.account();
    wide.budget.state.record(&account, &decisions[0].write);
    assert_eq!(tight.evict("p1"), Verdict::Pays);
    refused(&tight.evict("p0"));
    assert_eq!(wide.budget.state.give_back(&decisions[0].write), 1);
    assert_eq!(wide.figures().unavailable_allowed, 2);

    let refusal = decide_covering(&[wide.account(), tight.account()], &request, wide.now).unwrap_err();
    assert_eq!(refused(&refusal.verdict).budget, "inference/tight");
}

#[test]
fn a_charge_somebody_relies_on_is_not_given_back() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    let first = scene.decide("0-0");
    let account = scene.account();
    scene.budget.state.record(&account, &first.write);
    assert_eq!(scene.evict("0-1"), free(UnitLeaving));
    assert_eq!(scene.budget.state.give_back(&first.write), 0);
    assert_eq!(scene.budget.state.promises.len(), 2);
}

#[test]
fn the_refusal_says_which_budget_unit_needs_and_has() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    let verdict = scene.evict("1-2");
    assert_eq!(
        refused(&verdict).to_string(),
        "budget inference/budget: removing pod 1-2 would make group \"1\" of lws unavailable; \
         it needs 2 other units available and has 1"
    );
}

#[test]
fn everything_survives_being_written_to_a_file() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    let text = serde_json::to_string(&(&scene.budget, &scene.view, scene.account())).unwrap();
    let (budget, view, copy): (Budget, View, Account) = serde_json::from_str(&text).unwrap();
    assert_eq!((&budget, &view, &copy), (&scene.budget, &scene.view, &scene.account()));
    assert_eq!(account(&budget, &view, scene.now), copy);
    let spec: BudgetSpec = serde_json::from_str(
        r#"{"maxUnavailable": 1, "podGroupPolicy": {"groupLabelKey": "g", "minReadyReplicas": 3}}"#,
    )
    .unwrap();
    assert_eq!(spec, grouped(1, 3));
}
