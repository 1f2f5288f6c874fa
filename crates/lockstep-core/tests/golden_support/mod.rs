//! A desk on which rollouts are played by hand: pods start, end and break when the test says so.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod build;
pub mod ceilings;
pub mod gangs;
pub mod nonsense;
pub mod row;

mod world;

use std::collections::BTreeMap;

use lockstep_core::blocked::{Blocked, Reason};
use lockstep_core::gang::Gang;
use lockstep_core::model::Spec;
use lockstep_core::names::{GangKey, RoleName, Uid};
use lockstep_core::plan::{Action, Create, Delete, Plan, plan};
use lockstep_core::revision::Revision;
use lockstep_core::snapshot::{Group, Instance, Pod, RoleInstances, Snapshot};
use lockstep_core::status::Phase;
use lockstep_core::time::Time;

use crate::support::rev;

/// How actions are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// `-3`
    Ordinals,
    /// `-decode-3`
    Roles,
    /// `-1/decode-3`
    All,
    /// `-1`, once for everything of the group.
    Groups,
}

/// A cluster in which nothing happens by itself.
#[derive(Debug, Clone)]
pub struct Desk {
    pub spec: Spec,
    pub seen: Snapshot,
    pub now: Time,
    pub names: Names,
    /// Pods of these revisions never become ready.
    pub bad: Vec<Revision>,
    /// Instances that find no node.
    pub homeless: Vec<(&'static str, u32)>,
    pub creates: Vec<Create>,
    /// The gang of each create: see [`gangs::text`].
    pub gangs: Vec<String>,
    pub deletes: Vec<Delete>,
    pub last: Option<Plan>,
    /// The least instances that were ready at once, by group and role, after each plan.
    pub low: BTreeMap<(u32, RoleName), usize>,
    /// The most wished-for instances of the set that were down at once, after each plan.
    pub most_down: usize,
    uids: u64,
}

impl Desk {
    /// Nothing stands yet.
    pub fn empty(spec: &Spec) -> Self {
        let names = match (spec.replicas, spec.roles.len()) {
            (1, 1) => Names::Ordinals,
            (1, _) => Names::Roles,
            _ => Names::All,
        };
        Self {
            spec: spec.clone(),
            seen: Snapshot::default(),
            now: Time(1_000_000),
            names,
            bad: Vec::new(),
            homeless: Vec::new(),
            creates: Vec::new(),
            gangs: Vec::new(),
            deletes: Vec::new(),
            last: None,
            low: BTreeMap::new(),
            most_down: 0,
            uids: 0,
        }
    }

    /// The spec has stood complete for an hour.
    pub fn complete(spec: &Spec) -> Self {
        let mut desk = Self::empty(spec);
        desk.run();
        desk.wait(3600);
        desk.plan();
        assert_eq!(desk.phase(), Phase::Complete, "{:?}", desk.blocked());
        desk.forget();
        desk
    }

    /// Starts the records anew.
    pub fn forget(&mut self) {
        self.creates.clear();
        self.gangs.clear();
        self.deletes.clear();
        self.low.clear();
        self.most_down = 0;
    }

    /// Changes the wish. The layouts of the former one stay known.
    pub fn wish(&mut self, spec: &Spec) -> &mut Self {
        for role in &self.spec.roles {
            let of_role = self.seen.layouts.entry(role.name.clone()).or_default();
            of_role.insert(role.revision, role.members.clone());
        }
        self.spec = spec.clone();
        self
    }

    /// Makes one plan and carries it out. Says what was done.
    pub fn plan(&mut self) -> String {
        let plan = plan(&self.spec, &self.seen, self.now);
        self.seen.memory = plan.memory.clone();
        let mut said: Vec<String> = Vec::new();
        for action in &plan.actions {
            let text = match action {
                Action::Create(create) => self.create(create, &plan.gangs),
                Action::Delete(delete) => self.delete(delete),
                Action::Ungate(ungate) => {
                    self.each(|_, _, _, pod| {
                        if ungate.uids.contains(&pod.uid) {
                            pod.gated = false;
                        }
                    });
                    self.say('^', ungate.of.group, &ungate.of.role, ungate.of.instance)
                }
            };
            if !said.contains(&text) {
                said.push(text);
            }
        }
        self.bind();
        self.last = Some(plan);
        self.count();
        said.join(" ")
    }

    /// Plans, lets pods end, lets pods start, until nothing is left to happen. Says what each plan did.
    pub fn run(&mut self) -> String {
        self.run_until(|_| false)
    }

    /// The same, stopping as soon as the condition holds after a plan.
    pub fn run_until(&mut self, stop: impl Fn(&Self) -> bool) -> String {
        let mut passes: Vec<String> = Vec::new();
        for _ in 0..20_000 {
            let pass = self.plan();
            let acted = !pass.is_empty();
            passes.extend(acted.then_some(pass));
            if stop(self) {
                return passes.join(" | ");
            }
            if !acted && !self.reap() && !self.start() {
                return passes.join(" | ");
            }
        }
        panic!("goes on for ever: {}", passes[passes.len() - 20..].join(" | "));
    }

    fn create(&mut self, create: &Create, gangs: &[Gang]) -> String {
        let of = &create.of;
        for slot in &create.pods {
            self.uids += 1;
            let pod = Pod {
                member: slot.member.clone(),
                index: slot.index,
                uid: Uid::new(&format!("u{}", self.uids)),
                revision: create.revision,
                set_revision: create.set_revision,
                incarnation: create.incarnation,
                created: self.now,
                gated: create.gated,
                gang: create.gang.as_ref().map(|gang| GangKey::new(&gang.to_string())),
                ..Pod::default()
            };
            let pods = &mut self.instance(of.group, &of.role, of.instance).pods;
            let taken = pods.iter().any(|p| p.member == pod.member && p.index == pod.index);
            assert!(!taken, "a name is used twice: {create:?}");
            pods.push(pod);
        }
        self.creates.push(create.clone());
        self.gangs.push(gangs::text(create, gangs));
        let target = self.spec.role(&of.role).map(|role| role.revision);
        let at =
            if target == Some(create.revision) { String::new() } else { format!("@{}", create.revision) };
        format!("{}{at}", self.say('+', of.group, &of.role, of.instance))
    }

    fn delete(&mut self, delete: &Delete) -> String {
        self.each(|_, _, _, pod| pod.terminating |= delete.uids.contains(&pod.uid));
        self.deletes.push(delete.clone());
        let of = &delete.of;
        self.say(if delete.paid { '-' } else { 'x' }, of.group, &of.role, of.instance)
    }

    fn say(&self, sign: char, group: u32, role: &RoleName, ordinal: u32) -> String {
        match self.names {
            Names::Ordinals => format!("{sign}{ordinal}"),
            Names::Roles => format!("{sign}{role}-{ordinal}"),
            Names::All => format!("{sign}{group}/{role}-{ordinal}"),
            Names::Groups => format!("{sign}{group}"),
        }
    }

    /// Looks at every pod, or changes it.
    pub fn each(&mut self, mut how: impl FnMut(u32, &RoleName, u32, &mut Pod)) {
        for group in &mut self.seen.groups {
            for role in &mut group.roles {
                for instance in &mut role.instances {
                    for pod in &mut instance.pods {
                        how(group.group, &role.role, instance.instance, pod);
                    }
                }
            }
        }
    }

    fn instance(&mut self, group: u32, role: &RoleName, ordinal: u32) -> &mut Instance {
        let groups = &mut self.seen.groups;
        let at = groups.iter().position(|g| g.group == group).unwrap_or_else(|| {
            groups.push(Group { group, ..Group::default() });
            groups.len() - 1
        });
        let roles = &mut groups[at].roles;
        let at = roles.iter().position(|r| r.role == *role).unwrap_or_else(|| {
            roles.push(RoleInstances { role: role.clone(), instances: Vec::new() });
            roles.len() - 1
        });
        let instances = &mut roles[at].instances;
        let at = instances.iter().position(|i| i.instance == ordinal).unwrap_or_else(|| {
            instances.push(Instance { instance: ordinal, pods: Vec::new() });
            instances.len() - 1
        });
        &mut instances[at]
    }

    /// The revisions of a role's instances by ordinal, as `AABB`; `.` where nothing stands.
    pub fn line(&self, group: u32, role: &str) -> String {
        let instances = self.instances(group, role);
        let last = instances.iter().map(|i| i.instance + 1).max().unwrap_or(0);
        let at = |ordinal| {
            let pod = instances.iter().find(|i| i.instance == ordinal).and_then(|i| i.pods.first());
            pod.map_or(".", |pod| pod.revision.as_str()).to_owned()
        };
        (0..last).map(at).collect()
    }

    fn instances(&self, group: u32, role: &str) -> Vec<&Instance> {
        let groups = self.seen.groups.iter().filter(|g| g.group == group);
        let roles = groups.flat_map(|g| &g.roles).filter(|r| r.role.as_str() == role);
        roles.flat_map(|r| &r.instances).collect()
    }

    /// How many instances of a role are at a revision and not on their way out.
    pub fn at(&self, group: u32, role: &str, revision: &str) -> u32 {
        let stands = |i: &&&Instance| i.pods.iter().all(|p| p.revision == rev(revision) && !p.terminating);
        self.instances(group, role).iter().filter(stands).count() as u32
    }

    fn count(&mut self) {
        let mut down = 0;
        for group in 0..self.spec.replicas {
            for role in &self.spec.roles {
                let ready = |i: &&Instance| i.pods.iter().all(Pod::is_ready);
                let instances = self.instances(group, role.name.as_str());
                let wished = instances.iter().filter(|i| i.instance < role.replicas).copied();
                down += role.replicas as usize - wished.filter(ready).count();
                let up = instances.into_iter().filter(ready).count();
                let low = self.low.entry((group, role.name.clone())).or_insert(up);
                *low = (*low).min(up);
            }
        }
        self.most_down = self.most_down.max(down);
    }

    /// The least that was ready of a role of group 0.
    pub fn lowest(&self, role: &str) -> usize {
        self.low[&(0, RoleName::new(role))]
    }

    pub fn phase(&self) -> Phase {
        self.last.as_ref().unwrap().status.phase
    }

    pub fn blocked(&self) -> &[Blocked] {
        &self.last.as_ref().unwrap().blocked
    }

    pub fn reasons(&self) -> Vec<Reason> {
        self.blocked().iter().map(|blocked| blocked.reason).collect()
    }
}
