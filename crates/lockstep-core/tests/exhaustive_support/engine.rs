//! The real engine on the small world: slots become a snapshot, a plan becomes acts on slots.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, RwLock};

use lockstep_core::plan::{Action, DeleteWhy, plan};
use lockstep_core::snapshot::{Group, Instance, Memory, Pod as Seen, RestartMemory, RoleInstances, Snapshot};
use lockstep_core::status;
use lockstep_core::time::Time;

use super::{Flaw, Lab, Phase, Pod, State, read, write};

/// The time of every plan: what lies back is told by ticks.
const NOW: u64 = 1_000_000_000;
/// A tick is a little longer than what makes a unit stably broken.
const TICK: u64 = 11_000;

/// What the engine decided.
#[derive(Debug)]
pub struct Decision {
    pub acts: Vec<Act>,
    pub memory: u64,
    pub phase: status::Phase,
}

#[derive(Debug, Clone)]
pub enum Act {
    Create { group: u32, role: usize, instance: u32, slots: Vec<usize>, pod: Pod, refill: bool },
    Delete { group: u32, role: usize, instance: u32, slots: Vec<usize>, paid: bool, why: DeleteWhy },
}

/// Memories by their fingerprint, and decisions by that of what they were made from.
#[derive(Default)]
pub struct Engine {
    memories: RwLock<HashMap<u64, Arc<Memory>>>,
    decisions: RwLock<HashMap<u64, Arc<Decision>>>,
}

pub fn fingerprint(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Lab {
    /// The first wish stands complete, the second has just been made.
    pub fn start(&self) -> State {
        let first = &self.wishes[0];
        let wished = |place: &super::Place| {
            place.group < first.replicas && place.instance < first.roles[place.role].replicas
        };
        let slot = |place: &super::Place| {
            let pod = wished(place).then(|| Pod {
                revision: self.revision(first.roles[place.role].revision),
                set: self.set(first.revision()),
                phase: Phase::Ready,
                age: self.ticks,
                since: self.ticks,
            });
            super::Slot { world: pod, view: pod }
        };
        let mut state = State {
            slots: self.places.iter().map(slot).collect(),
            memory: self.remember(Memory::default()),
            wish: 0,
            stable: first.roles.iter().map(|role| Some(self.revision(role.revision))).collect(),
            best: vec![(0, 0); self.groups() as usize * first.roles.len()],
            faults: self.faults.most,
            broken: None,
        };
        let decision = self.decide(&state);
        assert!(decision.acts.is_empty() && decision.phase == status::Phase::Complete, "complete at first");
        state.memory = decision.memory;
        state.wish = 1;
        state
    }

    pub fn no_memory(&self) -> u64 {
        self.remember(Memory::default())
    }

    /// What the engine does with what the shell sees. It depends on nothing else.
    pub fn decide(&self, state: &State) -> Arc<Decision> {
        let views: Vec<Option<Pod>> = state.slots.iter().map(|slot| slot.view).collect();
        let key = fingerprint((&views, state.memory, state.wish));
        if let Some(known) = read(&self.engine.decisions).get(&key) {
            return known.clone();
        }
        let wish = match &self.flaw {
            Some(Flaw::Believes(wish)) if state.wish > 0 => wish,
            _ => self.wish(state),
        };
        let plan = plan(wish, &self.snapshot(state), Time(NOW));
        let acts = plan.actions.iter().map(|action| self.act(action)).collect();
        let memory = self.remember(plan.memory);
        let decision = Arc::new(Decision { acts, memory, phase: plan.status.phase });
        write(&self.engine.decisions).insert(key, decision.clone());
        decision
    }

    fn act(&self, action: &Action) -> Act {
        let role_of = |name| self.wishes[0].role_index(name).unwrap();
        match action {
            Action::Create(create) => {
                let (group, role, instance) = (create.of.group, role_of(&create.of.role), create.of.instance);
                let wanted = |slot: &usize| create.pods.iter().any(|p| p.index == self.places[*slot].index);
                let slots: Vec<usize> = self.instance(group, role, instance).filter(wanted).collect();
                assert_eq!(slots.len(), create.pods.len(), "{create:?} is beyond any limit");
                let pod = Pod {
                    revision: self.revision(create.revision),
                    set: self.set(create.set_revision),
                    phase: Phase::Starting,
                    age: 0,
                    since: 0,
                };
                Act::Create { group, role, instance, slots, pod, refill: create.refill }
            }
            Action::Delete(delete) => {
                let (group, role, instance) = (delete.of.group, role_of(&delete.of.role), delete.of.instance);
                let slot_of = |uid: &lockstep_core::names::Uid| {
                    self.places.iter().position(|place| place.uid == *uid).unwrap()
                };
                let slots = delete.uids.iter().map(slot_of).collect();
                Act::Delete { group, role, instance, slots, paid: delete.paid, why: delete.why }
            }
            Action::Ungate(_) => unreachable!("nothing has a gate here"),
        }
    }

    fn snapshot(&self, state: &State) -> Snapshot {
        let spec = self.wish(state);
        let mut groups: Vec<Group> = Vec::new();
        for (place, slot) in self.places.iter().zip(&state.slots) {
            let Some(pod) = slot.view else { continue };
            if groups.last().is_none_or(|group| group.group != place.group) {
                groups.push(Group { group: place.group, ..Group::default() });
            }
            let roles = &mut groups.last_mut().unwrap().roles;
            let name = &spec.roles[place.role].name;
            if roles.last().is_none_or(|role| role.role != *name) {
                roles.push(RoleInstances { role: name.clone(), instances: Vec::new() });
            }
            let instances = &mut roles.last_mut().unwrap().instances;
            if instances.last().is_none_or(|instance| instance.instance != place.instance) {
                instances.push(Instance { instance: place.instance, pods: Vec::new() });
            }
            instances.last_mut().unwrap().pods.push(self.seen(spec, place, pod));
        }
        let layouts = spec.roles.iter().map(|role| {
            let all = self.revisions.iter().map(|revision| (*revision, role.members.clone()));
            (role.name.clone(), all.collect::<BTreeMap<_, _>>())
        });
        let memory = read(&self.engine.memories)[&state.memory].as_ref().clone();
        Snapshot { groups, layouts: layouts.collect(), memory, budgets: Vec::new() }
    }

    fn seen(&self, spec: &lockstep_core::model::Spec, place: &super::Place, pod: Pod) -> Seen {
        let created = back(pod.age);
        let since = back(pod.since);
        let in_flight = pod.phase == Phase::InFlight;
        Seen {
            member: spec.roles[place.role].members[0].name.clone(),
            index: place.index,
            uid: place.uid.clone(),
            revision: self.revisions[usize::from(pod.revision)],
            set_revision: self.sets[usize::from(pod.set)],
            incarnation: 1,
            created,
            bound: (!in_flight).then_some(created),
            ready: (pod.phase == Phase::Ready).then_some(since),
            unready: (pod.phase == Phase::Unready).then_some(since),
            failed: pod.phase == Phase::Failed,
            terminating: pod.phase == Phase::Terminating,
            in_flight,
            ..Seen::default()
        }
    }

    /// Keeps a memory, without what no decision here depends on: deadlines and since when something waits.
    fn remember(&self, mut memory: Memory) -> u64 {
        memory.since = Some(Time(0));
        memory.best = None;
        memory.blocked.clear();
        memory.baselines.clear();
        for restarts in memory.restarts.values_mut() {
            restarts.count = restarts.count.min(2);
            restarts.last = self.capped(restarts.last);
        }
        for tried in memory.surges.values_mut().flat_map(|surge| surge.tried.values_mut()) {
            tried.count = tried.count.min(1);
            tried.last = Time(if tried.count > 0 { NOW } else { 0 });
        }
        for group in memory.groups.values_mut() {
            group.incarnation = 1;
            group.unavailable_since = group.unavailable_since.map(|since| self.capped(since));
        }
        let key = fingerprint(serde_json::to_string(&memory).unwrap());
        if !read(&self.engine.memories).contains_key(&key) {
            write(&self.engine.memories).insert(key, Arc::new(memory));
        }
        key
    }

    /// The same memory a tick later.
    pub fn older(&self, memory: u64) -> u64 {
        let mut memory = read(&self.engine.memories)[&memory].as_ref().clone();
        let earlier = |time: Time| Time(time.0 - TICK);
        memory.restarts.values_mut().for_each(|restarts| restarts.last = earlier(restarts.last));
        // A surge that was lost waits for longer than a tick, but not for ever.
        let surges = memory.surges.values_mut().flat_map(|surge| surge.tried.values_mut());
        surges.for_each(|tried| *tried = RestartMemory::default());
        for group in memory.groups.values_mut() {
            group.unavailable_since = group.unavailable_since.map(earlier);
        }
        self.remember(memory)
    }

    fn capped(&self, time: Time) -> Time {
        time.max(back(self.ticks))
    }
}

fn back(ticks: u8) -> Time {
    Time(NOW - u64::from(ticks) * TICK)
}
