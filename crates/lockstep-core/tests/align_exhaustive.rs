//! Every order of events in small federations: leases applied late or skipped, controllers and pods at any
//! pace, reports delayed, lost and overtaking each other, the user changing the wish at any moment. The
//! promises hold in every state, and from every state the rollout still arrives.
//!
//! `LOCKSTEP_LONG` set to anything adds the larger federations.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test may fail loudly")]

mod federation;

use std::hash::{DefaultHasher, Hash, Hasher};

use federation::{Play, Spec, Workload, World, wish};
use lockstep_core::align::{Kind, Wish};
use lockstep_core::simulate::federation::clone_set::CloneSet;
use lockstep_core::simulate::federation::deployment::Deployment;
use lockstep_core::simulate::federation::workload::hash;
use stateright::{Checker, Model, Property};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State<W> {
    world: World<W>,
    /// The user may still change the wish, once.
    may_change: bool,
    broken: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Action {
    Align,
    Change,
    Apply(String),
    /// The nth different step its controllers can take.
    Act(String, usize),
    Ready(String, u32),
    Send(String),
    Deliver(String, usize),
    Lose(String, usize),
}

struct Federation<W> {
    start: World<W>,
    change: Option<Wish>,
    /// How many reports of one cluster may be on their way at once.
    in_flight: usize,
    /// One state in so many is also followed to its end.
    followed: u64,
}

impl<W: Workload> Federation<W> {
    fn after(&self, state: &State<W>, action: &Action) -> State<W> {
        let mut next = state.clone();
        let world = &mut next.world;
        match action {
            Action::Align => {
                world.align();
            }
            Action::Change => {
                next.may_change = false;
                if let Some(wish) = &self.change {
                    world.change(|w| w.clone_from(wish));
                }
            }
            Action::Apply(c) => {
                world.apply(c);
            }
            Action::Act(c, nth) => {
                let site = world.sites.get_mut(c).unwrap();
                site.workload = site.workload.as_ref().and_then(|w| w.steps().get(*nth).cloned());
            }
            Action::Ready(c, nth) => {
                let site = world.sites.get_mut(c).unwrap();
                site.workload.as_mut().unwrap().ready(*nth);
            }
            Action::Send(c) => {
                world.send(c);
                // They may overtake each other, so their order is nothing.
                let site = world.sites.get_mut(c).unwrap();
                site.in_flight.sort();
                site.in_flight.dedup();
            }
            Action::Deliver(c, nth) => {
                world.deliver(c, *nth);
            }
            Action::Lose(c, nth) => {
                world.sites.get_mut(c).unwrap().in_flight.remove(*nth);
            }
        }
        let World { wish, ledger, sites, promise } = world;
        next.broken = promise.judge(sites, ledger, wish).map(|broken| broken.to_string());
        next
    }

    fn arrives(&self, state: &State<W>) -> bool {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        if !hasher.finish().is_multiple_of(self.followed) {
            return true;
        }
        let mut world = state.world.clone();
        (0..80).any(|_| {
            let answer = world.round();
            world.is_at_rest(&answer)
        })
    }
}

impl<W: Workload> Model for Federation<W> {
    type State = State<W>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![State { world: self.start.clone(), may_change: self.change.is_some(), broken: None }]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        actions.push(Action::Align);
        if state.may_change {
            actions.push(Action::Change);
        }
        for (name, site) in &state.world.sites {
            if state.world.has_work(name) {
                actions.push(Action::Apply(name.clone()));
            }
            if let Some(w) = &site.workload {
                actions.extend((0..w.steps().len()).map(|i| Action::Act(name.clone(), i)));
                // Pods of one template are alike: the first of each that does not serve.
                let mut down: Vec<_> = w.pods().into_iter().filter(|p| !p.available).collect();
                down.sort();
                let mut nth = 0;
                for group in down.chunk_by(|a, b| a.template == b.template) {
                    actions.push(Action::Ready(name.clone(), nth));
                    nth += group.len() as u32;
                }
                if site.in_flight.len() < self.in_flight {
                    actions.push(Action::Send(name.clone()));
                }
            }
            actions.extend((0..site.in_flight.len()).map(|i| Action::Deliver(name.clone(), i)));
            actions.extend((0..site.in_flight.len()).map(|i| Action::Lose(name.clone(), i)));
        }
    }

    fn next_state(&self, state: &Self::State, action: Self::Action) -> Option<Self::State> {
        if state.broken.is_some() {
            return None;
        }
        let next = self.after(state, &action);
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("what is promised holds", |_, s: &State<W>| s.broken.is_none()),
            Property::always("it still arrives", |m: &Self, s: &State<W>| m.arrives(s)),
            Property::sometimes("everything is new and at rest", |m: &Self, s: &State<W>| {
                let mut world = s.world.clone();
                let answer = world.align();
                (m.change.is_none() || !s.may_change) && world.is_at_rest(&answer)
            }),
        ]
    }
}

/// Rolls from template 0 to 1 in every possible way.
fn check<W>(name: &str, wish: Wish, run: fn(Spec) -> W, change: Option<Wish>, in_flight: usize, followed: u64)
where
    W: Workload + Send + Sync + 'static,
{
    let mut start = World::running(wish, run);
    start.change(|w| w.template = hash(1));
    let checker = Federation { start, change, in_flight, followed }.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} unique states, {} steps", checker.unique_state_count(), checker.state_count());
    checker.assert_properties();
}

fn long() -> bool {
    std::env::var_os("LOCKSTEP_LONG").is_some()
}

fn reverted(mut wish: Wish) -> Option<Wish> {
    wish.template = hash(0);
    Some(wish)
}

fn to_template_1(mut wish: Wish) -> Option<Wish> {
    wish.template = hash(1);
    Some(wish)
}

#[test]
fn deployment_1_and_1_with_one_unavailable() {
    let w = wish(Kind::Deployment, &[1, 1], 1, 0, 0);
    check("Deployment 1+1, U1", w, Deployment::running, None, 1, 1);
}

#[test]
fn deployment_1_and_1_with_one_surge() {
    let w = wish(Kind::Deployment, &[1, 1], 0, 1, 0);
    check("Deployment 1+1, S1", w, Deployment::running, None, 1, 1);
}

#[test]
fn cloneset_2_and_2_with_partition() {
    let w = wish(Kind::CloneSet, &[2, 2], 1, 0, 1);
    check("CloneSet 2+2, U1, P1", w, CloneSet::running, None, 2, 1);
}

#[test]
fn cloneset_1_1_and_1() {
    let w = wish(Kind::CloneSet, &[1, 1, 1], 1, 0, 0);
    check("CloneSet 1+1+1, U1", w, CloneSet::running, None, 1, 4);
}

#[test]
fn cloneset_1_and_1_reverted_at_any_moment() {
    let w = wish(Kind::CloneSet, &[1, 1], 1, 0, 0);
    check("CloneSet 1+1, U1, reverted", w.clone(), CloneSet::running, reverted(w), 1, 8);
}

#[test]
fn cloneset_2_and_0_reweighted_at_any_moment() {
    let w = wish(Kind::CloneSet, &[2, 0], 1, 0, 0);
    let reweighted = to_template_1(wish(Kind::CloneSet, &[1, 1], 1, 0, 0));
    check("CloneSet 2+0 to 1+1, U1", w, CloneSet::running, reweighted, 1, 32);
}

#[test]
fn larger_federations() {
    if !long() {
        return;
    }
    let w = wish(Kind::Deployment, &[2, 1], 1, 0, 0);
    check("Deployment 2+1, U1", w, Deployment::running, None, 1, 64);
    let w = wish(Kind::Deployment, &[1, 1], 1, 0, 0);
    check("Deployment 1+1, U1, reverted", w.clone(), Deployment::running, reverted(w), 1, 64);
    let w = wish(Kind::CloneSet, &[2, 2], 1, 1, 1);
    check("CloneSet 2+2, U1, S1, P1", w, CloneSet::running, None, 1, 64);
    let w = wish(Kind::CloneSet, &[3, 2], 2, 0, 2);
    check("CloneSet 3+2, U2, P2", w, CloneSet::running, None, 1, 64);
}
