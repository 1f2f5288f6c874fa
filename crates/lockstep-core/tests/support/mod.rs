//! Random sets and random rollouts, from a seed.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;

use lockstep_core::model::*;
use lockstep_core::names::{MemberName, RoleName, RuleName};
use lockstep_core::number::IntOrPercent::{self, Int, Percent};
use lockstep_core::promises::{Broken, Checker};
use lockstep_core::revision::Revision;
use lockstep_core::simulate::faults::{Faults, Nature, Span};
use lockstep_core::simulate::rng::Rng;
use lockstep_core::simulate::trace::Event;
use lockstep_core::simulate::{Outcome, Scenario, run};
use lockstep_core::time::Millis;

pub fn rev(text: &str) -> Revision {
    text.parse().unwrap()
}

/// A role of one-pod instances with the defaults.
pub fn role(name: &str, replicas: u32, revision: &str) -> Role {
    Role {
        name: RoleName::new(name),
        replicas,
        revision: rev(revision),
        min_available: None,
        min_ready: Millis(0),
        starts_after: Vec::new(),
        member_order: BTreeMap::new(),
        strategy: RoleStrategy::default(),
        restart: Restart::default(),
        members: vec![Member { name: MemberName::new(name), count: 1, min_available: 1 }],
    }
}

/// A set with the defaults.
pub fn set(replicas: u32, roles: Vec<Role>) -> Spec {
    Spec {
        name: "llama".to_owned(),
        replicas,
        strategy: SetStrategy::default(),
        roles,
        rules: Vec::new(),
        gang: Gang::default(),
        on_failure: OnFailure::Hold,
        progress_deadline: Millis::minutes(10),
        paused: false,
    }
}

/// The same set with every role at another revision.
pub fn at(spec: &Spec, revision: &str) -> Spec {
    let mut spec = spec.clone();
    spec.roles.iter_mut().for_each(|role| role.revision = rev(revision));
    spec
}

pub fn skew(name: &str, roles: &[&str], max_skew: IntOrPercent) -> Rule {
    let roles = roles.iter().map(|role| RoleName::new(role)).collect();
    let kind = RuleKind::RollingUpdate(Skew { roles, max_skew, max_unavailable: None, partition: None });
    Rule { name: RuleName::new(name), kind }
}

pub fn steps(name: &str, steps: &[(&str, IntOrPercent)]) -> Rule {
    let update = |(role, to): &(&str, IntOrPercent)| Step::Update { role: RoleName::new(role), to: *to };
    Rule { name: RuleName::new(name), kind: RuleKind::Steps(steps.iter().map(update).collect()) }
}

/// Plays a scenario and checks every promise.
pub fn play(scenario: &Scenario) -> (Outcome, Vec<Event>, Vec<Broken>) {
    let mut events = Vec::new();
    let outcome = run(scenario, &mut |event| events.push(event));
    let mut checker = Checker::default();
    events.iter().for_each(|event| checker.see(event));
    let broken = checker.broken().to_vec();
    (outcome, events, broken)
}

/// Plays and checks without keeping the trace.
pub fn check(scenario: &Scenario) -> (Outcome, Vec<Broken>) {
    let mut checker = Checker::default();
    let outcome = run(scenario, &mut |event| checker.see(&event));
    (outcome, checker.broken().to_vec())
}

/// What a random scenario may contain.
#[derive(Debug, Clone, Copy)]
pub struct Taste {
    pub max_roles: u64,
    pub max_instances: u64,
    pub max_groups: u64,
    pub faults: bool,
    pub lag: bool,
    pub changes: bool,
    pub gangs: bool,
    /// Instances start member by member.
    pub stages: bool,
}

pub struct Generator {
    pub rng: Rng,
    pub taste: Taste,
}

impl Generator {
    pub fn new(seed: u64, taste: Taste) -> Self {
        let mut rng = Rng::new(seed);
        rng.next_u64();
        Self { rng, taste }
    }

    /// Biased to the small.
    fn size(&mut self, most: u64) -> u32 {
        let bits = self.rng.between(0, 3);
        let bound = [3, 6, 12, most][bits as usize].min(most);
        self.rng.between(1, bound.max(1)) as u32
    }

    fn share(&mut self, of: u32) -> IntOrPercent {
        if self.rng.chance(50) {
            Percent(self.rng.between(0, 10) as u32 * 10)
        } else {
            Int(self.rng.between(0, u64::from(of)) as u32)
        }
    }

    fn order(&mut self) -> Order {
        [Order::Descending, Order::Ascending, Order::OldestFirst][self.rng.below(3) as usize]
    }

    fn role(&mut self, index: usize) -> Role {
        let replicas = if self.rng.chance(4) { 0 } else { self.size(self.taste.max_instances) };
        let mut role = role(&format!("r{index}"), replicas, "A");
        let max_unavailable = if self.rng.chance(40) { Int(1) } else { self.share(replicas) };
        let max_surge = if self.rng.chance(50) { Int(0) } else { self.share(replicas) };
        let zero = Limits0(max_unavailable, max_surge);
        role.strategy = RoleStrategy {
            kind: match self.rng.chance(4) {
                true => StrategyKind::OnDelete,
                false => StrategyKind::RollingUpdate,
            },
            max_unavailable: if zero.both() { Int(1) } else { max_unavailable },
            max_surge,
            partition: if self.rng.chance(80) { Int(0) } else { self.share(replicas) },
            order: self.order(),
        };
        if self.rng.chance(25) {
            role.min_available = Some(Int(self.rng.between(0, u64::from(replicas)) as u32));
        }
        if self.rng.chance(20) {
            role.min_ready = Millis::seconds(self.rng.between(1, 20));
        }
        if self.rng.chance(25) {
            let workers = self.rng.between(1, 3) as u32;
            let needed =
                if self.rng.chance(70) { workers } else { self.rng.between(1, u64::from(workers)) as u32 };
            role.members = vec![
                Member { name: MemberName::new("leader"), count: 1, min_available: 1 },
                Member { name: MemberName::new("worker"), count: workers, min_available: needed },
            ];
            role.restart.kind = RestartKind::Instance;
        }
        if self.taste.faults && self.rng.chance(10) {
            role.restart.kind =
                [RestartKind::None, RestartKind::Instance, RestartKind::Group][self.rng.below(3) as usize];
        }
        role
    }

    fn some_roles(&mut self, roles: &[Role]) -> Vec<RoleName> {
        let mut names: Vec<RoleName> = roles.iter().map(|role| role.name.clone()).collect();
        while names.len() > 2 && self.rng.chance(40) {
            let at = self.rng.below(names.len() as u64) as usize;
            names.remove(at);
        }
        names
    }

    fn rule(&mut self, index: usize, roles: &[Role]) -> Rule {
        let name = RuleName::new(&format!("rule{index}"));
        let kind = match self.rng.below(10) {
            0..5 => RuleKind::RollingUpdate(Skew {
                roles: self.some_roles(roles),
                max_skew: if self.rng.chance(70) {
                    Percent([1, 5, 10, 25, 50, 100][self.rng.below(6) as usize])
                } else {
                    Int(self.rng.between(1, 3) as u32)
                },
                max_unavailable: self.rng.chance(30).then(|| Percent(self.rng.between(1, 10) as u32 * 10)),
                partition: self.rng.chance(15).then(|| Percent(self.rng.between(0, 9) as u32 * 10)),
            }),
            5..9 => RuleKind::Steps(self.steps(roles)),
            _ => RuleKind::Scaling(Scaling {
                roles: self.some_roles(roles),
                max_skew: Percent([1, 10, 50][self.rng.below(3) as usize]),
                progression: [Progression::OrderReady, Progression::OrderScheduled]
                    [self.rng.below(2) as usize],
            }),
        };
        Rule { name, kind }
    }

    fn steps(&mut self, roles: &[Role]) -> Vec<Step> {
        let mut reached: BTreeMap<usize, u32> = BTreeMap::new();
        let mut steps = Vec::new();
        for _ in 0..self.rng.between(1, 5) {
            if self.rng.chance(15) {
                let duration = self.rng.chance(50).then(|| Millis::seconds(self.rng.between(1, 300)));
                steps.push(Step::Pause { duration });
                continue;
            }
            let index = self.rng.below(roles.len() as u64) as usize;
            let before = reached.get(&index).copied().unwrap_or(0);
            let percent = self.rng.between(u64::from(before), 100).max(1) as u32;
            reached.insert(index, percent);
            steps.push(Step::Update { role: roles[index].name.clone(), to: Percent(percent) });
        }
        steps
    }

    pub fn spec(&mut self) -> Spec {
        let count = self.rng.between(1, self.taste.max_roles) as usize;
        let roles: Vec<Role> = (0..count).map(|index| self.role(index)).collect();
        let groups = self.size(self.taste.max_groups);
        let mut spec = set(groups, roles);
        let kind = match self.rng.below(10) {
            0..7 => StrategyKind::RollingUpdate,
            _ => StrategyKind::GroupRecreate,
        };
        let max_unavailable = if self.rng.chance(60) { Int(1) } else { self.share(groups) };
        let max_surge = if self.rng.chance(65) { Int(0) } else { self.share(groups.min(3)) };
        let zero = Limits0(max_unavailable, max_surge);
        spec.strategy = SetStrategy {
            kind,
            max_unavailable: if zero.both() { Int(1) } else { max_unavailable },
            max_surge,
            partition: if self.rng.chance(80) { Int(0) } else { self.share(groups) },
            order: self.order(),
        };
        if kind == StrategyKind::RollingUpdate && self.rng.chance(60) {
            let rules = self.rng.between(1, 2) as usize;
            spec.rules = (0..rules).map(|index| self.rule(index, &spec.roles)).collect();
            let named = |rule: &Rule, name| match &rule.kind {
                RuleKind::RollingUpdate(skew) => skew.roles.contains(name),
                RuleKind::Steps(steps) => {
                    steps.iter().any(|step| matches!(step, Step::Update { role, .. } if role == name))
                }
                _ => false,
            };
            // What a rule waits for must move by itself, else the set is refused.
            for role in &mut spec.roles {
                if spec.rules.iter().any(|rule| named(rule, &role.name)) {
                    role.strategy.kind = StrategyKind::RollingUpdate;
                }
            }
        }
        if self.taste.gangs {
            self.add_gangs(&mut spec);
        }
        if self.taste.stages {
            spec.roles.iter_mut().for_each(|role| self.add_stages(role));
        }
        spec
    }

    /// Three members, of which later ones may start after earlier ones, or the other way round.
    fn add_stages(&mut self, role: &mut Role) {
        if self.rng.chance(25) {
            return;
        }
        let mut names = ["a", "b", "c"].map(MemberName::new);
        let member = |name: &MemberName, rng: &mut Rng| {
            let count = rng.between(1, 3) as u32;
            Member { name: name.clone(), count, min_available: rng.between(1, u64::from(count)) as u32 }
        };
        role.members = names.iter().map(|name| member(name, &mut self.rng)).collect();
        if self.rng.chance(50) {
            names.reverse();
        }
        for (later, name) in names.iter().enumerate() {
            let named: Vec<MemberName> =
                names[..later].iter().filter(|_| self.rng.chance(60)).cloned().collect();
            if !named.is_empty() {
                role.member_order.insert(name.clone(), named);
            }
        }
        role.restart.kind = [RestartKind::None, RestartKind::Instance][self.rng.below(2) as usize];
    }

    fn add_gangs(&mut self, spec: &mut Spec) {
        if self.rng.chance(50) {
            spec.gang.scheduler =
                [GangScheduler::PodGroup, GangScheduler::PodGang][self.rng.below(2) as usize];
        }
        if spec.roles.len() > 1 && self.rng.chance(40) {
            let ratios = spec.roles.iter().take(2).map(|r| (r.name.clone(), self.rng.between(1, 2) as u32));
            let affinity = Affinity {
                topology_key: "host".to_owned(),
                ratios: ratios.collect(),
                batch_mode: [BatchMode::Sequential, BatchMode::Parallel][self.rng.below(2) as usize],
            };
            spec.rules
                .push(Rule { name: RuleName::new("batch"), kind: RuleKind::AffinityScheduling(affinity) });
        }
        if spec.roles.len() > 1 && self.rng.chance(40) {
            let first = spec.roles[0].name.clone();
            let last = spec.roles.len() - 1;
            spec.roles[last].starts_after = vec![first];
        }
        if self.rng.chance(20) {
            spec.gang.termination_delay = Some(Millis::seconds(self.rng.between(30, 600)));
        }
    }

    /// A change a user might make in mid-rollout.
    fn change(&mut self, from: &Spec, revisions: &[&str]) -> Spec {
        let mut spec = from.clone();
        match self.rng.below(11) {
            0..3 => {
                let revision = revisions[self.rng.below(revisions.len() as u64) as usize];
                spec = at(&spec, revision);
            }
            3 => {
                let index = self.rng.below(spec.roles.len() as u64) as usize;
                spec.roles[index].revision = rev(revisions[self.rng.below(revisions.len() as u64) as usize]);
            }
            4..7 => {
                let index = self.rng.below(spec.roles.len() as u64) as usize;
                spec.roles[index].replicas = self.size(self.taste.max_instances);
                if let Some(Int(n)) = spec.roles[index].min_available {
                    spec.roles[index].min_available = Some(Int(n.min(spec.roles[index].replicas)));
                }
            }
            7 => spec.replicas = self.size(self.taste.max_groups),
            8 => {
                let index = self.rng.below(spec.roles.len() as u64) as usize;
                spec.roles[index].strategy.partition = self.share(spec.roles[index].replicas);
            }
            9 => spec.strategy.partition = self.share(spec.replicas),
            _ => remove_last_role(&mut spec),
        }
        spec
    }

    pub fn scenario(&mut self) -> Scenario {
        let initial = self.spec();
        let mut target = at(&initial, "B");
        if self.rng.chance(25) && target.roles.len() > 1 {
            target.roles[0].revision = rev("A");
        }
        let mut changes = vec![(Millis(0), target.clone())];
        if self.taste.changes {
            let mut time = 0;
            for _ in 0..self.rng.below(4) {
                time += self.rng.between(0, 240_000);
                target = self.change(&target, &["A", "B", "C"]);
                changes.push((Millis(time), target.clone()));
            }
        }
        let nature = Nature {
            start_up: BTreeMap::new(),
            start_up_default: Span { min: Millis::seconds(2), max: Millis::seconds(self.rng.between(2, 90)) },
            termination: Span { min: Millis(0), max: Millis(self.rng.between(0, 30_000)) },
            nodes: Vec::new(),
            lag: if self.taste.lag && self.rng.chance(60) {
                Span { min: Millis(0), max: Millis(self.rng.between(1, 3000)) }
            } else {
                Span::default()
            },
            promote: true,
        };
        let seed = self.rng.next_u64();
        let faults = if self.taste.faults { self.faults() } else { Faults::default() };
        let limit = Millis::minutes(60 * 24 * 4);
        Scenario {
            initial: Some(initial),
            present: None,
            changes,
            nature,
            faults,
            seed,
            limit,
            most_plans: 200_000,
        }
    }

    fn every(&mut self) -> Option<Millis> {
        self.rng.chance(35).then(|| Millis::seconds(self.rng.between(3, 200)))
    }

    fn faults(&mut self) -> Faults {
        Faults {
            crash: self.every(),
            fail: self.every(),
            eviction: self.every(),
            blink: self.every(),
            controller_crash: self.every(),
            until: Millis::seconds(self.rng.between(10, 900)),
            ..Faults::default()
        }
    }
}

/// Takes the last role out of a set, and its name out of everything that names it.
fn remove_last_role(spec: &mut Spec) {
    if spec.roles.len() < 2 {
        return;
    }
    let Some(gone) = spec.roles.pop().map(|role| role.name) else { return };
    spec.roles.iter_mut().for_each(|role| role.starts_after.retain(|name| *name != gone));
    for rule in &mut spec.rules {
        match &mut rule.kind {
            RuleKind::RollingUpdate(skew) => skew.roles.retain(|name| *name != gone),
            RuleKind::Scaling(scaling) => scaling.roles.retain(|name| *name != gone),
            RuleKind::AffinityScheduling(affinity) => drop(affinity.ratios.remove(&gone)),
            RuleKind::Steps(steps) => {
                steps.retain(|step| !matches!(step, Step::Update { role, .. } if *role == gone));
            }
        }
    }
}

struct Limits0(IntOrPercent, IntOrPercent);

impl Limits0 {
    fn both(&self) -> bool {
        let zero = |n: IntOrPercent| matches!(n, Int(0) | Percent(0));
        zero(self.0) && zero(self.1)
    }
}
