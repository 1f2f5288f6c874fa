//! Inside one group: its roles are rolled under their ceilings, and what is lost comes back.

use crate::blocked::Reason;
use crate::coordinate::scaling::{self, Growth};
use crate::coordinate::{self, Ceiling, Progress};
use crate::creating::is_leaving_another;
use crate::draft::{Draft, Rolled, uids};
use crate::group::{Facts, Fixed, Mode};
use crate::model::{Progression, Role, RuleKind, Spec, StrategyKind};
use crate::names::RoleName;
use crate::number::Limits;
use crate::observe::{Seen, count};
use crate::pauses::PauseBook;
use crate::plan::{CreateWhy, DeleteWhy};
use crate::roll::{Moves, Pace, Roll, Why, roll};
use crate::snapshot::{GroupMemory, Instance, Reached};
use crate::unit::{Standing, Unit};
use crate::{batch, gang, start};

impl Draft<'_> {
    /// Rolls the roles of one group.
    pub(crate) fn inside(&mut self, group: &Seen<'_>, mode: Mode) {
        let first = self.actions.len();
        let mut memory = self.begin(group);
        let unfinished = |facts: &Facts| facts.needs_work || facts.under_way;
        let unfinished = self.facts.get(&group.ordinal).is_some_and(unfinished);
        let opened = matches!(mode, Mode::Rolling { open: true, .. }) && unfinished;
        memory.opened = opened.then_some(self.aims.set_target);
        if self.is_rebuilt(group, &mut memory) || self.terminate_gang(group, &mut memory) {
            self.forget_surge_of(group.ordinal);
            self.memory.groups.insert(group.ordinal, memory);
            return;
        }
        let mut units: Vec<Vec<Unit>> = group.roles.iter().map(|role| role.units.clone()).collect();
        self.restart(group, mode, &mut units, &mut memory);
        let asks: Vec<Roll> = (0..self.spec.roles.len()).map(|role| self.ask(role, mode, &memory)).collect();
        let ceilings = self.ceilings(group.ordinal, mode, &asks, &units, &mut memory);
        let room = self.growing_room(&units, &mut memory);
        let before = self.actions.len();
        let mut rolled = Vec::with_capacity(asks.len());
        for (role, ask) in asks.iter().enumerate() {
            let ask = Roll { ceiling: ceilings[role].1.as_ref().map(|c| c.limit).or(ask.ceiling), ..*ask };
            let mut moves = self.roll_role(group, role, &ask, &units[role]);
            let tally = moves.tally;
            self.remember_reached(role, &ask, tally.updated, &mut memory);
            self.hold_surge(group.ordinal, role, &mut moves);
            self.carry_out(group, role, mode, &moves, room[role], &memory);
            self.block_role(group, role, mode, &ask, &moves, ceilings[role].1.as_ref());
            rolled.push(Rolled { tally, progress: ceilings[role].0, ceiling: ceilings[role].1.clone() });
        }
        if !self.is_excess(group.ordinal) {
            self.refill(group, &units, &memory, before);
        }
        self.lift_gates(group, &memory);
        self.count_gangs(group, &memory, before);
        self.remove_strangers(group, mode, &rolled);
        self.remember_surge(group, first);
        self.block_conflict(group, mode, &rolled, before);
        self.rolled.insert(group.ordinal, rolled);
        self.memory.groups.insert(group.ordinal, memory);
    }

    /// The memory of a group, begun anew when it has no pod left, or none of those that are built anew.
    fn begin(&mut self, group: &Seen<'_>) -> GroupMemory {
        let known = self.memory.groups.remove(&group.ordinal);
        let seen_incarnation = group.roles.iter().map(|role| role.incarnation).max();
        let mut memory = known.unwrap_or_default();
        memory.incarnation = memory.incarnation.max(seen_incarnation.unwrap_or(0));
        if group.is_gone() || (memory.rebuilding && group.roles_are_gone()) {
            let ordered = self.spec.roles.iter().any(|role| !role.starts_after.is_empty());
            let sizes = self.spec.roles.iter().filter(|_| ordered).map(|r| (r.name.clone(), r.replicas));
            memory = GroupMemory {
                // A life that has no pod yet is still to come, however often it is planned.
                incarnation: memory.incarnation.saturating_add(u32::from(!memory.unborn)),
                unborn: true,
                unavailable_since: memory.unavailable_since,
                opened: memory.opened,
                reached: memory.reached,
                pauses: memory.pauses,
                start_sizes: sizes.collect(),
                ..GroupMemory::default()
            };
        } else {
            memory.unborn = false;
        }
        memory.incarnation = memory.incarnation.max(1);
        let current = format!("{}/", self.aims.set_target);
        memory.pauses.retain(|pause, _| pause.starts_with(&current));
        forget_removed(self.spec, &mut memory);
        let available = self.facts.get(&group.ordinal).is_some_and(|facts| facts.available);
        let in_update = self.facts.get(&group.ordinal).is_some_and(|facts| facts.in_update);
        let short = !available && !in_update;
        memory.short_since = if short { memory.short_since.or(Some(self.now)) } else { None };
        memory.was_available |= available;
        if available {
            self.forget_quiet_group(group);
        }
        memory.unavailable_since = if available { None } else { memory.unavailable_since.or(Some(self.now)) };
        gang::remember(self.spec, group, &mut memory);
        batch::remember(self.spec, group, &mut memory);
        start::remember(self.spec, group, &mut memory);
        memory
    }

    /// What is asked of one role of a group, before the ceilings.
    fn ask(&self, index: usize, mode: Mode, memory: &GroupMemory) -> Roll {
        let role = &self.spec.roles[index];
        let compass = self.aims.roles[index].compass;
        let (mut limits, mut partition) = self.limits[index];
        let has_old = compass.old.is_some();
        let on_delete = [self.spec.strategy.kind, role.strategy.kind].contains(&StrategyKind::OnDelete);
        let (pace, ceiling) = match mode {
            Mode::Rolling { .. } if on_delete => (Pace::OnDelete, None),
            Mode::Rolling { .. } if self.spec.paused => (Pace::Paused, None),
            Mode::Rolling { open, .. } => (Pace::Go, (!open).then_some(0)),
            _ => (Pace::Fixed, None),
        };
        if let Mode::Rolling { kept: true, .. } = mode {
            partition = role.replicas;
        }
        if self.is_counted_on(mode) {
            limits.unavailable = limits.unavailable.min(role.replicas - role.needed());
        }
        if pace == Pace::Fixed {
            // Role strategies have no say here, but a role that shrinks must not take its group down.
            limits = Limits { unavailable: role.replicas - role.needed(), surge: 0 };
        }
        let reached = memory.reached.get(&role.name).filter(|known| known.target == compass.target);
        Roll {
            desired: role.replicas,
            limits,
            partition,
            order: role.strategy.order,
            ceiling,
            reached: reached.map_or(0, |known| known.count),
            pace,
            has_old: has_old && pace != Pace::Fixed,
            unproven: compass.old != Some(compass.target),
            min_ready: role.min_ready,
            now: self.now,
        }
    }

    /// While another group is on its way or goes, a closed one must stay available, whatever its roles could
    /// spare.
    pub(crate) fn is_counted_on(&self, mode: Mode) -> bool {
        matches!(mode, Mode::Rolling { open: false, .. }) && self.others_count
    }

    /// How far each role has come, and what the rules allow. A closed group has no rules to ask.
    fn ceilings(
        &mut self,
        group: u32,
        mode: Mode,
        asks: &[Roll],
        units: &[Vec<Unit>],
        memory: &mut GroupMemory,
    ) -> Vec<(Progress, Option<Ceiling>)> {
        let progress: Vec<Progress> = asks
            .iter()
            .zip(units)
            .zip(&self.aims.roles)
            .map(|((ask, units), aim)| {
                let tally = ask.tally(units);
                Progress {
                    desired: ask.desired,
                    eligible: ask.eligible(),
                    ready: tally.updated_ready,
                    settled: aim.compass.old == Some(aim.compass.target) && tally.outdated == 0,
                }
            })
            .collect();
        if !matches!(mode, Mode::Rolling { open: true, .. }) || self.spec.paused {
            return progress.into_iter().map(|p| (p, None)).collect();
        }
        let mut book = PauseBook {
            spec: self.spec,
            promoted: &self.memory,
            target: self.aims.set_target,
            group,
            memory,
            now: self.now,
            wake: &mut self.wake,
        };
        let ceilings = coordinate::ceilings(self.spec, &progress, &mut book);
        progress.into_iter().zip(ceilings).collect()
    }

    fn roll_role(&mut self, group: &Seen<'_>, role: usize, ask: &Roll, units: &[Unit]) -> Moves {
        let accounts = &mut self.accounts;
        let mut permit = |ordinal: u32| {
            let Some(instance) = group.roles[role].instance(ordinal) else { return true };
            accounts.is_empty() || crate::budget::remove_all(accounts, uids(instance)).is_ok()
        };
        roll(ask, units, &mut permit)
    }

    fn remember_reached(&self, index: usize, ask: &Roll, updated: u32, memory: &mut GroupMemory) {
        let name = &self.spec.roles[index].name;
        // A group that stands in for others has no old revision to return to, so nothing is reached in it.
        if !self.changing[index] || ask.pace == Pace::Fixed {
            memory.reached.remove(name);
            return;
        }
        let best = ask.reached.max(updated);
        if best > 0 {
            let target = self.aims.roles[index].compass.target;
            memory.reached.insert(name.clone(), Reached { target, count: best });
        } else {
            memory.reached.remove(name);
        }
    }

    fn carry_out(
        &mut self,
        group: &Seen<'_>,
        index: usize,
        mode: Mode,
        moves: &Moves,
        mut room: u32,
        memory: &GroupMemory,
    ) {
        let role = &self.spec.roles[index];
        for removal in &moves.remove {
            let why = match removal.why {
                Why::Update => DeleteWhy::Update,
                Why::Repair => DeleteWhy::Repair,
                Why::Mixed => DeleteWhy::Mixed,
                Why::Excess => DeleteWhy::Excess,
                Why::SurgeDone => DeleteWhy::SurgeDone,
                Why::SurgeOutdated => DeleteWhy::SurgeOutdated,
            };
            if let Some(instance) = group.roles[index].instance(removal.ordinal) {
                self.push_delete(group.ordinal, &role.name, instance, removal.paid, why);
            }
        }
        if self.not_in_its_revision(index, mode) || self.is_excess(group.ordinal) {
            return;
        }
        let grown = memory.grown.get(&role.name).copied();
        for &(ordinal, assigned) in &moves.recover {
            if grown.is_some_and(|grown| ordinal >= grown) {
                if room == 0 {
                    self.block_growth(group.ordinal, role, ordinal);
                    break;
                }
                room -= 1;
            }
            let revisions = self.revisions(group, index, mode, assigned);
            if matches!(mode, Mode::Fixed(_)) && is_leaving_another(group, revisions.1) {
                self.block_leaving(group);
                break;
            }
            self.create(group.ordinal, index, ordinal, revisions, CreateWhy::Recover, memory);
        }
        for &ordinal in &moves.surge {
            let target = (self.aims.roles[index].compass.target, self.aims.set_target);
            self.create(group.ordinal, index, ordinal, target, CreateWhy::Surge, memory);
        }
    }

    /// A group beyond what is wished for and its surge only waits for its end: nothing in it is replaced.
    fn is_excess(&self, group: u32) -> bool {
        let surge = self.spec.strategy.limits(self.spec.replicas).surge;
        group >= self.spec.replicas.saturating_add(surge)
    }

    /// How many instances of each role may still be added while roles grow side by side.
    fn growing_room(&self, units: &[Vec<Unit>], memory: &mut GroupMemory) -> Vec<u32> {
        let mut room = vec![u32::MAX; self.spec.roles.len()];
        let mut grown = std::mem::take(&mut memory.grown);
        for rule in &self.spec.rules {
            let RuleKind::Scaling(scaling) = &rule.kind else { continue };
            // What a gang or a batch holds may wait for the very roles that would wait for it.
            let excused = |role: &Role, ordinal: u32| {
                gang::waits(self.spec, memory, role, ordinal)
                    || batch::waits(self.spec, memory, &role.name, ordinal).is_some()
            };
            let counted = |role: &Role, unit: &Unit| match scaling.progression {
                _ if unit.ready => true,
                _ if unit.held => excused(role, unit.ordinal),
                Progression::OrderReady => false,
                Progression::OrderScheduled => !unit.unscheduled && !unit.staged,
            };
            let growth: Vec<Growth> = self
                .spec
                .roles
                .iter()
                .zip(units)
                .map(|(role, units)| Growth {
                    desired: role.replicas,
                    counted: count(units, |unit| {
                        let wished = unit.ordinal < role.replicas && unit.standing == Standing::Present;
                        wished && counted(role, unit)
                    }),
                })
                .collect();
            for (role, limit) in scaling::ceilings(self.spec, scaling, &growth) {
                let desired = self.spec.roles[role].replicas;
                let existing = count(&units[role], |unit| unit.ordinal < desired);
                room[role] = room[role].min(limit.saturating_sub(existing));
            }
            for name in &scaling.roles {
                let Some(role) = self.spec.role_index(name) else { continue };
                let desired = self.spec.roles[role].replicas;
                let highest = units[role].iter().rev().find(|unit| unit.ordinal < desired);
                let filled = highest.map_or(0, |unit| unit.ordinal + 1);
                let known = grown.remove(name).unwrap_or(0).min(desired).max(filled);
                memory.grown.insert(name.clone(), known);
            }
        }
        room
    }

    /// A role removed from the spec goes only when the others are complete, within its own limit.
    fn remove_strangers(&mut self, group: &Seen<'_>, mode: Mode, rolled: &[Rolled]) {
        if group.strangers.is_empty() || matches!(mode, Mode::Fixed(Fixed::Old | Fixed::Own)) {
            return;
        }
        if let Mode::Rolling { kept: true, .. } = mode {
            return;
        }
        let complete = rolled.iter().all(|r| r.tally.updated_available >= r.progress.eligible);
        let mut names: Vec<_> = group.strangers.iter().map(|(name, _)| *name).collect();
        names.dedup();
        for name in names {
            let instances: Vec<&Instance> =
                group.strangers.iter().filter(|(n, _)| *n == name).map(|(_, instance)| *instance).collect();
            if !complete || self.spec.paused {
                let what = format!("{}/{name}", self.group_name(group.ordinal));
                let message =
                    format!("{name} is no longer in the spec and goes when the other roles are complete");
                let at = (Some(group.ordinal), Some(name));
                self.block(at, what, Reason::RoleRemoval, "roles".to_owned(), message);
                continue;
            }
            let limit = self.memory.roles.get(name).map_or(1, |known| known.max_unavailable.max(1));
            let leaves = |i: &&&Instance| i.pods.iter().all(|pod| pod.terminating);
            let leaving = u32::try_from(instances.iter().filter(leaves).count()).unwrap_or(u32::MAX);
            let mut room = limit.saturating_sub(leaving);
            for instance in instances.into_iter().rev() {
                let ready = instance.pods.iter().any(|pod| pod.is_ready());
                if (ready && room == 0) || self.charge(instance).is_err() {
                    continue;
                }
                room -= u32::from(ready);
                self.push_delete(group.ordinal, name, instance, ready, DeleteWhy::RoleRemoved);
            }
        }
    }
}

/// Roles and rules that left the spec leave the memory: it stays bounded, and one that comes back under its
/// old name begins anew.
fn forget_removed(spec: &Spec, memory: &mut GroupMemory) {
    let role = |name: &RoleName| spec.role(name).is_some();
    memory.started.retain(role);
    memory.start_sizes.retain(|name, _| role(name));
    memory.reached.retain(|name, _| role(name));
    memory.grown.retain(|name, _| role(name));
    memory.batches.retain(|name, _| spec.rules.iter().any(|rule| rule.name == *name));
}
