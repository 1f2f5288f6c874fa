//! Groups: opened, recreated, surged, kept; roles that come and go.

mod golden_support;
mod support;

use golden_support::build::*;
use golden_support::{Desk, Names};
use lockstep_core::blocked::Reason;
use lockstep_core::model::StrategyKind::*;
use lockstep_core::model::*;
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::status::Phase;
use lockstep_core::time::Millis;
use support::{at, rev, role, set};

fn pair() -> Vec<Role> {
    vec![with_workers(role("prefill", 2, "A"), 1), role("decode", 1, "A")]
}

fn rollout(spec: &Spec) -> (String, Desk) {
    let mut desk = Desk::complete(spec);
    desk.names = Names::Groups;
    let passes = desk.wish(&at(spec, "B")).run();
    (passes, desk)
}

#[test]
fn recreated_groups_in_order() {
    let mut ascending = groups(3, GroupRecreate, 0, 1, pair());
    ascending.strategy.order = Order::Ascending;
    for (why, spec, passes) in [
        ("the ten steps", ascending, "+3 | -0 | +0 | -1 | +1 | -2 | +2 | -3"),
        ("one at a time", groups(2, GroupRecreate, 1, 0, pair()), "-1 | +1 | -0 | +0"),
        ("both at once", groups(2, GroupRecreate, 2, 0, pair()), "-0 -1 | +0 +1"),
    ] {
        let (found, desk) = rollout(&spec);
        assert_eq!((found.as_str(), desk.phase()), (passes, Phase::Complete), "{why}");
    }
}

#[test]
fn with_surge_and_none_down_every_group_is_covered() {
    let mut desk = Desk::complete(&groups(3, GroupRecreate, 0, 1, pair()));
    desk.names = Names::Groups;
    let to = at(&desk.spec, "B");
    let whole = |desk: &Desk, group: u32| {
        ["prefill", "decode"].iter().all(|r| desk.at(group, r, "A") + desk.at(group, r, "B") > 0)
    };
    desk.wish(&to).run_until(|desk| {
        assert!((0..4).filter(|group| whole(desk, *group)).count() >= 3);
        false
    });
}

#[test]
fn a_surge_group_that_is_waited_for_is_named() {
    let spec = groups(2, GroupRecreate, 0, 1, pair());
    for (bad, homeless, reason, message) in [
        (vec![rev("B")], vec![], Reason::NotReadyYet, "to be available"),
        (vec![], vec![("decode", 0)], Reason::SurgeUnschedulable, "to find nodes"),
    ] {
        let mut desk = Desk::complete(&spec);
        (desk.names, desk.bad, desk.homeless) = (Names::Groups, bad, homeless);
        assert_eq!(desk.wish(&at(&spec, "B")).run(), "+2");
        assert_eq!(desk.wait(600).run(), "");
        assert_eq!((desk.phase(), desk.reasons()), (Phase::Stalled, vec![reason]));
        let surge = format!("{}-2", spec.name);
        let said = &desk.blocked()[0].message;
        assert!(said.contains(&format!("waits for surge group {surge} {message}")), "{said}");
    }
}

#[test]
fn a_recreated_group_waits_for_its_last_old_pod() {
    let spec = groups(2, GroupRecreate, 1, 0, pair());
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "-1");
    desk.reap_role("prefill");
    assert_eq!(desk.plan(), "", "decode of group 1 is still there");
    assert!(desk.reasons().contains(&Reason::WaitingForTermination));
    desk.reap();
    assert_eq!(desk.plan(), "+1");
    assert_eq!(desk.plan(), "", "group 0 waits until group 1 is available");
}

#[test]
fn one_changed_role_recreates_all_of_its_group() {
    let mut desk = Desk::complete(&groups(1, GroupRecreate, 1, 0, pair()));
    let mut to = desk.spec.clone();
    to.roles[1].revision = rev("B");
    desk.names = Names::Roles;
    assert_eq!(desk.wish(&to).run(), "-prefill-0 -prefill-1 -decode-0 | +prefill-0 +prefill-1 +decode-0");
}

#[test]
fn one_changed_role_leaves_the_others_alone_when_groups_roll() {
    let mut desk = Desk::complete(&groups(2, RollingUpdate, 1, 0, pair()));
    let mut to = desk.spec.clone();
    to.roles[1].revision = rev("B");
    assert_eq!(desk.wish(&to).run(), "-1/decode-0 | +1/decode-0 | -0/decode-0 | +0/decode-0");
}

#[test]
fn a_role_scaled_out_with_a_new_template_tears_down_one_group_at_a_time() {
    let spec = groups(2, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    let mut to = at(&spec, "B");
    to.roles[0].replicas = 2;
    desk.wish(&to);
    for wait in [0, 11, 0, 60] {
        desk.wait(wait).run_until(|desk| {
            let serving = (0..2).filter(|g| desk.at(*g, "r", "A") + desk.at(*g, "r", "B") > 0);
            assert!(serving.count() >= 1);
            false
        });
    }
    assert_eq!((desk.line(0, "r"), desk.line(1, "r")), ("BB".to_owned(), "BB".to_owned()));
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn a_short_group_that_serves_is_not_torn_down_beside_another() {
    let spec = groups(2, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    let mut to = at(&spec, "B");
    to.roles[0].replicas = 2;
    desk.homeless = vec![("r", 1)];
    assert_eq!(desk.wish(&to).plan(), "+0/r-1@A x1/r-0", "neither is available, both serve");
    assert_eq!(desk.wait(60).plan(), "", "group 0 serves alone");
    desk.homeless.clear();
    desk.run();
    assert_eq!((desk.line(0, "r"), desk.line(1, "r")), ("BB".to_owned(), "BB".to_owned()));
}

#[test]
fn short_groups_that_serve_go_one_by_one_even_when_they_may_go_free() {
    let spec = groups(3, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.bad = vec![rev("A")];
    let mut to = at(&spec, "B");
    to.roles[0].replicas = 2;
    assert_eq!(
        desk.wish(&to).run(),
        "+0@A +1@A x2 | +2",
        "the second instances of the old groups never start"
    );
    assert_eq!(desk.wait(11).run(), "x1 | +1 | x0 | +0");
}

#[test]
fn groups_open_one_by_one() {
    let spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 2, "A")]);
    let mut desk = Desk::complete(&spec);
    let passes = desk.wish(&at(&spec, "B")).run();
    let each = |g: u32| format!("-{g}/r-1 | +{g}/r-1 | -{g}/r-0 | +{g}/r-0");
    assert_eq!(passes, format!("{} | {} | {}", each(2), each(1), each(0)));
}

#[test]
fn roles_of_an_open_group_roll_side_by_side() {
    let spec = groups(1, RollingUpdate, 1, 0, vec![role("p", 2, "A"), role("d", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-p-1 -d-0 | +p-1 +d-0 | -p-0 | +p-0");
}

#[test]
fn partition_counts_groups() {
    let mut spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    spec.strategy.partition = Int(1);
    let (passes, mut desk) = rollout(&spec);
    assert_eq!((passes.as_str(), desk.phase()), ("-2 | +2 | -1 | +1", Phase::PartitionReached));
    assert_eq!(desk.evict(0, "r", 0).run(), "+0@A", "a group below the partition returns as it was");
}

#[test]
fn a_broken_group_below_the_partition_counts() {
    let mut spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    spec.strategy.partition = Int(1);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.unready(0, "r", 0).wait(60);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "");
    assert_eq!(desk.reasons(), [Reason::GroupsExhausted]);
    assert_eq!(desk.back(0, "r", 0).run(), "-2 | +2 | -1 | +1");
}

#[test]
fn a_broken_group_is_opened_first_and_alone() {
    let spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.unready(0, "r", 0).wait(60);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "x0 | +0 | -2 | +2 | -1 | +1");
}

#[test]
fn an_unscheduled_group_goes_before_a_broken_one() {
    let spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.unready(2, "r", 0).wait(60);
    desk.each(|g, _, _, pod| {
        if g == 1 {
            (pod.ready, pod.bound, pod.created) = (None, None, lockstep_core::time::Time(0));
        }
    });
    desk.homeless = vec![("r", 0)];
    assert_eq!(desk.wish(&at(&spec, "B")).plan(), "x1");
}

#[test]
fn surge_adds_whole_groups_and_takes_them_away() {
    let spec = groups(2, RollingUpdate, 0, 1, vec![role("r", 1, "A")]);
    let (passes, desk) = rollout(&spec);
    assert_eq!((passes.as_str(), desk.phase()), ("+2 | -1 | +1 | -0 | +0 | -2", Phase::Complete));
}

#[test]
fn on_delete_nothing_moves_until_all_pods_of_an_instance_are_gone() {
    let spec = groups(1, OnDelete, 1, 0, vec![with_workers(role("r", 2, "A"), 2)]);
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "");
    assert_eq!(desk.reasons(), [Reason::OnDelete]);
    desk.each(|_, _, i, pod| pod.terminating |= i == 1 && pod.member.as_str() == "leader");
    desk.reap();
    assert_eq!(desk.run(), "+1@A", "one pod of it alone returns as the others are");
    assert_eq!(desk.evict(0, "r", 1).run(), "+1");
    assert_eq!(desk.line(0, "r"), "AB");
}

#[test]
fn on_delete_of_one_role_leaves_the_others_rolling() {
    let mut roles = vec![role("p", 1, "A"), role("d", 1, "A")];
    roles[0].strategy.kind = OnDelete;
    let mut desk = Desk::complete(&set(1, roles));
    let to = at(&desk.spec, "B");
    assert_eq!(desk.wish(&to).run(), "-d-0 | +d-0");
    assert_eq!(desk.evict(0, "p", 0).run(), "+p-0");
}

#[test]
fn a_role_updated_by_hand_holds_no_other_group() {
    let mut roles = vec![role("p", 2, "A"), role("d", 1, "A")];
    roles[0].strategy.kind = OnDelete;
    let spec = groups(3, RollingUpdate, 1, 0, roles);
    let mut desk = Desk::complete(&spec);
    let passes = desk.wish(&at(&spec, "B")).run();
    assert_eq!(passes, "-2/d-0 | +2/d-0 | -1/d-0 | +1/d-0 | -0/d-0 | +0/d-0");
    assert_eq!(desk.wait(3600).run(), "");
    assert_eq!((desk.phase(), desk.reasons()), (Phase::Progressing, vec![Reason::OnDelete; 3]));
    assert_eq!(desk.evict(1, "p", 0).run(), "+1/p-0");
    let next = desk.wish(&at(&spec, "C")).run();
    assert_eq!(next, "-2/d-0 | +2/d-0 | -1/d-0 | +1/d-0 | -0/d-0 | +0/d-0", "one of p was renewed meanwhile");
}

#[test]
fn nothing_is_replaced_in_a_group_that_only_waits_for_its_end() {
    let mut spec = groups(4, RollingUpdate, 1, 0, vec![role("r", 2, "A")]);
    spec.roles[0].min_available = Some(Int(1));
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    for group in 0..2 {
        desk.unready(group, "r", 0).unready(group, "r", 1);
    }
    spec.replicas = 2;
    assert_eq!(desk.wish(&spec).plan(), "-3", "group 2 is the only one left that is available");
    assert_eq!(desk.evict(2, "r", 1).plan(), "");
    desk.back(0, "r", 0);
    assert_eq!(desk.plan(), "-2");
}

#[test]
fn a_removed_role_goes_last_within_its_own_limit() {
    let spec = set(1, vec![role("r", 2, "A"), role("s", 3, "A")]);
    let mut desk = Desk::complete(&spec);
    let mut to = at(&spec, "B");
    to.roles.truncate(1);
    let passes = desk.wish(&to).run();
    assert_eq!(passes, "-r-1 | +r-1 | -r-0 | +r-0 | -s-2 | -s-1 | -s-0");
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn a_removed_role_stays_while_the_others_are_incomplete() {
    let spec = set(1, vec![role("r", 2, "A"), role("s", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    let mut to = at(&spec, "B");
    to.roles.truncate(1);
    assert_eq!(desk.wish(&to).run(), "-r-1 | +r-1");
    assert!(desk.reasons().contains(&Reason::RoleRemoval));
    assert_eq!(desk.line(0, "s"), "A");
}

#[test]
fn an_added_role_is_created_at_once_when_groups_roll() {
    let spec = groups(2, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    let mut to = spec.clone();
    to.roles.push(role("s", 1, "S"));
    assert_eq!(desk.wish(&to).run(), "+0/s-0 +1/s-0");
    assert_eq!(desk.phase(), Phase::Complete);
}

#[test]
fn an_added_role_comes_with_its_group_when_groups_are_recreated() {
    let spec = groups(2, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    let mut to = spec.clone();
    to.roles.push(role("s", 1, "S"));
    assert_eq!(
        desk.wish(&to).run(),
        "-1/r-0 | +1/r-0 +1/s-0 | -0/r-0 | +0/r-0 +0/s-0",
        "two revisions of the set never stand in one group"
    );
}

#[test]
fn a_removed_role_stays_in_groups_below_the_partition() {
    let mut spec = groups(2, RollingUpdate, 1, 0, vec![role("r", 1, "A"), role("s", 1, "A")]);
    spec.strategy.partition = Int(1);
    let mut desk = Desk::complete(&spec);
    let mut to = at(&spec, "B");
    to.roles.truncate(1);
    assert_eq!(desk.wish(&to).run(), "-1/r-0 | +1/r-0 | -1/s-0");
    assert_eq!((desk.line(0, "s"), desk.phase()), ("A".to_owned(), Phase::PartitionReached));
    spec.strategy.kind = GroupRecreate;
    to.strategy.kind = GroupRecreate;
    let mut desk = Desk::complete(&spec);
    assert_eq!(desk.wish(&to).run(), "-1/r-0 -1/s-0 | +1/r-0");
    assert_eq!((desk.line(0, "s"), desk.phase()), ("A".to_owned(), Phase::PartitionReached));
}

#[test]
fn groups_of_which_nothing_is_wished_for_are_complete() {
    for kind in [RollingUpdate, GroupRecreate] {
        let spec = groups(2, kind, 1, 0, vec![role("r", 0, "A")]);
        let mut desk = Desk::complete(&spec);
        assert_eq!(
            (desk.wish(&at(&spec, "B")).run().as_str(), desk.phase()),
            ("", Phase::Complete),
            "{kind:?}"
        );
        assert_eq!(prove(Some(&spec), &at(&spec, "B")), Proof::Finishes, "{kind:?}");
    }
}

#[test]
fn paused_recreation_leaves_old_groups() {
    let spec = groups(3, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(2, "r", "B") == 1);
    desk.start();
    let held = Spec { paused: true, ..at(&spec, "B") };
    assert_eq!(desk.wish(&held).run(), "");
    assert_eq!(desk.evict(0, "r", 0).run(), "+0@A");
    assert_eq!(desk.evict(2, "r", 0).run(), "+2");
    assert_eq!(desk.phase(), Phase::Paused);
}

#[test]
fn two_groups_may_be_open_at_once() {
    let spec = groups(4, RollingUpdate, 2, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.names = Names::Groups;
    assert_eq!(desk.wish(&at(&spec, "B")).run(), "-2 -3 | +2 +3 | -0 -1 | +0 +1");
}

#[test]
fn groups_added_in_mid_rollout_do_not_hurry_it() {
    let spec = groups(2, RollingUpdate, 1, 0, vec![role("r", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).plan();
    let mut more = at(&spec, "B");
    more.replicas = 4;
    desk.names = Names::Groups;
    assert_eq!(desk.wish(&more).run(), "+2@A +3@A | +1 | -3 | +3 | -2 | +2 | -0 | +0");
}

#[test]
fn a_recreated_group_kept_at_a_revision_of_its_own_is_scaled_at_it() {
    let mut spec = groups(2, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    spec.strategy.partition = Int(1);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    let mut to = at(&spec, "C");
    to.strategy.partition = Int(2);
    to.roles[0].replicas = 2;
    assert_eq!(desk.wish(&to).run(), "+0/r-1@A +1/r-1@B");
}

#[test]
fn a_partitioned_group_returns_at_the_stable_revision() {
    let mut spec = groups(2, GroupRecreate, 1, 0, vec![role("r", 1, "A")]);
    spec.strategy.partition = Int(1);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!(desk.wish(&at(&spec, "C")).run(), "-1/r-0 | +1/r-0");
    assert_eq!(desk.evict(0, "r", 0).run(), "+0/r-0@A");
}

#[test]
fn a_bad_canary_set_by_hand_does_not_destroy_the_rest() {
    let mut roles = vec![role("p", 2, "A"), role("d", 1, "A")];
    roles[0].strategy.kind = OnDelete;
    let mut spec = set(1, roles);
    spec.gang.termination_delay = Some(Millis::seconds(60));
    let mut desk = Desk::complete(&spec);
    desk.bad = vec![rev("B")];
    spec.roles[0].revision = rev("B");
    assert_eq!(desk.wish(&spec).run(), "");
    assert_eq!(desk.evict(0, "p", 1).run(), "+p-1");
    for _ in 0..3 {
        assert_eq!(desk.wait(61).run(), "", "the clock stands still while the group is in update");
    }
}

#[test]
fn what_waits_for_a_hand_does_not_hide_a_role_that_broke() {
    let mut roles = vec![role("p", 2, "A"), role("d", 1, "A")];
    roles[0].strategy.kind = OnDelete;
    let mut spec = set(2, roles);
    let mut desk = Desk::complete(&spec);
    spec.roles[0].revision = rev("B");
    desk.wish(&spec).run();
    assert_eq!((desk.wait(3600).run(), desk.phase()), (String::new(), Phase::Progressing));
    desk.unready(1, "d", 0).plan();
    desk.wait(601).plan();
    assert_eq!(desk.phase(), Phase::Stalled);
    desk.back(1, "d", 0).plan();
    assert_eq!((desk.wait(3600).run(), desk.phase()), (String::new(), Phase::Progressing));
}

#[test]
fn the_last_role_of_recreated_groups_can_be_removed() {
    let spec = groups(3, GroupRecreate, 2, 0, vec![role("p", 0, "A"), role("d", 2, "A")]);
    let without = Spec { roles: vec![role("p", 0, "A")], ..spec.clone() };
    assert_eq!(prove(Some(&spec), &without), Proof::Finishes);
}

#[test]
fn a_surge_that_was_asked_to_go_is_live_until_somebody_answers() {
    let spec = groups(2, RollingUpdate, 1, 0, vec![within(role("web", 1, "A"), 0, 1)]);
    let mut desk = Desk::complete(&spec);
    let last = |desk: &Desk| desk.deletes.last().is_some_and(|delete| delete.of.instance == 1);
    let passes = desk.wish(&at(&spec, "B")).run_until(last);
    assert_eq!(passes, "+1/web-1 | -1/web-0 | +1/web-0 | -1/web-1");
    let asked = |desk: &mut Desk, in_flight: bool| {
        desk.each(|_, _, _, pod| pod.in_flight = in_flight && pod.terminating);
    };
    asked(&mut desk, true);
    assert_eq!(desk.plan(), "", "group 1 may still have its surge, so group 0 waits");
    asked(&mut desk, false);
    assert_eq!(desk.plan(), "+0/web-1", "what goes for certain holds nobody back");
}

#[test]
fn a_role_that_goes_back_in_one_group_opens_no_other() {
    let spec = groups(3, RollingUpdate, 1, 0, vec![role("p", 2, "A"), role("d", 1, "A")]);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(2, "p", "B") == 1 && desk.at(2, "d", "B") == 1);
    desk.start();
    let mut back = at(&spec, "B");
    back.roles[1].revision = rev("A");
    let each = |g: u32| format!("-{g}/p-1 | +{g}/p-1 | -{g}/p-0 | +{g}/p-0");
    let passes = desk.wish(&back).run();
    assert_eq!(passes, format!("-2/p-0 -2/d-0 | +2/p-0 +2/d-0 | {} | {}", each(1), each(0)));
}

#[test]
fn a_group_that_goes_back_is_on_its_way_until_the_last_of_it_is_back() {
    let mut spec = groups(3, RollingUpdate, 1, 0, vec![role("r", 2, "A")]);
    spec.roles[0].min_available = Some(Int(1));
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run_until(|desk| desk.at(1, "r", "B") == 2);
    desk.start();
    let each = |g: u32| format!("-{g}/r-1 | +{g}/r-1 | -{g}/r-0 | +{g}/r-0");
    assert_eq!(desk.wish(&spec).run(), format!("{} | {}", each(2), each(1)));
}
