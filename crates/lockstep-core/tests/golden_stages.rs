//! Start order inside an instance: who waits for whom, what lifts the gate, which gangs there are, and what never waits.

#![allow(clippy::panic, clippy::unwrap_used)]

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::blocked::Reason;
use lockstep_core::model::*;
use lockstep_core::names::{MemberName, RoleName};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::promises::{Checker, Promise};
use lockstep_core::simulate::trace::{Event, SpecEvent, Subject, What};
use lockstep_core::snapshot::{Memory, Pod};
use support::{at, rev, role, set};

/// Members that start after others.
fn in_order(mut role: Role, order: &[(&str, &[&str])]) -> Role {
    let names = |names: &[&str]| names.iter().map(|name| MemberName::new(name)).collect();
    role.member_order = order.iter().map(|(name, others)| (MemberName::new(name), names(others))).collect();
    role
}

/// Instances of a leader and two workers that start after it.
fn leading(replicas: u32) -> Role {
    in_order(with_workers(role("pd", replicas, "A"), 2), &[("worker", &["leader"])])
}

fn spec(replicas: u32) -> Spec {
    set(1, vec![leading(replicas)])
}

/// Changes the pods of one member of an instance.
fn member(desk: &mut Desk, instance: u32, member: &str, mut how: impl FnMut(&mut Pod)) {
    let mut found = false;
    desk.each(|_, _, i, pod| {
        if i == instance && pod.member.as_str() == member && !pod.terminating {
            how(pod);
            found = true;
        }
    });
    assert!(found, "there is no {member} of {instance}");
}

/// Pods of a member are gone.
fn lose(desk: &mut Desk, instance: u32, name: &str) {
    member(desk, instance, name, |pod| pod.terminating = true);
    desk.reap();
}

fn unready(desk: &mut Desk, instance: u32, name: &str) {
    let now = desk.now;
    member(desk, instance, name, |pod| {
        pod.ready = None;
        pod.unready = Some(now);
    });
}

/// Which pods our gate holds, member by member.
fn gated(desk: &mut Desk) -> String {
    let mut held = Vec::new();
    desk.each(|_, _, i, pod| {
        if pod.gated && !pod.terminating {
            held.push(format!("{}-{i}-{}", pod.member, pod.index));
        }
    });
    held.join(" ")
}

fn why(desk: &Desk) -> Vec<&str> {
    desk.blocked().iter().map(|blocked| blocked.message.as_str()).collect()
}

#[test]
fn members_start_when_those_they_name_have_their_minimum_ready() {
    let mut desk = Desk::empty(&spec(1));
    assert_eq!(desk.plan(), "+0");
    assert_eq!(gated(&mut desk), "worker-0-0 worker-0-1");
    assert_eq!(desk.plan(), "", "the leader has a node and is not ready");
    assert_eq!(desk.reasons(), [Reason::StartOrder]);
    assert_eq!(why(&desk), ["worker of pd-0 starts after leader"]);
    assert_eq!(desk.blocked()[0].rule, "roles[pd].members[worker].startsAfter");
    desk.start();
    assert_eq!(desk.plan(), "^0");
    assert_eq!((gated(&mut desk).as_str(), desk.run().as_str()), ("", ""));
}

#[test]
fn a_part_of_the_minimum_is_enough_where_it_is_said_so() {
    let mut spec = set(1, vec![in_order(with_workers(role("pd", 1, "A"), 2), &[("leader", &["worker"])])]);
    for (minimum, lifted) in [(1, "^0"), (2, "")] {
        spec.roles[0].members[1].min_available = minimum;
        let mut desk = Desk::empty(&spec);
        desk.plan();
        assert_eq!(gated(&mut desk), "leader-0-0");
        let now = desk.now;
        member(&mut desk, 0, "worker", |pod| pod.ready = (pod.index == 0).then_some(now));
        assert_eq!(desk.plan(), lifted, "minimum {minimum}");
    }
}

#[test]
fn longer_orders_go_member_by_member() {
    let order: [(&str, &[&str]); 3] = [("b", &["a"]), ("c", &["b"]), ("d", &["a"])];
    let mut pd = in_order(role("pd", 1, "A"), &order);
    let member = |name| Member { name: MemberName::new(name), count: 1, min_available: 1 };
    pd.members = ["c", "d", "b", "a"].map(member).to_vec();
    let mut desk = Desk::empty(&set(1, vec![pd]));
    let mut said = Vec::new();
    for _ in 0..4 {
        desk.plan();
        said.push(gated(&mut desk));
        desk.start();
    }
    assert_eq!(said, ["d-0-0 b-0-0 c-0-0", "c-0-0", "", ""], "created stage by stage");
}

#[test]
fn each_instance_starts_by_itself() {
    let mut desk = Desk::empty(&spec(2));
    desk.homeless = vec![("pd", 1)];
    desk.plan();
    desk.start();
    assert_eq!(desk.plan(), "^0");
    assert_eq!(gated(&mut desk), "worker-1-0 worker-1-1");
}

#[test]
fn what_is_refilled_does_not_wait_for_what_has_started() {
    let mut desk = Desk::complete(&spec(1));
    desk.spec.roles[0].restart.kind = RestartKind::None;
    lose(&mut desk, 0, "worker");
    assert_eq!(desk.plan(), "+0");
    assert_eq!(gated(&mut desk), "", "the leader is ready");
    desk.run();

    unready(&mut desk, 0, "leader");
    member(&mut desk, 0, "worker", |pod| pod.terminating = pod.index == 0);
    desk.reap();
    assert_eq!(desk.plan(), "+0");
    assert_eq!(gated(&mut desk), "", "the other worker tells that it was");

    lose(&mut desk, 0, "leader");
    desk.plan();
    assert_eq!(gated(&mut desk), "", "a leader waits for nobody");
    lose(&mut desk, 0, "worker");
    desk.plan();
    assert_eq!(gated(&mut desk), "worker-0-0 worker-0-1", "nobody is left to tell");
    assert_eq!(desk.run(), "^0");
}

#[test]
fn memory_that_is_lost_never_gates_for_ever() {
    let mut desk = Desk::complete(&spec(1));
    desk.spec.roles[0].restart.kind = RestartKind::None;
    unready(&mut desk, 0, "leader");
    desk.seen.memory = Memory::default();
    member(&mut desk, 0, "worker", |pod| pod.terminating = pod.index == 1);
    desk.reap();
    desk.plan();
    assert_eq!(gated(&mut desk), "");
}

#[test]
fn an_order_that_comes_later_holds_nobody_who_runs() {
    let without = set(1, vec![with_workers(role("pd", 1, "A"), 2)]);
    let mut desk = Desk::complete(&without);
    unready(&mut desk, 0, "leader");
    assert_eq!(desk.wish(&spec(1)).plan(), "", "nor does it roll anything");
    assert_eq!(gated(&mut desk), "");
}

#[test]
fn a_broken_half_is_not_called_broken_for_its_gate() {
    let mut desk = Desk::empty(&spec(1));
    desk.plan();
    let now = desk.now;
    member(&mut desk, 0, "leader", |pod| pod.ready = Some(now));
    desk.homeless = vec![("pd", 0)];
    desk.wait(3600);
    let unit = || support_unit(&desk);
    assert!(!unit().stably_broken && !unit().held && unit().staged && !unit().unscheduled);
}

/// The facts of instance 0 against target B.
fn support_unit(desk: &Desk) -> lockstep_core::unit::Unit {
    use lockstep_core::unit::{Compass, Judge, Wake};
    let compass = Compass { target: rev("B"), old: Some(rev("A")) };
    let judge = Judge { compass, min_ready: desk.spec.roles[0].min_ready, now: desk.now };
    let instance = &desk.seen.groups[0].roles[0].instances[0];
    judge.unit(instance, Some(&desk.spec.roles[0].members), &mut Wake::default()).unwrap()
}

#[test]
fn an_update_goes_instance_by_instance_and_each_starts_in_order() {
    let from = set(1, vec![ascending(leading(2))]);
    let mut desk = Desk::complete(&from);
    assert_eq!(desk.wish(&at(&from, "B")).run(), "-0 | +0 | ^0 | -1 | +1 | ^1");
}

#[test]
fn a_surge_that_starts_in_order_is_not_said_to_find_no_node() {
    let from = set(1, vec![within(leading(2), 0, 1)]);
    let mut desk = Desk::complete(&from);
    desk.wish(&at(&from, "B"));
    assert_eq!(desk.plan(), "+2");
    assert_eq!(desk.wait(60).plan(), "");
    let reasons = desk.reasons();
    assert!(reasons.contains(&Reason::StartOrder) && reasons.contains(&Reason::NotReadyYet), "{reasons:?}");
    assert!(!reasons.contains(&Reason::SurgeUnschedulable), "{:?}", desk.blocked());
    assert_eq!(desk.run(), "^2 | -1 | +1 | ^1 | -0 | +0 | ^0 | -2");
}

#[test]
fn a_revision_that_never_gets_a_leader_is_replaced_by_the_next_for_nothing() {
    let from = spec(2);
    let mut desk = Desk::complete(&from);
    desk.bad = vec![rev("B")];
    desk.wish(&at(&from, "B")).run();
    desk.wait(60).plan();
    assert_eq!(gated(&mut desk), "worker-1-0 worker-1-1");
    assert_eq!(desk.wish(&at(&from, "C")).run(), "x1 | +1 | ^1 | -0 | +0 | ^0");
}

#[test]
fn an_instance_that_restarts_starts_in_order_again() {
    let mut desk = Desk::complete(&spec(1));
    assert_eq!(desk.crash(0, "pd", 0).run(), "x0 | +0 | ^0");
}

#[test]
fn a_role_that_waits_for_another_then_goes_member_by_member() {
    let mut spec = set(1, vec![role("router", 1, "A"), leading(1)]);
    spec.roles[1].starts_after = vec![RoleName::new("router")];
    let mut desk = Desk::empty(&spec);
    assert_eq!(desk.plan(), "+router-0 +pd-0");
    assert_eq!(gated(&mut desk), "leader-0-0 worker-0-0 worker-0-1");
    assert_eq!(desk.run(), "^pd-0 | ^pd-0");
}

#[test]
fn an_old_revision_without_the_member_waits_for_nobody() {
    let mut from = set(1, vec![with_workers(role("pd", 2, "A"), 1)]);
    from.roles[0].members.remove(0);
    let mut desk = Desk::complete(&from);
    let mut to = at(&spec(2), "B");
    to.paused = true;
    desk.wish(&to);
    desk.evict(0, "pd", 0);
    assert_eq!(desk.plan(), "+0@A");
    assert_eq!(gated(&mut desk), "");
}

/// Three instances of which two are needed, under a scheduler of gangs.
fn ganged(scheduler: GangScheduler) -> Spec {
    let mut spec = spec(3);
    spec.roles[0].min_available = Some(Int(2));
    spec.gang.scheduler = scheduler;
    spec
}

#[test]
fn each_stage_of_each_instance_is_a_gang_of_its_own() {
    for scheduler in [GangScheduler::PodGroup, GangScheduler::PodGang, GangScheduler::Volcano] {
        let mut desk = Desk::empty(&ganged(scheduler));
        desk.plan();
        assert_eq!(
            desk.gangs,
            [
                "pd-0: base 2",
                "pd-0: own stage 1 2*",
                "pd-1: base 2",
                "pd-1: own stage 1 2*",
                "pd-2: own 1*",
                "pd-2: own stage 1 2*",
            ],
            "{scheduler:?}"
        );
        assert_eq!(desk.run(), "^0 ^1 | ^2 | ^2", "the base is placed when its workers are");
    }
}

#[test]
fn what_is_replaced_has_gangs_of_its_own() {
    for (scheduler, leader) in [(GangScheduler::PodGroup, "own 1"), (GangScheduler::PodGang, "base 2")] {
        let mut desk = Desk::complete(&ganged(scheduler));
        desk.evict(0, "pd", 0).plan();
        let expected = [format!("pd-0: {leader}"), "pd-0: own stage 1 2*".to_owned()];
        assert_eq!(desk.gangs, expected, "{scheduler:?}");
    }
}

#[test]
fn refilled_pods_join_what_stands_of_their_stage() {
    let rows = [
        (GangScheduler::PodGang, "own stage 1 2", "own stage 1 2"),
        // One of two beside its namesake names none; both together are a gang again.
        (GangScheduler::PodGroup, "none", "own stage 1 2"),
    ];
    for (scheduler, one, both) in rows {
        let mut spec = ganged(scheduler);
        spec.roles[0].restart.kind = RestartKind::None;
        for (lost, gang) in [(0..1, one), (0..2, both)] {
            let mut desk = Desk::complete(&spec);
            member(&mut desk, 1, "worker", |pod| pod.terminating = lost.contains(&pod.index));
            desk.reap();
            desk.plan();
            assert_eq!(desk.gangs, [format!("pd-1: {gang}")], "{scheduler:?} {lost:?}");
        }
    }
}

#[test]
fn a_leader_that_comes_back_alone_is_counted() {
    let mut spec = ganged(GangScheduler::PodGang);
    spec.roles[0].restart.kind = RestartKind::None;
    for (instance, gang) in [(0, "base 2"), (2, "own 1")] {
        let mut desk = Desk::complete(&spec);
        lose(&mut desk, instance, "leader");
        desk.plan();
        assert_eq!(desk.gangs, [format!("pd-{instance}: {gang}")]);
    }
}

#[test]
fn a_stage_that_ran_tells_nothing_of_the_base() {
    let mut spec = ganged(GangScheduler::PodGang);
    let mut desk = Desk::empty(&spec);
    desk.homeless = vec![("pd", 0)];
    desk.plan();
    desk.start();
    assert_eq!(desk.plan(), "^1");
    spec.roles[0].min_available = Some(Int(1));
    desk.wish(&spec).plan();
    assert_eq!(gated(&mut desk), "worker-0-0 worker-0-1 leader-2-0 worker-2-0 worker-2-1");
}

/// The scheduler speaks of the leaders, which are a gang without the workers.
#[test]
fn a_place_for_the_first_stage_of_the_base_is_none_for_the_base() {
    let mut desk = Desk::empty(&ganged(GangScheduler::PodGroup));
    desk.plan();
    desk.seen.groups[0].base_scheduled = true;
    assert_eq!(desk.plan(), "");
    assert_eq!(
        gated(&mut desk),
        "worker-0-0 worker-0-1 worker-1-0 worker-1-1 leader-2-0 worker-2-0 worker-2-1"
    );
    assert_eq!(desk.run(), "^0 ^1 | ^2 | ^2");
}

/// What a checker says of a worker of instance 0 that is let go after these events of its leader.
fn judged(before: &[&str], lag: u64) -> Vec<Promise> {
    let spec = spec(1);
    let of = Subject { group: 0, role: RoleName::new("pd"), instance: 0 };
    let (revision, set_revision, why) = (rev("A"), rev("S"), "Recover".to_owned());
    let wish = SpecEvent {
        targets: [(RoleName::new("pd"), revision)].into(),
        stable: [].into(),
        spec,
        lag,
        own: 0,
        unheard: false,
        anew: false,
    };
    let leader = MemberName::new("leader");
    let what = |name: &str| match name {
        "create" => What::Create { of: of.clone(), revision, set_revision, why: why.clone() },
        "ready" => What::MemberReady { of: of.clone(), revision, member: leader.clone() },
        "gone" => What::Gone { of: of.clone(), revision },
        other => panic!("{other}"),
    };
    let mut checker = Checker::default();
    checker.see(&Event::at(0, What::Spec(Box::new(wish))));
    before.iter().zip(1..).for_each(|(name, t)| checker.see(&Event::at(t, what(name))));
    let member = MemberName::new("worker");
    checker.see(&Event::at(10, What::MemberFree { of: of.clone(), revision, member }));
    checker.broken().iter().map(|broken| broken.promise).collect()
}

#[test]
fn the_promise_is_broken_where_nobody_could_believe_the_leader_ready() {
    let broken = vec![Promise::MemberOrder];
    assert_eq!(judged(&["create"], 0), broken);
    assert_eq!(judged(&["create", "ready"], 0), []);
    assert_eq!(judged(&["create", "ready", "gone", "create"], 0), broken, "another instance");
    assert_eq!(
        judged(&["create", "ready", "gone", "create"], 20),
        [],
        "a view that lags shows the former one"
    );
    assert_eq!(judged(&["create", "ready", "gone", "create"], 5), broken, "not for so long");
}
