//! Ordering what was seen: groups, roles and instances as the plan walks them.
//!
//! A snapshot may be in any order and may hold anything: unknown roles, ordinals twice, groups nobody wants.

use std::collections::BTreeMap;

use crate::model::{Member, Role, Spec};
use crate::names::RoleName;
use crate::revision::Revision;
use crate::snapshot::{Group, Instance, Memory, Snapshot};
use crate::time::Time;
use crate::unit::{Compass, Judge, Standing, Unit, Wake};

/// What a role is measured against.
#[derive(Debug, Clone, Copy)]
pub struct Aim {
    /// The revisions.
    pub compass: Compass,
    /// The role has come into the spec since the set last stood complete.
    pub added: bool,
}

/// The targets of all roles and of the set.
#[derive(Debug, Clone)]
pub struct Aims {
    /// Per role, by position.
    pub roles: Vec<Aim>,
    /// The set's target.
    pub set_target: Revision,
    /// The set's revision that old instances are created under.
    pub set_old: Revision,
}

impl Aims {
    /// Where everything should go: the spec's revisions, or what an override puts in their place.
    pub fn of(spec: &Spec, memory: &Memory) -> Self {
        let overridden = memory.overridden.as_ref().is_some_and(|o| o.spec == spec.revision());
        let complete = memory.complete.as_ref();
        let aim = |role: &Role| {
            let old = memory.roles.get(&role.name).and_then(|known| known.stable);
            let back = complete.and_then(|set| set.roles.get(&role.name).copied()).or(old);
            let target = if overridden { back.unwrap_or(role.revision) } else { role.revision };
            let added = old.is_none() && complete.is_some_and(|set| !set.roles.contains_key(&role.name));
            Aim { compass: Compass { target, old }, added }
        };
        let roles: Vec<Aim> = spec.roles.iter().map(aim).collect();
        let of = |pick: &dyn Fn(&Aim) -> Revision| {
            Revision::of_roles(spec.roles.iter().zip(&roles).map(|(role, aim)| (&role.name, pick(aim))))
        };
        let set_target = of(&|aim| aim.compass.target);
        let set_old =
            complete.map_or_else(|| of(&|aim| aim.compass.old.unwrap_or(aim.compass.target)), |c| c.revision);
        Self { roles, set_target, set_old }
    }
}

/// One group as seen.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Its ordinal.
    pub ordinal: u32,
    /// The scheduler recorded that its base gang was placed once.
    pub base_scheduled: bool,
    /// Its roles, by position in the spec.
    pub roles: Vec<SeenRole<'a>>,
    /// Instances of roles that the spec no longer has.
    pub strangers: Vec<(&'a RoleName, &'a Instance)>,
}

/// One role of one group as seen; instances and units side by side, by ordinal.
#[derive(Debug, Default)]
pub struct SeenRole<'a> {
    /// The instances.
    pub instances: Vec<&'a Instance>,
    /// Their facts.
    pub units: Vec<Unit>,
    /// What else there is to do about their pods.
    pub notes: Vec<Notes>,
    /// The highest incarnation any pod carries.
    pub incarnation: u32,
}

/// What the pods of an instance call for. Taken in the one pass that looks at every pod, because a set may
/// have a million of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes {
    /// A standing pod ended.
    pub failed: bool,
    /// A standing pod restarted at some time.
    pub restarted: bool,
    /// A standing pod is held by our gate.
    pub gated: bool,
    /// Pods are missing.
    pub incomplete: bool,
}

impl Notes {
    fn of(instance: &Instance, layout: Option<&[Member]>) -> Self {
        let mut notes = Self::default();
        for pod in instance.pods.iter().filter(|pod| !pod.terminating) {
            notes.failed |= pod.failed;
            notes.restarted |= pod.restarts > 0;
            notes.gated |= pod.gated;
        }
        let whole = layout.map_or(0, |members| members.iter().map(|member| member.count as usize).sum());
        notes.incomplete = instance.pods.len() < whole;
        notes
    }
}

impl<'a> SeenRole<'a> {
    /// The instance at an ordinal.
    pub fn instance(&self, ordinal: u32) -> Option<&'a Instance> {
        let index = self.units.binary_search_by_key(&ordinal, |unit| unit.ordinal).ok()?;
        Some(self.instances[index])
    }

    /// The facts of each instance, and the instance.
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = (&Unit, &&'a Instance)> {
        self.units.iter().zip(&self.instances)
    }

    /// The available instances, surge and excess included.
    pub fn available(&self) -> u32 {
        count(&self.units, |unit| unit.available)
    }
}

impl<'a> Seen<'a> {
    /// A group without pods.
    pub fn empty(ordinal: u32, roles: usize) -> Self {
        let roles = (0..roles).map(|_| SeenRole::default()).collect();
        Self { ordinal, base_scheduled: false, roles, strangers: Vec::new() }
    }

    /// All instances that have pods, those of removed roles included.
    pub fn instances(&self) -> impl Iterator<Item = &'a Instance> + '_ {
        let known = self.roles.iter().flat_map(|role| role.instances.iter().copied());
        known.chain(self.strangers.iter().map(|(_, instance)| *instance))
    }

    /// No pod is left.
    pub fn is_gone(&self) -> bool {
        self.strangers.is_empty() && self.roles_are_gone()
    }

    /// No pod of a role that is wished for is left.
    pub fn roles_are_gone(&self) -> bool {
        self.roles.iter().all(|role| role.units.is_empty())
    }

    /// Some pod stays.
    pub fn stands(&self) -> bool {
        self.roles_stand() || self.strangers.iter().any(|(_, i)| i.pods.iter().any(|pod| !pod.terminating))
    }

    /// Some pod of a role that is wished for stays.
    pub fn roles_stand(&self) -> bool {
        let stays = |unit: &Unit| unit.standing == Standing::Present;
        self.roles.iter().any(|role| role.units.iter().any(stays))
    }
}

/// How many units have a property.
pub fn count(units: &[Unit], property: impl Fn(&Unit) -> bool) -> u32 {
    u32::try_from(units.iter().filter(|unit| property(unit)).count()).unwrap_or(u32::MAX)
}

/// Orders a snapshot: every group that has pods or is wished for, by ordinal.
pub fn observe<'a>(
    spec: &'a Spec,
    snapshot: &'a Snapshot,
    aims: &Aims,
    now: Time,
    wake: &mut Wake,
) -> BTreeMap<u32, Seen<'a>> {
    let mut seen: BTreeMap<u32, Seen<'a>> =
        (0..spec.replicas).map(|g| (g, Seen::empty(g, spec.roles.len()))).collect();
    for group in &snapshot.groups {
        let entry = seen.entry(group.group).or_insert_with(|| Seen::empty(group.group, spec.roles.len()));
        collect(spec, group, entry);
    }
    seen.retain(|ordinal, group| *ordinal < spec.replicas || !group.instances_are_empty());
    for group in seen.values_mut() {
        for (index, role) in spec.roles.iter().enumerate() {
            let judge = Judge { compass: aims.roles[index].compass, min_ready: role.min_ready, now };
            judge_role(snapshot, role, &judge, &mut group.roles[index], wake);
        }
    }
    seen
}

impl Seen<'_> {
    fn instances_are_empty(&self) -> bool {
        self.strangers.is_empty() && self.roles.iter().all(|role| role.instances.is_empty())
    }
}

fn collect<'a>(spec: &Spec, group: &'a Group, seen: &mut Seen<'a>) {
    seen.base_scheduled |= group.base_scheduled;
    for role in &group.roles {
        let standing = role.instances.iter().filter(|instance| !instance.pods.is_empty());
        match spec.role_index(&role.role) {
            Some(index) => seen.roles[index].instances.extend(standing),
            None => seen.strangers.extend(standing.map(|instance| (&role.role, instance))),
        }
    }
}

fn judge_role<'a>(
    snapshot: &'a Snapshot,
    role: &'a Role,
    judge: &Judge,
    seen: &mut SeenRole<'a>,
    wake: &mut Wake,
) {
    if !seen.instances.is_sorted_by_key(|instance| instance.instance) {
        seen.instances.sort_by_key(|instance| instance.instance);
    }
    // An ordinal twice cannot come from an API server, whose names are unique: the first one counts.
    seen.instances.dedup_by_key(|instance| instance.instance);
    seen.units.reserve_exact(seen.instances.len());
    seen.notes.reserve_exact(seen.instances.len());
    for instance in &seen.instances {
        let layout = instance.pods.first().and_then(|pod| layout(snapshot, role, pod.revision));
        seen.units.extend(judge.unit(instance, layout, wake));
        seen.notes.push(Notes::of(instance, layout));
        seen.incarnation = instance.pods.iter().map(|pod| pod.incarnation).fold(seen.incarnation, u32::max);
    }
}

/// What an instance of a revision is made of, if anybody knows.
pub fn layout<'a>(snapshot: &'a Snapshot, role: &'a Role, revision: Revision) -> Option<&'a [Member]> {
    if revision == role.revision {
        return Some(&role.members);
    }
    snapshot.layouts.get(&role.name)?.get(&revision).map(Vec::as_slice)
}
