//! The planner's side: whole instances against every covering budget, all or nothing.

mod budget_support;

use budget_support::*;
use lockstep_core::budget::*;
use lockstep_core::number::IntOrPercent::Int;
use lockstep_core::snapshot::Uid;

fn uids(names: &[&str]) -> Vec<Uid> {
    names.iter().map(|name| uid(name)).collect()
}

#[test]
fn an_instance_is_paid_for_once_and_whole() {
    let mut account = Scene::groups(3, 3, grouped(1, 3)).account();
    let group = uids(&["0-0", "0-1", "0-2"]);
    assert_eq!(account.cost_of_removing(&group), Cost { units: 1, shortage: None });
    assert_eq!(account.allowed(), 1, "asking costs nothing");
    account.try_remove(&group).unwrap();
    assert_eq!((account.allowed(), account.available()), (0, 2));
    let shortage = account.try_remove(&uids(&["1-0"])).unwrap_err();
    assert_eq!((shortage.needs, shortage.has, shortage.never), (2, 1, false));
    assert_eq!(*shortage.unit, UnitKey::Group { root: "lws".into(), value: "1".into() });
    account.try_remove(&group).unwrap();
    assert_eq!(account.available(), 2, "the same instance again costs nothing more");
}

#[test]
fn the_surplus_of_a_group_goes_free() {
    let mut account = Scene::groups(3, 4, grouped(1, 3)).account();
    account.try_remove(&uids(&["0-0"])).unwrap();
    account.try_remove(&uids(&["1-0"])).unwrap();
    assert_eq!(account.allowed(), 1);
    assert_eq!(account.cost_of_removing(&uids(&["2-0", "2-1"])).units, 1);
    account.try_remove(&uids(&["0-1"])).unwrap();
    account.try_remove(&uids(&["1-1"])).unwrap_err();
}

#[test]
fn three_pods_never_fit_under_one() {
    let mut account = Scene::plain(6, 6, per_pod(Int(1))).account();
    let instance = uids(&["p0", "p1", "p2"]);
    let shortage = account.try_remove(&instance).unwrap_err();
    assert!(shortage.never);
    assert!(shortage.to_string().ends_with("this can never fit, even with every expected unit available"));
    assert_eq!(account.allowed(), 1, "nothing of it was taken");
    assert!(!account.spec().can_ever_spare(6, 3));
    assert!(account.spec().can_ever_spare(6, 1));
    account.try_remove(&uids(&["p0"])).unwrap();
    assert!(!account.try_remove(&uids(&["p1"])).unwrap_err().never, "one by one they fit");
}

#[test]
fn what_waiting_helps_is_not_never() {
    let mut scene = Scene::plain(6, 6, per_pod(Int(3)));
    scene.pod("p5").ready = false;
    scene.pod("p4").ready = false;
    let shortage = scene.account().try_remove(&uids(&["p0", "p1", "p2"])).unwrap_err();
    assert!(!shortage.never);
    // With more pods than are expected, a budget of nothing still spares the rest.
    let mut surged = Scene::plain(3, 4, per_pod(Int(0))).account();
    surged.try_remove(&uids(&["p3"])).unwrap();
    assert!(!surged.try_remove(&uids(&["p2"])).unwrap_err().never);
    assert!(Scene::plain(3, 3, per_pod(Int(0))).account().try_remove(&uids(&["p2"])).unwrap_err().never);
}

#[test]
fn unready_pods_of_an_instance_cost_nothing() {
    let mut scene = Scene::plain(6, 6, per_pod(Int(1)));
    scene.pod("p0").ready = false;
    let mut account = scene.account();
    assert!(account.try_remove(&uids(&["p0", "p1"])).is_err(), "one is down already, a second may not go");
    account.try_remove(&uids(&["p0"])).unwrap();
}

#[test]
fn a_broken_group_goes_free_and_uses_up_nothing() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    scene.pod("0-0").ready = false;
    let mut account = scene.account();
    assert_eq!(account.allowed(), 0);
    account.try_remove(&uids(&["0-0", "0-1", "0-2"])).unwrap();
    assert_eq!(account.available(), 2);
}

#[test]
fn all_budgets_or_none() {
    let wide = Scene::plain(6, 6, per_pod(Int(4)));
    let mut tight = Scene::plain(6, 6, per_pod(Int(1)));
    tight.budget.name = "inference/tight".to_owned();
    // The tight budget covers p0 and p1 only; two are expected there.
    tight.view.pods.truncate(2);
    tight.view.roots.insert("lws".to_owned(), counted(2));
    let mut accounts = [wide.account(), tight.account()];

    let shortage = remove_all(&mut accounts, &uids(&["p0", "p1", "p2"])).unwrap_err();
    assert_eq!(shortage.budget, "inference/tight");
    assert!(shortage.never);
    assert_eq!(accounts, [wide.account(), tight.account()], "none was touched");

    remove_all(&mut accounts, &uids(&["p0", "p2", "p3"])).unwrap();
    assert_eq!((accounts[0].allowed(), accounts[1].allowed()), (1, 0));
    remove_all(&mut accounts, &uids(&["p4"])).unwrap();
    assert_eq!(remove_all(&mut accounts, &uids(&["p5"])).unwrap_err().budget, "inference/budget");
    remove_all(&mut [], &uids(&["p5"])).unwrap();
    remove_all(&mut accounts, &uids(&["somebody-else"])).unwrap();
}

#[test]
fn a_refusal_that_no_waiting_helps_is_told_first() {
    let mut busy = Scene::plain(6, 6, per_pod(Int(4)));
    for name in ["p2", "p3", "p4", "p5"] {
        busy.pod(name).ready = false;
    }
    let never = Scene::plain(6, 6, per_pod(Int(1)));
    let shortage = remove_all(&mut [busy.account(), never.account()], &uids(&["p0", "p1"])).unwrap_err();
    assert!(shortage.never);
}

#[test]
fn nothing_is_spent_from_an_account_that_may_not_be_decided_from() {
    let mut scene = Scene::plain(6, 6, per_pod(Int(1)));
    scene.budget.generation = 1;
    let mut account = scene.account();
    let shortage = account.try_remove(&uids(&["p0"])).unwrap_err();
    assert_eq!(shortage.cause, ShortageCause::NotYet(NotYet::GenerationLags));
    account.try_remove(&uids(&["somebody-else"])).unwrap();
}

/// The shell writes all promises at once; afterwards every single delete is let through, in any order and
/// however many of the others are gone already.
#[test]
fn our_own_deletes_are_never_refused() {
    let orders = [["0-0", "0-1", "0-2", "0-3"], ["0-3", "0-2", "0-1", "0-0"], ["0-2", "0-0", "0-3", "0-1"]];
    for (order, terminating) in orders.into_iter().flat_map(|order| [(order, false), (order, true)]) {
        let mut scene = Scene::groups(3, 4, grouped(1, 3));
        let pods = uids(&["0-0", "0-1", "0-2", "0-3"]);
        let decision = decide_instance(&scene.account(), &pods, Operation::Delete, scene.now);
        assert_eq!(decision.verdict, Verdict::Pays);
        assert_eq!(decision.write.put.len(), 4);
        assert!(decision.write.put.iter().all(|promise| promise.paid), "also what was surplus");
        let account = scene.account();
        scene.budget.state.record(&account, &decision.write);
        // Another unit fails meanwhile, so that nothing more could be paid.
        scene.pod("1-0").ready = false;
        scene.pod("1-1").ready = false;
        for name in order {
            let decision = scene.ask(name, Operation::Delete);
            assert!(decision.is_admitted(), "{name}: {:?}", decision.verdict);
            if terminating {
                scene.pod(name).terminating = true;
            } else {
                scene.view.pods.retain(|pod| pod.name != name);
            }
        }
    }
}

#[test]
fn an_instance_pays_anew_rather_than_rely_on_an_old_promise() {
    let mut scene = Scene::groups(3, 3, grouped(1, 3));
    assert_eq!(scene.evict("0-0"), Verdict::Pays);
    scene.wait(25);
    let pods = uids(&["0-0", "0-1", "0-2"]);
    let decision = decide_instance(&scene.account(), &pods, Operation::Delete, scene.now);
    assert_eq!(decision.verdict, Verdict::Pays);
    assert!(decision.write.put.iter().all(|promise| promise.paid && promise.time == scene.now));
    let shared: Vec<bool> = decision.write.put.iter().map(|promise| promise.shared).collect();
    assert_eq!(shared, [true, false, false], "what replaces another request's promise is not given back");
    // Where that cannot be afforded, what is paid for may still be relied on.
    scene.pod("1-0").ready = false;
    let decision = decide_instance(&scene.account(), &pods, Operation::Delete, scene.now);
    assert!(decision.is_admitted());
    assert!(decision.write.share.contains(&uid("0-0")));
}

/// Random sets of pods: the cost told is the cost taken, a refusal changes nothing, and however the account
/// is spent, no more units go than were allowed.
#[test]
fn spending_is_exact_and_atomic() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let (groups, size) = (1 + random.below(6) as u32, 1 + random.below(4) as u32);
        let min = 1 + random.below(u64::from(size)) as u32;
        let mut scene = Scene::groups(groups, size, grouped(random.below(4) as u32, min));
        for pod in &mut scene.view.pods {
            pod.ready = random.chance(85);
            pod.terminating = random.chance(5);
        }
        let (mut account, start) = (scene.account(), scene.account());
        for _ in 0..20 {
            let pods: Vec<Uid> =
                scene.view.pods.iter().filter(|_| random.chance(25)).map(|pod| pod.uid.clone()).collect();
            let (before, cost) = (account.clone(), account.cost_of_removing(&pods));
            assert_eq!(before, account);
            match account.try_remove(&pods) {
                Ok(()) => {
                    assert_eq!(cost.shortage, None);
                    assert_eq!(before.available() - account.available(), cost.units, "seed {seed}");
                }
                Err(shortage) => {
                    assert_eq!(Some(shortage), cost.shortage);
                    assert_eq!(before, account, "seed {seed}");
                }
            }
            assert!(start.available() - account.available() <= start.allowed(), "seed {seed}");
        }
    }
}
