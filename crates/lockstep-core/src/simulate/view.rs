//! The shell's view of the world: a cache that may lag, with our own writes laid over it.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{PodName, World, WorldPod};
use crate::names::{RoleName, Uid};
use crate::snapshot::{Group, Instance, Pod, RoleInstances, Snapshot};

/// What the shell believes.
#[derive(Debug, Default)]
pub struct View {
    /// The pods, as a snapshot that is changed in place.
    pub snapshot: Snapshot,
    versions: BTreeMap<Uid, u64>,
    own_deletes: BTreeSet<Uid>,
    own_creates: BTreeSet<PodName>,
}

impl View {
    /// A quorum list, as a controller makes when it starts.
    pub fn list(world: &World) -> Self {
        let mut view = Self::default();
        for (name, pod) in &world.pods {
            view.put(name, pod);
        }
        view
    }

    /// The cache shows a pod.
    pub fn put(&mut self, name: &PodName, seen: &WorldPod) {
        self.own_creates.remove(name);
        let mut pod = seen.pod.clone();
        let asked = !pod.terminating && self.own_deletes.contains(&pod.uid);
        pod.terminating |= asked;
        pod.in_flight = asked;
        self.versions.insert(pod.uid.clone(), seen.version);
        self.set(name, pod);
    }

    /// The cache shows that a pod is gone.
    pub fn gone(&mut self, name: &PodName, uid: &Uid) {
        self.own_deletes.remove(uid);
        self.versions.remove(uid);
        let pods = &mut self.instance(name).pods;
        pods.retain(|pod| pod.uid != *uid);
    }

    /// We issued a create that the cache has not shown yet.
    pub fn creating(&mut self, name: &PodName, pod: &Pod) {
        self.own_creates.insert(name.clone());
        self.set(name, Pod { in_flight: true, ..pod.clone() });
    }

    /// We issued a delete.
    pub fn deleting(&mut self, name: &PodName, uid: &Uid) {
        self.own_deletes.insert(uid.clone());
        let pods = &mut self.instance(name).pods;
        for pod in pods.iter_mut().filter(|pod| pod.uid == *uid && !pod.terminating) {
            pod.terminating = true;
            pod.in_flight = true;
        }
    }

    /// We lifted a gate.
    pub fn ungating(&mut self, name: &PodName, uid: &Uid) {
        let pods = &mut self.instance(name).pods;
        pods.iter_mut().filter(|pod| pod.uid == *uid).for_each(|pod| pod.gated = false);
    }

    /// The version of a pod that the cache last showed.
    pub fn version(&self, uid: &Uid) -> Option<u64> {
        self.versions.get(uid).copied()
    }

    fn set(&mut self, name: &PodName, pod: Pod) {
        let pods = &mut self.instance(name).pods;
        match pods.iter_mut().find(|p| p.member == pod.member && p.index == pod.index) {
            Some(slot) => *slot = pod,
            None => pods.push(pod),
        }
    }

    fn instance(&mut self, name: &PodName) -> &mut Instance {
        let roles = &mut group(&mut self.snapshot.groups, name.group).roles;
        let instances = &mut role(roles, &name.role).instances;
        let at = match instances.binary_search_by_key(&name.instance, |instance| instance.instance) {
            Ok(at) => at,
            Err(at) => {
                instances.insert(at, Instance { instance: name.instance, pods: Vec::new() });
                at
            }
        };
        &mut instances[at]
    }
}

fn group(groups: &mut Vec<Group>, ordinal: u32) -> &mut Group {
    let at = match groups.binary_search_by_key(&ordinal, |group| group.group) {
        Ok(at) => at,
        Err(at) => {
            groups.insert(at, Group { group: ordinal, ..Group::default() });
            at
        }
    };
    &mut groups[at]
}

fn role<'a>(roles: &'a mut Vec<RoleInstances>, name: &RoleName) -> &'a mut RoleInstances {
    let at = match roles.iter().position(|role| role.role == *name) {
        Some(at) => at,
        None => {
            roles.push(RoleInstances { role: name.clone(), instances: Vec::new() });
            roles.len() - 1
        }
    };
    &mut roles[at]
}
