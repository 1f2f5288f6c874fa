//! Cases with one right answer.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test may fail loudly")]

mod federation;

use std::collections::BTreeMap;

use federation::{Dice, Play, Workload, World, wish};
use lockstep_core::align::{
    Alignment, Code, Entry, Kind, Lease, LeaseId, Ledger, Observation, Reach, Report, RollingStrategy,
    SplitMode, Stance, Target, Wish, align,
};
use lockstep_core::number::IntOrPercent::{self, Int, Percent};
use lockstep_core::simulate::federation::clone_set::CloneSet;
use lockstep_core::simulate::federation::deployment::Deployment;
use lockstep_core::simulate::federation::workload::hash;

/// Steps a world through a rollout in an order drawn from a seed: any delay of status, nothing lost for ever.
fn roll_out<W: Workload>(mut world: World<W>, seed: u64, each: impl Fn(&World<W>)) -> World<W> {
    let mut dice = Dice::new(seed);
    let names: Vec<String> = world.sites.keys().cloned().collect();
    for _ in 0..3000 {
        let name = &names[dice.below(names.len() as u32) as usize];
        match dice.below(6) {
            0 => {
                let answer = world.align();
                if world.is_at_rest(&answer) {
                    return world;
                }
            }
            1 => {
                world.apply(name);
            }
            2 => {
                world.send(name);
            }
            3 => {
                world.deliver(name, 0);
            }
            4 => {
                let site = world.sites.get_mut(name).unwrap();
                if let Some(w) = &mut site.workload {
                    let down = w.total() - w.available();
                    w.ready(dice.below(down));
                }
            }
            _ => {
                let site = world.sites.get_mut(name).unwrap();
                let steps = site.workload.as_ref().map(W::steps).unwrap_or_default();
                if !steps.is_empty() {
                    site.workload = Some(steps[dice.below(steps.len() as u32) as usize].clone());
                }
            }
        }
        world.keep();
        each(&world);
    }
    for _ in 0..200 {
        let answer = world.round();
        if world.is_at_rest(&answer) {
            return world;
        }
    }
    panic!("seed {seed} did not finish: {:#?}", world.align().reasons);
}

fn rolled<W: Workload>(
    wish: Wish,
    run: impl Fn(federation::Spec) -> W,
    seed: u64,
    each: impl Fn(&World<W>),
) -> World<W> {
    let mut world = World::running(wish, run);
    world.change(|w| w.template = hash(1));
    roll_out(world, seed, each)
}

#[test]
fn deployment_of_10_over_4_and_6_is_never_under_8_available_nor_over_11_pods() {
    for seed in 0..200 {
        let end = rolled(wish(Kind::Deployment, &[4, 6], 2, 1, 0), Deployment::running, seed, |w| {
            assert!(w.total(Deployment::available) >= 8);
            assert!(w.total(Deployment::total) <= 11);
        });
        assert_eq!(end.new_pods(), 10);
    }
}

#[test]
fn cloneset_of_10_over_3_and_7_with_partition_4_stops_at_6_new_and_4_old() {
    for seed in 0..200 {
        let end = rolled(wish(Kind::CloneSet, &[3, 7], 2, 0, 4), CloneSet::running, seed, |w| {
            assert!(w.total(CloneSet::available) >= 8);
            assert!(w.new_pods() <= 6);
        });
        assert_eq!((end.new_pods(), end.total(CloneSet::total)), (6, 10));
    }
}

#[test]
fn maxunavailable_5_over_10_clusters_is_never_6() {
    for seed in 0..40 {
        rolled(wish(Kind::CloneSet, &[3; 10], 5, 0, 0), CloneSet::running, seed, |w| {
            assert!(w.total(CloneSet::available) >= 25);
        });
        rolled(wish(Kind::Deployment, &[3; 10], 5, 0, 0), Deployment::running, seed, |w| {
            assert!(w.total(Deployment::available) >= 25);
        });
    }
}

#[test]
fn reweighting_4_to_2_and_2_in_a_new_member_is_never_under_3_available() {
    for seed in 0..200 {
        for kind in [Kind::Deployment, Kind::CloneSet] {
            let start = wish(kind, &[4], 1, 0, 0);
            let reweighted = wish(kind, &[2, 2], 1, 0, 0);
            if kind == Kind::Deployment {
                let mut world = World::running(start, Deployment::running);
                world.change(|w| *w = reweighted);
                roll_out(world, seed, |w| assert!(w.total(Deployment::available) >= 3));
            } else {
                let mut world = World::running(start, CloneSet::running);
                world.change(|w| *w = reweighted);
                roll_out(world, seed, |w| assert!(w.total(CloneSet::available) >= 3));
            }
        }
    }
}

/// A member as the hub knows it, by hand.
fn seen(r: u32, av: u32, upd: u32, updav: u32, template: u16, lease: u64) -> Observation {
    Observation {
        replicas: r,
        total: r,
        available: av,
        updated: upd,
        updated_available: Some(updav),
        under_way: 0,
        creates_updated: false,
        unavailable: None,
        template: hash(template),
        acknowledged: (lease > 0).then_some(LeaseId(lease)),
        strategy: RollingStrategy::default(),
        settled: true,
        sequence: 0,
    }
}

fn reports(of: &[(&str, Observation)]) -> BTreeMap<String, Report> {
    of.iter()
        .map(|(c, o)| ((*c).to_owned(), Report { status: Some(o.clone()), ..Report::default() }))
        .collect()
}

fn in_force(answer: &Alignment, cluster: &str) -> (Option<IntOrPercent>, Option<IntOrPercent>) {
    let lease = answer.ledger.members[cluster].latest().unwrap();
    (lease.strategy.partition, lease.strategy.max_unavailable)
}

#[test]
fn r10_p3_u2_over_5_and_5_sequential_goes_the_documented_way() {
    let mut w = wish(Kind::CloneSet, &[5, 5], 2, 0, 3);
    let running = reports(&[("c1", seen(5, 5, 5, 5, 0, 0)), ("c2", seen(5, 5, 5, 5, 0, 0))]);
    w.template = hash(1);
    let first = align(&w, &running, &Ledger::default());
    assert_eq!(in_force(&first, "c1"), (Some(Int(0)), Some(Int(2))));
    assert_eq!(in_force(&first, "c2"), (Some(Percent(100)), Some(Int(0))), "closed");
    let id = |a: &Alignment, c: &str| a.ledger.members[c].latest().unwrap().id.0;

    // c1 has four new and available: it needs one more, and gives one back.
    let four = |a: &Alignment| seen(5, 4, 4, 4, 1, id(a, "c1"));
    let idle = |a: &Alignment| seen(5, 5, 0, 0, 1, id(a, "c2"));
    let shrunk = align(&w, &reports(&[("c1", four(&first)), ("c2", idle(&first))]), &first.ledger);
    assert_eq!(in_force(&shrunk, "c1"), (Some(Int(0)), Some(Int(1))));
    assert!(!shrunk.leases.contains_key("c2"), "not before c1 has confirmed");

    let granted = align(&w, &reports(&[("c1", four(&shrunk)), ("c2", idle(&shrunk))]), &shrunk.ledger);
    assert!(!granted.leases.contains_key("c1"));
    assert_eq!(in_force(&granted, "c2"), (Some(Int(4)), Some(Int(1))));

    let one = seen(5, 5, 1, 1, 1, id(&granted, "c2"));
    let next = align(&w, &reports(&[("c1", four(&granted)), ("c2", one.clone())]), &granted.ledger);
    assert_eq!(in_force(&next, "c1"), (Some(Int(0)), Some(Int(1))));
    assert_eq!(in_force(&next, "c2"), (Some(Int(3)), Some(Int(1))));

    let done = seen(5, 5, 5, 5, 1, id(&next, "c1"));
    let last = align(&w, &reports(&[("c1", done.clone()), ("c2", one)]), &next.ledger);
    assert_eq!(in_force(&last, "c2"), (Some(Int(3)), Some(Int(1))));
    let rest = last.ledger.members["c1"].latest().unwrap();
    assert_eq!((rest.stance, rest.strategy.paused), (Stance::Rest, Some(true)));
    assert!(!last.complete);

    let two = seen(5, 5, 2, 2, 1, id(&last, "c2"));
    let end = align(&w, &reports(&[("c1", done), ("c2", two)]), &last.ledger);
    assert!(end.complete, "complete, though c1's rest lease was never confirmed");
    for (cluster, kept) in [("c1", 0), ("c2", 3)] {
        let lease = end.ledger.members[cluster].latest().unwrap();
        assert_eq!(lease.stance, Stance::Free);
        let own = RollingStrategy { paused: Some(false), partition: Some(Int(kept)), ..w.strategy.clone() };
        assert_eq!(lease.strategy, own, "the user's own values, and this cluster's share of the partition");
    }
}

#[test]
fn deployment_1_and_1_with_u1_second_gets_nothing_while_the_first_has_confirmed_and_not_acted() {
    let mut w = wish(Kind::Deployment, &[1, 1], 1, 0, 0);
    w.template = hash(1);
    let deployment = |o: Observation| Observation { updated_available: None, unavailable: Some(0), ..o };
    let old = deployment(seen(1, 1, 1, 1, 0, 0));
    let first = align(&w, &reports(&[("c1", old.clone()), ("c2", old.clone())]), &Ledger::default());
    assert_eq!(first.ledger.members["c1"].latest().unwrap().stance, Stance::Open);
    let id = |c: &str| first.ledger.members[c].latest().unwrap().id.0;
    assert_eq!(first.ledger.members["c2"].latest().unwrap().template, hash(0), "it keeps its old template");
    let confirmed = deployment(seen(1, 1, 0, 0, 1, id("c1")));
    let idle = deployment(seen(1, 1, 1, 1, 0, id("c2")));
    let second = align(&w, &reports(&[("c1", confirmed), ("c2", idle)]), &first.ledger);
    assert!(second.leases.is_empty(), "{:?}", second.leases);
    let said = |code| second.reasons.iter().find(|r| r.code == code).map(ToString::to_string);
    let waits = "c2: may not roll yet: what may be unavailable or surged is in use in c1";
    assert_eq!(said(Code::WaitingForBudget).as_deref(), Some(waits));
}

#[test]
fn a_late_status_of_the_first_visit_to_a_template_is_not_taken_for_done() {
    let mut w = wish(Kind::CloneSet, &[3], 1, 0, 0);
    let a = reports(&[("c1", seen(3, 3, 3, 3, 0, 0))]);
    let at_a = align(&w, &a, &Ledger::default());
    assert!(at_a.complete);
    w.template = hash(1);
    let to_b = align(&w, &a, &at_a.ledger);
    assert!(!to_b.complete);
    w.template = hash(0);
    let back = align(&w, &a, &to_b.ledger);
    assert!(!back.complete, "the status is of before B was written");
    assert_eq!(back.members[0].updated, 0);
    let lease = back.ledger.members["c1"].latest().unwrap();
    assert_eq!(lease.template, hash(0));
    let confirmed = reports(&[("c1", seen(3, 3, 3, 3, 0, lease.id.0))]);
    assert!(align(&w, &confirmed, &back.ledger).complete);
}

#[test]
fn a_cluster_unreachable_in_mid_rollout_keeps_its_reserve_and_the_others_finish() {
    for seed in 0..60 {
        let mut world = World::running(wish(Kind::CloneSet, &[4, 4, 4], 3, 0, 0), CloneSet::running);
        world.change(|w| w.template = hash(1));
        // c1 is granted all three and takes them down; then it cannot be reached.
        world.align();
        world.apply("c1");
        let c1 = world.sites.get_mut("c1").unwrap();
        c1.workload = c1.workload.as_ref().and_then(|w| w.steps().pop());
        world.send("c1");
        world.deliver("c1", 0);
        for _ in 0..seed % 4 {
            world.round();
        }
        world.sites.get_mut("c1").unwrap().reachable = false;
        for _ in 0..40 {
            let answer = world.align();
            assert!(answer.reasons.iter().any(|r| r.code == Code::ClusterUnreachable));
            world.round();
            assert!(!answer.leases.contains_key("c1"));
        }
        let reserved = world.ledger.members["c1"].live.iter().map(|l| l.unavailable).max().unwrap();
        let others: u32 =
            ["c2", "c3"].iter().map(|c| world.sites[*c].workload.as_ref().unwrap().of_template(1)).sum();
        assert!(others == 8 || reserved == 3, "the others finish with what is not reserved");
        world.sites.get_mut("c1").unwrap().reachable = true;
        let end = roll_out(world, seed, |w| assert!(w.total(CloneSet::available) >= 9));
        assert_eq!(end.new_pods(), 12);
    }
}

#[test]
fn no_grant_is_stranded_and_nothing_stays_paused_when_all_are_complete() {
    let end = rolled(wish(Kind::Deployment, &[2, 3], 1, 1, 0), Deployment::running, 7, |_| {});
    for entry in end.ledger.members.values() {
        let lease = entry.latest().unwrap();
        assert_eq!((lease.stance, lease.unavailable, lease.surge), (Stance::Free, 0, 0));
        assert_eq!(lease.strategy, RollingStrategy { paused: Some(false), ..end.wish.strategy.clone() });
    }
    // And then silence, also when a pod dies.
    let mut end = end;
    assert!(end.align().leases.is_empty());
    end.sites.get_mut("c1").unwrap().workload.as_mut().unwrap().crash(0);
    end.send("c1");
    end.deliver("c1", 0);
    assert!(end.align().leases.is_empty());
}

/// A value that no lease writes would stay as the lease before left it.
#[test]
fn in_the_end_what_the_user_did_not_say_is_the_kinds_own() {
    for (kind, own) in [
        (Kind::Deployment, (Some(false), Some(Percent(25)), Some(Percent(25)))),
        (Kind::CloneSet, (Some(false), Some(Percent(20)), Some(Int(0)))),
        (Kind::StatefulSet, (None, Some(Int(1)), None)),
        (Kind::LeaderWorkerSet, (None, Some(Int(1)), Some(Int(0)))),
        (Kind::LockstepSet, (Some(false), Some(Int(1)), Some(Int(0)))),
    ] {
        let mut w = wish(kind, &[3], 1, 0, 0);
        w.strategy = RollingStrategy::default();
        let end = align(&w, &reports(&[("c1", seen(3, 3, 3, 3, 0, 0))]), &Ledger::default());
        assert!(end.complete, "{kind:?}");
        let RollingStrategy { paused, max_unavailable, max_surge, .. } = &end.leases["c1"].strategy;
        assert_eq!((*paused, *max_unavailable, *max_surge), own, "{kind:?}");
    }
}

#[test]
fn cloneset_rounds_maxunavailable_up_when_it_has_no_surge() {
    let of = |kind, unavailable, surge| {
        let mut w = wish(kind, &[5, 5], 0, 0, 0);
        w.strategy.max_unavailable = Some(unavailable);
        w.strategy.max_surge = Some(surge);
        let totals = align(&w, &BTreeMap::new(), &Ledger::default()).totals;
        (totals.max_unavailable, totals.max_surge)
    };
    assert_eq!(of(Kind::CloneSet, Percent(25), Int(0)), (3, 0));
    assert_eq!(of(Kind::CloneSet, Percent(25), Int(1)), (2, 1));
    assert_eq!(of(Kind::Deployment, Percent(25), Percent(25)), (2, 3));
    assert_eq!(of(Kind::Deployment, Percent(1), Int(0)), (1, 0));
    assert_eq!(of(Kind::CloneSet, Int(0), Int(0)), (1, 0));
    assert_eq!(of(Kind::StatefulSet, Int(2), Percent(50)), (2, 0), "a StatefulSet has no surge");
}

#[test]
fn a_paused_template_pauses_every_member_but_never_one_being_created() {
    let mut w = wish(Kind::Deployment, &[2, 2], 1, 0, 0);
    w.template = hash(1);
    w.strategy.paused = Some(true);
    let answer = align(&w, &reports(&[("c1", seen(2, 2, 2, 2, 0, 0))]), &Ledger::default());
    let paused = |c: &str| answer.leases[c].strategy.paused;
    assert_eq!(paused("c1"), Some(true));
    assert_eq!(paused("c2"), Some(false), "a Deployment created paused gets no ReplicaSet");
    assert!(answer.reasons.iter().any(|r| r.code == Code::Paused));
}

#[test]
fn a_half_rolled_deployment_is_closed_paused_with_its_surge_and_lowers_it_only_when_all_that_stands_serves() {
    let mut w = wish(Kind::Deployment, &[4], 0, 1, 0);
    w.template = hash(1);
    let old = Observation { updated_available: None, ..seen(4, 4, 4, 4, 0, 0) };
    let open = align(&w, &reports(&[("c1", old)]), &Ledger::default());
    assert_eq!(open.leases["c1"].surge, 1);
    w.strategy.paused = Some(true);
    let half = |av: u32, lease: u64| Observation {
        total: 5,
        unavailable: Some(5 - av),
        updated_available: None,
        ..seen(4, av, 2, 1, 1, lease)
    };
    let held = align(&w, &reports(&[("c1", half(4, 1))]), &open.ledger);
    let lease = &held.leases["c1"];
    assert_eq!((lease.strategy.paused, lease.strategy.max_unavailable), (Some(true), Some(Int(1))));
    assert_eq!((lease.strategy.max_surge, lease.surge, lease.unavailable), (Some(Int(1)), 1, 0));
    let confirmed = align(&w, &reports(&[("c1", half(4, 2))]), &held.ledger);
    assert!(confirmed.leases.is_empty(), "one that stands does not serve yet");
    let serving = align(&w, &reports(&[("c1", half(5, 2))]), &confirmed.ledger);
    assert_eq!(serving.leases["c1"].strategy.max_surge, Some(Int(0)));
}

#[test]
fn a_shrink_of_a_deployment_counts_only_when_its_replicasets_are_settled() {
    let mut w = wish(Kind::Deployment, &[2, 2], 1, 0, 0);
    w.template = hash(1);
    let old = seen(2, 2, 2, 2, 0, 0);
    let first = align(&w, &reports(&[("c1", old.clone()), ("c2", old)]), &Ledger::default());
    let c2 = first.ledger.members["c2"].latest().unwrap().id.0;
    let done = |settled| Observation { settled, ..seen(2, 2, 2, 2, 1, 1) };
    let idle = seen(2, 2, 2, 2, 0, c2);
    let unsettled = align(&w, &reports(&[("c1", done(false)), ("c2", idle.clone())]), &first.ledger);
    assert!(!unsettled.members[0].complete);
    let settled = align(&w, &reports(&[("c1", done(true)), ("c2", idle.clone())]), &unsettled.ledger);
    assert!(settled.members[0].complete);
    let rest = settled.ledger.members["c1"].latest().unwrap().id.0;
    let confirmed = |settled| Observation { settled, ..seen(2, 2, 2, 2, 1, rest) };
    let waiting = align(&w, &reports(&[("c1", confirmed(false)), ("c2", idle.clone())]), &settled.ledger);
    assert!(!waiting.leases.contains_key("c2"));
    let free = align(&w, &reports(&[("c1", confirmed(true)), ("c2", idle)]), &waiting.ledger);
    assert_eq!(free.leases["c2"].unavailable, 1);
}

#[test]
fn raising_the_partition_undoes_nothing_and_says_so() {
    let mut w = wish(Kind::CloneSet, &[3, 3], 1, 0, 5);
    let all_new = reports(&[("c1", seen(3, 3, 3, 3, 0, 0)), ("c2", seen(3, 3, 3, 3, 0, 0))]);
    let answer = align(&w, &all_new, &Ledger::default());
    assert!(answer.reasons.iter().any(|r| r.code == Code::PartitionExceeded));
    w.strategy.partition = Some(Int(0));
    assert!(align(&w, &all_new, &Ledger::default()).reasons.is_empty());
}

#[test]
fn proportional_split_gives_each_cluster_its_share() {
    let mut w = wish(Kind::CloneSet, &[3, 7], 2, 0, 4);
    w.split = SplitMode::Proportional;
    for seed in 0..50 {
        let end = rolled(w.clone(), CloneSet::running, seed, |w| assert!(w.new_pods() <= 6));
        let new = |c: &str| end.sites[c].workload.as_ref().unwrap().of_template(1);
        assert_eq!((new("c1"), new("c2")), (2, 4));
    }
}

#[test]
fn a_removed_cluster_is_drained_within_the_slack_and_forgotten_when_its_work_is_gone() {
    for seed in 0..60 {
        let mut world = World::running(wish(Kind::CloneSet, &[2, 2], 1, 0, 0), CloneSet::running);
        world.round();
        world.change(|w| w.clusters = vec![Target { cluster: "c2".into(), replicas: 4 }]);
        let mut end = roll_out(world, seed, |w| assert!(w.total(CloneSet::available) >= 3));
        assert_eq!(end.sites["c1"].workload.as_ref().unwrap().total(), 0);
        let mut reports = end.reports();
        reports.insert("c1".into(), Report { reach: Reach::Gone, ..Report::default() });
        let answer = align(&end.wish, &reports, &end.ledger);
        assert!(!answer.ledger.members.contains_key("c1"));
        end.align();
    }
}

#[test]
fn an_override_counts_as_granted_and_is_what_is_written() {
    let mut w = wish(Kind::CloneSet, &[3, 3], 1, 0, 0);
    w.template = hash(1);
    let mut known = reports(&[("c1", seen(3, 3, 3, 3, 0, 0)), ("c2", seen(3, 3, 3, 3, 0, 0))]);
    known.get_mut("c2").unwrap().overridden =
        Some(RollingStrategy { max_unavailable: Some(Int(1)), ..RollingStrategy::default() });
    let answer = align(&w, &known, &Ledger::default());
    assert_eq!(answer.leases["c1"].unavailable, 0, "the override holds all there is");
    assert_eq!(answer.leases["c2"].strategy.max_unavailable, Some(Int(1)));
    assert!(answer.reasons.iter().any(|r| r.code == Code::StrategyOverridden));
}

#[test]
fn a_member_that_sizes_itself_is_left_alone_and_said_aloud() {
    let w = wish(Kind::Deployment, &[2], 1, 0, 0);
    let mut known = reports(&[("c1", seen(5, 5, 5, 5, 0, 0))]);
    known.get_mut("c1").unwrap().replicas_retained = true;
    let answer = align(&w, &known, &Ledger::default());
    assert_eq!(answer.leases["c1"].replicas, 5);
    assert!(answer.reasons.iter().any(|r| r.code == Code::ReplicasNotMetered));
}

#[test]
fn kubeadmiral_complete_needs_availability() {
    for (kind, updav) in [(Kind::CloneSet, Some(2)), (Kind::Deployment, None)] {
        let mut w = wish(kind, &[3], 1, 0, 0);
        let known = |o| reports(&[("c1", o)]);
        w.template = hash(1);
        let first = align(&w, &known(seen(3, 3, 3, 3, 0, 0)), &Ledger::default());
        let updated = Observation { updated_available: updav, ..seen(3, 2, 3, 2, 1, 1) };
        let answer = align(&w, &known(updated.clone()), &first.ledger);
        assert!(!answer.complete, "all updated, one not available");
        let available = Observation { available: 3, updated_available: updav.map(|_| 3), ..updated };
        assert!(align(&w, &known(available), &answer.ledger).complete);
    }
}

#[test]
fn kubeadmiral_a_stale_status_never_lets_the_surge_exceed() {
    // c1 may surge by one and has reported nothing since: c2 gets no surge, whatever c1's old counts say.
    let mut w = wish(Kind::Deployment, &[2, 2], 0, 1, 0);
    w.template = hash(1);
    let old = seen(2, 2, 2, 2, 0, 0);
    let stale = reports(&[("c1", old.clone()), ("c2", old)]);
    let mut ledger = Ledger::default();
    for _ in 0..5 {
        ledger = align(&w, &stale, &ledger).ledger;
        let surge = |c: &str| ledger.members[c].live.iter().map(|l| l.surge).max().unwrap();
        assert_eq!((surge("c1"), surge("c2")), (1, 0));
    }
    for seed in 0..200 {
        rolled(wish(Kind::Deployment, &[2, 2], 0, 1, 0), Deployment::running, seed, |w| {
            assert!(w.total(Deployment::total) <= 5);
            assert!(w.total(Deployment::available) >= 4);
        });
    }
}

#[test]
fn odd_input_is_answered_and_never_panics() {
    let silly = Observation {
        total: 0,
        available: u32::MAX,
        updated: u32::MAX,
        acknowledged: Some(LeaseId(u64::MAX)),
        ..seen(u32::MAX, 0, 0, 0, 9, 0)
    };
    for kind in
        [Kind::Deployment, Kind::CloneSet, Kind::StatefulSet, Kind::LeaderWorkerSet, Kind::LockstepSet]
    {
        let mut w = wish(kind, &[u32::MAX, u32::MAX, 0], u32::MAX, u32::MAX, u32::MAX);
        w.clusters.push(w.clusters[0].clone());
        let mut ledger = Ledger::default();
        for _ in 0..3 {
            ledger = align(&w, &reports(&[("c1", silly.clone()), ("gone", silly.clone())]), &ledger).ledger;
        }
        let empty = Wish { clusters: Vec::new(), ..w };
        align(&empty, &BTreeMap::new(), &ledger);
    }
}

#[test]
fn the_ledger_reads_back_what_it_wrote_and_equal_inputs_give_equal_bytes() {
    let mut world = World::running(wish(Kind::CloneSet, &[3, 4], 1, 1, 2), CloneSet::running);
    world.change(|w| w.template = hash(1));
    let answer = world.align();
    let text = serde_json::to_string(&answer).unwrap();
    assert_eq!(serde_json::from_str::<Alignment>(&text).unwrap(), answer);
    let again = align(&world.wish, &world.reports(), &answer.ledger);
    assert!(again.leases.is_empty(), "nothing new is said without news");
    assert_eq!(
        serde_json::to_string(&again).unwrap(),
        serde_json::to_string(&align(&world.wish, &world.reports(), &answer.ledger)).unwrap()
    );
    let lease: &Lease = answer.leases.get("c1").unwrap();
    let granted = answer.ledger.granted("c1", &hash(1));
    assert_eq!(granted, Some(lease));
    assert_eq!(answer.ledger.granted("c1", &hash(7)), None, "closed by default");
    let _: &Entry = &answer.ledger.members["c1"];
}

#[test]
fn the_seeds_own_json_names() {
    let text = r#"{"paused":true,"partition":4,"maxUnavailable":"25%","maxSurge":1}"#;
    let strategy: RollingStrategy = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&strategy).unwrap(), text);
    let text = r#"{"generation":3,"observedGeneration":3,"resourceTemplateGeneration":2,"replicas":5,"readyReplicas":5,"availableReplicas":4,"updatedReplicas":3,"updatedReadyReplicas":2}"#;
    let status: lockstep_core::align::UnifiedRollingStatus = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&status).unwrap(), text);
}

#[test]
fn an_older_status_is_dropped() {
    let mut w = wish(Kind::CloneSet, &[3], 1, 0, 0);
    w.template = hash(1);
    let known = |o| reports(&[("c1", o)]);
    let first = align(&w, &known(seen(3, 3, 3, 3, 0, 0)), &Ledger::default());
    let new = Observation { sequence: 9, ..seen(3, 2, 2, 1, 1, 1) };
    let second = align(&w, &known(new), &first.ledger);
    for old in [seen(3, 3, 3, 3, 0, 0), Observation { sequence: 8, ..seen(3, 3, 0, 0, 1, 1) }] {
        let answer = align(&w, &known(old), &second.ledger);
        assert_eq!(answer.ledger, second.ledger);
    }
}

#[test]
fn zero_is_really_zero_for_every_kind() {
    // c1 rolls with all there is; c2 has not begun.
    let closed = |kind: Kind, updated: u32| {
        let mut w = wish(kind, &[3, 3], 1, 0, 0);
        w.template = hash(1);
        let old = seen(3, 3, 3, 3, 0, 0);
        let first = align(&w, &reports(&[("c1", old.clone()), ("c2", old)]), &Ledger::default());
        let lease = |c: &str| first.ledger.members[c].latest().unwrap().id.0;
        let half = seen(3, 3, updated, updated, 1, lease("c2"));
        let c1 = seen(3, 2, 1, 0, 1, lease("c1"));
        let known =
            reports(&[("c1", c1), ("c2", if updated > 0 { half } else { seen(3, 3, 0, 0, 1, lease("c2")) })]);
        let lease = align(&w, &known, &first.ledger).ledger.members["c2"].latest().unwrap().clone();
        assert_eq!((lease.unavailable, lease.surge), (0, 0), "{kind:?}");
        let s = lease.strategy;
        (s.paused, s.partition, s.max_unavailable, s.max_surge)
    };
    assert_eq!(closed(Kind::CloneSet, 0), (Some(false), Some(Percent(100)), Some(Int(0)), Some(Int(1))));
    assert_eq!(closed(Kind::CloneSet, 1), (Some(true), Some(Int(2)), Some(Int(0)), Some(Int(1))));
    assert_eq!(closed(Kind::StatefulSet, 0), (None, Some(Int(3)), Some(Int(1)), None));
    assert_eq!(closed(Kind::StatefulSet, 1), (None, Some(Int(2)), Some(Int(1)), None));
    assert_eq!(closed(Kind::LeaderWorkerSet, 1), (None, Some(Int(2)), Some(Int(1)), Some(Int(0))));
    assert_eq!(closed(Kind::LockstepSet, 0), (Some(true), Some(Percent(100)), Some(Int(0)), Some(Int(1))));
    assert_eq!(closed(Kind::LockstepSet, 1), (Some(true), Some(Int(2)), Some(Int(0)), Some(Int(1))));
}

/// Half-way there and back again: the new pods of a StatefulSet are its lowest, which a partition would keep, and the
/// highest would go on moving. Everything that is lost comes back new whatever the partition says.
#[test]
fn a_stateful_set_that_goes_back_is_held_as_a_whole() {
    let mut w = wish(Kind::StatefulSet, &[3, 3], 1, 0, 0);
    w.template = hash(1);
    let old = seen(3, 3, 3, 3, 0, 0);
    let first = align(&w, &reports(&[("c1", old.clone()), ("c2", old)]), &Ledger::default());
    let lease = |c: &str| first.ledger.members[c].latest().unwrap().id.0;
    let c1 = seen(3, 2, 1, 0, 1, lease("c1"));
    for (creates_updated, partition) in [(false, 1), (true, 3)] {
        let c2 = Observation { creates_updated, ..seen(3, 3, 2, 2, 1, lease("c2")) };
        let answer = align(&w, &reports(&[("c1", c1.clone()), ("c2", c2)]), &first.ledger);
        assert_eq!(answer.ledger.members["c2"].latest().unwrap().strategy.partition, Some(Int(partition)));
    }
}

/// Paused in mid-rollout, with surge under way: it is given back once, and nobody takes that back while it has not been
/// confirmed, or a pod would be made and deleted for as long as the pause lasts.
#[test]
fn surge_that_is_given_back_in_a_pause_stays_given_back() {
    let mut w = wish(Kind::Deployment, &[4], 2, 1, 0);
    w.template = hash(1);
    let mut ledger = align(&w, &reports(&[("c1", seen(4, 4, 4, 4, 0, 0))]), &Ledger::default()).ledger;
    w.strategy.paused = Some(true);
    let latest = |ledger: &Ledger| ledger.members["c1"].latest().unwrap().clone();
    let mut said = Vec::new();
    for (available, confirms) in [(4, true), (5, true), (5, false), (5, false), (5, true)] {
        let confirmed =
            if confirms { latest(&ledger).id.0 } else { said.last().map_or(0, |(id, _)| *id - 1) };
        let c1 = Observation { total: 5, ..seen(4, available, 2, 2, 1, confirmed) };
        ledger = align(&w, &reports(&[("c1", c1)]), &ledger).ledger;
        let lease = latest(&ledger);
        assert_eq!(lease.stance, Stance::Held);
        said.push((lease.id.0, lease.surge));
    }
    assert_eq!(said, [(2, 1), (3, 0), (3, 0), (3, 0), (3, 0)]);
}

#[test]
fn a_stateful_set_whose_cluster_knows_no_max_unavailable_is_told_of() {
    let mut w = wish(Kind::StatefulSet, &[4], 2, 0, 0);
    w.template = hash(1);
    let ledger = align(&w, &reports(&[("c1", seen(4, 4, 4, 4, 0, 0))]), &Ledger::default()).ledger;
    let lease = ledger.members["c1"].latest().unwrap().id.0;
    let told = |max_unavailable| {
        let mut c1 = seen(4, 3, 1, 0, 1, lease);
        c1.strategy.max_unavailable = max_unavailable;
        let reasons = align(&w, &reports(&[("c1", c1)]), &ledger).reasons;
        reasons.into_iter().find(|it| it.code == Code::MaxUnavailableIgnored).map(|it| it.message)
    };
    assert_eq!(told(Some(Int(2))), None);
    let said = told(None).unwrap();
    assert!(
        said.ends_with("(feature gate MaxUnavailableStatefulSet): it takes one pod at a time, not 2"),
        "{said}"
    );
}

/// A group is rolled behind a surge group: it counts as available, and no other may begin.
#[test]
fn what_surge_stands_in_for_gives_no_leave() {
    let mut w = wish(Kind::LockstepSet, &[2, 2], 0, 1, 0);
    w.template = hash(1);
    let old = seen(2, 2, 2, 2, 0, 0);
    let first = align(&w, &reports(&[("c1", old.clone()), ("c2", old.clone())]), &Ledger::default());
    let lease = first.ledger.members["c1"].latest().unwrap().id.0;
    let behind = Observation { total: 3, under_way: 1, ..seen(2, 2, 1, 0, 1, lease) };
    let answer = align(&w, &reports(&[("c1", behind), ("c2", old)]), &first.ledger);
    assert_eq!(in_force(&answer, "c1").1, Some(Int(0)));
}

/// Both clusters have a group half rolled when maxUnavailable becomes 1: the first finishes, then the other.
#[test]
fn clusters_that_were_stopped_halfway_finish_one_after_the_other() {
    let mut w = wish(Kind::LockstepSet, &[2, 2], 2, 0, 0);
    w.template = hash(1);
    let old = seen(2, 2, 2, 2, 0, 0);
    let first = align(&w, &reports(&[("c1", old.clone()), ("c2", old)]), &Ledger::default());
    w.strategy.max_unavailable = Some(Int(1));
    let id = |ledger: &Ledger, c: &str| ledger.members[c].latest().unwrap().id.0;
    let half = |lease: u64| Observation { under_way: 1, ..seen(2, 1, 1, 0, 1, lease) };
    let mut ledger = first.ledger;
    let mut answer = None;
    for _ in 0..3 {
        let known = reports(&[("c1", half(id(&ledger, "c1"))), ("c2", half(id(&ledger, "c2")))]);
        let next = align(&w, &known, &ledger);
        ledger = next.ledger.clone();
        answer = Some(next);
    }
    let answer = answer.unwrap();
    assert_eq!((in_force(&answer, "c1").1, in_force(&answer, "c2").1), (Some(Int(1)), Some(Int(0))));
    let done = seen(2, 2, 2, 2, 1, id(&ledger, "c1"));
    let known = reports(&[("c1", done), ("c2", half(id(&ledger, "c2")))]);
    assert_eq!(in_force(&align(&w, &known, &ledger), "c2").1, Some(Int(1)));
}

/// Five groups are on their way when maxUnavailable becomes 1: each that finishes makes room for none.
#[test]
fn what_is_under_way_is_finished_within_what_the_whole_may_have() {
    let mut w = wish(Kind::LockstepSet, &[10], 5, 0, 0);
    w.template = hash(1);
    let mut ledger = align(&w, &reports(&[("c1", seen(10, 10, 10, 10, 0, 0))]), &Ledger::default()).ledger;
    w.strategy.max_unavailable = Some(Int(1));
    let mut granted = None;
    for _ in 0..3 {
        let lease = ledger.members["c1"].latest().unwrap().id.0;
        let under_way = Observation { under_way: 5, ..seen(10, 5, 5, 0, 1, lease) };
        let next = align(&w, &reports(&[("c1", under_way)]), &ledger);
        granted = in_force(&next, "c1").1;
        ledger = next.ledger;
    }
    assert_eq!(granted, Some(Int(1)));
}

/// A cluster whose turn has not come does not begin, says why, and the whole is not complete without it.
#[test]
fn a_cluster_that_is_held_does_not_begin() {
    let mut world = World::running(wish(Kind::Deployment, &[4, 6], 2, 1, 0), Deployment::running);
    world.change(|w| {
        w.template = hash(1);
        w.held.insert("c2".to_owned(), "c1 is watched for another 5m".to_owned());
    });
    let last = (0..40).map(|_| world.round()).last().unwrap();
    assert!(!last.complete);
    assert_eq!(
        last.members.iter().map(|it| (it.updated, it.complete)).collect::<Vec<_>>(),
        [(4, true), (0, false)]
    );
    let why = last.reasons.iter().find(|it| it.cluster.as_deref() == Some("c2")).unwrap();
    assert_eq!((why.code, why.message.as_str()), (Code::WaitingForTurn, "c1 is watched for another 5m"));
    world.change(|w| w.held.clear());
    assert!((0..40).any(|_| world.round().complete));
}
