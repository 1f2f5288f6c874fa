//! The model world: pods, nodes and a scheduler.

use std::collections::{BTreeMap, BTreeSet};

use super::trace::Subject;
use crate::model::Member;
use crate::names::{GangKey, MemberName, RoleName, Uid};
use crate::plan::Create;
use crate::revision::Revision;
use crate::snapshot::Pod;
use crate::time::Time;

/// The name of a pod: an ordinal has one pod at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodName {
    /// The group.
    pub group: u32,
    /// The role.
    pub role: RoleName,
    /// The instance.
    pub instance: u32,
    /// The member.
    pub member: MemberName,
    /// The index.
    pub index: u32,
}

impl PodName {
    /// Its instance.
    pub fn subject(&self) -> Subject {
        Subject { group: self.group, role: self.role.clone(), instance: self.instance }
    }
}

/// A gang: the group, the incarnation, the name.
pub type GangId = (u32, u32, GangKey);

/// A pod as it really is.
#[derive(Debug, Clone)]
pub struct WorldPod {
    /// What the shell can see of it.
    pub pod: Pod,
    /// Rises with every change.
    pub version: u64,
    /// Its node.
    pub node: Option<usize>,
    /// Its gang, by group, incarnation and name.
    pub gang: Option<GangId>,
    /// The batch that must share its node.
    pub batch: Option<String>,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
    /// How many pods it can hold.
    pub capacity: u32,
    /// How many it holds.
    pub used: u32,
    /// It is lost.
    pub down: bool,
}

/// Everything that is there.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// The pods, by name.
    pub pods: BTreeMap<PodName, WorldPod>,
    /// Names by UID.
    pub names: BTreeMap<Uid, PodName>,
    /// Pods that have no node and no gate.
    pub pending: BTreeSet<PodName>,
    /// The nodes; none means room without end.
    pub nodes: Vec<Node>,
    /// How many pods of each gang must be placed together.
    pub gangs: BTreeMap<GangId, u32>,
    /// What an instance of each revision is made of.
    pub layouts: BTreeMap<RoleName, BTreeMap<Revision, Vec<Member>>>,
    next_uid: u64,
}

impl World {
    /// A world with nodes of these capacities.
    pub fn new(nodes: &[u32]) -> Self {
        let nodes = nodes.iter().map(|&capacity| Node { capacity, used: 0, down: false }).collect();
        Self { nodes, ..Self::default() }
    }

    /// A fresh UID. What was there at the beginning may have one of the same form.
    pub fn uid(&mut self) -> Uid {
        loop {
            self.next_uid += 1;
            let uid = Uid::new(&format!("u{}", self.next_uid));
            if !self.names.contains_key(&uid) {
                return uid;
            }
        }
    }

    /// Creates the pods of an instance; names that are taken are left alone, as an API server would.
    pub fn create(&mut self, create: &Create, now: Time) -> Vec<PodName> {
        let mut made = Vec::new();
        for slot in &create.pods {
            let name = PodName {
                group: create.of.group,
                role: create.of.role.clone(),
                instance: create.of.instance,
                member: slot.member.clone(),
                index: slot.index,
            };
            if self.pods.contains_key(&name) {
                continue;
            }
            let uid = self.uid();
            let place = (create.of.group, create.incarnation);
            let mut pod = Pod {
                member: slot.member.clone(),
                index: slot.index,
                uid: uid.clone(),
                revision: create.revision,
                set_revision: create.set_revision,
                incarnation: create.incarnation,
                created: now,
                gated: create.gated,
                ..Pod::default()
            };
            let key = create.gang.as_ref().map(|gang| GangKey::new(&gang.to_string()));
            let gang = key.clone().map(|key| (place.0, place.1, key));
            pod.gang = key;
            let batch = create.batches.iter().find(|b| b.required);
            let batch = batch.map(|b| format!("{place:?}/{}/{}", b.rule, b.batch));
            self.names.insert(uid, name.clone());
            if !create.gated {
                self.pending.insert(name.clone());
            }
            self.pods.insert(name.clone(), WorldPod { pod, version: 1, node: None, gang, batch });
            made.push(name);
        }
        made
    }

    /// Changes a pod.
    pub fn change(&mut self, name: &PodName, how: impl FnOnce(&mut Pod)) {
        if let Some(pod) = self.pods.get_mut(name) {
            how(&mut pod.pod);
            pod.version += 1;
        }
    }

    /// Takes a pod out of the world.
    pub fn remove(&mut self, name: &PodName) -> Option<WorldPod> {
        let pod = self.pods.remove(name)?;
        self.names.remove(&pod.pod.uid);
        self.pending.remove(name);
        if let Some(node) = pod.node.and_then(|n| self.nodes.get_mut(n)) {
            node.used = node.used.saturating_sub(1);
        }
        Some(pod)
    }

    /// The pods of an instance.
    pub fn instance<'a>(
        &'a self,
        Subject { group, role, instance }: &'a Subject,
    ) -> impl Iterator<Item = &'a WorldPod> {
        let first = PodName {
            group: *group,
            role: role.clone(),
            instance: *instance,
            member: MemberName::new(""),
            index: 0,
        };
        self.pods
            .range(first..)
            .take_while(move |(name, _)| {
                name.group == *group && name.role == *role && name.instance == *instance
            })
            .map(|(_, pod)| pod)
    }

    /// Binds what can be bound. A gang is bound only if its minimum can be.
    pub fn schedule(&mut self, now: Time) -> Vec<PodName> {
        let mut bound = Vec::new();
        let mut gangs: BTreeSet<GangId> = BTreeSet::new();
        for name in self.pending.clone() {
            let Some(pod) = self.pods.get(&name) else { continue };
            match &pod.gang {
                None => bound.extend(self.bind(&name, now)),
                Some(gang) => {
                    let gang = gang.clone();
                    if gangs.insert(gang.clone()) {
                        bound.extend(self.bind_gang(&gang, now));
                    }
                }
            }
        }
        bound
    }

    fn bind_gang(&mut self, gang: &GangId, now: Time) -> Vec<PodName> {
        let of_gang = |pod: &WorldPod| pod.gang.as_ref() == Some(gang);
        // The minimum binds every later pod too, not only at first, as Kubernetes' own does.
        let minimum = self.gangs.get(gang).copied().unwrap_or(0);
        let placed = self.pods.values().filter(|pod| of_gang(pod) && pod.node.is_some()).count();
        let waiting: Vec<PodName> =
            self.pending.iter().filter(|name| self.pods.get(name).is_some_and(of_gang)).cloned().collect();
        let before = self.clone_places();
        let bound: Vec<PodName> = waiting.iter().filter_map(|name| self.bind(name, now)).collect();
        if placed + bound.len() >= minimum as usize {
            return bound;
        }
        for name in &bound {
            if let Some(pod) = self.pods.get_mut(name) {
                pod.pod.bound = None;
                pod.node = None;
                pod.version -= 1;
            }
            self.pending.insert(name.clone());
        }
        self.nodes = before;
        Vec::new()
    }

    fn clone_places(&self) -> Vec<Node> {
        self.nodes.clone()
    }

    fn bind(&mut self, name: &PodName, now: Time) -> Option<PodName> {
        let pod = self.pods.get(name)?;
        if pod.pod.terminating || pod.pod.failed {
            return None;
        }
        let node = if self.nodes.is_empty() { usize::MAX } else { self.place(pod)? };
        if let Some(node) = self.nodes.get_mut(node) {
            node.used += 1;
        }
        let pod = self.pods.get_mut(name)?;
        pod.node = Some(node);
        pod.pod.bound = Some(now);
        pod.version += 1;
        self.pending.remove(name);
        Some(name.clone())
    }

    /// A node for a pod: where its batch is, or the emptiest.
    fn place(&self, pod: &WorldPod) -> Option<usize> {
        let fits = |node: &Node| !node.down && node.used < node.capacity;
        if let Some(batch) = &pod.batch {
            let mate =
                self.pods.values().find(|other| other.batch.as_ref() == Some(batch) && other.node.is_some());
            if let Some(node) = mate.and_then(|mate| mate.node) {
                return self.nodes.get(node).filter(|n| fits(n)).map(|_| node);
            }
        }
        let free = |node: &Node| node.capacity - node.used.min(node.capacity);
        (0..self.nodes.len())
            .filter(|n| fits(&self.nodes[*n]))
            .max_by_key(|n| (free(&self.nodes[*n]), usize::MAX - n))
    }
}
