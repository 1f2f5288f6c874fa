//! How many pods of each gang must find a place together.

use std::collections::{BTreeMap, BTreeSet};

use super::{Gang, GangName, parse};
use crate::batch;
use crate::draft::Draft;
use crate::model::{GangScheduler, Role, Spec};
use crate::names::{GangKey, RoleName};
use crate::observe::{Seen, layout};
use crate::plan::{Action, Create};
use crate::snapshot::{GroupMemory, Instance, Snapshot};
use crate::stages::Stages;

/// The pods of one gang that are needed.
#[derive(Debug, Default)]
struct Needed {
    /// Those that may be placed.
    free: u32,
    /// Those that a batch holds back.
    held: u32,
    /// Some pod of it may be placed, needed or not.
    any_free: bool,
}

impl Needed {
    /// What is held cannot be placed, and may be held by a batch that waits for this very gang.
    fn minimum(&self) -> u32 {
        if self.any_free { self.free } else { self.held }
    }
}

/// The gangs of one group, counted from the pods, because a pod stays in its gang while the numbers around it
/// change.
struct Count<'a> {
    spec: &'a Spec,
    snapshot: &'a Snapshot,
    memory: &'a GroupMemory,
    gangs: BTreeMap<GangName, Needed>,
    /// Gangs with pods that have no place yet.
    pending: BTreeSet<GangKey>,
    /// Stages of standing instances of which nothing stands: they come back as a whole, and nobody counts them yet.
    lost: BTreeSet<(RoleName, u32, u32)>,
}

impl Count<'_> {
    fn instance(&mut self, role: &Role, instance: &Instance) {
        let standing = || instance.pods.iter().filter(|pod| !pod.terminating);
        for pod in standing().filter(|pod| pod.bound.is_none()) {
            let Some(key) = &pod.gang else { continue };
            self.pending.insert(key.clone());
            if let Some(gang) = parse(key, role, instance.instance) {
                // Nobody may be needed in it any more, and then nobody must be waited for.
                self.gangs.entry(gang).or_default();
            }
        }
        let stages = Stages::of(role);
        // What an old revision lacks never comes, and must not be waited for.
        let members = instance.pods.first().and_then(|pod| layout(self.snapshot, role, pod.revision));
        let members = members.unwrap_or(&role.members);
        for stage in 0..stages.count() {
            let standing = || standing().filter(|pod| stages.stage(&pod.member) == stage);
            if stages.count() > 1 && standing().next().is_none() {
                self.lost.insert((role.name.clone(), instance.instance, stage));
            }
            let Some(key) = standing().find_map(|pod| pod.gang.as_ref()) else { continue };
            let Some(gang) = parse(key, role, instance.instance) else { continue };
            let elsewhere = standing().filter(|pod| pod.gang.as_ref() != Some(key)).count();
            let elsewhere = u32::try_from(elsewhere).unwrap_or(u32::MAX);
            let pods = stages.minimum(members, stage).saturating_sub(elsewhere);
            self.add(role, instance.instance, gang, pods, standing().any(|pod| pod.gated));
        }
    }

    fn create(&mut self, role: &Role, create: &Create, gang: &GangName) {
        self.pending.insert(GangKey::new(&gang.to_string()));
        let stages = Stages::of(role);
        let stage = create.pods.first().map_or(0, |slot| stages.stage(&slot.member));
        if create.refill && !self.lost.contains(&(role.name.clone(), create.of.instance, stage)) {
            self.gangs.entry(gang.clone()).or_default();
        } else {
            let members = layout(self.snapshot, role, create.revision).unwrap_or(&role.members);
            let pods = stages.minimum(members, stage);
            self.add(role, create.of.instance, gang.clone(), pods, create.gated);
        }
    }

    fn add(&mut self, role: &Role, ordinal: u32, gang: GangName, pods: u32, gated: bool) {
        let needed = !matches!(gang, GangName::Base(_)) || ordinal < role.needed();
        let wished = ordinal < role.replicas || matches!(gang, GangName::Instance(..) | GangName::Stage(..));
        let pods = if needed && wished { pods } else { 0 };
        let held = gated && batch::waits(self.spec, self.memory, &role.name, ordinal).is_some();
        let sum = self.gangs.entry(gang).or_default();
        if held {
            sum.held = sum.held.saturating_add(pods);
        } else {
            sum.free = sum.free.saturating_add(pods);
            sum.any_free = true;
        }
    }
}

impl Draft<'_> {
    /// Notes the gangs of a group that have pods to be placed; `before` is where its actions begin.
    pub(crate) fn count_gangs(&mut self, group: &Seen<'_>, memory: &GroupMemory, before: usize) {
        if self.spec.gang.scheduler == GangScheduler::None {
            return;
        }
        let (gangs, pending, lost) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut count = Count { spec: self.spec, snapshot: self.snapshot, memory, gangs, pending, lost };
        for (role, seen) in self.spec.roles.iter().zip(&group.roles) {
            seen.instances.iter().for_each(|instance| count.instance(role, instance));
        }
        for action in &self.actions[before..] {
            let Action::Create(create) = action else { continue };
            if let (Some(gang), Some(role)) = (&create.gang, self.spec.role(&create.of.role)) {
                count.create(role, create, gang);
            }
        }
        for (name, needed) in count.gangs {
            let key = GangKey::new(&name.to_string());
            if count.pending.contains(&key) {
                let (incarnation, minimum) = (memory.incarnation, needed.minimum());
                let gang = Gang { group: group.ordinal, incarnation, name, minimum };
                self.gangs.insert((group.ordinal, key), gang);
            }
        }
    }
}
