//! Where a rollout stands: counts, phase, the best state so far, and what follows when it stalls.

mod coordination;
mod deadline;
mod tally;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::draft::{Draft, Rolled};
use crate::group::Facts;
use crate::model::StrategyKind;
use crate::names::{RoleName, RuleName};
use crate::observe::{Seen, SeenRole, count};
use crate::revision::Revision;
use crate::snapshot::CompleteSet;
use crate::unit::{At, Standing, Unit};

pub use self::tally::GroupTally;

/// The counts and the phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Where the rollout stands.
    pub phase: Phase,
    /// Groups wished for.
    pub replicas: u32,
    /// Groups that are available.
    pub ready: u32,
    /// Groups that are wholly at the target.
    pub updated: u32,
    /// The set's revisions.
    pub revision: Revisions,
    /// Per role, over all groups.
    pub roles: Vec<RoleStatus>,
    /// The groups that are not as they are to be in the end, role by role; the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStatus>,
    /// Groups on their way between revisions.
    pub groups_in_update: Vec<u32>,
    /// Per group in update and rule: where it stands.
    pub coordination: Vec<CoordinationStatus>,
    /// Groups as they are added up over clusters.
    #[serde(skip)]
    pub tally: GroupTally,
}

/// Two revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Revisions {
    /// The last that stood complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable: Option<Revision>,
    /// The one wished for.
    pub update: Revision,
}

/// The counts of one role over all groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleStatus {
    /// The role.
    pub name: RoleName,
    /// Instances wished for.
    pub replicas: u32,
    /// Instances that are ready.
    pub ready: u32,
    /// Instances that are available, surge included.
    pub available: u32,
    /// Instances at the target, surge not counted.
    pub updated: u32,
    /// Instances at the target that are ready, surge not counted.
    pub updated_ready: u32,
    /// How many are to be at the target in the end.
    pub target: u32,
    /// Its revisions.
    pub revision: Revisions,
}

/// The counts of one group, by the roles' positions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupStatus {
    /// The group.
    pub group: u32,
    /// Its roles, in the order of the spec.
    pub roles: Vec<GroupRoleStatus>,
}

/// The counts of one role in one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupRoleStatus {
    /// Instances of which every pod has a node.
    pub scheduled: u32,
    /// Instances that are ready.
    pub ready: u32,
    /// Instances that are available, surge included.
    pub available: u32,
    /// Instances at the target, surge not counted.
    pub updated: u32,
    /// Instances at the target that are ready, surge not counted.
    #[serde(skip)]
    updated_ready: u32,
    /// Instances that a gate of ours holds.
    pub gated: u32,
}

impl GroupRoleStatus {
    fn add(&mut self, other: Self) {
        let Self { scheduled, ready, available, updated, updated_ready, gated } = other;
        let sums = [
            (&mut self.scheduled, scheduled),
            (&mut self.ready, ready),
            (&mut self.available, available),
            (&mut self.updated, updated),
            (&mut self.updated_ready, updated_ready),
            (&mut self.gated, gated),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
}

/// Where one rule stands in one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CoordinationStatus {
    /// The group.
    pub group: u32,
    /// The rule.
    pub rule: RuleName,
    /// The current step, counted from 1, or the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// How many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// In words.
    pub text: String,
}

/// Where a rollout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Phase {
    /// Everything is at the target and available.
    Complete,
    /// What may move has moved; the partition keeps the rest.
    PartitionReached,
    /// On its way.
    Progressing,
    /// The set is paused in mid-rollout.
    Paused,
    /// The progress deadline has passed.
    Stalled,
    /// On its way back to the stable revision.
    RollingBack,
    /// Back at the stable revision, the spec still wishing for another.
    RolledBack,
}

/// Status stays small for any number of groups.
const MOST_COORDINATION: usize = 64;
const MOST_GROUPS: usize = 32;

impl Draft<'_> {
    /// Concludes: the counts, the stable revisions, the best state, the deadline.
    pub(crate) fn conclude(&mut self, seen: &BTreeMap<u32, Seen<'_>>) -> Status {
        let (sums, groups) = self.count_groups(seen);
        let roles = sums.into_iter().enumerate().map(|(role, sum)| self.role_status(role, sum)).collect();
        let whole = self.remember_stable(seen);
        let finished = self.finished(seen);
        // A promotion ends with the rollout it was given to: the next one to this revision pauses again.
        let target = self.aims.set_target;
        let over =
            finished && whole && self.memory.complete.as_ref().is_some_and(|set| set.revision == target);
        self.memory.promoted.retain(|promotion| promotion.target == target && !over);
        if !finished {
            self.block_whatever_is_not_there(seen);
        }
        let stalled = self.keep_deadline(finished, whole);
        let in_update = self.facts.iter().filter(|(_, f)| f.under_way).map(|(g, _)| *g).collect();
        let wished = || self.facts.range(0..self.spec.replicas).map(|(_, facts)| facts);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Status {
            phase: self.phase(finished, whole, stalled),
            replicas: self.spec.replicas,
            ready: number(wished().filter(|facts| facts.available).count()),
            updated: number((0..self.spec.replicas).filter(|group| self.is_updated(*group, seen)).count()),
            revision: Revisions {
                stable: self.memory.complete.as_ref().map(|set| set.revision),
                update: self.aims.set_target,
            },
            roles,
            groups,
            groups_in_update: in_update,
            coordination: self.coordination(),
            tally: self.group_tally(seen),
        }
    }

    /// Whether a group is wholly at the target: all that is eligible in it is there. Of what nothing is wished for,
    /// nothing is missing.
    fn is_updated(&self, group: u32, seen: &BTreeMap<u32, Seen<'_>>) -> bool {
        let (Some(facts), Some(seen)) = (self.facts.get(&group), seen.get(&group)) else { return false };
        if !facts.exists {
            return self.spec.roles.iter().all(|role| role.replicas == 0);
        }
        let whole = |(index, role): (usize, &SeenRole<'_>)| {
            let [_, partition] = self.kept(index);
            let eligible = partition..self.spec.roles[index].replicas;
            let there = count(&role.units, |unit| eligible.contains(&unit.ordinal) && unit.updated());
            u64::from(there) >= u64::from(eligible.end.saturating_sub(eligible.start))
        };
        facts.unit.updated() && seen.roles.iter().enumerate().all(whole)
    }

    /// The counts of each role over all groups, and of the groups that are not as they are to be.
    fn count_groups(&self, seen: &BTreeMap<u32, Seen<'_>>) -> (Vec<GroupRoleStatus>, Vec<GroupStatus>) {
        let mut sums = vec![GroupRoleStatus::default(); self.spec.roles.len()];
        let mut groups = Vec::new();
        for (&group, seen) in seen {
            let of_role = |index: usize| self.count_role(group, index, &seen.roles[index].units);
            let roles: Vec<GroupRoleStatus> = (0..sums.len()).map(of_role).collect();
            sums.iter_mut().zip(&roles).for_each(|(sum, role)| sum.add(*role));
            let short = |(index, counts): (usize, &GroupRoleStatus)| {
                let desired = self.spec.roles[index].replicas;
                let [kept_groups, kept] = self.kept(index);
                let target = if group < kept_groups { 0 } else { desired.saturating_sub(kept) };
                counts.available < desired || counts.updated < target
            };
            let is_listed = group < self.spec.replicas && groups.len() < MOST_GROUPS;
            if is_listed && roles.iter().enumerate().any(short) {
                groups.push(GroupStatus { group, roles });
            }
        }
        (sums, groups)
    }

    fn count_role(&self, group: u32, index: usize, units: &[Unit]) -> GroupRoleStatus {
        let wished =
            |unit: &Unit| group < self.spec.replicas && unit.ordinal < self.spec.roles[index].replicas;
        let mut counts = GroupRoleStatus::default();
        for unit in units {
            let updated = unit.updated() && wished(unit);
            let scheduled = unit.standing == Standing::Present && !unit.unscheduled && !unit.staged;
            counts.add(GroupRoleStatus {
                scheduled: u32::from(scheduled),
                ready: u32::from(unit.ready),
                available: u32::from(unit.available),
                updated: u32::from(updated),
                updated_ready: u32::from(updated && unit.ready),
                gated: u32::from(unit.held),
            });
        }
        counts
    }

    /// How many groups, and in the others how many instances of a role, a partition keeps old.
    fn kept(&self, index: usize) -> [u32; 2] {
        match self.aims.roles[index].compass.old {
            Some(_) => [self.spec.strategy.kept(self.spec.replicas), self.limits[index].1],
            None => [0, 0],
        }
    }

    fn role_status(&self, index: usize, sum: GroupRoleStatus) -> RoleStatus {
        let role = &self.spec.roles[index];
        let [kept_groups, partition] = self.kept(index);
        let open_groups = self.spec.replicas.saturating_sub(kept_groups);
        RoleStatus {
            name: role.name.clone(),
            replicas: role.replicas.saturating_mul(self.spec.replicas),
            ready: sum.ready,
            available: sum.available,
            updated: sum.updated,
            updated_ready: sum.updated_ready,
            target: role.replicas.saturating_sub(partition).saturating_mul(open_groups),
            revision: Revisions {
                stable: self.memory.roles.get(&role.name).and_then(|r| r.stable),
                update: self.aims.roles[index].compass.target,
            },
        }
    }

    /// A role is stable when all of it, in all groups, is updated and available. Returns whether the whole
    /// set stands so, with nothing extra.
    fn remember_stable(&mut self, seen: &BTreeMap<u32, Seen<'_>>) -> bool {
        let (mut whole, mut proved_any) = (true, false);
        for (index, role) in self.spec.roles.iter().enumerate() {
            let stands = |group: &Seen<'_>| {
                let done = count(&group.roles[index].units, |unit| {
                    unit.ordinal < role.replicas && unit.updated() && unit.available
                });
                done == role.replicas
            };
            let stable = seen.range(0..self.spec.replicas).all(|(_, group)| stands(group));
            whole &= stable;
            // Nothing has proved a revision that nothing runs at.
            let proved = stable && role.replicas > 0 && self.spec.replicas > 0;
            let known = self.memory.roles.entry(role.name.clone()).or_default();
            known.max_unavailable = self.limits[index].0.unavailable;
            if proved {
                known.stable = Some(self.aims.roles[index].compass.target);
            }
            proved_any |= proved;
        }
        let strangers = seen.values().any(|group| !group.strangers.is_empty());
        whole &= !strangers && self.groups_agree();
        if whole && proved_any {
            let roles = self.spec.roles.iter().zip(&self.aims.roles);
            let roles = roles.map(|(role, aim)| (role.name.clone(), aim.compass.target)).collect();
            self.memory.complete = Some(CompleteSet { revision: self.aims.set_target, roles });
            self.memory.roles.retain(|name, _| self.spec.role(name).is_some());
        }
        whole
    }

    /// Groups that are kept whole must all have been created at the target, also where only a role without
    /// instances has changed.
    fn groups_agree(&self) -> bool {
        let at_target = |facts: &Facts| !facts.exists || facts.unit.at == At::Target;
        self.spec.strategy.kind != StrategyKind::GroupRecreate
            || self.facts.range(0..self.spec.replicas).all(|(_, facts)| at_target(facts))
    }

    /// Nothing is left to be done: every eligible unit is updated and available, and nothing is extra.
    fn finished(&self, seen: &BTreeMap<u32, Seen<'_>>) -> bool {
        let extra =
            seen.iter().any(|(ordinal, group)| {
                *ordinal >= self.spec.replicas
                    || self.spec.roles.iter().zip(&group.roles).any(|(role, seen)| {
                        seen.units.last().is_some_and(|unit| unit.ordinal >= role.replicas)
                    })
            });
        let kept = self.spec.strategy.kept(self.spec.replicas);
        let has_old = self.aims.roles.iter().any(|aim| aim.compass.old.is_some());
        let below = |group: u32| has_old && group < kept;
        // Below the partition a role that was removed stays.
        let strangers = seen.iter().any(|(g, group)| !group.strangers.is_empty() && !below(*g));
        let done = |r: &Rolled| {
            r.tally.updated_available >= r.progress.eligible && r.tally.standing >= r.progress.desired
        };
        let recreated = self.spec.strategy.kind == StrategyKind::GroupRecreate;
        let wished = self.spec.roles.iter().any(|role| role.replicas > 0);
        let groups_done = (0..self.spec.replicas).all(|group| {
            if recreated {
                let facts = self.facts.get(&group);
                return below(group)
                    || facts.is_some_and(|f| match f.exists {
                        true => f.unit.updated() && f.available && self.full(group, seen),
                        false => !wished,
                    });
            }
            self.rolled.get(&group).is_some_and(|roles| roles.iter().all(done))
        });
        groups_done && !extra && !strangers
    }

    fn full(&self, group: u32, seen: &BTreeMap<u32, Seen<'_>>) -> bool {
        let Some(group) = seen.get(&group) else { return false };
        self.spec.roles.iter().zip(&group.roles).all(|(role, seen)| {
            count(&seen.units, |u| {
                u.ordinal < role.replicas && u.standing == Standing::Present && u.available
            }) == role.replicas
        })
    }

    fn phase(&self, finished: bool, whole: bool, stalled: bool) -> Phase {
        let back = self.memory.overridden.is_some();
        match () {
            () if finished && back => Phase::RolledBack,
            () if finished && whole => Phase::Complete,
            () if finished => Phase::PartitionReached,
            () if self.spec.paused => Phase::Paused,
            () if stalled => Phase::Stalled,
            () if back => Phase::RollingBack,
            () => Phase::Progressing,
        }
    }
}
