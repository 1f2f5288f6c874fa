//! How long one plan takes, from a thousand to a million instances; how long whole rollouts take in the model
//! world; how long a proof takes. Building the snapshot is not counted. Next to each plan stands its floor:
//! looking at every pod of the snapshot once.
//!
//! The bounds: a plan is linear in the instances, and 100,000 take at most ten milliseconds; a rollout of
//! 1,000 instances is played in well under a second.

#![allow(clippy::unwrap_used, reason = "a benchmark may fail loudly")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use lockstep_core::model::{GangScheduler, Member, Role, Rule, Spec};
use lockstep_core::names::Uid;
use lockstep_core::number::IntOrPercent::{self, Int, Percent};
use lockstep_core::plan::plan;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::revision::Revision;
use lockstep_core::simulate::{Scenario, run};
use lockstep_core::snapshot::{Group, Instance, Memory, Pod, RoleInstances, Snapshot};
use lockstep_core::time::Time;
use support::{at, rev, role, set, skew, steps};

const NOW: Time = Time(10_000_000);
const EARLIER: Time = Time(1_000_000);

fn limited(name: &str, replicas: u32, unavailable: IntOrPercent) -> Role {
    let mut role = role(name, replicas, "A");
    role.strategy.max_unavailable = unavailable;
    role
}

/// Where a rollout from A to B stands.
#[derive(Clone, Copy, PartialEq)]
enum Stand {
    /// All at A and available.
    Before,
    /// In the highest group, the one that is open, the upper half is at B; of these three in a hundred are
    /// starting and one is leaving.
    Half,
}

/// The set's revision before and after.
struct Sets(Revision, Revision);

fn pod(sets: &Sets, open: bool, (group, role, instance): (u32, &Role, u32), stand: Stand) -> Pod {
    let new = stand == Stand::Half && open && instance >= role.replicas / 2;
    let moving = if new { instance % 100 } else { 100 };
    Pod {
        member: role.members[0].name.clone(),
        uid: Uid::new(&format!("{group}-{}-{instance}", role.name)),
        revision: rev(if new { "B" } else { "A" }),
        set_revision: if new { sets.1 } else { sets.0 },
        incarnation: 1,
        created: EARLIER,
        bound: Some(EARLIER),
        ready: (moving >= 4).then_some(EARLIER),
        terminating: moving == 3,
        ..Pod::default()
    }
}

fn snapshot(spec: &Spec, stand: Stand, memory: Memory) -> Snapshot {
    let sets = Sets(at(spec, "A").revision(), at(spec, "B").revision());
    let of_role = |group: u32, role: &Role| {
        let open = group + 1 == spec.replicas;
        let pods = |instance| vec![pod(&sets, open, (group, role, instance), stand)];
        let instances = (0..role.replicas).map(|instance| Instance { instance, pods: pods(instance) });
        RoleInstances { role: role.name.clone(), instances: instances.collect() }
    };
    let groups = (0..spec.replicas).map(|group| Group {
        group,
        base_scheduled: false,
        roles: spec.roles.iter().map(|role| of_role(group, role)).collect(),
    });
    let old = |role: &Role| (role.name.clone(), [(rev("A"), role.members.clone())].into());
    Snapshot {
        groups: groups.collect(),
        layouts: spec.roles.iter().map(old).collect(),
        memory,
        ..Snapshot::default()
    }
}

/// The same set as it stands before, and half-way to B, each with the memory that belongs to it.
fn stands(spec: &Spec) -> [(Spec, Snapshot); 2] {
    let mut before = snapshot(spec, Stand::Before, Memory::default());
    before.memory = plan(spec, &before, EARLIER).memory;
    let to = at(spec, "B");
    let mut half = snapshot(spec, Stand::Half, before.memory.clone());
    half.memory = plan(&to, &half, NOW).memory;
    [(spec.clone(), before), (to, half)]
}

fn one_group(instances: u32) -> Spec {
    let roles =
        vec![limited("prefill", instances / 2, Percent(10)), limited("decode", instances / 2, Percent(10))];
    let mut spec = set(1, roles);
    spec.rules = vec![skew("together", &["prefill", "decode"], Percent(5))];
    spec
}

fn many_groups() -> Spec {
    let roles = (0..10).map(|index| limited(&format!("r{index}"), 100, Percent(10)));
    let mut spec = set(100, roles.collect());
    spec.rules = vec![skew("together", &["r0", "r1", "r2"], Percent(5))];
    spec
}

/// The least a plan must do: look at every pod.
fn look_at_every_pod(snapshot: &Snapshot) -> usize {
    let roles = snapshot.groups.iter().flat_map(|group| &group.roles);
    let pods = roles.flat_map(|role| &role.instances).flat_map(|instance| &instance.pods);
    pods.filter(|pod| pod.is_ready()).count()
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group.sampling_mode(SamplingMode::Flat);
    let sets = [1_000, 10_000, 100_000, 1_000_000].map(|n| (n, "1 group", one_group(n)));
    for (instances, shape, spec) in sets.into_iter().chain([(100_000, "100 groups", many_groups())]) {
        group.throughput(Throughput::Elements(u64::from(instances)));
        for (stand, (spec, snapshot)) in ["steady", "half-way"].into_iter().zip(stands(&spec)) {
            group.bench_function(BenchmarkId::new(format!("{shape}, {stand}"), instances), |b| {
                b.iter(|| plan(black_box(&spec), black_box(&snapshot), NOW));
            });
            group.bench_function(BenchmarkId::new(format!("{shape}, {stand}, floor"), instances), |b| {
                b.iter(|| look_at_every_pod(black_box(&snapshot)));
            });
        }
    }
    group.finish();
}

fn rollout(name: &str, unavailable: IntOrPercent, rules: Vec<Rule>) -> (String, Scenario) {
    let mut from = set(1, vec![limited("prefill", 600, unavailable), limited("decode", 400, unavailable)]);
    from.rules = rules;
    let to = at(&from, "B");
    (format!("1,000 instances, {name}"), Scenario::ideal(from, to))
}

fn simulations(c: &mut Criterion) {
    let together = || vec![skew("together", &["prefill", "decode"], Percent(5))];
    let mut group = c.benchmark_group("simulate");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    for (name, scenario) in [
        rollout("one at a time", Int(1), Vec::new()),
        rollout("maxUnavailable 10%", Percent(10), Vec::new()),
        rollout("maxUnavailable 10%, maxSkew 5%", Percent(10), together()),
    ] {
        let outcome = run(&scenario, &mut |_| {});
        assert!(outcome.end.is_good(), "{name}");
        println!("{name}: {} plans, {} of rollout", outcome.plans, outcome.duration);
        group.bench_function(name, |b| b.iter(|| run(black_box(&scenario), &mut |_| {})));
    }
    group.finish();
}

/// Three groups of prefill, decode and router under a skew and ordered steps.
fn typical() -> Spec {
    let mut spec = set(3, vec![role("prefill", 8, "A"), role("decode", 4, "A"), role("router", 2, "A")]);
    let order =
        [("decode", Int(1)), ("prefill", Percent(50)), ("decode", Percent(100)), ("prefill", Percent(100))];
    spec.rules = vec![skew("together", &["prefill", "decode"], Percent(100)), steps("canary", &order)];
    spec
}

/// Large sets: two roles under a skew, two roles in order, and leaders with eight workers each in gangs.
fn large(pods: u32) -> [(&'static str, Spec); 3] {
    let pair = || vec![role("prefill", pods * 2 / 3, "A"), role("decode", pods / 3, "A")];
    let (mut skewed, mut ordered) = (set(1, pair()), set(1, pair()));
    skewed.rules = vec![skew("together", &["prefill", "decode"], Percent(5))];
    let order =
        [("decode", Int(1)), ("prefill", Int(1)), ("prefill", Percent(100)), ("decode", Percent(100))];
    ordered.rules = vec![steps("order", &order)];
    let mut leaders = role("pd", pods / 9, "A");
    leaders.min_available = Some(Int(1));
    let member = |name: &str, count| Member { name: name.into(), count, min_available: count };
    leaders.members = vec![member("leader", 1), member("worker", 8)];
    let mut gangs = set(1, vec![role("router", 4, "A"), leaders]);
    gangs.gang.scheduler = GangScheduler::PodGang;
    [("skew", skewed), ("steps", ordered), ("gangs of nine", gangs)]
}

fn proofs(c: &mut Criterion) {
    let from = typical();
    let to = at(&from, "B");
    assert_eq!(prove(Some(&from), &to), Proof::Finishes);
    let mut group = c.benchmark_group("prove");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group.bench_function("an update, 3 groups of 8+4+2", |b| {
        b.iter(|| prove(black_box(Some(&from)), black_box(&to)))
    });
    group.bench_function("a first start, 3 groups of 8+4+2", |b| b.iter(|| prove(None, black_box(&to))));
    for pods in [100, 1_000, 2_500, 10_000] {
        for (name, from) in large(pods) {
            let to = at(&from, "B");
            assert_eq!(prove(Some(&from), &to), Proof::Finishes, "{pods} {name}");
            group.bench_function(format!("an update, {name}, {pods} pods"), |b| {
                b.iter(|| prove(black_box(Some(&from)), black_box(&to)))
            });
        }
    }
    group.finish();
}

criterion_group!(benches, plans, simulations, proofs);
criterion_main!(benches);
