//! Gangs: what is scheduled together, what waits for the base of its group, and what never does.

mod golden_support;
mod support;

use golden_support::Desk;
use golden_support::build::*;
use lockstep_core::blocked::Reason;
use lockstep_core::gang::GangName;
use lockstep_core::model::*;
use lockstep_core::names::{RoleName, RuleName};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::snapshot::Memory;
use support::{at, role, set};

/// Prefill of a leader and two workers, three instances of which two are needed; two single decodes.
fn spec(scheduler: GangScheduler) -> Spec {
    let mut prefill = with_workers(role("prefill", 3, "A"), 2);
    prefill.min_available = Some(Int(2));
    let mut spec = set(1, vec![prefill, role("decode", 2, "A")]);
    spec.gang.scheduler = scheduler;
    spec
}

#[test]
fn the_base_is_the_first_min_available_of_every_role() {
    let mut desk = Desk::empty(&spec(GangScheduler::PodGang));
    desk.plan();
    assert_eq!(
        desk.gangs,
        [
            "prefill-0: base 8",
            "prefill-1: base 8",
            "prefill-2: own 3*",
            "decode-0: base 8",
            "decode-1: base 8"
        ]
    );
}

#[test]
fn members_count_with_their_own_minimum() {
    let mut spec = spec(GangScheduler::PodGang);
    spec.roles[0].members[1].min_available = 1;
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(desk.gangs[0], "prefill-0: base 6");
    assert_eq!(desk.gangs[2], "prefill-2: own 2*");
}

#[test]
fn single_pods_beyond_the_minimum_stay_in_the_base_podgang_without_gate() {
    let mut spec = spec(GangScheduler::PodGang);
    spec.roles[1] = within(role("decode", 3, "A"), 0, 1);
    spec.roles[1].min_available = Some(Int(1));
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(desk.gangs[3..], ["decode-0: base 7", "decode-1: base 7", "decode-2: base 7"]);
    desk.run();
    desk.forget();
    desk.wish(&at(&spec, "B")).plan();
    assert!(desk.gangs.contains(&"decode-3: base 7".to_owned()), "the surge too: {:?}", desk.gangs);
}

#[test]
fn without_a_gang_scheduler_nothing_is_gated() {
    let mut desk = Desk::empty(&spec(GangScheduler::None));
    desk.plan();
    assert!(desk.creates.iter().all(|create| create.gang.is_none() && !create.gated));
}

#[test]
fn scaled_gangs_wait_until_the_base_was_scheduled_once_not_ready() {
    let mut desk = Desk::empty(&spec(GangScheduler::PodGang));
    desk.homeless = vec![("decode", 1)];
    desk.plan();
    assert_eq!(desk.wait(60).plan(), "");
    assert!(desk.reasons().contains(&Reason::GangNotScheduled));
    desk.homeless.clear();
    desk.plan();
    assert_eq!(desk.plan(), "^prefill-2", "bound, and nothing is ready yet");
}

#[test]
fn scheduled_once_is_enough() {
    let mut desk = Desk::complete(&spec(GangScheduler::PodGang));
    desk.homeless = vec![("prefill", 0), ("decode", 0)];
    desk.evict(0, "prefill", 0).evict(0, "decode", 0).evict(0, "prefill", 2).plan();
    assert!(desk.gangs.contains(&"prefill-2: own 3".to_owned()), "{:?}", desk.gangs);
}

#[test]
fn the_base_being_updated_never_gates_the_surge() {
    let mut spec = spec(GangScheduler::PodGang);
    spec.roles[0] = within(spec.roles[0].clone(), 1, 1);
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert!(desk.creates.iter().any(|create| create.of.instance == 3));
    assert!(desk.creates.iter().all(|create| !create.gated));
}

#[test]
fn memory_that_is_lost_never_gates_for_ever() {
    let mut desk = Desk::complete(&spec(GangScheduler::PodGang));
    desk.homeless = vec![("prefill", 0)];
    desk.evict(0, "prefill", 0).plan();
    desk.forget();
    desk.seen.memory = Memory::default();
    desk.evict(0, "prefill", 1).plan();
    desk.wish(&Spec {
        roles: vec![Role { replicas: 4, ..desk.spec.roles[0].clone() }, desk.spec.roles[1].clone()],
        ..desk.spec.clone()
    });
    desk.plan();
    let found = &desk.gangs;
    assert!(
        found.contains(&"prefill-3: own 3".to_owned()),
        "a scaled pod runs ungated, so the base was: {found:?}"
    );
}

#[test]
fn the_word_of_the_scheduler_counts() {
    let mut desk = Desk::empty(&spec(GangScheduler::PodGang));
    desk.homeless = vec![("decode", 1)];
    desk.plan();
    desk.seen.memory = Memory::default();
    desk.seen.groups[0].base_scheduled = true;
    assert_eq!(desk.plan(), "^prefill-2");
}

#[test]
fn a_recreated_group_starts_afresh() {
    let mut spec = spec(GangScheduler::PodGang);
    spec.strategy.kind = StrategyKind::GroupRecreate;
    let mut desk = Desk::complete(&spec);
    let before: Vec<u32> = desk.seen.memory.groups.values().map(|group| group.incarnation).collect();
    desk.wish(&at(&spec, "B")).plan();
    desk.reap();
    desk.plan();
    assert!(desk.gangs.contains(&"prefill-2: own 3*".to_owned()), "{:?}", desk.gangs);
    assert!(desk.creates.iter().all(|create| create.incarnation == before[0] + 1));
    assert_eq!(desk.plan(), "^prefill-2");
}

#[test]
fn with_kubernetes_podgroups_nothing_joins_the_base_once_it_was_scheduled() {
    let mut spec = spec(GangScheduler::PodGroup);
    spec.roles[1] = within(spec.roles[1].clone(), 0, 1);
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(desk.gangs[0], "prefill-0: base 8");
    assert_eq!(desk.gangs[3], "decode-0: base 8");
    desk.run();
    desk.wait(60).plan();
    desk.forget();
    desk.wish(&at(&spec, "B")).run();
    let found = &desk.gangs;
    assert!(found.iter().filter(|g| g.starts_with("prefill")).all(|g| g.ends_with(": own 3")), "{found:?}");
    assert!(found.iter().filter(|g| g.starts_with("decode")).all(|g| g.ends_with(": none")), "{found:?}");
}

#[test]
fn before_it_was_scheduled_replacements_join_the_base_whose_minimum_follows_down() {
    let mut spec = spec(GangScheduler::PodGroup);
    let mut desk = Desk::empty(&spec);
    desk.homeless = vec![("prefill", 0), ("prefill", 1), ("decode", 0), ("decode", 1)];
    desk.plan();
    desk.evict(0, "decode", 0);
    desk.forget();
    spec.roles[1].replicas = 1;
    desk.wish(&spec).plan();
    assert_eq!(desk.gangs, ["decode-0: base 7"]);
}

#[test]
fn a_single_pod_refilled_into_a_standing_instance_names_no_podgroup() {
    let mut spec = spec(GangScheduler::PodGroup);
    spec.roles[0].restart.kind = RestartKind::None;
    let mut desk = Desk::complete(&spec);
    desk.each(|_, role, i, pod| pod.terminating |= role.as_str() == "prefill" && i == 0 && pod.index == 1);
    desk.reap();
    desk.plan();
    let create = &desk.creates[0];
    assert_eq!((create.refill, create.pods.len(), create.gang.is_none()), (true, 1, true));
}

#[test]
fn a_recreated_group_gets_a_new_base_podgroup() {
    let mut spec = spec(GangScheduler::PodGroup);
    spec.strategy.kind = StrategyKind::GroupRecreate;
    let mut desk = Desk::complete(&spec);
    desk.wish(&at(&spec, "B")).run();
    assert_eq!(desk.gangs[0], "prefill-0: base 8");
}

/// The same roles, placed one prefill beside one decode, batch after batch.
fn paired(scheduler: GangScheduler, prefill: Role, decode: Role) -> Spec {
    let ratios = [&prefill, &decode].map(|role| (role.name.clone(), 1)).into();
    let topology_key = "kubernetes.io/hostname".to_owned();
    let rule = Affinity { topology_key, ratios, batch_mode: BatchMode::Sequential };
    let rule = Rule { name: RuleName::new("pair"), kind: RuleKind::AffinityScheduling(rule) };
    let mut spec = one_group(vec![prefill, decode], vec![rule]);
    spec.gang.scheduler = scheduler;
    spec
}

/// How many pods of the base must find a place together, by the last plan.
fn base(desk: &Desk) -> Option<u32> {
    let gangs = &desk.last.as_ref()?.gangs;
    gangs.iter().find(|gang| gang.name == GangName::Base(0)).map(|gang| gang.minimum)
}

#[test]
fn a_gang_waits_for_no_pod_that_a_batch_holds_though_the_batches_became_more() {
    let mut spec = paired(GangScheduler::PodGang, role("prefill", 1, "A"), role("decode", 3, "A"));
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(desk.gangs[2..], ["decode-1: base 2*", "decode-2: base 2*"], "beyond the last full batch");
    spec.roles[0].replicas = 3;
    desk.wish(&spec).plan();
    desk.start();
    assert_eq!(desk.plan(), "^prefill-1 ^decode-1");
    assert_eq!(
        base(&desk),
        Some(1),
        "decode-2 waits for the batch of decode-1, which is in the base with it"
    );
    desk.start();
    assert_eq!(desk.plan(), "^prefill-2 ^decode-2");
    assert_eq!(base(&desk), Some(2));
}

#[test]
fn a_gang_waits_for_no_pod_whose_batch_starts_after_it() {
    let mut decode = role("decode", 1, "A");
    decode.starts_after = vec![RoleName::new("router")];
    let mut spec = paired(GangScheduler::PodGang, role("prefill", 3, "A"), decode);
    spec.roles.push(role("router", 2, "A"));
    let mut desk = Desk::empty(&spec);
    desk.plan();
    assert_eq!(base(&desk), Some(2), "the routers, not prefill-1 and -2: {:?}", desk.gangs);
    assert_eq!(desk.run(), "^decode-0 | ^prefill-1 ^prefill-2");
}

#[test]
fn a_refilled_pod_joins_the_gang_of_its_instance_though_the_batches_became_fewer() {
    let mut spec =
        paired(GangScheduler::PodGang, with_workers(role("prefill", 2, "A"), 2), role("decode", 2, "A"));
    spec.roles[0].restart.kind = RestartKind::None;
    let mut desk = Desk::complete(&spec);
    spec.roles[1].replicas = 1;
    desk.wish(&spec).run();
    desk.forget();
    desk.each(|_, role, i, pod| pod.terminating |= role.as_str() == "prefill" && i == 1 && pod.index == 1);
    desk.reap();
    desk.plan();
    assert_eq!(desk.gangs, ["prefill-1: batch 1 3"]);
}

#[test]
fn a_pod_refilled_before_its_podgroup_was_placed_joins_it() {
    let mut desk = Desk::empty(&spec(GangScheduler::PodGroup));
    desk.plan();
    desk.forget();
    desk.each(|_, role, i, pod| pod.terminating |= role.as_str() == "prefill" && i == 2 && pod.index == 1);
    desk.reap();
    assert_eq!(desk.plan(), "+prefill-2 ^prefill-2", "the base has been placed meanwhile");
    assert_eq!(desk.gangs, ["prefill-2: own 3"], "two of three could not be placed");
}

/// A template with more workers comes, and an instance that may not have it yet is lost.
#[test]
fn an_old_instance_waits_for_no_more_pods_than_it_has() {
    let of = |workers: u32| {
        let mut spec = set(1, vec![with_workers(role("pd", 2, "A"), workers)]);
        spec.gang.scheduler = GangScheduler::PodGroup;
        spec
    };
    let mut desk = Desk::complete(&of(1));
    let mut to = at(&of(3), "B");
    to.paused = true;
    desk.wish(&to).evict(0, "pd", 0).plan();
    assert_eq!(desk.gangs, ["pd-0: own 2"]);
}
