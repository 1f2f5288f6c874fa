//! Starting, restarting, ending: order at the first start, what failure replaces, groups below their minimum.

mod golden_support;
mod support;

use golden_support::build::*;
use golden_support::{Desk, Names};
use lockstep_core::blocked::Reason;
use lockstep_core::model::*;
use lockstep_core::names::RoleName;
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::plan::DeleteWhy;
use lockstep_core::snapshot::Memory;
use lockstep_core::status::Phase;
use lockstep_core::time::Millis;
use support::{at, rev, role, set, skew};

/// Decode starts after prefill.
fn after(prefill: u32) -> Spec {
    let mut decode = role("decode", 1, "A");
    decode.starts_after = vec![RoleName::new("prefill")];
    set(1, vec![role("prefill", prefill, "A"), decode])
}

#[test]
fn a_role_starts_when_those_it_names_have_their_minimum_ready() {
    let mut desk = Desk::empty(&after(2));
    desk.homeless = vec![("prefill", 1)];
    assert_eq!(desk.run(), "+prefill-0 +prefill-1 +decode-0");
    assert_eq!(desk.reasons(), [Reason::StartOrder]);
    desk.homeless.clear();
    assert_eq!(desk.run(), "^decode-0");

    let mut spec = after(2);
    spec.roles[0].min_available = Some(Int(1));
    let mut desk = Desk::empty(&spec);
    desk.homeless = vec![("prefill", 1)];
    assert_eq!(desk.run(), "+prefill-0 +prefill-1 +decode-0 | ^decode-0");
}

#[test]
fn the_minimum_is_that_of_the_smaller_size() {
    for (from, to) in [(3, 2), (1, 3)] {
        let mut desk = Desk::empty(&after(from));
        desk.homeless = vec![("prefill", 1), ("prefill", 2)];
        desk.plan();
        desk.homeless = vec![("prefill", 2)];
        desk.wish(&after(to)).run();
        let decode = desk.seen.groups[0].roles.iter().find(|r| r.role.as_str() == "decode").unwrap();
        assert!(!decode.instances[0].pods[0].gated, "from {from} to {to}");
    }
}

#[test]
fn a_start_that_happened_holds_nobody_later() {
    let mut desk = Desk::complete(&after(2));
    desk.homeless = vec![("prefill", 0)];
    desk.evict(0, "prefill", 0).evict(0, "decode", 0).plan();
    assert!(desk.creates.iter().all(|create| !create.gated));
}

#[test]
fn an_added_role_waits_the_same_way_and_a_recreated_group_again() {
    let mut desk = Desk::complete(&set(1, vec![role("prefill", 1, "A")]));
    desk.unready(0, "prefill", 0);
    desk.names = Names::Roles;
    desk.wish(&after(1));
    assert_eq!(desk.plan(), "+decode-0");
    assert!(desk.creates[0].gated);
    assert_eq!(desk.back(0, "prefill", 0).plan(), "^decode-0");

    let mut spec = after(1);
    spec.strategy.kind = StrategyKind::GroupRecreate;
    let mut desk = Desk::complete(&spec);
    let passes = desk.wish(&at(&spec, "B")).run();
    assert_eq!(passes, "-prefill-0 -decode-0 | +prefill-0 +decode-0 | ^decode-0");
}

#[test]
fn roles_of_one_coordination_do_not_wait_for_each_other() {
    let mut spec = after(2);
    spec.rules = vec![skew("together", &["prefill", "decode"], Percent(10))];
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert!(desk.creates.iter().all(|create| !create.gated));
}

#[test]
fn each_stage_is_a_gang_of_its_own() {
    let mut spec = after(2);
    spec.gang.scheduler = GangScheduler::PodGang;
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(desk.gangs, ["prefill-0: base 2", "prefill-1: base 2", "decode-0: stage 1 1*"]);
    assert_eq!(desk.run(), "^decode-0");
}

fn restarting(kind: RestartKind) -> Spec {
    let mut spec = set(1, vec![with_workers(role("r", 3, "A"), 1), role("s", 1, "A")]);
    spec.roles[0].restart.kind = kind;
    spec
}

#[test]
fn policy_none_is_the_kubelets_business() {
    let mut desk = Desk::complete(&restarting(RestartKind::None));
    desk.crash(0, "r", 1);
    assert_eq!(desk.wait(60).run(), "");
    assert_eq!(desk.evict(0, "s", 0).run(), "+s-0");
    desk.each(|_, role, i, pod| {
        pod.failed |= role.as_str() == "r" && i == 0 && pod.index == 0 && pod.member.as_str() == "leader"
    });
    assert_eq!(desk.run(), "xr-0 | +r-0", "a failed pod is deleted free and comes back alone");
    let alone = (desk.deletes.last().unwrap().uids.len(), desk.creates.last().unwrap().pods.len());
    assert_eq!((alone, desk.deletes.last().unwrap().why), ((1, 1), DeleteWhy::FailedPod));
}

#[test]
fn policy_instance_replaces_all_of_its_pods_and_backs_off() {
    let mut desk = Desk::complete(&restarting(RestartKind::Instance));
    assert_eq!(desk.crash(0, "r", 1).run(), "xr-1 | +r-1");
    assert_eq!((desk.deletes[0].uids.len(), desk.deletes[0].why), (2, DeleteWhy::Restart));
    for delay in [30, 60, 120, 240, 480, 600, 600] {
        assert_eq!(desk.crash(0, "r", 1).wait(delay - 1).plan(), "");
        assert!(desk.reasons().contains(&Reason::RestartBackoff));
        assert_eq!(desk.wait(1).run(), "xr-1 | +r-1", "after {delay} s");
    }
}

#[test]
fn failures_are_forgotten_after_a_quiet_time_from_ready() {
    let mut desk = Desk::complete(&restarting(RestartKind::Instance));
    desk.crash(0, "r", 1).run();
    desk.wait(600).plan();
    assert!(!desk.seen.memory.restarts.is_empty(), "longer than the cap");
    desk.wait(600).plan();
    assert!(desk.seen.memory.restarts.is_empty());
}

#[test]
fn restarts_before_ready_or_first_seen_are_the_baseline() {
    let spec = restarting(RestartKind::Instance);
    let mut desk = Desk::complete(&spec);
    desk.each(|_, _, _, pod| pod.restarts = 7);
    desk.seen.memory.since = Some(desk.now);
    assert_eq!(desk.run(), "", "a memory that began after them");
    assert_eq!(desk.crash(0, "r", 1).plan(), "xr-1");
}

#[test]
fn an_instance_that_is_available_again_is_replaced_on_budget() {
    let mut desk = Desk::complete(&restarting(RestartKind::Instance));
    desk.unready(0, "r", 0).crash(0, "r", 1).back(0, "r", 1);
    assert_eq!(desk.plan(), "");
    assert!(desk.reasons().contains(&Reason::BudgetExhausted));
    assert_eq!(desk.back(0, "r", 0).plan(), "-r-1");
}

/// One of two workers is enough; when the other fails, the others are too young to show how long the
/// instance has been ready.
#[test]
fn an_instance_that_is_ready_is_replaced_on_budget_however_young_its_pods_are() {
    let mut spec = restarting(RestartKind::Instance);
    spec.roles[0].min_ready = Millis::seconds(20);
    spec.roles[0].members[1].count = 2;
    let mut desk = Desk::complete(&spec);
    desk.wait(60).plan();
    let now = desk.now;
    desk.each(|_, role, i, pod| {
        if role.as_str() == "r" && i == 1 && pod.member.as_str() != "leader" {
            pod.failed = pod.index == 0;
            pod.ready = (pod.index == 1).then_some(now);
        }
    });
    desk.unready(0, "r", 0);
    assert_eq!(desk.plan(), "", "r-2 alone would be left");
    assert!(desk.reasons().contains(&Reason::BudgetExhausted));
    assert_eq!(desk.back(0, "r", 0).wait(30).plan(), "-r-1");
}

#[test]
fn policy_group_replaces_every_instance_within_the_limits() {
    let mut desk = Desk::complete(&restarting(RestartKind::Group));
    let passes = desk.crash(0, "r", 1).run();
    assert_eq!(passes, "xr-1 -s-0 | +r-1 +s-0 | -r-0 | +r-0 | -r-2 | +r-2");
    desk.crash(0, "r", 1).plan();
    assert!(desk.reasons().contains(&Reason::RestartBackoff));
}

#[test]
fn policy_group_acts_as_instance_while_the_group_is_in_update() {
    let spec = restarting(RestartKind::Group);
    let mut desk = Desk::complete(&spec);
    let mut to = spec.clone();
    to.roles[0].revision = rev("B");
    desk.wish(&to).run_until(|desk| desk.at(0, "r", "B") == 1);
    desk.start();
    assert_eq!(desk.crash(0, "r", 2).plan(), "xr-2");
    assert!(!desk.seen.memory.restarts.contains_key("0"), "it is no failure of the group");
    assert_eq!(desk.line(0, "s"), "A");
    desk.run();
    assert_eq!((desk.line(0, "r"), desk.phase()), ("BBB".to_owned(), Phase::Complete));
}

#[test]
fn a_restart_is_no_progress() {
    let spec = restarting(RestartKind::Instance);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    desk.wish(&at(&spec, "B")).run();
    for _ in 0..10 {
        desk.wait(60).crash(0, "r", 0).run();
    }
    assert_eq!(desk.phase(), Phase::Stalled);
}

fn terminating(unavailable: u32) -> Spec {
    let mut spec = set(1, vec![within(role("r", 2, "A"), unavailable, 0)]);
    spec.gang.termination_delay = Some(Millis::seconds(60));
    spec
}

#[test]
fn a_group_below_its_minimum_for_the_delay_is_recreated() {
    let mut desk = Desk::complete(&terminating(1));
    desk.unready(0, "r", 0).unready(0, "r", 1);
    assert_eq!(desk.run(), "");
    assert_eq!(desk.wait(59).run(), "");
    desk.wait(1).plan();
    assert_eq!(desk.deletes.len(), 2);
    assert!(desk.deletes.iter().all(|delete| delete.why == DeleteWhy::GangTermination));
    assert_eq!(desk.run(), "+0 +1");
}

#[test]
fn gang_termination_holds_while_instances_work_that_may_not_be_spared() {
    let mut desk = Desk::complete(&terminating(1));
    desk.unready(0, "r", 0).plan();
    assert_eq!(desk.wait(3600).run(), "");
    assert_eq!(desk.reasons(), [Reason::GangTerminationHeld]);
    let mut desk = Desk::complete(&terminating(2));
    desk.unready(0, "r", 0).plan();
    desk.wait(60).plan();
    assert_eq!(desk.deletes.len(), 2, "both may be down");
}

#[test]
fn gang_termination_spares_a_slow_start_and_an_update() {
    let mut slow = Desk::empty(&terminating(2));
    slow.bad = vec![rev("A")];
    slow.run();
    assert_eq!(slow.wait(100_000).run(), "", "never available yet");

    let spec = terminating(2);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    let mut to = at(&spec, "B");
    to.rules = vec![ordered("canary", vec![update("r", Int(1)), pause(None)])];
    desk.wish(&to).run();
    assert_eq!(desk.line(0, "r"), "AB");
    assert_eq!(desk.wait(100_000).run(), "", "in update");
    to.paused = true;
    assert_eq!(desk.wish(&to).wait(100_000).run(), "", "paused in mid-update");
}

#[test]
fn gang_termination_returns_each_ordinal_at_its_own_revision_and_backs_off() {
    let mut spec = terminating(2);
    spec.roles[0].strategy.partition = Int(1);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!(desk.line(0, "r"), "AB");
    desk.wait(3600).plan();
    desk.unready(0, "r", 0).plan();
    desk.wait(60).run();
    assert_eq!(desk.line(0, "r"), "AB");
    assert_eq!(desk.deletes.iter().filter(|d| d.why == DeleteWhy::GangTermination).count(), 2);
}

#[test]
fn restarts_go_on_while_paused() {
    let mut spec = set(1, vec![with_workers(role("r", 2, "A"), 1)]);
    spec.paused = true;
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.crash(0, "r", 1).run(), "x1 | +1");
}

#[test]
fn start_order_knows_who_started_without_memory() {
    let mut decode = role("decode", 2, "A");
    decode.starts_after = vec![RoleName::new("prefill")];
    let mut desk = Desk::complete(&set(1, vec![role("prefill", 2, "A"), decode]));
    desk.unready(0, "prefill", 0);
    desk.seen.memory = Memory::default();
    desk.evict(0, "decode", 1).plan();
    assert!(!desk.creates[0].gated, "decode runs, so prefill had started");
}

/// Sixty seconds to be ready again by itself.
fn patient(kind: RestartKind) -> Spec {
    let mut spec = restarting(kind);
    spec.roles.iter_mut().for_each(|role| role.restart.grace = Millis::seconds(60));
    spec
}

#[test]
fn an_instance_that_is_ready_again_in_time_keeps_its_pods() {
    let mut desk = Desk::complete(&patient(RestartKind::Instance));
    assert_eq!(desk.crash(0, "r", 1).wait(59).plan(), "");
    assert_eq!(desk.reasons(), [Reason::RestartBackoff], "{:?}", desk.blocked());
    let due = desk.last.as_ref().and_then(|plan| plan.wake);
    assert_eq!(due.map(|due| due.since(desk.now)), Some(Millis::seconds(1)));
    assert_eq!(desk.back(0, "r", 1).plan(), "");
    assert_eq!((desk.wait(3600).run().as_str(), desk.reasons().len()), ("", 0), "it is forgiven");
    assert_eq!(desk.crash(0, "r", 1).wait(60).run(), "xr-1 | +r-1", "the next one counts from its own time");
}

#[test]
fn a_group_is_replaced_only_when_its_instance_had_its_time() {
    let mut desk = Desk::complete(&patient(RestartKind::Group));
    assert_eq!(desk.crash(0, "r", 1).wait(59).run(), "");
    assert_eq!(desk.wait(1).plan(), "xr-1 -s-0");
}
