//! Every order of events in small rollouts, driving the real planner: pods start, crash, are evicted and take
//! their time to go, news of them comes late, the controller dies between two writes or loses its memory,
//! somebody changes their mind. The promises hold in every state, and from every state the rollout arrives.
//!
//! `LOCKSTEP_LONG` set to anything adds the larger rollouts. `--nocapture` shows the number of states.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and looks up what it never iterates over"
)]

mod exhaustive_support;
mod support;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;

use exhaustive_support::engine::fingerprint;
use exhaustive_support::follow::Sick;
use exhaustive_support::step::Step;
use exhaustive_support::{Faults, Flaw, Lab, State};
use lockstep_core::model::{Role, Rule, Spec, StrategyKind};
use lockstep_core::number::IntOrPercent::{self, Int, Percent};
use lockstep_core::prove::{Proof, prove};
use lockstep_core::time::Millis;
use stateright::{Checker, Expectation, Model, Property};
use support::{at, role, set, skew, steps};

struct Rollout(Lab);

impl Model for Rollout {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.0.start()]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.broken.is_none() {
            self.0.steps(state, steps);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let next = self.0.after(state, step);
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every promise holds", |_, s: &State| s.broken.is_none()),
            Property::always("it still arrives", |m: &Self, s: &State| m.0.arrives(s, Sick::Recover)),
            Property::always("it repairs what stays broken", |m: &Self, s: &State| {
                m.0.arrives(s, Sick::OldStay)
            }),
            Property::sometimes("everything is as wished for", |m: &Self, s: &State| {
                m.0.bad.is_some() || m.0.is_at_rest(s)
            }),
        ]
    }
}

static TOTAL: Mutex<(usize, usize)> = Mutex::new((0, 0));

/// Tries everything and prints how much that was.
fn check(name: &str, lab: Lab) {
    let started = std::time::Instant::now();
    let checker = Rollout(lab).checker().threads(threads()).spawn_bfs().join();
    let (unique, all) = (checker.unique_state_count(), checker.state_count());
    let total = {
        let mut total = TOTAL.lock().unwrap();
        *total = (total.0 + unique, total.1 + all);
        *total
    };
    println!(
        "{name}: {unique} unique states, {all} steps, {:?} (so far {} states)",
        started.elapsed(),
        total.0
    );
    for (property, path) in checker.discoveries() {
        let expected = checker.model().properties().into_iter().find(|p| p.name == property).unwrap();
        if !matches!(expected.expectation, Expectation::Sometimes) {
            let last = path.last_state().clone();
            tell(name, checker.model(), path.into_actions());
            panic!("{name}: not so: {property}; {:?}", last.broken);
        }
    }
    checker.assert_properties();
}

/// The way to a counterexample, step by step.
fn tell(name: &str, model: &Rollout, steps: Vec<Step>) {
    let lab = &model.0;
    let mut state = lab.start();
    println!("{name}: a counterexample");
    for step in steps {
        if matches!(step, Step::Plan | Step::DieAfter(_)) {
            println!("  plans {:?}", lab.decide(&state).acts);
        }
        state = lab.after(&state, step);
        println!("{step:?}");
        for (place, slot) in lab.places.iter().zip(&state.slots) {
            if slot.world.is_some() || slot.view.is_some() {
                let at = (place.group, place.role, place.instance, place.index);
                println!("    {at:?} {:?} seen {:?}", slot.world, slot.view);
            }
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn long() -> bool {
    std::env::var_os("LOCKSTEP_LONG").is_some()
}

const NOTHING: Faults =
    Faults { most: 0, crash: false, evict: false, fail: false, restart: false, forget: false };

/// Crashes and evictions.
fn losses(most: u8) -> Faults {
    Faults { most, crash: true, evict: true, ..NOTHING }
}

/// Everything, the controller and its memory included.
fn anything(most: u8) -> Faults {
    Faults { most, crash: true, evict: true, fail: true, restart: true, forget: true }
}

fn limited(name: &str, replicas: u32, unavailable: u32, surge: u32) -> Role {
    let mut role = role(name, replicas, "A");
    role.strategy.max_unavailable = Int(unavailable);
    role.strategy.max_surge = Int(surge);
    role.restart.base_delay = Millis::seconds(5);
    role.restart.max_delay = Millis::seconds(10);
    role
}

/// A role of one instance.
fn single(name: &str) -> Role {
    limited(name, 1, 1, 0)
}

/// From A to B.
fn rollout(from: Spec, faults: Faults, stale: usize) -> Lab {
    let to = at(&from, "B");
    Lab::new(vec![from, to], faults, stale)
}

fn one_role(replicas: u32, unavailable: u32, surge: u32, faults: Faults, stale: usize) -> Lab {
    rollout(set(1, vec![limited("a", replicas, unavailable, surge)]), faults, stale)
}

fn two_roles(a: Role, b: Role, rules: Vec<Rule>) -> Spec {
    let mut spec = set(1, vec![a, b]);
    spec.rules = rules;
    spec
}

fn both(max_skew: IntOrPercent) -> Rule {
    skew("skew", &["a", "b"], max_skew)
}

/// One of `a`, then all of `b`, then the rest of `a`.
fn canary() -> Rule {
    steps("steps", &[("a", Int(1)), ("b", Percent(100)), ("a", Percent(100))])
}

fn groups(replicas: u32, kind: StrategyKind, unavailable: u32, surge: u32, roles: Vec<Role>) -> Spec {
    let mut spec = set(replicas, roles);
    spec.strategy.kind = kind;
    spec.strategy.max_unavailable = Int(unavailable);
    spec.strategy.max_surge = Int(surge);
    spec
}

#[test]
fn one_role_within_its_limits() {
    check("d2 U1", one_role(2, 1, 0, losses(2), 2));
    check("d2 S1", one_role(2, 0, 1, losses(2), 2));
    check("d2 U1 S1", one_role(2, 1, 1, losses(2), 2));
    check("d3 U1", one_role(3, 1, 0, losses(2), 2));
    check("d3 S1", one_role(3, 0, 1, losses(1), 2));
    check("d3 U2", one_role(3, 2, 0, losses(1), 2));
}

#[test]
fn larger_roles() {
    if !long() {
        return;
    }
    check("d3 S1, 2 faults", one_role(3, 0, 1, losses(2), 2));
    check("d3 U2, 2 faults", one_role(3, 2, 0, losses(2), 2));
    check("d3 U1 S1, 2 faults", one_role(3, 1, 1, losses(2), 2));
    check("d4 U1, 2 faults", one_role(4, 1, 0, losses(2), 2));
    check("d4 S1", one_role(4, 0, 1, losses(1), 2));
    check("d4 U1 S1", one_role(4, 1, 1, losses(1), 2));
    check("d4 U2", one_role(4, 2, 0, losses(1), 2));
}

#[test]
fn one_role_and_anything_goes_wrong() {
    check("d2 U1, anything", one_role(2, 1, 0, anything(2), 2));
    check("d2 S1, anything", one_role(2, 0, 1, anything(1), 2));
}

#[test]
fn more_goes_wrong() {
    if !long() {
        return;
    }
    check("d2 U1, 3 of anything", one_role(2, 1, 0, anything(3), 2));
    check("d2 S1, 2 of anything", one_role(2, 0, 1, anything(2), 2));
    check("d3 U1, 2 of anything", one_role(3, 1, 0, anything(2), 2));
    check("d2 U1 S1, 2 of anything", one_role(2, 1, 1, anything(2), 2));
}

fn partitioned(replicas: u32, partition: u32, surge: u32) -> Spec {
    let mut role = limited("a", replicas, 1, surge);
    role.strategy.partition = Int(partition);
    set(1, vec![role])
}

#[test]
fn a_partition() {
    check("d3 U1 p1", rollout(partitioned(3, 1, 0), losses(2), 2));
    check("d2 U1 S1 p1", rollout(partitioned(2, 1, 1), losses(1), 2));
}

#[test]
fn a_larger_partition() {
    if !long() {
        return;
    }
    check("d3 U1 p1, 2 of anything", rollout(partitioned(3, 1, 0), anything(2), 2));
    check("d2 U1 S1 p1, 2 faults", rollout(partitioned(2, 1, 1), losses(2), 2));
    check("d4 U1 p2, 2 faults", rollout(partitioned(4, 2, 0), losses(2), 2));
}

#[test]
fn ready_for_some_time_first() {
    let mut role = limited("a", 2, 1, 0);
    role.min_ready = Millis::seconds(5);
    check("d2 U1, minReady", rollout(set(1, vec![role]), losses(2), 2));
}

#[test]
fn instances_of_two_pods() {
    let mut role = limited("a", 2, 1, 0);
    role.members[0].count = 2;
    role.members[0].min_available = 2;
    let most = if long() { 2 } else { 1 };
    check("d2 U1, 2 pods each", rollout(set(1, vec![role]), anything(most), 2));
}

/// Two roles under a skew, under steps, and under both.
fn rules(each: impl Fn(&str, Vec<Rule>)) {
    each("skew 50%", vec![both(Percent(50))]);
    each("skew 1", vec![both(Int(1))]);
    each("steps", vec![canary()]);
    each("skew 50% and steps", vec![both(Percent(50)), canary()]);
}

#[test]
fn two_roles_under_rules() {
    rules(|name, rules| {
        let spec = two_roles(limited("a", 2, 1, 0), limited("b", 1, 1, 0), rules.clone());
        check(&format!("d2+1 U1, {name}"), rollout(spec, losses(1), 2));
        let spec = two_roles(limited("a", 2, 1, 0), limited("b", 2, 1, 0), rules);
        check(&format!("d2+2 U1, {name}"), rollout(spec, losses(1), 1));
    });
}

#[test]
fn two_larger_roles_under_rules() {
    if !long() {
        return;
    }
    let two_and_two = |rules| two_roles(limited("a", 2, 1, 0), limited("b", 2, 1, 0), rules);
    check("d2+2 U1, skew 50%, 2 faults", rollout(two_and_two(vec![both(Percent(50))]), losses(2), 2));
    check("d2+2 U1, steps, 2 faults", rollout(two_and_two(vec![canary()]), losses(2), 2));
    check("d2+2 U1, steps, 2 of anything", rollout(two_and_two(vec![canary()]), anything(2), 1));
    rules(|name, rules| {
        let spec = two_roles(limited("a", 2, 1, 0), limited("b", 1, 1, 0), rules.clone());
        check(&format!("d2+1 U1, {name}, 2 of anything"), rollout(spec, anything(2), 1));
        let spec = two_roles(limited("a", 2, 0, 1), limited("b", 1, 1, 0), rules.clone());
        check(&format!("d2+1 S1/U1, {name}"), rollout(spec, losses(1), 1));
        let spec = two_roles(limited("a", 3, 2, 0), limited("b", 2, 1, 0), rules);
        // One of three, then both of two, is further than 50% apart: that is refused.
        if prove(Some(&spec), &at(&spec, "B")) == Proof::Finishes {
            check(&format!("d3+2 U2/U1, {name}"), rollout(spec, losses(1), 1));
        }
    });
}

#[test]
fn groups_that_are_recreated() {
    let recreate = StrategyKind::GroupRecreate;
    let spec = groups(2, recreate, 1, 0, vec![single("a"), single("b")]);
    check("2 groups of 1+1, recreate U1", rollout(spec, losses(1), 1));
    let spec = groups(2, recreate, 0, 1, vec![single("a")]);
    check("2 groups of 1, recreate S1", rollout(spec, losses(2), 2));
    let spec = groups(2, recreate, 1, 1, vec![single("a")]);
    check("2 groups of 1, recreate U1 S1", rollout(spec, losses(1), 2));
}

#[test]
fn larger_groups_that_are_recreated() {
    if !long() {
        return;
    }
    let recreate = StrategyKind::GroupRecreate;
    let spec = groups(2, recreate, 1, 0, vec![single("a"), single("b")]);
    let faults = Faults { forget: false, ..anything(2) };
    check("2 groups of 1+1, recreate U1, 2 of anything but forgetting", rollout(spec, faults, 1));
    let spec = groups(2, recreate, 1, 0, vec![limited("a", 2, 1, 0)]);
    check("2 groups of 2, recreate U1, 2 faults", rollout(spec, losses(2), 2));
    let spec = groups(2, recreate, 1, 1, vec![single("a"), single("b")]);
    check("2 groups of 1+1, recreate U1 S1", rollout(spec, losses(1), 1));
    let spec = groups(2, recreate, 0, 1, vec![single("a"), single("b")]);
    check("2 groups of 1+1, recreate S1", rollout(spec, losses(1), 1));
    let spec = groups(3, recreate, 1, 0, vec![single("a")]);
    check("3 groups of 1, recreate U1, 2 faults", rollout(spec, losses(2), 2));
}

#[test]
fn groups_that_are_recreated_and_forgotten() {
    if !long() {
        return;
    }
    let spec = groups(2, StrategyKind::GroupRecreate, 1, 0, vec![single("a"), single("b")]);
    check("2 groups of 1+1, recreate U1, 2 of anything", rollout(spec, anything(2), 1));
}

#[test]
fn groups_that_roll() {
    let rolling = StrategyKind::RollingUpdate;
    let spec = groups(2, rolling, 1, 0, vec![limited("a", 2, 1, 0)]);
    check("2 groups of 2, rolling U1", rollout(spec, losses(1), 1));
    let spec = groups(2, rolling, 1, 1, vec![limited("a", 1, 1, 0)]);
    check("2 groups of 1, rolling U1 S1", rollout(spec, losses(1), 1));
}

#[test]
fn larger_groups_that_roll() {
    if !long() {
        return;
    }
    let rolling = StrategyKind::RollingUpdate;
    let spec = groups(2, rolling, 1, 0, vec![limited("a", 2, 1, 0)]);
    check("2 groups of 2, rolling U1, 2 faults", rollout(spec, losses(2), 2));
    let spec = groups(2, rolling, 1, 0, vec![limited("a", 1, 1, 0), limited("b", 1, 1, 0)]);
    check("2 groups of 1+1, rolling U1, 2 faults", rollout(spec, losses(2), 1));
    let spec = groups(2, rolling, 0, 1, vec![limited("a", 1, 1, 0)]);
    check("2 groups of 1, rolling S1, 2 faults", rollout(spec, losses(2), 2));
}

/// From A to B, and at any moment on to something else.
fn changed(from: Spec, then: Spec, faults: Faults, stale: usize) -> Lab {
    let to = at(&from, "B");
    Lab::new(vec![from, to, then], faults, stale)
}

#[test]
fn somebody_changes_their_mind() {
    let spec = set(1, vec![limited("a", 2, 1, 0)]);
    check("d2 U1, back to A", changed(spec.clone(), spec.clone(), losses(1), 2));
    check("d2 U1, on to C", changed(spec.clone(), at(&spec, "C"), losses(1), 2));
    let larger = set(1, vec![limited("a", 3, 1, 0)]);
    check("d2 to 3 U1", changed(spec.clone(), at(&larger, "B"), losses(1), 1));
    check("d3 to 2 U1", changed(larger, at(&spec, "B"), losses(1), 1));
    let surging = set(1, vec![limited("a", 2, 0, 1)]);
    check("d2 S1, back to A", changed(surging.clone(), surging.clone(), losses(1), 1));
    check("d2 S1, on to C", changed(surging.clone(), at(&surging, "C"), losses(1), 1));
}

#[test]
fn somebody_changes_more() {
    if !long() {
        return;
    }
    let spec = set(1, vec![limited("a", 3, 1, 0)]);
    check("d3 U1, back to A, 2 faults", changed(spec.clone(), spec.clone(), losses(2), 2));
    check("d3 U1, on to C, 2 faults", changed(spec.clone(), at(&spec, "C"), losses(2), 2));
    rules(|name, rules| {
        let spec = two_roles(limited("a", 2, 1, 0), limited("b", 2, 1, 0), rules);
        check(&format!("d2+2 U1, {name}, back to A"), changed(spec.clone(), spec.clone(), losses(1), 1));
        check(&format!("d2+2 U1, {name}, on to C"), changed(spec.clone(), at(&spec, "C"), losses(1), 1));
    });
    let recreate = StrategyKind::GroupRecreate;
    let spec = groups(2, recreate, 1, 0, vec![single("a"), single("b")]);
    check("2 groups of 1+1, recreate U1, back to A", changed(spec.clone(), spec.clone(), losses(1), 1));
    check("2 groups of 1+1, recreate U1, on to C", changed(spec.clone(), at(&spec, "C"), losses(1), 1));
}

#[test]
fn a_revision_that_never_works_is_contained_and_can_be_left() {
    let bad = |lab: Lab| Lab { bad: Some(1), ..lab };
    let spec = set(1, vec![limited("a", 3, 1, 0)]);
    check("d3 U1, B never works, on to C", bad(changed(spec.clone(), at(&spec, "C"), losses(1), 1)));
    let spec = set(1, vec![limited("a", 2, 0, 1)]);
    check("d2 S1, B never works, back to A", bad(changed(spec.clone(), spec.clone(), losses(1), 1)));
    let spec = two_roles(limited("a", 2, 1, 0), limited("b", 2, 1, 0), vec![both(Percent(50))]);
    check("d2+2 U1, skew 50%, B never works, back to A", bad(changed(spec.clone(), spec, losses(1), 1)));
}

/// A flaw breaks this promise, and it is found.
fn found_out(promise: &str, lab: Lab, flaw: Flaw) {
    let rollout = Rollout(lab.with(flaw));
    let mut found = BTreeSet::new();
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    let mut next = VecDeque::from(rollout.init_states());
    while let Some(state) = next.pop_front() {
        if let Some(broken) = &state.broken {
            found.insert(broken.split(':').next().unwrap_or_default().to_owned());
            if broken.starts_with(promise) {
                println!("found after {} states: {broken}", seen.len());
                return;
            }
        }
        if seen.insert(fingerprint(&state)) {
            next.extend(rollout.next_states(&state));
        }
    }
    panic!("{promise} is never broken, only {found:?}");
}

fn believes(lab: impl Fn() -> Lab, otherwise: impl Fn(&mut Spec)) -> (Lab, Flaw) {
    let lab = lab();
    let mut wish = lab.wishes[1].clone();
    otherwise(&mut wish);
    (lab, Flaw::Believes(Box::new(wish)))
}

#[test]
fn flaws_are_found() {
    let lab = || one_role(2, 1, 0, losses(2), 2);
    found_out("floor", lab(), Flaw::DeletesBlindly);
    found_out("one pod per name", lab(), Flaw::ForgetsItsWrites);
    let found = |promise: &str, (lab, flaw): (Lab, Flaw)| found_out(promise, lab, flaw);
    found("floor", believes(lab, |wish| wish.roles[0].strategy.max_unavailable = Int(2)));
    found("surge ceiling", believes(lab, |wish| wish.roles[0].strategy.max_surge = Int(1)));
    let lab = || rollout(partitioned(2, 1, 0), NOTHING, 1);
    found("partition", believes(lab, |wish| wish.roles[0].strategy.partition = Int(0)));
    let roles = || (limited("a", 2, 1, 0), limited("b", 2, 1, 0));
    let lab = || rollout(two_roles(roles().0, roles().1, vec![both(Percent(50))]), NOTHING, 1);
    found("skew", believes(lab, |wish| wish.rules.clear()));
    let lab = || rollout(two_roles(roles().0, roles().1, vec![canary()]), NOTHING, 1);
    found("step order", believes(lab, |wish| wish.rules.clear()));
    let lab =
        || rollout(groups(2, StrategyKind::GroupRecreate, 1, 0, vec![single("a"), single("b")]), NOTHING, 1);
    found("recreate barrier", believes(lab, |wish| wish.strategy.kind = StrategyKind::RollingUpdate));
    found("group floor", believes(lab, |wish| wish.strategy.max_unavailable = Int(2)));
    let lab = || rollout(groups(2, StrategyKind::RollingUpdate, 1, 0, vec![single("a")]), NOTHING, 1);
    found("group floor", believes(lab, |wish| wish.strategy.max_unavailable = Int(2)));
    // Two are new or on their way before one has proved itself: only evictions leave the floor out of it.
    let lab = || one_role(3, 1, 0, losses(2), 2);
    found("containment", believes(lab, |wish| wish.roles[0].strategy.kind = StrategyKind::OnDelete));
}
