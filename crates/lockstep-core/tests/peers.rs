//! What others shipped, and cannot happen here: one test a bug, named after it.

mod golden_support;
mod support;

use golden_support::build::*;
use golden_support::{Desk, Names};
use lockstep_core::blocked::Reason;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::model::*;
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::snapshot::Memory;
use lockstep_core::status::Phase;
use lockstep_core::time::{Millis, Time};
use support::{at, rev, role, set, skew};

fn single(desired: u32, unavailable: u32, surge: u32) -> Spec {
    set(1, vec![within(role("r", desired, "A"), unavailable, surge)])
}

fn rolled(spec: &Spec) -> Desk {
    let mut desk = Desk::complete(spec);
    desk.wish(&at(spec, "B")).run();
    desk
}

#[test]
fn grove_697_a_ready_pod_with_an_old_crash_is_healthy() {
    let spec = single(2, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.each(|_, _, _, pod| {
        pod.restarts = 17;
        pod.unready = Some(Time(1_000_000));
    });
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-1 | +1 | -0 | +0");
    assert_eq!(desk.lowest("r"), 1, "never both");
}

#[test]
fn grove_840_what_is_unavailable_does_not_stop_its_own_repair() {
    let spec = single(3, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.unready(0, "r", 0).unready(0, "r", 1).wait(60);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!((desk.phase(), desk.lowest("r")), (Phase::Complete, 1));
}

#[test]
fn grove_400_565_a_second_update_in_mid_update_ends_with_the_last_template() {
    let spec = single(5, 1, 0);
    for after in 1..5 {
        let mut desk = Desk::complete(&spec);
        desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == after);
        desk.start();
        desk.wish(&at(&spec, "C")).run();
        assert_eq!((desk.line(0, "r"), desk.lowest("r")), ("CCCCC".to_owned(), 4), "after {after}");
    }
}

#[test]
fn grove_a_pod_that_dies_where_nothing_moved_yet_returns_as_it_was() {
    let spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 2, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).plan();
    assert_eq!(desk.evict(0, "r", 1).plan(), "+0/r-1@A +2/r-1");
}

#[test]
fn grove_surge_leaves_by_ordinal_and_not_by_age() {
    for order in [Order::OldestFirst, Order::Ascending, Order::Descending] {
        let mut spec = single(3, 0, 1);
        spec.roles[0].strategy.order = order;
        assert_eq!(rolled(&spec).line(0, "r"), "BBB", "no hole");
    }
}

fn gang() -> Spec {
    let mut prefill = with_workers(role("prefill", 3, "A"), 1);
    prefill.min_available = Some(Int(1));
    let mut spec = set(1, vec![prefill]);
    spec.gang.scheduler = GangScheduler::PodGang;
    spec
}

#[test]
fn grove_209_a_scaled_gang_waits_for_scheduled_and_not_for_ready() {
    let mut desk = Desk::empty(&gang());
    desk.bad = vec![rev("A")];
    assert_eq!(desk.run(), "+0 +1 +2 | ^1 ^2");
}

#[test]
fn grove_316_pods_created_while_the_gang_is_rebuilt_are_not_gated_for_ever() {
    let mut desk = Desk::complete(&gang());
    desk.seen.memory = Memory::default();
    desk.evict(0, "prefill", 0).evict(0, "prefill", 1).evict(0, "prefill", 2);
    desk.run();
    let mut gated = 0;
    desk.each(|_, _, _, pod| gated += u32::from(pod.gated));
    assert_eq!((gated, desk.phase()), (0, Phase::Complete));
}

#[test]
fn grove_826_recovery_knows_the_scaled_count() {
    let mut desk = Desk::complete(&single(2, 1, 0));
    desk.wish(&single(5, 1, 0)).run();
    for i in 0..5 {
        desk.evict(0, "r", i);
    }
    assert_eq!(desk.run(), "+0 +1 +2 +3 +4");
}

#[test]
fn grove_a_template_is_found_by_role_and_not_by_suffix() {
    let mut spec = set(1, vec![role("worker", 1, "W"), role("prefill-worker", 1, "P")]);
    spec.roles.reverse();
    let mut desk = Desk::complete(&spec);
    desk.evict(0, "worker", 0).evict(0, "prefill-worker", 0).run();
    assert_eq!((desk.line(0, "worker"), desk.line(0, "prefill-worker")), ("W".to_owned(), "P".to_owned()));
}

#[test]
fn kthena_1743_surge_leaves_no_hole_and_fits_with_partition() {
    for (surge, partition) in [(1, 0), (2, 0), (2, 1), (3, 2), (1, 3)] {
        let mut spec = groups(3, RollingUpdate, 0, surge, vec![role("r", 1, "A")]);
        spec.strategy.partition = Int(partition);
        let desk = rolled(&spec);
        let ordinals: Vec<u32> = desk.seen.groups.iter().map(|group| group.group).collect();
        let line: String = (0..3).map(|g| desk.line(g, "r")).collect();
        let kept = partition as usize;
        assert_eq!(line, format!("{}{}", "A".repeat(kept), "B".repeat(3 - kept)), "S{surge} p{partition}");
        assert_eq!(ordinals.len(), 3, "S{surge} p{partition}: {ordinals:?}");
    }
}

#[test]
fn kthena_1795_1707_an_outdated_group_is_scaled_and_healed_with_its_own_template() {
    for kind in [RollingUpdate, GroupRecreate] {
        let mut spec = groups(2, kind, 1, 0, vec![role("r", 2, "A")]);
        spec.strategy.partition = Int(1);
        let mut desk = rolled(&spec);
        desk.evict(0, "r", 1).run();
        let mut more = at(&spec, "B");
        more.roles[0].replicas = 3;
        desk.wish(&more).run();
        assert_eq!((desk.line(0, "r"), desk.line(1, "r")), ("AAA".to_owned(), "BBB".to_owned()), "{kind:?}");
    }
}

#[test]
fn kthena_broken_groups_below_the_partition_are_counted() {
    for kind in [RollingUpdate, GroupRecreate] {
        let mut spec = groups(3, kind, 1, 0, vec![role("r", 1, "A")]);
        spec.strategy.partition = Int(1);
        let mut desk = Desk::complete(&spec);
        desk.unready(0, "r", 0).wait(60);
        assert_eq!(desk.wish(&at(&spec, "B")).run(), "", "{kind:?}: one is down already");
    }
}

#[test]
fn kthena_1344_a_group_whose_role_is_down_is_not_reported_available() {
    let spec = groups(2, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "-1/r-0");
    for _ in 0..2 {
        desk.plan();
        assert_eq!(desk.last.as_ref().unwrap().status.ready, 1);
        desk.reap();
    }
}

#[test]
fn kthena_1661_without_a_restart_policy_a_deleted_pod_comes_back() {
    let mut spec = set(1, vec![with_workers(role("r", 2, "A"), 1)]);
    spec.roles[0].restart.kind = RestartKind::None;
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.evict(0, "r", 0).run(), "+0");
    desk.each(|_, _, i, pod| pod.terminating |= i == 1 && pod.member.as_str() == "worker");
    desk.reap();
    assert_eq!(desk.run(), "+1");
    assert_eq!(desk.creates.last().unwrap().pods.len(), 1);
}

#[test]
fn lws_778_r1_s1_u0_does_not_deadlock() {
    let desk = rolled(&single(1, 0, 1));
    assert_eq!((desk.phase(), desk.lowest("r")), (Phase::Complete, 1));
}

#[test]
fn lws_567_rbg_464_all_old_units_unready_do_not_hold_the_update() {
    for (unavailable, surge) in [(1, 0), (0, 1), (2, 2)] {
        let spec = single(4, unavailable, surge);
        let mut desk = Desk::complete(&spec);
        for i in 0..4 {
            desk.unready(0, "r", i);
        }
        desk.wait(60).wish(&at(&spec, "B")).run();
        assert_eq!(desk.phase(), Phase::Complete, "U{unavailable} S{surge}");
    }
}

#[test]
fn lws_225_a_restarted_controller_moves_no_more_than_before() {
    let spec = groups(4, RollingUpdate, 1, 0, vec![role("r", 2, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(3, "r", "B") == 1);
    for _ in 0..40 {
        desk.seen.memory = Memory::default();
        desk.most_down = 0;
        desk.plan();
        assert!(desk.most_down <= 1, "nothing is remembered, and one is down at most");
        let _ = desk.reap() || desk.start();
    }
    assert_eq!((0..4).map(|g| desk.line(g, "r")).collect::<String>(), "BBBBBBBB");
}

#[test]
fn lws_1048_a_crashing_group_is_not_recreated_thirty_times() {
    let mut spec = set(1, vec![with_workers(role("r", 1, "A"), 1)]);
    spec.roles[0].restart.kind = RestartKind::Group;
    let mut desk = Desk::complete(&spec);
    for _ in 0..90 {
        desk.wait(1).run();
        desk.crash(0, "r", 0).run();
    }
    assert!((1..=3).contains(&desk.deletes.len()), "{} in 90 s", desk.deletes.len());
    assert!(desk.reasons().contains(&Reason::RestartBackoff));
}

#[test]
fn lws_disaggregated_set_the_ready_floor_holds_for_every_pair_of_sizes() {
    for prefill in 1..=20 {
        for decode in 1..=20 {
            let roles = vec![role("prefill", prefill, "A"), role("decode", decode, "A")];
            let desk = rolled(&one_group(roles, vec![skew("s", &["prefill", "decode"], Percent(10))]));
            assert_eq!(desk.phase(), Phase::Complete);
            let low = (desk.lowest("prefill") + 1, desk.lowest("decode") + 1);
            assert_eq!(low, (prefill as usize, decode as usize));
        }
    }
}

fn pair(prefill: u32, decode: u32, rule: Rule) -> Spec {
    one_group(vec![role("prefill", prefill, "A"), role("decode", decode, "A")], vec![rule])
}

#[test]
fn rbg_307_one_prefill_and_one_decode_at_ten_percent_finish() {
    assert_eq!(rolled(&pair(1, 1, skew("s", &["prefill", "decode"], Percent(10)))).phase(), Phase::Complete);
}

#[test]
fn rbg_the_status_of_the_old_revision_is_no_progress() {
    let mut spec = pair(10, 10, skew("s", &["prefill", "decode"], Percent(10)));
    spec.roles.iter_mut().for_each(|role| role.strategy.max_unavailable = Percent(100));
    let mut desk = rolled(&spec);
    desk.forget();
    desk.wish(&at(&spec, "C")).plan();
    assert_eq!(desk.deletes.len(), 2, "the first wave: one of each");
}

#[test]
fn rbg_an_absolute_skew_is_honoured() {
    let mut spec = pair(40, 20, skew("s", &["prefill", "decode"], Int(2)));
    spec.roles.iter_mut().for_each(|role| role.strategy.max_unavailable = Percent(100));
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).plan();
    assert_eq!(desk.deletes.len(), 6, "two of twenty decode, four of forty prefill");
}

#[test]
fn rbg_154_all_roles_move_a_hundred_rounds_and_not_three_hundred() {
    let mut spec = pair(200, 100, skew("s", &["prefill", "decode"], Percent(1)));
    spec.roles.iter_mut().for_each(|role| role.strategy.max_unavailable = Percent(1));
    let mut desk = Desk::complete(&spec);
    let passes = desk.wish(&at(&spec, "B")).run();
    assert_eq!(passes.split(" | ").filter(|pass| pass.starts_with('-')).count(), 100);
}

#[test]
fn dynamo_13620_a_revert_in_mid_rollout_keeps_the_limits() {
    let spec = single(6, 2, 0);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 4);
    desk.wish(&spec).run();
    assert_eq!((desk.line(0, "r"), desk.lowest("r")), ("AAAAAA".to_owned(), 4));
}

#[test]
fn dynamo_3567_old_ready_pods_are_no_success() {
    let mut spec = single(3, 1, 0);
    spec.roles[0].min_ready = Millis::seconds(30);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B"));
    while desk.line(0, "r") != "BBB" {
        desk.wait(40).run();
        assert_ne!(desk.phase(), Phase::Complete);
    }
    desk.start();
    desk.plan();
    assert_ne!(desk.phase(), Phase::Complete, "updated and ready, not yet available");
    desk.wait(30).plan();
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn argo_3765_readiness_that_comes_and_goes_is_no_progress() {
    let spec = set(1, vec![keeping(role("canary", 2, "A"), Int(1)), role("stuck", 2, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("X")];
    let mut to = at(&spec, "B");
    to.roles[1].revision = rev("X");
    desk.wish(&to).run();
    for _ in 0..60 {
        desk.wait(5).unready(0, "canary", 1).plan();
        desk.wait(5).back(0, "canary", 1).plan();
    }
    assert_eq!(desk.phase(), Phase::Stalled);
}
