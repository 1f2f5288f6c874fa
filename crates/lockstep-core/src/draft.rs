//! A plan in the making: walks the groups, collects actions and blocks, and keeps the new memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocked::{Blocked, Reason};
use crate::budget::{self, Account, Shortage};
use crate::coordinate::{self, Ceiling, Progress};
use crate::gang::Gang;
use crate::group::{Facts, Groups, Level, Mode};
use crate::model::{Spec, StrategyKind};
use crate::names::{GangKey, RoleName, Uid};
use crate::number::Limits;
use crate::observe::{Aims, Seen};
use crate::plan::{Action, Delete, DeleteWhy, InstanceRef, Plan};
use crate::revision::Revision;
use crate::roll::{Hold, Tally, Why};
use crate::snapshot::{Instance, Memory, Reached, Snapshot};
use crate::time::Time;
use crate::unit::Wake;

/// Blocks beyond this many are not listed: status stays small for any number of pods.
const MOST_BLOCKS: usize = 64;

/// So many of those that are on their way out are named.
const MOST_HOLDERS: usize = 3;

/// A plan in the making.
pub struct Draft<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) aims: &'a Aims,
    pub(crate) memory: Memory,
    pub(crate) now: Time,
    pub(crate) wake: Wake,
    pub(crate) accounts: Vec<Account>,
    pub(crate) actions: Vec<Action>,
    pub(crate) gangs: BTreeMap<(u32, GangKey), Gang>,
    pub(crate) blocked: Vec<Blocked>,
    pub(crate) groups: Groups,
    /// Some group is on its way or goes, so that the others are counted on.
    pub(crate) others_count: bool,
    pub(crate) facts: BTreeMap<u32, Facts>,
    pub(crate) changing: Vec<bool>,
    /// Per role: limits and partition.
    pub(crate) limits: Vec<(Limits, u32)>,
    /// Per group and role: the counts and the ceiling.
    pub(crate) rolled: BTreeMap<u32, Vec<Rolled>>,
}

/// What is known of one role of one group once it has been rolled.
#[derive(Debug, Clone)]
pub(crate) struct Rolled {
    /// Its counts.
    pub tally: Tally,
    /// How far it has come.
    pub progress: Progress,
    /// What holds it, if a rule does.
    pub ceiling: Option<Ceiling>,
}

impl<'a> Draft<'a> {
    /// An empty draft.
    pub fn new(
        spec: &'a Spec,
        snapshot: &'a Snapshot,
        aims: &'a Aims,
        memory: Memory,
        now: Time,
        wake: Wake,
    ) -> Self {
        let limits = spec.roles.iter().map(|role| coordinate::limits(spec, role)).collect();
        Self {
            spec,
            snapshot,
            aims,
            memory,
            now,
            wake,
            accounts: snapshot.budgets.clone(),
            actions: Vec::new(),
            gangs: BTreeMap::new(),
            blocked: Vec::new(),
            groups: Groups::default(),
            others_count: false,
            facts: BTreeMap::new(),
            changing: Vec::new(),
            limits,
            rolled: BTreeMap::new(),
        }
    }

    /// Decides over groups, then inside each.
    pub fn decide(&mut self, seen: &BTreeMap<u32, Seen<'_>>) {
        self.decide_groups(seen);
        self.forget_baselines(seen);
        let empty = |ordinal| Seen::empty(ordinal, self.spec.roles.len());
        let extra: BTreeMap<u32, Seen<'_>> = self.groups.surge.iter().map(|g| (*g, empty(*g))).collect();
        let modes = self.groups.modes.clone();
        for (ordinal, mode) in modes {
            let Some(group) = seen.get(&ordinal).or_else(|| extra.get(&ordinal)) else { continue };
            match mode {
                Mode::Remove { why, paid } => self.remove_group(group, why, paid),
                Mode::Leaving => self.block_leaving(group),
                Mode::Rolling { .. } | Mode::Fixed(_) => self.inside(group, mode),
            }
        }
        self.memory.groups.retain(|ordinal, _| self.groups.modes.contains_key(ordinal));
        self.remember_surge_groups();
        self.remember_sets(seen);
    }

    /// Remembers which revisions belong together, as long as a pod carries them.
    fn remember_sets(&mut self, seen: &BTreeMap<u32, Seen<'_>>) {
        let roles = self.spec.roles.iter().zip(&self.aims.roles);
        let target = roles.map(|(role, aim)| (role.name.clone(), aim.compass.target)).collect();
        self.memory.sets.insert(self.aims.set_target, target);
        if let Some(complete) = &self.memory.complete {
            self.memory.sets.insert(complete.revision, complete.roles.clone());
        }
        if self.memory.sets.len() > 2 {
            let pods = seen.values().flat_map(Seen::instances).flat_map(|instance| &instance.pods);
            let mut carried: BTreeSet<Revision> = pods.map(|pod| pod.set_revision).collect();
            carried.extend([self.aims.set_target, self.aims.set_old]);
            self.memory.sets.retain(|revision, _| carried.contains(revision));
        }
    }

    fn decide_groups(&mut self, seen: &BTreeMap<u32, Seen<'_>>) {
        let level = Level {
            spec: self.spec,
            aims: self.aims,
            snapshot: self.snapshot,
            memory: &self.memory,
            now: self.now,
        };
        self.changing = level.changing(seen);
        let wake = &mut self.wake;
        let changing = &self.changing;
        self.facts = seen.iter().map(|(g, group)| (*g, level.facts(group, changing, wake))).collect();
        let accounts = &mut self.accounts;
        let mut permit = |ordinal: u32| {
            let pods = seen.get(&ordinal).into_iter().flat_map(Seen::instances).flat_map(uids);
            accounts.is_empty() || budget::remove_all(accounts, pods).is_ok()
        };
        self.groups = level.decide(seen, &self.facts, &mut permit);
        let moves =
            |mode: &Mode| matches!(mode, Mode::Rolling { open: true, .. } | Mode::Remove { paid: true, .. });
        self.others_count = self.groups.modes.values().any(moves);
        if self.spec.strategy.kind == StrategyKind::GroupRecreate {
            self.remember_groups_reached();
        } else {
            self.memory.reached = None;
        }
        self.hold_surge_groups();
        self.block_groups();
    }

    fn remember_groups_reached(&mut self) {
        let target = self.aims.set_target;
        let before =
            self.memory.reached.filter(|known| known.target == target).map_or(0, |known| known.count);
        self.memory.reached = Some(Reached { target, count: before.max(self.groups.updated) });
    }

    fn remove_group(&mut self, group: &Seen<'_>, why: Why, paid: bool) {
        let why = match why {
            Why::Update | Why::Repair | Why::Mixed => DeleteWhy::Recreate,
            Why::Excess | Why::SurgeDone | Why::SurgeOutdated => DeleteWhy::GroupRemoved,
        };
        for (role, seen) in self.spec.roles.iter().zip(&group.roles) {
            for instance in &seen.instances {
                self.push_delete(group.ordinal, &role.name, instance, paid, why);
            }
        }
        for (role, instance) in &group.strangers {
            self.push_delete(group.ordinal, role, instance, paid, why);
        }
    }

    /// Deletes an instance: unready pods first, so that the ready ones stay if those cannot be deleted.
    pub(crate) fn push_delete(
        &mut self,
        group: u32,
        role: &RoleName,
        instance: &Instance,
        paid: bool,
        why: DeleteWhy,
    ) {
        let mut pods: Vec<_> = instance.pods.iter().filter(|pod| !pod.terminating).collect();
        pods.sort_by_key(|pod| pod.is_ready());
        if pods.is_empty() {
            return;
        }
        let uids = pods.into_iter().map(|pod| pod.uid.clone()).collect();
        let of = InstanceRef { group, role: role.clone(), instance: instance.instance };
        if instance.pods.iter().any(|pod| pod.failed) {
            // The whole instance goes: its failed pods go with it, not twice.
            let alone = |action: &Action| matches!(action, Action::Delete(delete) if delete.why == DeleteWhy::FailedPod && delete.of == of);
            self.actions.retain(|action| !alone(action));
        }
        self.actions.push(Action::Delete(Delete { of, uids, paid, why }));
    }

    /// Asks the outside budgets for the removal of an instance and charges them.
    pub(crate) fn charge(&mut self, instance: &Instance) -> Result<(), Shortage> {
        if self.accounts.is_empty() {
            return Ok(());
        }
        budget::remove_all(&mut self.accounts, uids(instance))
    }

    /// Why the outside budgets do not let these pods go, and who has been let go instead.
    pub(crate) fn say_outside(&self, pods: &[Uid], name: &str) -> String {
        let refusing = self.accounts.iter().find_map(|account| {
            let shortage = account.cost_of_removing(pods).shortage?;
            Some((account, shortage))
        });
        let Some((account, shortage)) = refusing else {
            return format!("an unavailable budget does not allow {name} to go now");
        };
        let said = |(pod, by): (&str, &str)| match by {
            "" => pod.to_owned(),
            by => format!("{pod} (asked by {by})"),
        };
        let holders: Vec<String> = account.holders().take(MOST_HOLDERS).map(said).collect();
        let more = account.holders().count().saturating_sub(MOST_HOLDERS);
        match (holders.as_slice(), more) {
            ([], _) => shortage.to_string(),
            (holders, 0) => format!("{shortage}; on its way out: {}", holders.join(", ")),
            (holders, more) => format!("{shortage}; on its way out: {} and {more} more", holders.join(", ")),
        }
    }

    fn group_uids(&self, ordinal: u32) -> Vec<Uid> {
        let group = self.snapshot.groups.iter().find(|group| group.group == ordinal);
        let instances = group.into_iter().flat_map(|group| &group.roles).flat_map(|role| &role.instances);
        instances.flat_map(|instance| &instance.pods).map(|pod| pod.uid.clone()).collect()
    }

    /// Notes something that waits; the first of its kind per group and role stays.
    pub(crate) fn block(
        &mut self,
        (group, role): (Option<u32>, Option<&RoleName>),
        what: String,
        reason: Reason,
        rule: String,
        message: String,
    ) {
        let block = Blocked { what, reason, rule, since: self.now, message, group, role: role.cloned() };
        let key = block.key();
        if self.blocked.len() < MOST_BLOCKS && self.blocked.iter().all(|other| other.key() != key) {
            let since = self.memory.blocked.get(&key).copied().unwrap_or(self.now).min(self.now);
            self.blocked.push(Blocked { since, ..block });
        }
    }

    /// The name of a group on the screen.
    pub(crate) fn group_name(&self, group: u32) -> String {
        format!("{}-{group}", self.spec.name)
    }

    pub(crate) fn block_leaving(&mut self, group: &Seen<'_>) {
        if group.ordinal >= self.spec.replicas {
            return;
        }
        let name = self.group_name(group.ordinal);
        let message = format!("{name} is created anew only after its last old pod is gone");
        let rule = "updateStrategy.type".to_owned();
        self.block((Some(group.ordinal), None), name, Reason::WaitingForTermination, rule, message);
    }

    fn block_groups(&mut self) {
        let limit = self.spec.strategy.limits(self.spec.replicas).unavailable;
        let total = self.spec.replicas;
        for held in std::mem::take(&mut self.groups.held) {
            let name = self.group_name(held.ordinal);
            let other = held.waits_for.map(|g| self.group_name(g));
            let (reason, rule, message) = match held.by {
                _ if self.spec.paused => {
                    (Reason::Paused, "paused", format!("{name} is not updated while the set is paused"))
                }
                Hold::OutsideBudget => {
                    let pods = self.group_uids(held.ordinal);
                    (Reason::UnavailableBudget, "PodUnavailableBudget", self.say_outside(&pods, &name))
                }
                Hold::Containment => (
                    Reason::Unproven,
                    "updateStrategy.maxUnavailable",
                    format!("{name} waits until a group at the new revision is available"),
                ),
                Hold::SurgeUnscheduled => (
                    Reason::SurgeUnschedulable,
                    "updateStrategy.maxSurge",
                    format!("{name} waits for surge group {} to find nodes", other.unwrap_or_default()),
                ),
                Hold::SurgeNotReady => (
                    Reason::NotReadyYet,
                    "updateStrategy.maxSurge",
                    format!("{name} waits for surge group {} to be available", other.unwrap_or_default()),
                ),
                _ => {
                    let waits = other.map(|o| format!("waits for {o}; ")).unwrap_or_default();
                    let message =
                        format!("{name} {waits}at most {limit} of {total} groups may be unavailable");
                    (Reason::GroupsExhausted, "updateStrategy.maxUnavailable", message)
                }
            };
            self.block((Some(held.ordinal), None), name, reason, rule.to_owned(), message);
        }
    }

    /// Finishes: what to remember, what to say.
    pub fn finish(mut self, seen: &BTreeMap<u32, Seen<'_>>) -> Plan {
        let status = self.conclude(seen);
        self.blocked.sort_by(|a, b| (a.reason, &a.what).cmp(&(b.reason, &b.what)));
        self.memory.blocked = self.blocked.iter().map(|block| (block.key(), block.since)).collect();
        let gangs = self.gangs.into_values().collect();
        let (blocked, memory, wake) = (self.blocked, self.memory, self.wake.0);
        Plan { actions: self.actions, gangs, blocked, status, memory, wake }
    }
}

/// The pods of an instance that a delete would take.
pub(crate) fn uids(instance: &Instance) -> impl Iterator<Item = &Uid> {
    instance.pods.iter().filter(|pod| !pod.terminating).map(|pod| &pod.uid)
}
