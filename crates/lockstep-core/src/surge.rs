//! A surge that somebody deleted is tried again like anything that fails: at once, then less and less often.
//!
//! One that stood and is gone, though no plan removed it, was deleted by somebody: a person, a preemption, a node under
//! pressure. Made anew at once every time, it would only be deleted again.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocked::Reason;
use crate::draft::Draft;
use crate::group::Mode;
use crate::model::Role;
use crate::names::RoleName;
use crate::observe::Seen;
use crate::plan::Action;
use crate::restart::{self, Due};
use crate::revision::Revision;
use crate::roll::{Hold, Moves};
use crate::snapshot::{RestartMemory, SurgeMemory};

/// Surge groups are remembered under this, surge instances under `group/role`.
const GROUPS: &str = "groups";

/// One surge.
struct Surge<'a> {
    level: String,
    ordinal: u32,
    target: Revision,
    /// Whose back-off it has.
    role: Option<&'a Role>,
    group: u32,
}

impl Draft<'_> {
    /// Surge groups that were lost too often to be made anew now.
    pub(crate) fn hold_surge_groups(&mut self) {
        let (role, target) = (self.spec.roles.first(), self.aims.set_target);
        for group in std::mem::take(&mut self.groups.surge) {
            if self.may_surge(&Surge { level: GROUPS.to_owned(), ordinal: group, target, role, group }) {
                self.groups.surge.insert(group);
            } else {
                self.groups.modes.remove(&group);
                // That the others may not go is only because it is missing.
                self.groups.held.retain(|held| held.by != Hold::Budget);
            }
        }
    }

    /// Takes surge instances that were lost too often from what a role does now.
    pub(crate) fn hold_surge(&mut self, group: u32, index: usize, moves: &mut Moves) {
        let role = &self.spec.roles[index];
        let (wished, target) = (moves.surge.len(), self.aims.roles[index].compass.target);
        moves.surge.retain(|&ordinal| {
            let level = level(group, &role.name);
            self.may_surge(&Surge { level, ordinal, target, role: Some(role), group })
        });
        if moves.surge.len() < wished {
            moves.held.retain(|held| held.by != Hold::Budget);
        }
    }

    fn may_surge(&mut self, surge: &Surge<'_>) -> bool {
        let known = self.memory.surges.get_mut(&surge.level).filter(|known| known.target == surge.target);
        let lost = known.and_then(|known| known.tried.get_mut(&surge.ordinal));
        let Some(tried) = lost else { return true };
        let policy = surge.role.map(|role| role.restart).unwrap_or_default();
        if self.now.since(tried.last) > restart::quiet(&policy) {
            *tried = RestartMemory::default();
        }
        let time = match restart::due(Some(&*tried), &policy, self.now) {
            Due::Now => {
                *tried = RestartMemory { count: tried.count.saturating_add(1), last: self.now };
                return true;
            }
            Due::At(time) => time,
        };
        let times = tried.count.saturating_add(1);
        self.wake.at(time, self.now);
        let group = self.group_name(surge.group);
        let (what, at, rule) = match surge.role.filter(|_| surge.level != GROUPS) {
            Some(role) => (
                format!("{group}/{}-{}", role.name, surge.ordinal),
                (Some(surge.group), Some(&role.name)),
                format!("roles[{}].updateStrategy.maxSurge", role.name),
            ),
            None => (group, (Some(surge.group), None), "updateStrategy.maxSurge".to_owned()),
        };
        let message =
            format!("surge {what} was deleted {times} times in a row and waits before it is made anew");
        self.block(at, what, Reason::RestartBackoff, rule, message);
        false
    }

    /// Remembers which surge of a group stands, and forgets what this plan removes, from action `before` on.
    pub(crate) fn remember_surge(&mut self, group: &Seen<'_>, before: usize) {
        if self.memory.surges.is_empty() && self.limits.iter().all(|(limits, _)| limits.surge == 0) {
            return;
        }
        let removal = |action: &Action| match action {
            Action::Delete(delete) => Some((delete.of.role.clone(), delete.of.instance)),
            _ => None,
        };
        let removed: BTreeSet<(RoleName, u32)> = self.actions[before..].iter().filter_map(removal).collect();
        let mut surges = std::mem::take(&mut self.memory.surges);
        for (index, role) in self.spec.roles.iter().enumerate() {
            let standing = group.roles[index].units.iter().filter(|unit| unit.updated());
            let is_removed = |ordinal| removed.contains(&(role.name.clone(), ordinal));
            let standing = standing.map(|unit| (unit.ordinal, is_removed(unit.ordinal)));
            let end = role.replicas.saturating_add(self.limits[index].0.surge);
            let target = self.changing[index].then_some(self.aims.roles[index].compass.target);
            let known = surges.remove(&level(group.ordinal, &role.name));
            let known = known.filter(|known| Some(known.target) == target);
            let mut memory = known.unwrap_or_default();
            memory.target = target.unwrap_or_default();
            note(&mut memory.tried, standing.filter(|(ordinal, _)| *ordinal >= role.replicas));
            memory.tried.retain(|ordinal, _| (role.replicas..end).contains(ordinal));
            if target.is_some() && !memory.tried.is_empty() {
                surges.insert(level(group.ordinal, &role.name), memory);
            }
        }
        self.memory.surges = surges;
    }

    /// The same for surge groups; and what is left of groups that are gone goes.
    pub(crate) fn remember_surge_groups(&mut self) {
        let target = self.changing.contains(&true).then_some(self.aims.set_target);
        let wished = self.spec.replicas;
        let end = wished.saturating_add(self.spec.strategy.limits(wished).surge);
        let known = self.memory.surges.remove(GROUPS).filter(|known| Some(known.target) == target);
        let mut memory = known.unwrap_or_default();
        memory.target = target.unwrap_or_default();
        let modes = &self.groups.modes;
        let removed = |ordinal: &u32| matches!(modes.get(ordinal), Some(Mode::Remove { .. }));
        let standing =
            self.facts.range(wished..end).filter(|(_, facts)| facts.exists && facts.unit.updated());
        note(&mut memory.tried, standing.map(|(ordinal, _)| (*ordinal, removed(ordinal))));
        memory.tried.retain(|ordinal, _| (wished..end).contains(ordinal));
        self.memory.surges.retain(|level, _| {
            let group = level.split('/').next().and_then(|group| group.parse().ok());
            group.is_some_and(|group: u32| modes.contains_key(&group))
        });
        if target.is_some() && !memory.tried.is_empty() {
            self.memory.surges.insert(GROUPS.to_owned(), memory);
        }
    }

    /// A group that is built anew as a whole has no surge of its own any more.
    pub(crate) fn forget_surge_of(&mut self, group: u32) {
        let prefix = format!("{group}/");
        self.memory.surges.retain(|level, _| !level.starts_with(&prefix));
    }
}

/// What stands is known; what is removed is not missed.
fn note(tried: &mut BTreeMap<u32, RestartMemory>, standing: impl Iterator<Item = (u32, bool)>) {
    for (ordinal, removed) in standing {
        if removed {
            tried.remove(&ordinal);
        } else {
            tried.entry(ordinal).or_default();
        }
    }
}

fn level(group: u32, role: &RoleName) -> String {
    format!("{group}/{role}")
}

/// Forgets how often surge was lost, so that it is tried at once.
pub(crate) fn forget(surges: &mut BTreeMap<String, SurgeMemory>) {
    for tried in surges.values_mut().flat_map(|surge| surge.tried.values_mut()) {
        *tried = RestartMemory::default();
    }
}

/// How many were lost.
pub(crate) fn lost(surges: &BTreeMap<String, SurgeMemory>) -> usize {
    surges.values().flat_map(|surge| surge.tried.values()).filter(|tried| tried.count > 0).count()
}
