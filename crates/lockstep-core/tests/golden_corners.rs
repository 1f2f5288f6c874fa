//! Corners: what happens when two things happen at once.

mod golden_support;
mod support;

use golden_support::build::*;
use golden_support::{Desk, Names};
use lockstep_core::blocked::Reason;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::model::*;
use lockstep_core::names::{RoleName, RuleName};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::plan::DeleteWhy;
use lockstep_core::status::Phase;
use lockstep_core::time::Millis;
use support::{at, rev, role, set, steps};

fn single(desired: u32, unavailable: u32, surge: u32) -> Spec {
    set(1, vec![within(role("r", desired, "A"), unavailable, surge)])
}

#[test]
fn a_first_start_that_fails_is_repaired_all_at_once() {
    let spec = single(3, 1, 0);
    let mut desk = Desk::empty(&spec);
    desk.bad = vec![rev("A")];
    desk.run();
    let fix = desk.wait(11).wish(&at(&spec, "B")).run();
    assert_eq!(fix, "x2 x1 x0 | +0 +1 +2", "there is nothing stable to return to and nothing to lose");
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn a_pod_our_gate_still_holds_is_moved_at_once() {
    let mut decode = role("decode", 1, "A");
    decode.starts_after = vec![RoleName::new("prefill")];
    let spec = set(1, vec![role("prefill", 1, "A"), decode]);
    let mut desk = Desk::empty(&spec);
    desk.homeless = vec![("prefill", 0)];
    desk.plan();
    let mut to = spec.clone();
    to.roles[1].revision = rev("B");
    assert_eq!(desk.wish(&to).plan(), "xdecode-0");
}

#[test]
fn raising_the_partition_undoes_nothing() {
    let spec = single(4, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 3);
    desk.start();
    let mut kept = at(&spec, "B");
    kept.roles[0].strategy.partition = Int(3);
    assert_eq!(desk.wish(&kept).run(), "");
    assert_eq!((desk.line(0, "r"), desk.phase()), ("ABBB".to_owned(), Phase::PartitionReached));
    assert_eq!(desk.evict(0, "r", 2).run(), "+2@A", "below the partition what is lost returns old");
}

#[test]
fn steps_count_what_the_partition_lets_move() {
    let plan = steps("s", &[("prefill", Percent(100)), ("decode", Percent(100))]);
    let roles = vec![keeping(role("prefill", 4, "A"), Int(3)), role("decode", 2, "A")];
    let mut desk = Desk::complete(&one_group(roles, vec![plan]));
    let to = at(&desk.spec, "B");
    let passes = desk.wish(&to).run();
    assert_eq!(passes, "-prefill-3 | +prefill-3 | -decode-1 | +decode-1 | -decode-0 | +decode-0");
    assert_eq!(desk.phase(), Phase::PartitionReached);
}

#[test]
fn an_instance_of_two_revisions_is_deleted_free_and_recovered() {
    let spec = set(1, vec![with_workers(role("r", 3, "A"), 1)]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 1);
    desk.start();
    desk.each(|_, _, i, pod| {
        if i == 2 && pod.member.as_str() == "worker" {
            pod.revision = rev("A");
        }
    });
    assert_eq!(desk.plan(), "x2");
    assert_eq!(
        (desk.deletes.last().unwrap().why, desk.deletes.last().unwrap().uids.len()),
        (DeleteWhy::Mixed, 2)
    );
    desk.run();
    assert_eq!((desk.line(0, "r"), desk.lowest("r")), ("BBB".to_owned(), 2));
}

#[test]
fn missing_pods_return_at_the_revision_of_those_that_stand() {
    let mut spec = set(1, vec![with_workers(role("r", 3, "A"), 2)]);
    spec.roles[0].restart.kind = RestartKind::None;
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 1);
    desk.start();
    desk.each(|_, _, _, pod| pod.terminating |= pod.member.as_str() == "worker" && pod.index == 0);
    desk.reap();
    assert_eq!(desk.plan(), "+0@A +1@A +2");
    assert!(desk.creates.iter().rev().take(3).all(|create| create.refill && create.pods.len() == 1));
}

#[test]
fn a_create_that_is_not_seen_yet_counts_as_unavailable() {
    let spec = single(3, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 1);
    let now = desk.now;
    desk.each(|_, _, i, pod| {
        if i == 2 {
            (pod.in_flight, pod.ready) = (true, Some(now));
        }
    });
    assert_eq!(desk.plan(), "");
    desk.each(|_, _, _, pod| pod.in_flight = false);
    assert_eq!(desk.plan(), "-1");
}

#[test]
fn min_ready_seconds_hold_the_next_move() {
    let mut spec = single(3, 1, 0);
    spec.roles[0].min_ready = Millis::seconds(30);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 | +2");
    assert_eq!(desk.wait(29).run(), "");
    assert_eq!(desk.wait(1).run(), "-1 | +1");
}

#[test]
fn a_bad_surge_group_is_removed_free_by_the_fix() {
    for kind in [RollingUpdate, GroupRecreate] {
        let spec = groups(2, kind, 0, 1, vec![role("r", 1, "A")]);
        let mut desk = Desk::complete(&spec);
        desk.names = Names::Groups;
        desk.bad = vec![rev("B")];
        assert_eq!(desk.wish(&at(&spec, "B")).run(), "+2", "{kind:?}");
        desk.wait(60).plan();
        let fix = desk.wish(&at(&spec, "C")).run();
        assert_eq!(fix, "x2 | +2 | -1 | +1 | -0 | +0 | -2", "{kind:?}");
    }
}

#[test]
fn a_broken_group_is_recreated_free_and_first() {
    let spec = groups(3, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.unready(0, "r", 0).plan();
    assert_eq!(desk.wait(60).wish(&at(&spec, "B")).run(), "x0 | +0 | -2 | +2 | -1 | +1");
}

#[test]
fn a_bad_image_takes_one_recreated_group() {
    let spec = groups(3, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.bad = vec![rev("B")];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 | +2");
    assert_eq!(desk.wait(60).evict(0, "r", 0).run(), "+0@A", "another that is lost returns old");
    assert_eq!(desk.wait(600).run(), "");
    assert_eq!(desk.phase(), Phase::Stalled);
    assert_eq!(desk.wish(&at(&spec, "C")).run(), "x2 | +2 | -1 | +1 | -0 | +0");
}

#[test]
fn a_removed_role_goes_as_fast_as_its_own_limit() {
    let spec = set(1, vec![role("r", 1, "A"), within(role("s", 3, "A"), 2, 0)]);
    let mut desk = Desk::complete(&spec);
    let mut to = spec.clone();
    to.roles.truncate(1);
    assert_eq!(desk.wish(&to).run(), "-s-2 -s-1 | -s-0");
}

#[test]
fn a_removed_role_comes_back_with_its_pods() {
    let spec = set(1, vec![role("r", 1, "A"), role("s", 3, "A")]);
    let mut desk = Desk::complete(&spec);
    let mut to = spec.clone();
    to.roles.truncate(1);
    assert_eq!(desk.wish(&to).plan(), "-s-2");
    assert_eq!(desk.wish(&spec).run(), "+s-2");
}

#[test]
fn a_block_remembers_since_when_it_holds() {
    let spec = single(3, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    desk.wish(&at(&spec, "B")).run();
    let since = desk.blocked()[0].since;
    desk.wait(300).plan();
    assert_eq!(desk.blocked()[0].since, since);
    assert_eq!(desk.blocked()[0].reason, Reason::NotReadyYet);
}

#[test]
fn status_counts_what_is_there() {
    let spec = single(4, 1, 0);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "r", "B") == 2);
    desk.plan();
    let status = &desk.last.as_ref().unwrap().status;
    let of_role = &status.roles[0];
    assert_eq!((of_role.replicas, of_role.ready, of_role.available), (4, 3, 3));
    assert_eq!((of_role.updated, of_role.updated_ready, of_role.target), (2, 1, 4));
    assert_eq!((of_role.revision.stable, of_role.revision.update), (Some(rev("A")), rev("B")));
    assert_eq!((status.phase, &status.groups_in_update[..]), (Phase::Progressing, &[0][..]));
}

fn updated_groups(desk: &mut Desk) -> u32 {
    desk.plan();
    desk.last.as_ref().map_or(0, |plan| plan.status.updated)
}

#[test]
fn a_group_of_which_nothing_is_wished_for_is_updated() {
    for kind in [RollingUpdate, GroupRecreate] {
        let idle = groups(2, kind, 1, 0, vec![role("a", 0, "A"), role("b", 0, "A")]);
        let mut desk = Desk::empty(&idle);
        assert_eq!((updated_groups(&mut desk), desk.phase()), (2, Phase::Complete), "{kind:?}");
        desk.wish(&at(&idle, "B"));
        assert_eq!((updated_groups(&mut desk), desk.phase()), (2, Phase::Complete), "{kind:?}");
        let mut woken = at(&idle, "B");
        woken.roles[0].replicas = 1;
        desk.wish(&woken);
        assert_eq!((updated_groups(&mut desk), desk.phase()), (0, Phase::Progressing), "{kind:?}");
        desk.run();
        assert_eq!((updated_groups(&mut desk), desk.phase()), (2, Phase::Complete), "{kind:?}");
    }
}

#[test]
fn a_group_that_lacks_instances_is_not_updated() {
    let first = groups(2, RollingUpdate, 1, 0, vec![role("a", 1, "A"), role("b", 2, "A")]);
    let mut desk = Desk::empty(&first);
    desk.run();
    assert_eq!(updated_groups(&mut desk), 2);
    desk.each(|group, role, _, pod| pod.terminating |= group == 1 && role.as_str() == "b");
    desk.reap();
    assert_eq!(updated_groups(&mut desk), 1, "{}", desk.line(1, "b"));
    desk.run();
    assert_eq!(updated_groups(&mut desk), 2);
}

#[test]
fn a_second_gang_termination_backs_off() {
    let mut spec = single(1, 1, 0);
    spec.gang.termination_delay = Some(Millis::seconds(5));
    let mut desk = Desk::complete(&spec);
    desk.unready(0, "r", 0).plan();
    desk.wait(5).run();
    desk.unready(0, "r", 0).plan();
    desk.wait(5).plan();
    assert_eq!(desk.deletes.len(), 1, "five seconds are over, thirty since the last are not");
    desk.wait(25).plan();
    assert_eq!(desk.deletes.len(), 2);
}

#[test]
fn a_restarted_group_leaves_the_others_alone() {
    let mut spec = groups(2, RollingUpdate, 1, 0, vec![role("r", 1, "A"), role("s", 1, "A")]);
    spec.roles[0].restart.kind = RestartKind::Group;
    let mut desk = Desk::complete(&spec);
    desk.crash(1, "r", 0);
    assert_eq!(desk.run(), "x1/r-0 -1/s-0 | +1/r-0 +1/s-0");
}

#[test]
fn scaling_groups_in_goes_from_the_highest() {
    let mut spec = groups(4, RollingUpdate, 1, 0, vec![role("r", 2, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    spec.replicas = 2;
    assert_eq!(desk.wish(&spec).run(), "-2 -3");
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn a_bad_recreated_group_rolls_back() {
    let mut spec = groups(2, GroupRecreate, 1, 0, vec![role("r", 1, "A"), role("s", 1, "A")]);
    spec.on_failure = OnFailure::Rollback;
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.bad = vec![rev("B")];
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-1 | +1");
    desk.wait(600).run();
    desk.wait(1).run();
    assert_eq!(
        (desk.line(1, "r"), desk.line(1, "s"), desk.phase()),
        ("A".to_owned(), "A".to_owned(), Phase::RolledBack)
    );
}

#[test]
fn a_first_start_cannot_be_aborted_into_nothing() {
    let spec = single(2, 1, 0);
    let mut desk = Desk::empty(&spec);
    desk.plan();
    lockstep_core::verbs::abort(&spec, &mut desk.seen.memory);
    desk.run();
    assert_eq!(desk.line(0, "r"), "AA");
}

#[test]
fn a_group_is_under_way_while_its_surge_lives() {
    let spec = groups(2, RollingUpdate, 1, 0, vec![within(role("r", 1, "A"), 0, 1)]);
    let mut desk = Desk::complete(&spec);
    let each = |g: u32| format!("+{g}/r-1 | -{g}/r-0 | +{g}/r-0 | -{g}/r-1");
    assert_eq!(desk.wish(&at(&spec, "B")).run(), format!("{} | {}", each(1), each(0)));
}

#[test]
fn reasons_name_what_holds() {
    let spec = single(4, 1, 0);
    let mut blinked = Desk::complete(&spec);
    blinked.unready(0, "r", 0).wait(5).wish(&at(&spec, "B")).plan();
    assert_eq!(blinked.reasons(), [Reason::BudgetExhausted]);

    let mut homeless = Desk::complete(&spec);
    homeless.homeless = vec![("r", 3)];
    homeless.wish(&at(&spec, "B")).run();
    homeless.wait(11).plan();
    assert_eq!(homeless.reasons(), [Reason::Unschedulable]);

    let mut unproven = Desk::complete(&spec);
    unproven.bad = vec![rev("B")];
    for i in 0..4 {
        unproven.unready(0, "r", i);
    }
    assert_eq!(unproven.wait(11).wish(&at(&spec, "B")).run(), "x3 | +3");
    assert_eq!(unproven.reasons(), [Reason::Unproven]);
}

#[test]
fn an_instance_of_the_old_layout_is_left_as_it_is() {
    let spec = set(1, vec![with_workers(role("r", 2, "A"), 1)]);
    let mut desk = Desk::complete(&spec);
    let to = set(1, vec![with_workers(role("r", 2, "B"), 3)]);
    assert_eq!(desk.wish(&to).run(), "-1 | +1 | -0 | +0");
    assert!(desk.creates.iter().all(|create| create.pods.len() == 4 && !create.refill));
    assert_eq!(desk.lowest("r"), 1);
    let mut desk = Desk::complete(&spec);
    desk.wish(&to).plan();
    desk.evict(0, "r", 0).plan();
    let returned = desk.creates.iter().find(|create| create.of.instance == 0);
    assert_eq!(returned.map(|create| create.pods.len()), Some(2), "as the old revision has it");
}

#[test]
fn the_stable_revision_is_not_lost_with_a_bad_rollout_on_top_of_another() {
    let spec = set(1, vec![within(role("r", 4, "A"), 1, 0)]);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B"), rev("C")];
    desk.wish(&at(&spec, "B")).run();
    desk.wait(60).wish(&at(&spec, "C")).run();
    assert_eq!(desk.line(0, "r"), "AAAC");
    assert_eq!(desk.evict(0, "r", 0).run(), "+0@A");
    let mut back = at(&spec, "C");
    back.on_failure = OnFailure::Rollback;
    desk.wait(700).wish(&back).run();
    desk.wait(1).run();
    assert_eq!((desk.line(0, "r"), desk.phase()), ("AAAA".to_owned(), Phase::RolledBack));
}

#[test]
fn below_the_partition_a_broken_one_at_neither_revision_goes_back_free() {
    let spec = set(1, vec![keeping(role("r", 3, "A"), Int(1))]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!(desk.line(0, "r"), "ABB");
    let mut to = at(&spec, "C");
    to.roles[0].strategy.partition = Int(3);
    assert_eq!(desk.wish(&to).run(), "");
    desk.unready(0, "r", 2);
    assert_eq!(desk.wait(11).run(), "x2 | +2@A");
}

#[test]
fn the_memory_does_not_grow_with_the_number_of_rollouts() {
    let plan = vec![update("r", Int(1)), pause(None), update("r", Percent(100))];
    let mut spec = groups(2, RollingUpdate, 1, 0, vec![role("r", 3, "A"), role("s", 2, "A")]);
    spec.rules = vec![ordered("canary", plan)];
    let mut desk = Desk::complete(&spec);
    let mut sizes = Vec::new();
    for n in 0..30 {
        let to = at(&spec, &format!("R{n}"));
        desk.wish(&to);
        for _ in 0..4 {
            desk.run();
            lockstep_core::verbs::promote(&to, &mut desk.seen.memory, None, desk.now);
        }
        desk.run();
        assert_eq!(desk.phase(), Phase::Complete);
        sizes.push(serde_json::to_string(&desk.seen.memory).unwrap().len());
    }
    assert!(sizes[29] <= sizes[1] + 64, "{sizes:?}");
}

#[test]
fn the_memory_forgets_roles_and_rules_that_were_removed() {
    let mut spec = set(1, vec![role("r", 2, "A"), role("s", 2, "A"), role("t", 2, "A")]);
    spec.roles[1].starts_after = vec![RoleName::new("t")];
    let ratios = [("r", 1), ("t", 1)].map(|(name, ratio)| (RoleName::new(name), ratio)).into();
    let affinity = Affinity { topology_key: "host".to_owned(), ratios, batch_mode: BatchMode::Sequential };
    let kind = RuleKind::AffinityScheduling(affinity);
    let growth = Scaling {
        roles: vec![RoleName::new("s"), RoleName::new("t")],
        max_skew: Int(1),
        progression: Progression::OrderReady,
    };
    spec.rules = vec![
        Rule { name: RuleName::new("side-by-side"), kind },
        Rule { name: RuleName::new("growth"), kind: RuleKind::Scaling(growth) },
    ];
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(0, "t", "B") == 1);
    let remembered = |desk: &Desk| serde_json::to_string(&desk.seen.memory.groups[&0]).unwrap();
    assert!(remembered(&desk).contains("\"t\"") && remembered(&desk).contains("side-by-side"));
    let mut to = at(&spec, "B");
    to.roles.truncate(1);
    to.rules.clear();
    desk.wish(&to).run();
    assert_eq!(desk.phase(), Phase::Complete);
    let left = remembered(&desk);
    assert!(!left.contains("\"t\"") && !left.contains("\"s\"") && !left.contains("side-by-side"), "{left}");
}
