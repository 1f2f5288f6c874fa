//! A set as it stands: groups, roles, instances and pods, put together from the labels of its pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use lockstep_api::label;
use lockstep_api::status::RoleStatus;
use lockstep_core::time::Time;
use serde::Serialize;

use super::pod_state;
use crate::input::live_set::{LiveSet, at, stamp};

/// A set and everything in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tree {
    /// The set.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Where its rollout stands.
    pub phase: String,
    /// What it waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub waiting_for: String,
    /// The last complete revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable: Option<String>,
    /// The revision wished for.
    pub update: String,
    /// Groups wished for.
    pub replicas: u32,
    /// Groups that are ready.
    pub ready: u32,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "stamp")]
    pub created: Option<Time>,
    /// Its groups.
    pub groups: Vec<Group>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Its ordinal.
    pub group: u32,
    /// It is on its way between revisions.
    pub in_update: bool,
    /// Its roles, as the set lists them.
    pub roles: Vec<Role>,
}

/// A role of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    /// Its name.
    pub role: String,
    /// Instances wished for in this group.
    pub replicas: u32,
    /// Its instances, those that are not there included.
    pub instances: Vec<Instance>,
}

/// An instance of a role.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Its ordinal.
    pub instance: u32,
    /// Old, new, or neither known.
    pub mark: Mark,
    /// Its pods.
    pub pods: Vec<PodView>,
}

/// How an instance stands in the rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// At the revision wished for.
    Settled,
    /// At another revision.
    Old,
    /// On its way: leaving, or at the revision wished for and not ready yet.
    Updating,
    /// Stands in for others.
    Surge,
    /// Wished for and not there.
    Missing,
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodView {
    /// Its name.
    pub name: String,
    /// `leader-0`; nothing more to tell where an instance is one pod.
    pub member: String,
    /// The role's revision it was built from.
    pub revision: String,
    /// It is ready.
    pub ready: bool,
    /// It is on its way out.
    pub terminating: bool,
    /// How it is, in a word.
    pub state: String,
    /// Where it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// How often its containers restarted.
    pub restarts: i64,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "stamp")]
    pub created: Option<Time>,
}

impl Instance {
    /// How many of its pods are ready.
    pub fn ready_pods(&self) -> usize {
        self.pods.iter().filter(|pod| pod.ready).count()
    }

    /// All of its pods are ready.
    pub fn is_ready(&self) -> bool {
        !self.pods.is_empty() && self.ready_pods() == self.pods.len()
    }
}

impl Role {
    /// How many of its instances are ready.
    pub fn ready(&self) -> usize {
        self.instances.iter().filter(|instance| instance.is_ready()).count()
    }
}

/// The pods of a set by group, role and instance.
type Found = BTreeMap<u32, BTreeMap<String, BTreeMap<u32, Vec<PodView>>>>;

/// Puts a set together.
pub fn grow<'a>(set: &LiveSet, pods: impl IntoIterator<Item = &'a Pod>) -> Tree {
    let status = &set.status;
    let mut found = Found::new();
    for pod in pods {
        let Some((group, role, instance)) = place(pod) else { continue };
        let instances = found.entry(group).or_default().entry(role).or_default();
        instances.entry(instance).or_default().push(view(pod));
    }
    for group in 0..status.replicas {
        found.entry(group).or_default();
    }
    let in_update = |group: u32| status.rollout.groups_in_update.contains(&group);
    let groups = found.into_iter().map(|(ordinal, roles)| Group {
        group: ordinal,
        in_update: in_update(ordinal),
        roles: roles_of(set, ordinal, roles),
    });
    Tree {
        name: set.name.clone(),
        namespace: set.namespace.clone(),
        phase: status.rollout.phase.clone(),
        waiting_for: set.waiting().unwrap_or_default(),
        stable: status.revision.stable.clone(),
        update: status.revision.update.clone(),
        replicas: status.replicas,
        ready: status.ready_replicas,
        created: set.created(),
        groups: groups.collect(),
    }
}

/// The roles of a group: those of the set in its order, then those that only have pods left.
fn roles_of(
    set: &LiveSet,
    group: u32,
    mut found: BTreeMap<String, BTreeMap<u32, Vec<PodView>>>,
) -> Vec<Role> {
    let status = &set.status;
    let mut roles = Vec::new();
    for role in &status.roles {
        // The status counts over all groups, and all groups are alike.
        let wished = if group < status.replicas { role.replicas / status.replicas.max(1) } else { 0 };
        let instances = found.remove(&role.name).unwrap_or_default();
        roles.push(Role {
            role: role.name.clone(),
            replicas: wished,
            instances: instances_of(Some(role), wished, instances),
        });
    }
    for (name, instances) in found {
        roles.push(Role { role: name, replicas: 0, instances: instances_of(None, 0, instances) });
    }
    roles
}

fn instances_of(
    role: Option<&RoleStatus>,
    wished: u32,
    mut found: BTreeMap<u32, Vec<PodView>>,
) -> Vec<Instance> {
    for ordinal in 0..wished {
        found.entry(ordinal).or_default();
    }
    let instance = |(ordinal, mut pods): (u32, Vec<PodView>)| {
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        let mark = mark(role, ordinal >= wished, &pods);
        Instance { instance: ordinal, mark, pods }
    };
    found.into_iter().map(instance).collect()
}

fn mark(role: Option<&RoleStatus>, beyond: bool, pods: &[PodView]) -> Mark {
    let Some(role) = role else { return Mark::Old };
    let new = pods.iter().all(|pod| pod.revision == role.revision.update);
    match () {
        () if pods.is_empty() => Mark::Missing,
        () if pods.iter().any(|pod| pod.terminating) => Mark::Updating,
        () if beyond => Mark::Surge,
        () if !new => Mark::Old,
        () if pods.iter().any(|pod| !pod.ready) => Mark::Updating,
        () => Mark::Settled,
    }
}

fn place(pod: &Pod) -> Option<(u32, String, u32)> {
    let labels = pod.labels();
    let number = |key: &str| labels.get(key)?.parse().ok();
    Some((number(label::GROUP)?, labels.get(label::ROLE)?.clone(), number(label::INSTANCE)?))
}

fn view(pod: &Pod) -> PodView {
    let label = |key: &str| pod.labels().get(key).cloned().unwrap_or_default();
    let spec = pod.spec.as_ref();
    PodView {
        name: pod.name_any(),
        member: format!("{}-{}", label(label::MEMBER), label(label::POD)),
        revision: label(label::REVISION),
        ready: pod_state::is_ready(pod),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        state: pod_state::word(pod),
        node: spec.and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        restarts: pod_state::restarts(pod),
        created: pod.metadata.creation_timestamp.as_ref().map(|time| at(time.0)),
    }
}
