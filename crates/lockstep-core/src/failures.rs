//! What fails is replaced: a pod alone, an instance as a whole, or a group that stayed below its minimum.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocked::Reason;
use crate::draft::{Draft, uids};
use crate::group::{Facts, Mode};
use crate::model::{Restart, RestartKind, Role};
use crate::names::Uid;
use crate::observe::{Seen, layout};
use crate::plan::{Action, Delete, DeleteWhy, InstanceRef};
use crate::restart::{self, Due, Recovery};
use crate::snapshot::{GroupMemory, Instance};
use crate::unit::{Standing, Unit};

impl Draft<'_> {
    /// Replaces what failed and marks it as leaving, so that the roll sees it on its way out.
    pub(crate) fn restart(
        &mut self,
        group: &Seen<'_>,
        mode: Mode,
        units: &mut [Vec<Unit>],
        memory: &mut GroupMemory,
    ) {
        for index in 0..self.spec.roles.len() {
            let role = &self.spec.roles[index];
            let seen = &group.roles[index];
            let nothing_remembered = self.memory.restarts.is_empty();
            for at in 0..units[index].len() {
                let quiet = !seen.notes[at].failed && !seen.notes[at].restarted && nothing_remembered;
                if quiet || units[index][at].standing != Standing::Present {
                    continue;
                }
                let instance = seen.instances[at];
                self.forget_quiet(group.ordinal, role, instance, &units[index][at]);
                let layout = layout(self.snapshot, role, instance.pods[0].revision);
                let kind = self.kind(group.ordinal, role);
                let failed = kind != RestartKind::None && restart::failed(instance, layout, &mut self.memory);
                if failed && self.recovers(group.ordinal, role, instance) {
                    continue;
                }
                if failed && kind == RestartKind::Group {
                    self.renew_group(group, role, memory);
                }
                if failed && (kind != RestartKind::Group || memory.renew_before.is_some()) {
                    self.restart_instance(group.ordinal, index, instance, units, at);
                } else if instance.pods.iter().any(|pod| pod.failed && !pod.terminating) {
                    self.replace_failed_pods(group.ordinal, role, instance, &mut units[index][at]);
                }
            }
        }
        self.renew(group, mode, units, memory);
    }

    /// Whether an instance that failed is given time, or has come through by itself.
    fn recovers(&mut self, group: u32, role: &Role, instance: &Instance) -> bool {
        match restart::recovery(instance, &role.restart, self.now) {
            Recovery::None => false,
            Recovery::Done => {
                restart::forgive(instance, &mut self.memory);
                true
            }
            Recovery::Until(time) => {
                self.wake.at(time, self.now);
                let what = format!("{}/{}-{}", self.group_name(group), role.name, instance.instance);
                let message = format!("{what} failed and is replaced if it is not ready again in time");
                let rule = format!("roles[{}].restartPolicy.gracePeriodSeconds", role.name);
                self.block((Some(group), Some(&role.name)), what, Reason::RestartBackoff, rule, message);
                true
            }
        }
    }

    /// While a group is in update a crashing canary must not take the old instances along.
    fn kind(&self, group: u32, role: &Role) -> RestartKind {
        let in_update = self.facts.get(&group).is_some_and(|facts| facts.in_update);
        match role.restart.kind {
            RestartKind::Group if in_update => RestartKind::Instance,
            kind => kind,
        }
    }

    fn restart_instance(
        &mut self,
        group: u32,
        index: usize,
        instance: &Instance,
        units: &mut [Vec<Unit>],
        at: usize,
    ) {
        let role = &self.spec.roles[index];
        let key = key(group, role, instance.instance);
        if !self.is_due(&key, &role.restart, group, role, instance.instance) {
            return;
        }
        if self.replace(group, index, instance, units, at) {
            restart::remember(&mut self.memory, &key, self.now);
        }
    }

    /// Deletes an instance that is to come back; what is still ready only on the account.
    fn replace(
        &mut self,
        group: u32,
        index: usize,
        instance: &Instance,
        units: &mut [Vec<Unit>],
        at: usize,
    ) -> bool {
        let role = &self.spec.roles[index];
        // With the pod that failed goes the knowledge how long the instance has been ready: it may well be
        // available, though its other pods are not old enough to show it.
        let paid = units[index][at].available || units[index][at].ready;
        let others = units[index].iter().enumerate().filter(|(i, unit)| *i != at && unit.available).count();
        let affordable = others >= self.floor(index, group) as usize;
        let what = format!("{}/{}-{}", self.group_name(group), role.name, instance.instance);
        if paid && !affordable {
            let message = format!("{what} restarted and is replaced when it can be spared");
            let rule = format!("roles[{}].restartPolicy", role.name);
            self.block((Some(group), Some(&role.name)), what, Reason::BudgetExhausted, rule, message);
            return false;
        }
        if let Err(shortage) = self.charge(instance) {
            let at = (Some(group), Some(&role.name));
            self.block(at, what, Reason::UnavailableBudget, shortage.budget.clone(), shortage.to_string());
            return false;
        }
        self.push_delete(group, &role.name, instance, paid, DeleteWhy::Restart);
        leave(&mut units[index][at]);
        if let Some(facts) = self.facts.get_mut(&group) {
            facts.unit.serves &= others > 0;
        }
        true
    }

    /// How many instances of a role must stay available in a group: what its own strategy says, or what the
    /// group needs where role strategies have no say.
    fn floor(&self, index: usize, group: u32) -> u32 {
        let role = &self.spec.roles[index];
        let own = role.replicas.saturating_sub(self.limits[index].0.unavailable);
        match self.groups.modes.get(&group) {
            Some(Mode::Fixed(_)) => role.needed().max(u32::from(self.must_serve(group)).min(role.replicas)),
            Some(mode) if self.is_counted_on(*mode) => role.needed().max(own),
            _ => own,
        }
    }

    /// No more groups may stop serving, those included that go now.
    fn must_serve(&self, group: u32) -> bool {
        let serves = |(ordinal, facts): &(&u32, &Facts)| {
            facts.unit.serves && !matches!(self.groups.modes.get(ordinal), Some(Mode::Remove { .. }))
        };
        let serving = self.facts.iter().filter(serves).count();
        let limits = self.spec.strategy.limits(self.spec.replicas);
        let floor = self.spec.replicas.saturating_sub(limits.unavailable) as usize;
        self.facts.get(&group).is_some_and(|facts| facts.unit.serves) && serving <= floor
    }

    /// A pod that ended comes back alone, but not faster than the back-off allows.
    fn replace_failed_pods(&mut self, group: u32, role: &Role, instance: &Instance, unit: &mut Unit) {
        let key = key(group, role, instance.instance);
        if !self.is_due(&key, &role.restart, group, role, instance.instance) {
            return;
        }
        let failed: Vec<Uid> = instance
            .pods
            .iter()
            .filter(|pod| pod.failed && !pod.terminating)
            .map(|pod| pod.uid.clone())
            .collect();
        let all = failed.len() == instance.pods.iter().filter(|pod| !pod.terminating).count();
        if !self.accounts.is_empty() && crate::budget::remove_all(&mut self.accounts, &failed).is_err() {
            return;
        }
        let of = InstanceRef { group, role: role.name.clone(), instance: instance.instance };
        self.actions.push(Action::Delete(Delete {
            of,
            uids: failed,
            paid: false,
            why: DeleteWhy::FailedPod,
        }));
        restart::remember(&mut self.memory, &key, self.now);
        if all {
            leave(unit);
        }
    }

    fn is_due(&mut self, key: &str, policy: &Restart, group: u32, role: &Role, instance: u32) -> bool {
        match restart::due(self.memory.restarts.get(key), policy, self.now) {
            Due::Now => true,
            Due::At(time) => {
                self.wake.at(time, self.now);
                let what = format!("{}/{}-{instance}", self.group_name(group), role.name);
                let tries = self.memory.restarts.get(key).map_or(0, |known| known.count);
                let message =
                    format!("{what} failed {tries} times in a row and waits before it is replaced again");
                let rule = format!("roles[{}].restartPolicy", role.name);
                self.block((Some(group), Some(&role.name)), what, Reason::RestartBackoff, rule, message);
                false
            }
        }
    }

    /// Failures are forgotten after a quiet time, counted from ready.
    fn forget_quiet(&mut self, group: u32, role: &Role, instance: &Instance, unit: &Unit) {
        if self.memory.restarts.is_empty() || !unit.ready {
            return;
        }
        let key = key(group, role, instance.instance);
        if !self.memory.restarts.contains_key(&key) {
            return;
        }
        let since = instance.pods.iter().filter_map(|pod| pod.ready).max().unwrap_or_default();
        let end = since + restart::quiet(&role.restart);
        if end <= self.now {
            self.memory.restarts.remove(&key);
        } else {
            self.wake.at(end, self.now);
        }
    }

    /// Everything of the group that is older than this moment is to be replaced.
    fn renew_group(&mut self, group: &Seen<'_>, role: &Role, memory: &mut GroupMemory) {
        if memory.renew_before.is_some() {
            return;
        }
        let key = group.ordinal.to_string();
        match restart::due(self.memory.restarts.get(&key), &role.restart, self.now) {
            Due::Now => {
                memory.renew_before = Some(self.now);
                restart::remember(&mut self.memory, &key, self.now);
            }
            Due::At(time) => {
                self.wake.at(time, self.now);
                let what = self.group_name(group.ordinal);
                let message = format!("{what} failed again and waits before it is replaced");
                let rule = format!("roles[{}].restartPolicy", role.name);
                self.block((Some(group.ordinal), None), what, Reason::RestartBackoff, rule, message);
            }
        }
    }

    fn renew(&mut self, group: &Seen<'_>, mode: Mode, units: &mut [Vec<Unit>], memory: &mut GroupMemory) {
        let Some(before) = memory.renew_before else { return };
        if matches!(mode, Mode::Rolling { .. }) && self.facts.get(&group.ordinal).is_some_and(|f| f.in_update)
        {
            memory.renew_before = None;
            return;
        }
        let mut left = false;
        for index in 0..units.len() {
            for at in 0..units[index].len() {
                let instance = group.roles[index].instances[at];
                let oldest = instance.pods.iter().map(|pod| pod.created).min().unwrap_or_default();
                if oldest < before && units[index][at].standing == Standing::Present {
                    left |= !self.replace(group.ordinal, index, instance, units, at);
                }
                left |= oldest < before;
            }
        }
        if !left {
            memory.renew_before = None;
        }
    }

    /// Failures of a group are forgotten after a quiet time, counted from its last pod to become ready.
    pub(crate) fn forget_quiet_group(&mut self, group: &Seen<'_>) {
        let key = group.ordinal.to_string();
        if !self.memory.restarts.contains_key(&key) {
            return;
        }
        let since =
            group.instances().flat_map(|i| &i.pods).filter_map(|pod| pod.ready).max().unwrap_or_default();
        let quiet =
            self.spec.roles.iter().map(|role| restart::quiet(&role.restart)).max().unwrap_or_default();
        if since + quiet <= self.now {
            self.memory.restarts.remove(&key);
        } else {
            self.wake.at(since + quiet, self.now);
        }
    }

    /// A group that is built anew as a whole has nothing created before its last pod is gone.
    pub(crate) fn is_rebuilt(&mut self, group: &Seen<'_>, memory: &mut GroupMemory) -> bool {
        if !memory.rebuilding || group.roles_are_gone() {
            memory.rebuilding = false;
            return false;
        }
        if group.roles_stand() {
            // The first attempt did not reach every pod: one that changed meanwhile may work again.
            if self.may_terminate(group).is_err() {
                memory.rebuilding = false;
                return false;
            }
            self.delete_gang(group);
        }
        self.block_leaving(group);
        true
    }

    /// A group that stayed below its minimum is built anew as a whole. Returns whether it is.
    pub(crate) fn terminate_gang(&mut self, group: &Seen<'_>, memory: &mut GroupMemory) -> bool {
        let (Some(delay), Some(since)) = (self.spec.gang.termination_delay, memory.short_since) else {
            return false;
        };
        let in_update = self.facts.get(&group.ordinal).is_some_and(|facts| facts.in_update);
        let key = group.ordinal.to_string();
        if !memory.was_available || in_update || !group.roles_stand() {
            return false;
        }
        let policy = self.spec.roles.first().map(|role| role.restart).unwrap_or_default();
        let due = match restart::due(self.memory.restarts.get(&key), &policy, self.now) {
            Due::Now => since + delay,
            Due::At(time) => (since + delay).max(time),
        };
        if due > self.now {
            self.wake.at(due, self.now);
            return false;
        }
        if let Err(message) = self.may_terminate(group) {
            let what = self.group_name(group.ordinal);
            let rule = "gang.terminationDelay".to_owned();
            self.block((Some(group.ordinal), None), what, Reason::GangTerminationHeld, rule, message);
            return false;
        }
        restart::remember(&mut self.memory, &key, self.now);
        memory.rebuilding = true;
        self.delete_gang(group);
        true
    }

    /// Deletes every pod that will come back. A role that left the spec would not: it goes when the others are
    /// complete, which they are not.
    fn delete_gang(&mut self, group: &Seen<'_>) {
        for (role, seen) in self.spec.roles.iter().zip(&group.roles) {
            for (instance, unit) in seen.instances.iter().zip(&seen.units) {
                let why = DeleteWhy::GangTermination;
                self.push_delete(group.ordinal, &role.name, instance, unit.available, why);
            }
        }
    }

    /// Instances that still work are paid for, in every role and every outside budget.
    fn may_terminate(&mut self, group: &Seen<'_>) -> Result<(), String> {
        let name = self.group_name(group.ordinal);
        for (index, role) in self.spec.roles.iter().enumerate() {
            let available = i64::from(group.roles[index].available());
            let floor = self.floor(index, group.ordinal);
            if available > 0 && floor > 0 {
                return Err(format!(
                    "{name} was below its minimum for longer than the termination delay, but {available} of \
                     {} still work and at least {floor} must",
                    role.name
                ));
            }
        }
        let instances = group.roles.iter().flat_map(|role| role.instances.iter().copied());
        let pods: Vec<&Uid> = instances.flat_map(uids).collect();
        if self.accounts.is_empty() {
            return Ok(());
        }
        crate::budget::remove_all(&mut self.accounts, pods).map_err(|shortage| shortage.to_string())
    }

    /// Keeps only the baselines and failures of what is still there.
    pub(crate) fn forget_baselines(&mut self, seen: &BTreeMap<u32, Seen<'_>>) {
        if !self.memory.baselines.is_empty() {
            let pods = seen.values().flat_map(Seen::instances).flat_map(|instance| &instance.pods);
            let there: BTreeSet<&Uid> = pods.filter(|pod| pod.restarts > 0).map(|pod| &pod.uid).collect();
            self.memory.baselines.retain(|uid, _| there.contains(uid));
        }
        let spec = self.spec;
        self.memory.restarts.retain(|key, _| still_wanted(spec, key));
    }
}

/// An instance that is replaced is on its way out from here on.
fn leave(unit: &mut Unit) {
    unit.standing = Standing::Terminating;
    unit.ready = false;
    unit.available = false;
    unit.stably_broken = false;
    unit.held = false;
    unit.staged = false;
    unit.unscheduled = false;
}

fn key(group: u32, role: &Role, instance: u32) -> String {
    format!("{group}/{}/{instance}", role.name)
}

fn still_wanted(spec: &crate::model::Spec, key: &str) -> bool {
    let mut parts = key.split('/');
    let group: Option<u32> = parts.next().and_then(|g| g.parse().ok());
    let role = parts.next();
    let in_spec = role.is_none_or(|name| spec.roles.iter().any(|role| role.name.as_str() == name));
    group.is_some_and(|g| g < spec.replicas.saturating_add(spec.strategy.limits(spec.replicas).surge))
        && in_spec
}
