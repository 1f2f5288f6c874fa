//! What is created: at which revision, which pods, behind which gate, in which gang.

use std::collections::BTreeSet;

use crate::blocked::Reason;
use crate::draft::Draft;
use crate::group::{Fixed, Mode};
use crate::model::{Member, Role, StrategyKind};
use crate::names::MemberName;
use crate::observe::{Seen, layout};
use crate::plan::{Action, Create, CreateWhy, InstanceRef, PodSlot, Ungate};
use crate::revision::Revision;
use crate::roll::Assigned;
use crate::snapshot::{GroupMemory, Instance};
use crate::stages::Stages;
use crate::unit::{At, Standing, Unit};
use crate::{batch, gang, stages, start};

impl Draft<'_> {
    /// A role that came into the spec later has no place in a group that is still at the old revision.
    pub(crate) fn not_in_its_revision(&self, index: usize, mode: Mode) -> bool {
        let recreated = self.spec.strategy.kind == StrategyKind::GroupRecreate;
        recreated && self.aims.roles[index].added && mode != Mode::Fixed(Fixed::Target)
    }

    /// The revisions a gone ordinal returns at: the role's and the set's.
    pub(crate) fn revisions(
        &self,
        group: &Seen<'_>,
        index: usize,
        mode: Mode,
        assigned: Assigned,
    ) -> (Revision, Revision) {
        let compass = self.aims.roles[index].compass;
        let target = (compass.target, self.aims.set_target);
        let old = compass.old.map_or(target, |old| (old, self.aims.set_old));
        match (mode, assigned) {
            (Mode::Fixed(Fixed::Target), _) => target,
            (Mode::Fixed(Fixed::Old), _) | (Mode::Rolling { .. }, Assigned::Old) => old,
            (Mode::Fixed(Fixed::Own), _) => self.own_revisions(group, index).unwrap_or(old),
            _ => target,
        }
    }

    /// The revisions of a group that is kept whole at some revision of its own.
    pub(crate) fn own_revisions(&self, group: &Seen<'_>, index: usize) -> Option<(Revision, Revision)> {
        let role = &self.spec.roles[index].name;
        let set = group.instances().flat_map(|i| &i.pods).find(|pod| !pod.terminating)?.set_revision;
        let known = self.memory.sets.get(&set).and_then(|roles| roles.get(role)).copied();
        let standing = || {
            let pods = group.roles[index].instances.iter().flat_map(|i| &i.pods);
            pods.into_iter().find(|pod| !pod.terminating).map(|pod| pod.revision)
        };
        Some((known.or_else(standing)?, set))
    }

    pub(crate) fn create(
        &mut self,
        group: u32,
        index: usize,
        ordinal: u32,
        revisions: (Revision, Revision),
        why: CreateWhy,
        memory: &GroupMemory,
    ) {
        let role = &self.spec.roles[index];
        let members = layout(self.snapshot, role, revisions.0).unwrap_or(&role.members);
        let nothing = Instance { instance: ordinal, pods: Vec::new() };
        let pods = missing(&nothing, members);
        self.push_create(&Making { group, role, instance: &nothing, revisions, members, why, memory }, pods);
    }

    /// Creates pods stage by stage: what starts after others of its instance is in a gang of its own, and behind a gate
    /// until those have started.
    fn push_create(&mut self, making: &Making<'_>, pods: Vec<PodSlot>) {
        let Making { group, role, instance, revisions: (revision, set_revision), members, why, memory } =
            *making;
        let ordinal = instance.instance;
        let refill = why == CreateWhy::Refill;
        let gated = self.gate(role, ordinal, memory).is_some();
        let stages = Stages::of(role);
        for stage in 0..stages.count() {
            let of_stage = |slot: &&PodSlot| stages.stage(&slot.member) == stage;
            let pods: Vec<PodSlot> = pods.iter().filter(of_stage).cloned().collect();
            let waits = |slot: &PodSlot| stages::waits(role, members, &instance.pods, &slot.member).is_some();
            if pods.is_empty() {
                continue;
            }
            self.actions.push(Action::Create(Create {
                of: InstanceRef { group, role: role.name.clone(), instance: ordinal },
                revision,
                set_revision,
                incarnation: memory.incarnation,
                refill,
                gated: gated || pods.iter().any(waits),
                gang: match refill {
                    true => gang::gang_of_refill(self.spec, memory, role, instance, (&stages, stage)),
                    false => gang::gang_of(self.spec, memory, role, (ordinal, stage), false),
                },
                batches: batch::batches(self.spec, &role.name, ordinal),
                why,
                pods,
            }));
        }
    }

    /// What holds an instance back with a gate.
    pub(crate) fn gate(&self, role: &Role, ordinal: u32, memory: &GroupMemory) -> Option<Reason> {
        if start::waits(self.spec, memory, role).is_some() {
            return Some(Reason::StartOrder);
        }
        if batch::waits(self.spec, memory, &role.name, ordinal).is_some() {
            return Some(Reason::BatchNotReady);
        }
        gang::waits(self.spec, memory, role, ordinal).then_some(Reason::GangNotScheduled)
    }

    /// A unit with pods missing gets them, at the revision of those that stand.
    pub(crate) fn refill(
        &mut self,
        group: &Seen<'_>,
        units: &[Vec<Unit>],
        memory: &GroupMemory,
        before: usize,
    ) {
        let doomed: BTreeSet<(usize, u32)> = self.actions[before..]
            .iter()
            .filter_map(|action| match action {
                Action::Delete(delete) => Some((self.spec.role_index(&delete.of.role)?, delete.of.instance)),
                _ => None,
            })
            .collect();
        for (index, role) in self.spec.roles.iter().enumerate() {
            let seen = &group.roles[index];
            for (at, unit) in units[index].iter().enumerate().filter(|(at, _)| seen.notes[*at].incomplete) {
                let instance = seen.instances[at];
                let stays = unit.standing == Standing::Present && unit.at != At::Mixed;
                let Some(first) = instance.pods.iter().find(|pod| !pod.terminating) else { continue };
                let Some(members) = layout(self.snapshot, role, first.revision) else { continue };
                if !stays || doomed.contains(&(index, unit.ordinal)) {
                    continue;
                }
                let revisions = (first.revision, first.set_revision);
                let missing = missing(instance, members);
                let (group, why) = (group.ordinal, CreateWhy::Refill);
                self.push_create(&Making { group, role, instance, revisions, members, why, memory }, missing);
            }
        }
    }

    pub(crate) fn lift_gates(&mut self, group: &Seen<'_>, memory: &GroupMemory) {
        for (index, role) in self.spec.roles.iter().enumerate() {
            for instance in &group.roles[index].instances {
                if !instance.pods.iter().any(|pod| pod.gated && !pod.terminating) {
                    continue;
                }
                match self.gate(role, instance.instance, memory) {
                    Some(reason) => self.block_gate(group, role, instance.instance, reason, memory),
                    None => self.lift_in_turn(group.ordinal, role, instance),
                }
            }
        }
    }

    /// Lifts the gate of pods whose turn inside their instance has come.
    fn lift_in_turn(&mut self, group: u32, role: &Role, instance: &Instance) {
        let gated = || instance.pods.iter().filter(|pod| pod.gated && !pod.terminating);
        let Some(first) = gated().next() else { return };
        let members = layout(self.snapshot, role, first.revision).unwrap_or(&role.members);
        let waits = |member: &MemberName| stages::waits(role, members, &instance.pods, member);
        let uids: Vec<_> =
            gated().filter(|pod| waits(&pod.member).is_none()).map(|pod| pod.uid.clone()).collect();
        if !uids.is_empty() {
            let of = InstanceRef { group, role: role.name.clone(), instance: instance.instance };
            self.actions.push(Action::Ungate(Ungate { of, uids }));
        }
        if let Some((member, other)) = gated().find_map(|pod| Some((&pod.member, waits(&pod.member)?))) {
            self.block_member(group, role, instance.instance, (member, other));
        }
    }
}

/// Pods that are made for one instance.
#[derive(Clone, Copy)]
struct Making<'a> {
    group: u32,
    role: &'a Role,
    /// What stands of it.
    instance: &'a Instance,
    /// The role's and the set's.
    revisions: (Revision, Revision),
    members: &'a [Member],
    why: CreateWhy,
    memory: &'a GroupMemory,
}

/// Pods of another of the set's revisions are still on their way out of the group.
pub(crate) fn is_leaving_another(group: &Seen<'_>, set_revision: Revision) -> bool {
    let mut pods = group.instances().flat_map(|instance| &instance.pods);
    pods.any(|pod| pod.terminating && pod.set_revision != set_revision)
}

fn missing(instance: &Instance, members: &[Member]) -> Vec<PodSlot> {
    let has = |member: &Member, k: u32| {
        instance.pods.iter().any(|pod| pod.index == k && (members.len() == 1 || pod.member == member.name))
    };
    members
        .iter()
        .flat_map(|member| (0..member.count).map(move |k| (member, k)))
        .filter(|(member, k)| !has(member, *k))
        .map(|(member, k)| PodSlot { member: member.name.clone(), index: k })
        .collect()
}
