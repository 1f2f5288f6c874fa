//! What happens in the model world by itself: pods start, fail, are evicted; nodes come and go.

use super::faults::{Blow, Span, Strike};
use super::trace::By;
use super::world::{PodName, WorldPod};
use super::{Job, Sim};
use crate::names::Uid;
use crate::snapshot::{CompleteSet, Memory, Pod, RoleMemory};
use crate::time::{Millis, Time};

impl Sim<'_> {
    /// Sets the stage: the initial spec stands complete, then the first change comes.
    pub(super) fn begin(&mut self) {
        if let Some(present) = &self.scenario.present {
            self.now = present.now;
        }
        let longest =
            self.scenario.initial.iter().flat_map(|spec| &spec.roles).map(|role| role.min_ready).max();
        let quiet = longest.unwrap_or_default() + Millis::seconds(10);
        self.began = match (&self.scenario.present, &self.scenario.initial) {
            (Some(present), _) => present.now,
            (None, Some(_)) => Time(0) + quiet,
            (None, None) => Time(0),
        };
        self.changes_left = self.scenario.changes.len();
        for index in 0..self.scenario.changes.len() {
            let at = self.began + self.scenario.changes[index].0;
            self.at(at, Job::Change(index));
        }
        let faults = &self.scenario.faults;
        let regular = [
            (faults.crash, Job::Crash),
            (faults.fail, Job::FailOne),
            (faults.eviction, Job::Evict),
            (faults.blink, Job::Blink),
            (faults.node_loss, Job::LoseNode),
            (faults.controller_crash, Job::KillController),
            (faults.memory_loss, Job::LoseMemory),
        ];
        for (every, job) in regular {
            if let Some(every) = every {
                let first = self.began + Millis(self.rng.between(0, every.0));
                self.at_fault(first, job);
            }
        }
        for (index, strike) in faults.strikes.iter().enumerate() {
            self.at(self.began + strike.after, Job::Strike(index));
        }
        if let Some(initial) = &self.scenario.initial {
            self.spec = Some(initial);
            match &self.scenario.present {
                Some(present) => self.resume(present, initial),
                None => self.furnish(initial),
            }
        }
    }

    /// Puts the complete initial state into the world, the view and the memory.
    fn furnish(&mut self, spec: &crate::model::Spec) {
        self.learn_layouts(spec);
        let set_revision = spec.revision();
        for role in &spec.roles {
            let stable = Some(role.revision);
            self.memory.roles.insert(role.name.clone(), RoleMemory { stable, max_unavailable: 1 });
        }
        let roles = spec.roles.iter().map(|role| (role.name.clone(), role.revision)).collect();
        self.memory.complete = Some(CompleteSet { revision: set_revision, roles });
        self.memory.since = Some(Time(0));
        self.say_spec();
        let memory: Memory = self.memory.clone();
        // A first start in an instant: plan it, create it, and have it ready.
        let plan =
            crate::plan::plan(spec, &crate::snapshot::Snapshot { memory, ..Default::default() }, Time(0));
        for action in &plan.actions {
            let crate::plan::Action::Create(create) = action else { continue };
            let create = crate::plan::Create { gated: false, ..create.clone() };
            self.say_create(&create);
            for name in self.world.create(&create, Time(0)) {
                self.world.change(&name, |pod| pod.bound = Some(Time(0)));
            }
        }
        self.memory.groups = plan.memory.groups;
        self.world.schedule(Time(0));
        let names: Vec<PodName> = self.world.pods.keys().cloned().collect();
        for name in names {
            self.world.pending.remove(&name);
            self.world.change(&name, |pod| {
                pod.bound = Some(Time(0));
                pod.ready = Some(Time(0));
            });
            self.touch(&name, (By::World, ""));
        }
        self.view = super::view::View::list(&self.world);
    }

    fn at_fault(&mut self, time: Time, job: Job) {
        if time <= self.began + self.scenario.faults.until {
            self.at(time, job);
        }
    }

    /// About every so often.
    fn again(&mut self, every: Option<Millis>, job: Job) {
        if let Some(Millis(every)) = every {
            let wait = self.rng.between(every / 2, every + every / 2).max(1);
            self.at_fault(self.now + Millis(wait), job);
        }
    }

    pub(super) fn happen(&mut self, job: Job) {
        let faults = &self.scenario.faults;
        match job {
            Job::Change(index) => self.change_spec(index),
            Job::Ready(uid) => self.become_ready(&uid),
            Job::Unready(uid) => self.become_unready(&uid),
            Job::Fail(uid) => self.fail(&uid),
            Job::Gone(uid) => self.vanish(&uid),
            Job::Deliver(name, uid, pod) => self.deliver(&name, &uid, pod.as_deref()),
            Job::Wake => self.dirty = true,
            Job::Crash => {
                self.crash_one();
                self.again(faults.crash, Job::Crash);
            }
            Job::FailOne => {
                if let Some(uid) = self.pick(|pod| pod.bound.is_some() && !pod.failed) {
                    self.fail(&uid);
                }
                self.again(faults.fail, Job::FailOne);
            }
            Job::Evict => {
                if let Some(uid) = self.pick(|_| true) {
                    self.terminate(&uid, (By::World, "eviction"));
                }
                self.again(faults.eviction, Job::Evict);
            }
            Job::Blink => {
                if let Some(uid) = self.pick(Pod::is_ready) {
                    self.become_unready(&uid);
                    let back = Millis(self.rng.between(500, 5000));
                    self.after(back, Job::Ready(uid));
                }
                self.again(faults.blink, Job::Blink);
            }
            Job::LoseNode => {
                self.lose_node();
                self.again(faults.node_loss, Job::LoseNode);
            }
            Job::NodeBack(node) => self.world.nodes[node].down = false,
            Job::KillController => {
                self.die_after = Some(self.rng.below(4));
                self.dirty = true;
                self.again(faults.controller_crash, Job::KillController);
            }
            Job::Strike(index) => self.strike(&faults.strikes[index]),
            Job::LoseMemory => {
                self.memory = Memory::default();
                self.dirty = true;
                self.again(faults.memory_loss, Job::LoseMemory);
            }
        }
    }

    fn change_spec(&mut self, index: usize) {
        let spec = &self.scenario.changes[index].1;
        self.changes_left -= 1;
        self.spec = Some(spec);
        self.learn_layouts(spec);
        self.say_spec();
        self.dirty = true;
    }

    fn look(&mut self, name: &PodName, cause: (By, &str)) {
        let of = name.subject();
        let pods: Vec<&Pod> = self.world.instance(&of).map(|pod| &pod.pod).collect();
        let layouts = self.world.layouts.get(&name.role);
        let members = |revision| layouts.and_then(|of| of.get(&revision)).map_or(&[][..], Vec::as_slice);
        self.recorder.look(&of, &pods, members, cause, self.now, self.sink);
    }

    /// Tells recorder and view of a change to a pod.
    pub(super) fn touch(&mut self, name: &PodName, cause: (By, &str)) {
        self.look(name, cause);
        let pod = self.world.pods.get(name).cloned();
        if let Some(pod) = pod {
            let uid = pod.pod.uid.clone();
            self.send(name.clone(), uid, Some(pod));
        }
    }

    /// Sends news to the view, now or later, always in order.
    pub(super) fn send(&mut self, name: PodName, uid: Uid, pod: Option<WorldPod>) {
        let lag = self.scenario.nature.lag;
        if lag == Span::default() {
            self.deliver_now(&name, &uid, pod.as_ref());
            return;
        }
        let time = (self.now + lag.draw(&mut self.rng)).max(self.delivered_until);
        self.delivered_until = time;
        self.undelivered += 1;
        self.at(time, Job::Deliver(name, uid, pod.map(Box::new)));
    }

    fn deliver(&mut self, name: &PodName, uid: &Uid, pod: Option<&WorldPod>) {
        self.undelivered = self.undelivered.saturating_sub(1);
        self.deliver_now(name, uid, pod);
    }

    fn deliver_now(&mut self, name: &PodName, uid: &Uid, pod: Option<&WorldPod>) {
        match pod {
            Some(pod) => self.view.put(name, pod),
            None => self.view.gone(name, uid),
        }
        self.dirty = true;
    }

    fn name(&self, uid: &Uid) -> Option<PodName> {
        self.world.names.get(uid).cloned()
    }

    fn pick(&mut self, which: impl Fn(&Pod) -> bool) -> Option<Uid> {
        let fitting: Vec<&Pod> = self
            .world
            .pods
            .values()
            .map(|pod| &pod.pod)
            .filter(|pod| !pod.terminating && which(pod))
            .collect();
        self.rng.pick(&fitting).map(|pod| pod.uid.clone())
    }

    fn become_ready(&mut self, uid: &Uid) {
        let Some(name) = self.name(uid) else { return };
        let now = self.now;
        let fit = self.world.pods.get(&name).is_some_and(|pod| {
            !pod.pod.terminating && !pod.pod.failed && pod.pod.bound.is_some() && pod.pod.ready.is_none()
        });
        if !fit {
            return;
        }
        self.world.change(&name, |pod| pod.ready = Some(now));
        self.touch(&name, (By::World, "ready"));
        let revision = self.world.pods.get(&name).map(|pod| pod.pod.revision);
        if revision.is_some_and(|r| self.scenario.faults.flapping.contains(&r)) {
            let up = Millis(self.rng.between(2000, 8000));
            self.after(up, Job::Unready(uid.clone()));
            let back = up + Millis(self.rng.between(1000, 8000));
            self.after(back, Job::Ready(uid.clone()));
        }
    }

    fn become_unready(&mut self, uid: &Uid) {
        let Some(name) = self.name(uid) else { return };
        let now = self.now;
        if self.world.pods.get(&name).is_some_and(|pod| pod.pod.is_ready()) {
            self.world.change(&name, |pod| {
                pod.ready = None;
                pod.unready = Some(now);
            });
            self.touch(&name, (By::World, "unready"));
        }
    }

    /// Something happens to one instance that was named beforehand.
    fn strike(&mut self, strike: &Strike) {
        let struck =
            |pod: &&WorldPod| !pod.pod.terminating && (strike.by != Blow::Crash || pod.pod.is_ready());
        let pods = self.world.instance(&strike.of).filter(struck);
        let uids: Vec<Uid> = pods.map(|pod| pod.pod.uid.clone()).collect();
        for uid in uids {
            match strike.by {
                Blow::Evict => self.terminate(&uid, (By::World, "eviction")),
                Blow::Crash => self.crash(uid),
                Blow::Fail => self.fail(&uid),
            }
        }
    }

    fn crash_one(&mut self) {
        if let Some(uid) = self.pick(Pod::is_ready) {
            self.crash(uid);
        }
    }

    fn crash(&mut self, uid: Uid) {
        let Some(name) = self.name(&uid) else { return };
        self.world.change(&name, |pod| pod.restarts += 1);
        self.become_unready(&uid);
        let length = self.start_up(&name);
        self.after(length, Job::Ready(uid));
    }

    fn fail(&mut self, uid: &Uid) {
        let Some(name) = self.name(uid) else { return };
        let now = self.now;
        self.world.change(&name, |pod| {
            pod.unready = pod.ready.map_or(pod.unready, |_| Some(now));
            pod.ready = None;
            pod.failed = true;
        });
        self.touch(&name, (By::World, "failed"));
    }

    /// A delete was asked for; the pod goes after its termination time.
    pub(super) fn terminate(&mut self, uid: &Uid, cause: (By, &str)) {
        let Some(name) = self.name(uid) else { return };
        if self.world.pods.get(&name).is_none_or(|pod| pod.pod.terminating) {
            return;
        }
        let unbound = self.world.pods.get(&name).is_some_and(|pod| pod.pod.bound.is_none());
        self.world.change(&name, |pod| pod.terminating = true);
        self.world.pending.remove(&name);
        self.touch(&name, cause);
        let length = if unbound { Millis(1) } else { self.scenario.nature.termination.draw(&mut self.rng) };
        self.after(length, Job::Gone(uid.clone()));
    }

    fn vanish(&mut self, uid: &Uid) {
        let Some(name) = self.name(uid) else { return };
        self.world.remove(&name);
        self.look(&name, (By::World, "gone"));
        self.send(name, uid.clone(), None);
    }

    fn lose_node(&mut self) {
        let up: Vec<usize> = (0..self.world.nodes.len()).filter(|n| !self.world.nodes[*n].down).collect();
        let Some(&lost) = self.rng.pick(&up) else { return };
        self.world.nodes[lost].down = true;
        let on_it: Vec<Uid> = self
            .world
            .pods
            .values()
            .filter(|pod| pod.node == Some(lost))
            .map(|pod| pod.pod.uid.clone())
            .collect();
        for uid in on_it {
            self.become_unready(&uid);
            self.terminate(&uid, (By::World, "node lost"));
        }
        let back = Millis(self.rng.between(20_000, 120_000));
        self.after(back, Job::NodeBack(lost));
    }

    pub(super) fn start_up(&mut self, name: &PodName) -> Millis {
        let nature = &self.scenario.nature;
        nature.start_up.get(&name.role).copied().unwrap_or(nature.start_up_default).draw(&mut self.rng)
    }

    /// Binds what can be bound; from there a pod takes its time to ready.
    pub(super) fn schedule(&mut self) {
        for name in self.world.schedule(self.now) {
            self.touch(&name, (By::World, "scheduled"));
            let Some(pod) = self.world.pods.get(&name) else { continue };
            let (uid, revision) = (pod.pod.uid.clone(), pod.pod.revision);
            let length = self.start_up(&name);
            let faults = &self.scenario.faults;
            if faults.failing.contains(&revision) {
                self.after(length, Job::Fail(uid));
            } else if !faults.never_ready.contains(&revision) {
                self.after(length, Job::Ready(uid));
            }
        }
    }
}
