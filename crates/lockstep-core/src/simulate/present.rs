//! A run that begins with what a cluster holds: in the middle of a rollout, with pods that start and pods that go.

use std::collections::BTreeMap;

use super::trace::{By, Event, Subject, What};
use super::view::View;
use super::world::{PodName, WorldPod};
use super::{Job, Sim};
use crate::model::Spec;
use crate::snapshot::{Pod, Snapshot};
use crate::time::{Millis, Time};

/// The node of pods that have one already, in a world where nodes are not counted.
const SOMEWHERE: usize = usize::MAX;

/// What is there when a run begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Present {
    /// The pods and the memory.
    pub snapshot: Snapshot,
    /// When that was seen.
    pub now: Time,
}

impl Sim<'_> {
    /// Puts what is there into the world. What starts takes its whole start-up time from now on, and what has stopped
    /// being ready recovers in the same time: nobody knows how much of it is over.
    pub(super) fn resume(&mut self, present: &Present, spec: &Spec) {
        self.world.layouts = present.snapshot.layouts.clone();
        self.learn_layouts(spec);
        self.memory = present.snapshot.memory.clone();
        let pods = pods(&present.snapshot);
        for (name, pod) in &pods {
            self.settle_in(name, pod);
        }
        // All this is told as if it had happened long enough ago for what is ready to be available.
        let longest = spec.roles.iter().map(|role| role.min_ready).max().unwrap_or_default();
        self.now = Time(present.now.0.saturating_sub(longest.0.saturating_add(1)));
        self.say_spec();
        let mut known: Option<Subject> = None;
        for (name, pod) in &pods {
            let of = name.subject();
            if known.as_ref() != Some(&of) {
                let (revision, set_revision) = (pod.revision, pod.set_revision);
                let what = What::Create { of: of.clone(), revision, set_revision, why: "Recover".to_owned() };
                (self.sink)(Event::at(self.now.0, what));
                known = Some(of);
            }
        }
        for name in pods.keys() {
            self.touch(name, (By::World, ""));
        }
        self.now = present.now;
        self.view = View::list(&self.world);
        for group in &mut self.view.snapshot.groups {
            let seen = present.snapshot.groups.iter().find(|seen| seen.group == group.group);
            group.base_scheduled = seen.is_some_and(|seen| seen.base_scheduled);
        }
    }

    fn settle_in(&mut self, name: &PodName, pod: &Pod) {
        let mut pod = pod.clone();
        if pod.uid.as_str().is_empty() {
            pod.uid = self.world.uid();
        }
        let uid = pod.uid.clone();
        let gang = pod.gang.clone().map(|key| (name.group, pod.incarnation, key));
        let (bound, ready) = (pod.bound.is_some() || pod.ready.is_some(), pod.ready.is_some());
        let (terminating, gated, failed) = (pod.terminating, pod.gated, pod.failed);
        self.world.names.insert(uid.clone(), name.clone());
        let node = bound.then_some(SOMEWHERE);
        self.world.pods.insert(name.clone(), WorldPod { pod, version: 1, node, gang, batch: None });
        match () {
            () if terminating && bound => {
                let length = self.scenario.nature.termination.draw(&mut self.rng);
                self.after(length, Job::Gone(uid));
            }
            () if terminating => self.after(Millis(1), Job::Gone(uid)),
            () if gated || failed || ready => {}
            () if bound => {
                let length = self.start_up(name);
                self.after(length, Job::Ready(uid));
            }
            () => {
                self.world.pending.insert(name.clone());
            }
        }
    }
}

/// The pods of a snapshot by their names. Of two with one name the one that stays counts.
fn pods(snapshot: &Snapshot) -> BTreeMap<PodName, &Pod> {
    let mut pods: BTreeMap<PodName, &Pod> = BTreeMap::new();
    for group in &snapshot.groups {
        for role in &group.roles {
            for instance in &role.instances {
                for pod in &instance.pods {
                    let name = PodName {
                        group: group.group,
                        role: role.role.clone(),
                        instance: instance.instance,
                        member: pod.member.clone(),
                        index: pod.index,
                    };
                    pods.entry(name)
                        .and_modify(|other| *other = if other.terminating { pod } else { *other })
                        .or_insert(pod);
                }
            }
        }
    }
    pods
}
