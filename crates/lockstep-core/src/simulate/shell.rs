//! The shell of the model world: plan on the view, remember, act.

use std::collections::BTreeMap;

use super::trace::{By, End, Event, SpecEvent, Subject, What};
use super::view::View;
use super::{Job, Sim};
use crate::blocked::{Blocked, Reason};
use crate::model::Spec;
use crate::names::GangKey;
use crate::observe::Aims;
use crate::plan::{Action, Create, Delete, Plan, Ungate, plan};
use crate::status::Phase;

impl Sim<'_> {
    /// Makes one plan and carries it out. Returns how the run ends, if it does.
    pub(super) fn plan(&mut self) -> Option<End> {
        self.dirty = false;
        let spec = self.spec?;
        self.plans += 1;
        self.view.snapshot.memory = std::mem::take(&mut self.memory);
        if self.view.snapshot.layouts.len() != self.world.layouts.len() || self.plans % 64 == 1 {
            self.view.snapshot.layouts = self.world.layouts.clone();
        }
        let plan = plan(spec, &self.view.snapshot, self.now);
        let before = &self.view.snapshot.memory;
        let moved = before.overridden != plan.memory.overridden || before.roles != plan.memory.roles;
        self.memory = plan.memory.clone();
        if moved {
            self.say_spec();
        }
        self.status = Some(plan.status.clone());
        self.say_blocked(&plan.blocked);
        self.act(&plan);
        self.sleep_until(&plan);
        if self.scenario.nature.promote && self.promote(spec) {
            self.dirty = true;
        }
        self.end(&plan)
    }

    fn promote(&mut self, spec: &Spec) -> bool {
        let waits = self.blocked.values().any(|b| {
            b.reason == Reason::PauseStep
                && b.message.ends_with("until it is promoted")
                && !b.message.contains("time is over")
        });
        if !waits {
            return false;
        }
        let before = self.memory.promoted.clone();
        let passed = crate::verbs::promote(spec, &mut self.memory, None, self.now);
        for promotion in self.memory.promoted.difference(&before) {
            (self.sink)(Event::at(self.now.0, What::Promoted(promotion.clone())));
        }
        passed > 0
    }

    fn act(&mut self, plan: &Plan) {
        for gang in &plan.gangs {
            let id = (gang.group, gang.incarnation, GangKey::new(&gang.name.to_string()));
            self.world.gangs.insert(id, gang.minimum);
        }
        let mut left = self.die_after.take();
        for action in &plan.actions {
            if left == Some(0) {
                self.restart_controller();
                return;
            }
            left = left.map(|n| n - 1);
            match action {
                Action::Create(create) => self.create(create),
                Action::Delete(delete) => self.delete(delete),
                Action::Ungate(ungate) => self.ungate(ungate),
            }
        }
        if left.is_some() {
            self.restart_controller();
        }
    }

    /// The next controller starts from a quorum list and the memory in status.
    fn restart_controller(&mut self) {
        self.queue.retain(|_, job| !matches!(job, Job::Deliver(..)));
        self.undelivered = 0;
        self.view = View::list(&self.world);
        self.dirty = true;
    }

    fn create(&mut self, create: &Create) {
        let of = subject(create.of.group, &create.of.role, create.of.instance);
        // What looked like a few missing pods may have been the last of it, and what starts after others of its instance
        // is created after them.
        if self.world.instance(&of).all(|pod| pod.pod.terminating) {
            self.say_create(create);
        }
        for name in self.world.create(create, self.now) {
            if let Some(made) = self.world.pods.get(&name) {
                let pod = made.pod.clone();
                self.view.creating(&name, &pod);
            }
            self.touch(&name, (By::Engine, "create"));
        }
    }

    pub(super) fn say_create(&mut self, create: &Create) {
        let of = subject(create.of.group, &create.of.role, create.of.instance);
        let (revision, set_revision) = (create.revision, create.set_revision);
        let why = format!("{:?}", create.why);
        (self.sink)(Event::at(self.now.0, What::Create { of: of.clone(), revision, set_revision, why }));
        if create.gated {
            (self.sink)(Event::at(self.now.0, What::Gate { of, revision }));
        }
    }

    /// Deletes pod by pod; one that changed since it was seen is left, and so are those after it.
    fn delete(&mut self, delete: &Delete) {
        let why = format!("{:?}", delete.why);
        for uid in &delete.uids {
            let Some(name) = self.world.names.get(uid).cloned() else { continue };
            let version = self.world.pods.get(&name).map(|pod| pod.version);
            if !delete.paid && version != self.view.version(uid) {
                return;
            }
            self.view.deleting(&name, uid);
            self.terminate(uid, (By::Engine, &why));
        }
    }

    fn ungate(&mut self, ungate: &Ungate) {
        let of = subject(ungate.of.group, &ungate.of.role, ungate.of.instance);
        // An instance of which some pods run already only goes on starting.
        let held = self.world.instance(&of).all(|pod| pod.pod.terminating || pod.pod.gated);
        for uid in &ungate.uids {
            let Some(name) = self.world.names.get(uid).cloned() else { continue };
            let gated = self.world.pods.get(&name).is_some_and(|pod| pod.pod.gated && !pod.pod.terminating);
            if !gated {
                continue;
            }
            self.world.change(&name, |pod| pod.gated = false);
            self.world.pending.insert(name.clone());
            self.view.ungating(&name, uid);
            let revision = self.world.pods.get(&name).map(|pod| pod.pod.revision).unwrap_or_default();
            if held {
                (self.sink)(Event::at(self.now.0, What::Ungate { of: of.clone(), revision }));
            }
            self.touch(&name, (By::Engine, "ungate"));
        }
    }

    fn sleep_until(&mut self, plan: &Plan) {
        if let Some(key) = self.wake.take() {
            self.queue.remove(&key);
        }
        self.wake = plan.wake.map(|time| self.at(time, Job::Wake));
    }

    /// The good end the last plan saw, if it saw one.
    pub(super) fn good_end(&self) -> Option<End> {
        match self.status.as_ref()?.phase {
            Phase::Complete => Some(End::Complete),
            Phase::PartitionReached => Some(End::PartitionReached),
            Phase::RolledBack => Some(End::RolledBack),
            _ => None,
        }
    }

    fn end(&self, plan: &Plan) -> Option<End> {
        let end = self.good_end()?;
        let quiet = plan.actions.is_empty()
            && !self.dirty
            && self.changes_left == 0
            && self.undelivered == 0
            && self.now >= self.began
            && !self.faults_ahead()
            && self.world.pods.values().all(|pod| !pod.pod.terminating);
        quiet.then_some(end)
    }

    fn faults_ahead(&self) -> bool {
        self.queue.values().any(|job| {
            matches!(
                job,
                Job::Crash
                    | Job::FailOne
                    | Job::Evict
                    | Job::Blink
                    | Job::LoseNode
                    | Job::KillController
                    | Job::LoseMemory
                    | Job::Strike(_)
                    | Job::Unready(_)
                    | Job::Fail(_)
            )
        })
    }

    pub(super) fn learn_layouts(&mut self, spec: &Spec) {
        for role in &spec.roles {
            let of_role = self.world.layouts.entry(role.name.clone()).or_default();
            of_role.insert(role.revision, role.members.clone());
        }
        self.view.snapshot.layouts = self.world.layouts.clone();
    }

    /// Tells the trace what is wished for, and towards which revisions.
    pub(super) fn say_spec(&mut self) {
        let Some(spec) = self.spec else { return };
        self.recorder.follow(spec);
        let aims = Aims::of(spec, &self.memory);
        let names = || spec.roles.iter().map(|role| role.name.clone());
        let stable = |name: &_| self.memory.roles.get(name).and_then(|known| known.stable);
        let event = SpecEvent {
            spec: spec.clone(),
            targets: names().zip(aims.roles.iter().map(|aim| aim.compass.target)).collect(),
            stable: names().filter_map(|name| Some((name.clone(), stable(&name)?))).collect(),
            lag: self.scenario.nature.lag.max.0,
            // What it writes is laid over its view at once.
            own: 0,
            unheard: false,
            anew: false,
        };
        (self.sink)(Event::at(self.now.0, What::Spec(Box::new(event))));
    }

    fn say_blocked(&mut self, blocked: &[Blocked]) {
        let now: BTreeMap<String, Blocked> = blocked.iter().map(|b| (b.key(), b.clone())).collect();
        let before = std::mem::take(&mut self.blocked);
        for (key, block) in &before {
            if !now.contains_key(key) {
                self.count_wait(block);
            }
        }
        for (key, block) in &now {
            if !before.contains_key(key) {
                let Blocked { what, reason, rule, message, .. } = block.clone();
                (self.sink)(Event::at(self.now.0, What::Blocked { what, reason, rule, message }));
            }
        }
        self.blocked = now;
    }
}

fn subject(group: u32, role: &crate::names::RoleName, instance: u32) -> Subject {
    Subject { group, role: role.clone(), instance }
}
