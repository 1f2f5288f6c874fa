//! Says why: turns what holds a role into words a person can act on.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocked::Reason;
use crate::coordinate::{Cause, Ceiling};
use crate::draft::{Draft, Rolled, uids};
use crate::group::Mode;
use crate::model::{Role, Rule, RuleKind};
use crate::names::{MemberName, Uid};
use crate::observe::Seen;
use crate::roll::{Held, Hold, Moves, Pace, Roll};
use crate::snapshot::GroupMemory;
use crate::unit::{Standing, Unit};
use crate::{batch, start};

impl Draft<'_> {
    /// Notes what one role would do but may not.
    pub(crate) fn block_role(
        &mut self,
        group: &Seen<'_>,
        index: usize,
        mode: Mode,
        ask: &Roll,
        moves: &Moves,
        ceiling: Option<&Ceiling>,
    ) {
        let role = &self.spec.roles[index];
        for held in &moves.held {
            let what = format!("{}/{}-{}", self.group_name(group.ordinal), role.name, held.ordinal);
            let at = (Some(group.ordinal), Some(&role.name));
            let said = match held.by {
                Hold::Ceiling => self.say_ceiling(group, index, mode, held, moves, ceiling),
                _ => self.say_hold(group, index, ask, held),
            };
            if let Some((reason, rule, message)) = said {
                self.block(at, what, reason, rule, message);
            }
        }
        self.block_stuck_termination(group, index, moves);
        if ask.pace == Pace::OnDelete && moves.tally.outdated > 0 {
            let what = format!("{}/{}", self.group_name(group.ordinal), role.name);
            let message =
                format!("{} of {} are updated when somebody deletes them", moves.tally.outdated, role.name);
            let rule = "updateStrategy.type".to_owned();
            self.block((Some(group.ordinal), Some(&role.name)), what, Reason::OnDelete, rule, message);
        }
    }

    /// Whatever rule holds the role, a pod that does not go is named too.
    fn block_stuck_termination(&mut self, group: &Seen<'_>, index: usize, moves: &Moves) {
        if moves.held.is_empty() {
            return;
        }
        let role = &self.spec.roles[index];
        let leaving = |unit: &&Unit| unit.standing == Standing::Terminating && unit.ordinal < role.replicas;
        let Some(unit) = group.roles[index].units.iter().find(leaving) else { return };
        let what = format!("{}/{}-{}", self.group_name(group.ordinal), role.name, unit.ordinal);
        let message = format!("{}-{} is still terminating", role.name, unit.ordinal);
        let rule = format!("roles[{}]", role.name);
        let at = (Some(group.ordinal), Some(&role.name));
        self.block(at, what, Reason::WaitingForTermination, rule, message);
    }

    /// Nothing is held, and yet it is not finished: what is not there is what everything waits for.
    pub(crate) fn block_whatever_is_not_there(&mut self, seen: &BTreeMap<u32, Seen<'_>>) {
        if !self.blocked.is_empty() {
            return;
        }
        for (&ordinal, group) in seen.range(0..self.spec.replicas) {
            for (index, role) in self.spec.roles.iter().enumerate() {
                let missing = |unit: &&Unit| unit.ordinal < role.replicas && !unit.available;
                let Some(unit) = group.roles[index].units.iter().find(missing) else { continue };
                let held =
                    Held { ordinal: unit.ordinal, by: Hold::NotReadyYet, waits_for: Some(unit.ordinal) };
                let rule = format!("roles[{}]", role.name);
                let (reason, rule, message) = self.say_motion(group, index, &held, rule);
                let what = format!("{}/{}-{}", self.group_name(ordinal), role.name, unit.ordinal);
                self.block((Some(ordinal), Some(&role.name)), what, reason, rule, message);
            }
        }
    }

    fn say_ceiling(
        &self,
        group: &Seen<'_>,
        index: usize,
        mode: Mode,
        held: &Held,
        moves: &Moves,
        ceiling: Option<&Ceiling>,
    ) -> Option<(Reason, String, String)> {
        let role = &self.spec.roles[index];
        if self.spec.paused {
            return Some((
                Reason::Paused,
                "paused".to_owned(),
                format!("{} is not updated while the set is paused", role.name),
            ));
        }
        if !matches!(mode, Mode::Rolling { open: true, .. }) {
            // The level of groups says why the group is closed.
            return None;
        }
        let ceiling = ceiling?;
        let rule = &self.spec.rules[ceiling.rule].name;
        Some(match &ceiling.cause {
            Cause::Skew { behind } => {
                if moves.tally.on_the_way > 0
                    && moves.tally.leaving + moves.tally.updated > moves.tally.updated_ready
                {
                    return Some(self.say_motion(
                        group,
                        index,
                        held,
                        format!("coordination[{rule}].rollingUpdate.maxSkew"),
                    ));
                }
                let other = &self.spec.roles[*behind].name;
                let message = format!(
                    "{} stays at {} of {} updated until {other} has caught up",
                    role.name, moves.tally.updated, role.replicas
                );
                (Reason::SkewHeld, format!("coordination[{rule}].rollingUpdate.maxSkew"), message)
            }
            Cause::Step { step, role: of, ready, target } => {
                let name = &self.spec.roles[*of].name;
                let steps = self.steps_of(ceiling.rule);
                let message =
                    format!("step {}/{steps}: {name} {ready} of {target} updated and ready", step + 1);
                (Reason::StepNotReady, format!("coordination[{rule}].steps[{step}]"), message)
            }
            Cause::Pause { step, until } => {
                let steps = self.steps_of(ceiling.rule);
                let how = if until.is_some() {
                    "until its time is over or it is promoted"
                } else {
                    "until it is promoted"
                };
                let message = format!("step {}/{steps}: pause, {how}", step + 1);
                (Reason::PauseStep, format!("coordination[{rule}].steps[{step}]"), message)
            }
        })
    }

    pub(crate) fn steps_of(&self, rule: usize) -> usize {
        match &self.spec.rules[rule].kind {
            RuleKind::Steps(steps) => steps.len(),
            _ => 0,
        }
    }

    fn say_hold(
        &self,
        group: &Seen<'_>,
        index: usize,
        ask: &Roll,
        held: &Held,
    ) -> Option<(Reason, String, String)> {
        let role = &self.spec.roles[index];
        let limit = self.limit_rule(role);
        let surge_rule = format!("roles[{}].updateStrategy.maxSurge", role.name);
        let surge = held.waits_for.map(|i| format!("{}-{i}", role.name)).unwrap_or_default();
        let most = ask.limits.unavailable;
        Some(match held.by {
            Hold::NotReadyYet | Hold::Termination => self.say_motion(group, index, held, limit),
            Hold::Budget | Hold::Serving => {
                let message =
                    format!("at most {most} of {} may be unavailable, and as many are", role.replicas);
                (Reason::BudgetExhausted, limit, message)
            }
            Hold::Containment => {
                let message =
                    format!("waits until an instance of {} at the new revision is available", role.name);
                (Reason::Unproven, limit, message)
            }
            Hold::OutsideBudget => {
                let pods: Vec<Uid> =
                    group.roles[index].instance(held.ordinal).into_iter().flat_map(uids).cloned().collect();
                let message = self.say_outside(&pods, &format!("{}-{}", role.name, held.ordinal));
                (Reason::UnavailableBudget, "PodUnavailableBudget".to_owned(), message)
            }
            Hold::SurgeUnscheduled => {
                (Reason::SurgeUnschedulable, surge_rule, format!("surge {surge} has found no node"))
            }
            Hold::SurgeNotReady => {
                (Reason::NotReadyYet, surge_rule, format!("surge {surge} is not available yet"))
            }
            Hold::Ceiling => return None,
        })
    }

    /// The field that says how many of a role may be unavailable: its own, or that of the strictest rule.
    fn limit_rule(&self, role: &Role) -> String {
        let of_rule = |rule: &Rule| match &rule.kind {
            RuleKind::RollingUpdate(skew) if skew.roles.contains(&role.name) => {
                let most = skew.max_unavailable?.floor_of(role.replicas);
                Some((most, format!("coordination[{}].rollingUpdate.maxUnavailable", rule.name)))
            }
            _ => None,
        };
        let strictest = self.spec.rules.iter().filter_map(of_rule).min_by_key(|(most, _)| *most);
        strictest
            .map_or_else(|| format!("roles[{}].updateStrategy.maxUnavailable", role.name), |(_, field)| field)
    }

    /// Waiting for one unit that is in motion.
    fn say_motion(
        &self,
        group: &Seen<'_>,
        index: usize,
        held: &Held,
        rule: String,
    ) -> (Reason, String, String) {
        let role = &self.spec.roles[index];
        let most = self.limits[index].0.unavailable;
        let limit = format!("at most {most} of {} may be unavailable", role.replicas);
        let waited = held
            .waits_for
            .and_then(|ordinal| group.roles[index].units.iter().find(|unit| unit.ordinal == ordinal));
        let name = held.waits_for.map_or_else(|| role.name.to_string(), |i| format!("{}-{i}", role.name));
        match waited {
            Some(unit) if unit.standing == Standing::Terminating => {
                (Reason::WaitingForTermination, rule, format!("{name} is still terminating; {limit}"))
            }
            Some(unit) if unit.unscheduled && unit.stably_broken => {
                let batch =
                    batch::batches(self.spec, &role.name, unit.ordinal).into_iter().find(|b| b.required);
                match batch {
                    Some(batch) => {
                        let message = format!("{name} of batch {} has found no node; {limit}", batch.batch);
                        (Reason::BatchUnschedulable, format!("coordination[{}]", batch.rule), message)
                    }
                    None => (Reason::Unschedulable, rule, format!("{name} has found no node; {limit}")),
                }
            }
            _ => (Reason::NotReadyYet, rule, format!("{name} is not available yet; {limit}")),
        }
    }

    /// Notes a pod that a gate of ours holds.
    pub(crate) fn block_gate(
        &mut self,
        group: &Seen<'_>,
        role: &Role,
        instance: u32,
        reason: Reason,
        memory: &GroupMemory,
    ) {
        let what = format!("{}/{}-{instance}", self.group_name(group.ordinal), role.name);
        let (rule, message) = match reason {
            Reason::StartOrder => {
                let other =
                    start::waits(self.spec, memory, role).map(|r| r.name.to_string()).unwrap_or_default();
                (format!("roles[{}].startsAfter", role.name), format!("{} starts after {other}", role.name))
            }
            Reason::BatchNotReady => {
                let waits = batch::waits(self.spec, memory, &role.name, instance);
                let (name, before) = waits.map(|(r, b)| (r.name.to_string(), b)).unwrap_or_default();
                if self.has_no_place(group, before) {
                    let message = format!("batch {before} has found no place, and the next waits for it");
                    let rule = format!("coordination[{name}]");
                    self.block(
                        (Some(group.ordinal), Some(&role.name)),
                        what,
                        Reason::BatchUnschedulable,
                        rule,
                        message,
                    );
                    return;
                }
                (format!("coordination[{name}]"), format!("waits until batch {before} was ready"))
            }
            _ => (
                "gang.scheduler".to_owned(),
                "waits until the base gang of its group was scheduled".to_owned(),
            ),
        };
        self.block((Some(group.ordinal), Some(&role.name)), what, reason, rule, message);
    }

    /// Notes pods that wait for other pods of their instance.
    pub(crate) fn block_member(
        &mut self,
        group: u32,
        role: &Role,
        instance: u32,
        (member, other): (&MemberName, &MemberName),
    ) {
        let what = format!("{}/{}-{instance}", self.group_name(group), role.name);
        let rule = format!("roles[{}].members[{member}].startsAfter", role.name);
        let message = format!("{member} of {}-{instance} starts after {other}", role.name);
        self.block((Some(group), Some(&role.name)), what, Reason::StartOrder, rule, message);
    }

    /// An instance of the batch has had no node for some time.
    fn has_no_place(&self, group: &Seen<'_>, of: u32) -> bool {
        self.spec.roles.iter().zip(&group.roles).any(|(role, seen)| {
            seen.units.iter().filter(|unit| unit.unscheduled && unit.stably_broken).any(|unit| {
                let batches = batch::batches(self.spec, &role.name, unit.ordinal);
                batches.iter().any(|batch| batch.required && batch.batch == of)
            })
        })
    }

    pub(crate) fn block_growth(&mut self, group: u32, role: &Role, ordinal: u32) {
        let what = format!("{}/{}-{ordinal}", self.group_name(group), role.name);
        let rule = self.spec.rules.iter().find(
            |rule| matches!(&rule.kind, RuleKind::Scaling(scaling) if scaling.roles.contains(&role.name)),
        );
        let rule =
            rule.map(|rule| format!("coordination[{}].scaling.maxSkew", rule.name)).unwrap_or_default();
        let message = format!("{} grows when the other roles of the rule have", role.name);
        self.block((Some(group), Some(&role.name)), what, Reason::ScalingHeld, rule, message);
    }

    /// Nothing is in motion, nothing is planned, and yet the rules hold what is left: they block each other.
    pub(crate) fn block_conflict(&mut self, group: &Seen<'_>, mode: Mode, rolled: &[Rolled], before: usize) {
        let open = matches!(mode, Mode::Rolling { open: true, .. });
        let idle = self.actions.len() == before && rolled.iter().all(at_rest);
        if !open || !idle || self.spec.paused {
            return;
        }
        let ceilings: Vec<&Ceiling> = rolled
            .iter()
            .filter(|r| r.tally.outdated > 0)
            .filter_map(|r| r.ceiling.as_ref().filter(|c| c.limit <= r.tally.updated))
            .collect();
        let all_held = rolled.iter().filter(|r| r.tally.outdated > 0).count() == ceilings.len();
        let paused = ceilings.iter().any(|c| matches!(c.cause, Cause::Pause { .. }));
        if ceilings.is_empty() || !all_held || paused {
            return;
        }
        let message = self.conflict(rolled, &ceilings);
        let rules: BTreeSet<usize> = ceilings.iter().map(|ceiling| ceiling.rule).collect();
        let names: Vec<String> =
            rules.iter().map(|rule| format!("coordination[{}]", self.spec.rules[*rule].name)).collect();
        let what = self.group_name(group.ordinal);
        self.blocked.retain(|block| block.group != Some(group.ordinal));
        self.block((Some(group.ordinal), None), what, Reason::RulesConflict, names.join(", "), message);
    }

    fn conflict(&self, rolled: &[Rolled], ceilings: &[&Ceiling]) -> String {
        let mut clauses: Vec<String> = Vec::new();
        for ceiling in ceilings {
            let rule = &self.spec.rules[ceiling.rule].name;
            let clause = match &ceiling.cause {
                Cause::Step { step, role, ready, target } => format!(
                    "{rule} step {} wants {} at {target} before anything else moves, and it is at {ready}",
                    step + 1,
                    self.spec.roles[*role].name
                ),
                Cause::Skew { behind } => {
                    let held = rolled.iter().position(|r| r.ceiling.as_ref() == Some(ceiling));
                    let name = held.map(|i| self.spec.roles[i].name.to_string()).unwrap_or_default();
                    format!(
                        "{rule} holds {name} at {} of {} until {} moves",
                        ceiling.limit,
                        held.map_or(0, |i| self.spec.roles[i].replicas),
                        self.spec.roles[*behind].name
                    )
                }
                Cause::Pause { step, .. } => format!("{rule} pauses at step {}", step + 1),
            };
            if !clauses.contains(&clause) {
                clauses.push(clause);
            }
        }
        format!("the rules block each other: {}", clauses.join("; but "))
    }
}

/// Nothing of the role is in motion.
fn at_rest(rolled: &Rolled) -> bool {
    let tally = rolled.tally;
    tally.leaving == 0 && tally.updated == tally.updated_available && tally.surge == tally.surge_available
}
