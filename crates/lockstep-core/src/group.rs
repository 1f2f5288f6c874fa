//! Groups inside a set: which may be opened, which are torn down, which are extra.

mod decide;

use std::collections::{BTreeMap, BTreeSet};

use crate::coordinate;
use crate::model::{RestartKind, Role, Spec, StrategyKind};
use crate::number::Limits;
use crate::observe::{Aims, Seen, SeenRole, layout};
use crate::restart::{self, Recovery};
use crate::roll::{Held, Why};
use crate::snapshot::{Instance, Memory, Pod, Snapshot};
use crate::time::Time;
use crate::unit::{At, STABLY, Standing, Unit, Wake};

/// What is done with a group as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Its roles roll; nothing of it moves forward unless it is open.
    Rolling {
        /// It may move.
        open: bool,
        /// It is below the partition and stays old.
        kept: bool,
    },
    /// Its instances stay at one revision.
    Fixed(Fixed),
    /// All of it goes.
    Remove {
        /// Why.
        why: Why,
        /// It was available.
        paid: bool,
    },
    /// The last pods of it are on their way out, and nothing is created before they are gone.
    Leaving,
}

/// The one revision of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// The target.
    Target,
    /// The stable one.
    Old,
    /// Whatever its instances have.
    Own,
}

/// The facts of a group.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The group as a unit.
    pub unit: Unit,
    /// It has pods.
    pub exists: bool,
    /// Every role has its minimum available.
    pub available: bool,
    /// It is on its way between revisions, by whoever's hand.
    pub in_update: bool,
    /// The engine itself has it on its way: others may have to wait for it.
    pub under_way: bool,
    /// Something eligible in it is not at the target.
    pub needs_work: bool,
}

/// What was decided over the groups.
#[derive(Debug, Default)]
pub struct Groups {
    /// What is done with each group.
    pub modes: BTreeMap<u32, Mode>,
    /// What the level of groups would do but may not.
    pub held: Vec<Held>,
    /// Surge groups to be created.
    pub surge: BTreeSet<u32>,
    /// Groups at the target, for the memory.
    pub updated: u32,
}

/// Judges and decides over groups.
pub struct Level<'a> {
    /// The wish.
    pub spec: &'a Spec,
    /// The targets.
    pub aims: &'a Aims,
    /// What was seen.
    pub snapshot: &'a Snapshot,
    /// The memory.
    pub memory: &'a Memory,
    /// The time.
    pub now: Time,
}

impl Level<'_> {
    /// The limits over groups.
    pub fn limits(&self) -> Limits {
        self.spec.strategy.limits(self.spec.replicas)
    }

    /// How many of the lowest groups stay old.
    pub fn kept(&self) -> u32 {
        self.spec.strategy.kept(self.spec.replicas)
    }

    /// The roles that change: those with another target than the stable revision, or with anything outdated.
    pub fn changing(&self, seen: &BTreeMap<u32, Seen<'_>>) -> Vec<bool> {
        let changes = |(index, aim): (usize, &crate::observe::Aim)| {
            aim.compass.old.is_some_and(|old| old != aim.compass.target)
                || seen.values().any(|group| self.is_outdated(group, index))
        };
        self.aims.roles.iter().enumerate().map(changes).collect()
    }

    /// Something of a role in a group is not at the target.
    fn is_outdated(&self, group: &Seen<'_>, index: usize) -> bool {
        let desired = self.spec.roles[index].replicas;
        let outdated = |(unit, instance): (&Unit, &&Instance)| {
            unit.outdated() || (unit.at != At::Target && may_stay(instance))
        };
        group.roles[index].standing().take_while(|(unit, _)| unit.ordinal < desired).any(outdated)
    }

    /// The facts of one group.
    pub fn facts(&self, group: &Seen<'_>, changing: &[bool], wake: &mut Wake) -> Facts {
        let available = self.available(group);
        let mut at = self.revision_of(group);
        let kept = group.ordinal < self.kept();
        let (mut updated, mut unfinished, mut surging, mut needs_work) = (false, false, false, false);
        let (mut leaving, mut any_updated, mut any_unfinished) = (false, false, false);
        let opened = self.memory.groups.get(&group.ordinal).and_then(|known| known.opened);
        let was_opened = opened == Some(self.aims.set_target);
        for (index, role) in self.spec.roles.iter().enumerate() {
            let (limits, partition) = coordinate::limits(self.spec, role);
            let compass = self.aims.roles[index].compass;
            let partition = if compass.old.is_none() { 0 } else { partition };
            let eligible = |unit: &Unit| (partition..role.replicas).contains(&unit.ordinal);
            let units = &group.roles[index].units;
            let end = role.replicas.saturating_add(limits.surge);
            // A role that is what it was, or goes back to it elsewhere, is no sign that this group is on its way; but where
            // a group was opened, the last that went back may not be there again.
            let moves = changing[index];
            let same = compass.old == Some(compass.target) && !self.is_outdated(group, index);
            if ((same || !moves) && !was_opened) || group.ordinal >= self.spec.replicas {
                continue;
            }
            // What a role that shrank left behind at another revision is no surge.
            let mut beyond =
                group.roles[index].standing().rev().take_while(|(u, _)| u.ordinal >= role.replicas);
            let by_hand = self.by_hand(role);
            surging |= moves
                && !by_hand
                && beyond.any(|(unit, instance)| unit.ordinal < end && is_live(unit, instance));
            if kept {
                continue;
            }
            let total = role.replicas.saturating_sub(partition);
            let (mut standing, mut at_target, mut done) = (0, 0, 0);
            for unit in units.iter().filter(|unit| eligible(unit)) {
                standing += u32::from(unit.standing == Standing::Present);
                at_target += u32::from(unit.updated());
                done += u32::from(unit.updated() && unit.available);
            }
            let counts = moves && !(same && done == total);
            any_updated |= counts && at_target > 0;
            any_unfinished |= done < total;
            if by_hand {
                continue;
            }
            // What was updated and is lost comes back updated: the group is on its way all the while.
            updated |=
                counts && (at_target > 0 || (standing < total && self.reached(group.ordinal, index) > 0));
            unfinished |= done < total;
            needs_work |= moves && at_target < total;
            leaving |= moves && standing < total;
        }
        let restarts = group.ordinal < self.spec.replicas && self.will_restart(group);
        // What is replaced now is missing from now on, though a finished group had it.
        let under_way = (updated && (unfinished || restarts))
            || (leaving && was_opened)
            || (surging && group.ordinal < self.spec.replicas);
        let in_update = under_way || (any_updated && any_unfinished);
        let wished = group.ordinal < self.spec.replicas && !kept && !self.recreates();
        if wished && !needs_work && group.strangers.is_empty() {
            // What a role's own partition keeps old is no reason to wait.
            at = At::Target;
        }
        let mut unit = self.unit(group, at, available, wake);
        unit.available &= !restarts;
        Facts { unit, exists: !group.is_gone(), available, in_update, under_way, needs_work }
    }

    /// How many instances of a role were at the target at best: so many come back to it, should they be lost.
    fn reached(&self, group: u32, index: usize) -> u32 {
        let known = self.memory.groups.get(&group).and_then(|g| g.reached.get(&self.spec.roles[index].name));
        let target = self.aims.roles[index].compass.target;
        known.filter(|known| known.target == target).map_or(0, |known| known.count)
    }

    /// Something in it failed and is replaced now, so that it is not counted on.
    fn will_restart(&self, group: &Seen<'_>) -> bool {
        if self.recreates() {
            return false;
        }
        self.spec.roles.iter().zip(&group.roles).any(|(role, seen)| {
            let available = seen.available();
            let floor = role.replicas.saturating_sub(coordinate::limits(self.spec, role).0.unavailable);
            role.restart.kind != RestartKind::None
                && available > floor
                && seen.instances.iter().zip(&seen.notes).any(|(instance, notes)| {
                    if !notes.failed && !notes.restarted {
                        return false;
                    }
                    let layout =
                        instance.pods.first().and_then(|pod| layout(self.snapshot, role, pod.revision));
                    restart::will_be_replaced(instance, layout, self.memory)
                        && restart::recovery(instance, &role.restart, self.now) == Recovery::None
                })
        })
    }

    fn unit(&self, group: &Seen<'_>, at: At, available: bool, wake: &mut Wake) -> Unit {
        let stands = group.stands();
        let since = self.memory.groups.get(&group.ordinal).and_then(|known| known.unavailable_since);
        let since = since.unwrap_or(self.now);
        if !available && stands {
            wake.at(since + STABLY, self.now);
        }
        let units = || group.roles.iter().flat_map(|role| &role.units);
        let standing = || units().filter(|unit| unit.standing == Standing::Present);
        Unit {
            ordinal: group.ordinal,
            standing: if stands { Standing::Present } else { Standing::Terminating },
            at,
            ready: available,
            available: available && stands,
            stably_broken: !available && stands && self.now.since(since) >= STABLY,
            held: stands && !available && group.strangers.is_empty() && standing().all(|unit| unit.held),
            staged: !available && standing().any(|unit| unit.staged),
            unscheduled: !available && standing().any(|unit| unit.unscheduled),
            serves: stands && self.serves(group),
            created: units().map(|unit| unit.created).max().unwrap_or_default(),
        }
    }

    /// Every role has its minimum available. A role the group's revision does not know yet is not asked for.
    pub fn available(&self, group: &Seen<'_>) -> bool {
        self.spec.roles.iter().enumerate().all(|(index, role)| {
            self.does_not_know(group, index) || group.roles[index].available() >= role.needed()
        })
    }

    /// A role that came into the spec after this group was created; it comes when the group is created anew.
    fn does_not_know(&self, group: &Seen<'_>, index: usize) -> bool {
        let missing = self.aims.roles[index].added && group.roles[index].units.is_empty();
        self.recreates() && missing && !group.is_gone()
    }

    fn serves(&self, group: &Seen<'_>) -> bool {
        let asked = |(index, role): &(usize, &Role)| role.replicas > 0 && !self.does_not_know(group, *index);
        let mut roles = self.spec.roles.iter().enumerate().filter(asked).peekable();
        roles.peek().is_some() && roles.all(|(index, _)| group.roles[index].available() > 0)
    }

    /// What somebody else will move some day is no reason for other groups to wait.
    fn by_hand(&self, role: &Role) -> bool {
        role.strategy.kind == StrategyKind::OnDelete && !self.recreates()
    }

    fn recreates(&self) -> bool {
        self.spec.strategy.kind == StrategyKind::GroupRecreate
    }

    /// Where a group stands as a whole. One that is kept whole goes by the set's revision on its pods where
    /// they agree on one, else by what its instances have.
    fn revision_of(&self, group: &Seen<'_>) -> At {
        if !self.recreates() {
            let outdated = |seen: &SeenRole<'_>| seen.units.iter().any(Unit::outdated);
            let behind = !group.strangers.is_empty() || group.roles.iter().any(outdated);
            return if behind { At::Other } else { At::Target };
        }
        self.revision_by_label(group).unwrap_or_else(|| self.revision_by_instances(group))
    }

    fn revision_by_instances(&self, group: &Seen<'_>) -> At {
        let (mut target, mut old) = (group.strangers.is_empty(), true);
        for (role, aim) in group.roles.iter().zip(&self.aims.roles) {
            let pods = role.instances.iter().flat_map(|instance| &instance.pods);
            for pod in pods.filter(|pod| !pod.terminating) {
                target &= pod.revision == aim.compass.target;
                old &= Some(pod.revision) == aim.compass.old;
            }
            target &= !(aim.added && role.instances.is_empty());
        }
        match (target, old) {
            (true, _) => At::Target,
            (false, true) => At::Old,
            (false, false) => At::Other,
        }
    }

    fn revision_by_label(&self, group: &Seen<'_>) -> Option<At> {
        let standing = || group.instances().flat_map(|i| &i.pods).filter(|pod| !pod.terminating);
        let label = standing().next()?.set_revision;
        let agree = standing().all(|pod| pod.set_revision == label) && !label.is_empty();
        let place = if label == self.aims.set_target {
            At::Target
        } else if label == self.aims.set_old {
            At::Old
        } else {
            At::Other
        };
        agree.then_some(place)
    }
}

/// Surge at the target that is there, for all we know: what was asked to go is live until somebody says it goes.
fn is_live(unit: &Unit, instance: &Instance) -> bool {
    unit.updated() || (unit.at == At::Target && may_stay(instance))
}

fn may_stay(instance: &Instance) -> bool {
    instance.pods.iter().any(Pod::may_stay)
}
