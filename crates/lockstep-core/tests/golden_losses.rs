//! What is lost in mid-rollout: its group stays on its way, others stay of service, and a life begins once.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::model::*;
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::plan::plan;
use lockstep_core::snapshot::Snapshot;
use lockstep_core::status::Phase;
use lockstep_core::time::{Millis, Time};
use support::{at, role, set};

/// A role that its group can do without.
fn spare(name: &str, replicas: u32) -> Role {
    Role { min_available: Some(Int(0)), ..role(name, replicas, "A") }
}

#[test]
fn a_group_that_lost_its_only_updated_instance_is_still_on_its_way() {
    let mut spec = groups(2, RollingUpdate, 1, 0, vec![keeping(spare("decode", 2), Int(1))]);
    spec.strategy.order = Order::OldestFirst;
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "-0/decode-1");
    desk.reap();
    assert_eq!(desk.plan(), "+0/decode-1");
    desk.plan();
    desk.each(|group, _, i, pod| pod.terminating |= group == 0 && i == 1);
    assert_eq!(desk.plan(), "", "it comes back at B, and only then the other group is opened");
    desk.reap();
    assert_eq!(desk.plan(), "+0/decode-1");
    desk.start();
    assert_eq!(desk.plan(), "-1/decode-1");
}

#[test]
fn what_is_moved_beside_a_surge_of_another_revision_does_not_return_as_it_was() {
    let spec = set(1, vec![within(role("decode", 4, "A"), 0, 2)]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).plan();
    desk.start();
    let moves = desk.wish(&at(&spec, "C")).plan();
    assert_eq!(moves, "-3 -5", "one ordinal, since C has not proved itself, and what the surge can spare");
    let passes = desk.run();
    assert!(!passes.contains('@'), "{passes}");
    assert_eq!((desk.phase(), desk.line(0, "decode")), (Phase::Complete, "CCCC".to_owned()));
}

#[test]
fn a_finished_group_in_which_something_restarts_is_on_its_way_again() {
    let mut decode = role("decode", 2, "A");
    decode.restart.kind = RestartKind::Instance;
    let mut spec = groups(2, RollingUpdate, 1, 0, vec![decode]);
    spec.strategy.order = Order::Ascending;
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "decode", "B") == 2);
    desk.start();
    desk.each(|group, _, i, pod| pod.restarts += u32::from(group == 0 && i == 0));
    desk.unready(1, "decode", 0);
    assert_eq!(desk.plan(), "-0/decode-0", "the broken group is not opened beside it");
}

#[test]
fn an_instance_that_is_ready_is_not_taken_for_one_that_flaps() {
    let mut decode = with_workers(within(role("decode", 1, "A"), 0, 1), 2);
    decode.members[1].min_available = 1;
    decode.min_ready = Millis::seconds(30);
    let spec = set(1, vec![decode]);
    let mut desk = Desk::complete(&spec);
    let now = desk.now;
    // Its workers blinked one after the other: one of them was ready all the while.
    desk.each(|_, _, _, pod| {
        pod.ready = if pod.member.as_str() == "worker" { Some(now) } else { pod.ready };
    });
    assert_eq!(desk.wait(5).wish(&at(&spec, "B")).plan(), "+1", "only the surge");
    assert_eq!(desk.plan(), "");
}

#[test]
fn a_restart_does_not_stop_a_group_that_is_needed_while_another_goes() {
    let mut router = spare("router", 2);
    router.restart.kind = RestartKind::Group;
    let spec = groups(3, GroupRecreate, 1, 0, vec![role("decode", 1, "A"), router]);
    let mut desk = Desk::complete(&spec);
    desk.each(|group, role, i, pod| {
        pod.restarts += u32::from(group == 0 && role.as_str() == "router" && i == 0);
    });
    let first = desk.wish(&at(&spec, "B")).plan();
    assert_eq!(first, "-0/router-0 -2/decode-0 -2/router-0 -2/router-1", "one router of group 0 stays");
    desk.run();
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn the_last_of_a_role_restarts_while_enough_groups_serve() {
    let mut router = spare("router", 1);
    router.restart.kind = RestartKind::Instance;
    let mut desk = Desk::complete(&groups(3, GroupRecreate, 1, 0, vec![role("decode", 1, "A"), router]));
    desk.each(|_, role, _, pod| pod.restarts += u32::from(role.as_str() == "router"));
    assert_eq!(desk.plan(), "-0/router-0", "one group of three may stop serving");
}

#[test]
fn gang_termination_leaves_a_removed_role_until_the_others_are_complete() {
    let mut spec = set(1, vec![within(role("prefill", 2, "A"), 2, 0), role("router", 1, "A")]);
    spec.gang.termination_delay = Some(Millis::seconds(60));
    let mut desk = Desk::complete(&spec);
    let before = desk.seen.memory.groups[&0].incarnation;
    spec.roles.pop();
    assert_eq!(desk.unready(0, "prefill", 0).wish(&spec).plan(), "");
    assert_eq!(desk.wait(61).plan(), "xprefill-0 -prefill-1");
    assert_eq!(desk.plan(), "", "what is built anew waits for its last pod");
    desk.reap();
    desk.forget();
    assert_eq!(desk.plan(), "+prefill-0 +prefill-1");
    assert!(desk.creates.iter().all(|create| create.incarnation == before + 1));
    desk.start();
    assert_eq!(desk.plan(), "-router-0");
}

#[test]
fn a_life_begins_once_however_often_its_first_pods_cannot_be_created() {
    let spec = groups(2, GroupRecreate, 1, 0, vec![role("decode", 1, "A")]);
    let again = |mut seen: Snapshot, incarnation: u32| {
        let first = plan(&spec, &seen, Time(5_000_000));
        assert!(!first.actions.is_empty());
        seen.memory = first.memory.clone();
        let second = plan(&spec, &seen, Time(5_000_000));
        assert_eq!((&first.actions, &first.memory), (&second.actions, &second.memory));
        assert_eq!(first.memory.groups[&1].incarnation, incarnation);
    };
    again(Snapshot::default(), 1);
    let mut desk = Desk::complete(&spec);
    again(desk.evict(1, "decode", 0).seen.clone(), 2);
}
