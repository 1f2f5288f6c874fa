//! Whose a pod is: its chain of owners, and the one of them that its units are counted by.
//!
//! Owner references are followed from the pod upwards; the caller looks objects up, in a cache or in a list. The
//! pods of a LeaderWorkerSet need a word more: its workers hang on the leader *pod*, so that while a group is
//! being rebuilt the way up is broken. Then the label with the LeaderWorkerSet's name stands for it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// On every pod of a LeaderWorkerSet: its name.
pub const LWS_NAME: &str = "leaderworkerset.sigs.k8s.io/name";
/// On every pod of a LeaderWorkerSet: the number of its group.
pub const LWS_GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
/// On every pod of a LeaderWorkerSet: a hash that stands for its group.
pub const LWS_GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";

/// Longer chains than this are a mistake, or a circle.
const LONGEST: usize = 16;

/// A workload, as owner references name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Which one of that name. Empty if only the name is known, which happens in questions, never in answers.
    pub uid: String,
}

/// The kinds whose objects say how many pods they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// One pod for each replica: Deployment, ReplicaSet, StatefulSet, CloneSet and their like.
    Replicated,
    /// One pod for each node.
    PerNode,
    /// Groups of a leader and its workers.
    LeaderWorkerSet,
    /// Groups of roles: ours.
    LockstepSet,
}

impl Owner {
    /// The controller of an object. Other owners merely keep the garbage collector away.
    pub fn controlling(metadata: &ObjectMeta) -> Option<Self> {
        let references = metadata.owner_references.iter().flatten();
        references.into_iter().find(|reference| reference.controller == Some(true)).map(Self::from)
    }

    /// Its API group; empty for Kubernetes' core.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// What is known of its kind.
    pub fn workload(&self) -> Option<Workload> {
        match (self.group(), self.kind.as_str()) {
            ("apps", "Deployment" | "ReplicaSet" | "StatefulSet")
            | ("", "ReplicationController")
            | ("apps.kruise.io", "CloneSet" | "StatefulSet") => Some(Workload::Replicated),
            ("apps" | "apps.kruise.io", "DaemonSet") => Some(Workload::PerNode),
            ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") => Some(Workload::LeaderWorkerSet),
            (crate::crd::GROUP, crate::KIND) => Some(Workload::LockstepSet),
            _ => None,
        }
    }

    /// How the engine knows it: readable up to the `@`, unique after it.
    pub fn key(&self) -> String {
        format!("{}/{}@{}@{}", self.kind, self.name, self.uid, self.api_version)
    }

    /// The owner whose key this is.
    pub fn of_key(key: &str) -> Option<Self> {
        let mut parts = key.splitn(3, '@');
        let (kind, name) = parts.next()?.split_once('/')?;
        let uid = parts.next()?.to_owned();
        let api_version = parts.next()?.to_owned();
        Some(Self { api_version, kind: kind.to_owned(), name: name.to_owned(), uid })
    }

    fn leader_worker_set(name: &str) -> Self {
        Self {
            api_version: "leaderworkerset.x-k8s.io/v1".to_owned(),
            kind: "LeaderWorkerSet".to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        }
    }
}

impl From<&OwnerReference> for Owner {
    fn from(reference: &OwnerReference) -> Self {
        let OwnerReference { api_version, kind, name, uid, .. } = reference.clone();
        Self { api_version, kind, name, uid }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// What a look at an owner shows: all that is needed to climb on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Which one it is. Another one of the same name is not the owner.
    pub uid: String,
    /// Its own controller.
    pub controller: Option<Owner>,
}

impl From<&ObjectMeta> for Found {
    fn from(metadata: &ObjectMeta) -> Self {
        Self { uid: metadata.uid.clone().unwrap_or_default(), controller: Owner::controlling(metadata) }
    }
}

/// The owners of a pod, from its own controller up. It is the same for as long as the pod lives, however many of
/// its owners go before it: worth keeping by the pod's UID once it is complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    owners: Vec<Owner>,
    broken: bool,
}

impl Chain {
    /// Climbs from a pod up. `look` finds an object of the pod's namespace by kind and name; what it does not find
    /// ends the way.
    pub fn climb(pod: &ObjectMeta, mut look: impl FnMut(&Owner) -> Option<Found>) -> Self {
        let mut chain = Self::default();
        chain.follow(Owner::controlling(pod), &mut look);
        let by_label = pod.labels.as_ref().and_then(|labels| labels.get(LWS_NAME));
        if let Some(name) = by_label.filter(|_| chain.broken && !chain.has(Workload::LeaderWorkerSet)) {
            let owner = Owner::leader_worker_set(name);
            if let Some(found) = look(&owner) {
                chain.owners.push(Owner { uid: found.uid, ..owner });
                chain.follow(found.controller, &mut look);
            }
        }
        chain
    }

    fn follow(&mut self, mut next: Option<Owner>, look: &mut impl FnMut(&Owner) -> Option<Found>) {
        self.broken = false;
        while let Some(owner) = next.take().filter(|_| self.owners.len() < LONGEST) {
            let found = look(&owner).filter(|found| found.uid == owner.uid);
            self.broken = found.is_none();
            next = found.and_then(|found| found.controller);
            self.owners.push(owner);
        }
    }

    /// All owners, the pod's own controller first.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Whether the last of them was not found, so that there may be more above it.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    fn has(&self, workload: Workload) -> bool {
        self.owners.iter().any(|owner| owner.workload() == Some(workload))
    }

    /// The owner that a budget's units are told apart and counted by: with groups the highest that makes groups
    /// itself, without groups the highest whose scale is known, else whatever is at the top.
    ///
    /// Not simply the top: above a LockstepSet there may be the object of another project it was made from, above a
    /// Deployment anything, and neither says how many units there are. Nor, with groups, the highest of a known
    /// kind: a group may well be spread over several StatefulSets of one owner.
    pub fn root(&self, grouped: bool) -> Option<&Owner> {
        let counts = |owner: &&Owner| match owner.workload() {
            Some(Workload::LeaderWorkerSet | Workload::LockstepSet) => true,
            Some(Workload::Replicated | Workload::PerNode) => !grouped,
            None => false,
        };
        self.owners.iter().rev().find(counts).or(self.owners.last())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Objects = BTreeMap<(&'static str, &'static str), ObjectMeta>;

    fn object(name: &str, uid: &str, owner: Option<(&str, &str, &str, &str)>) -> ObjectMeta {
        let references = owner.map(|(api_version, kind, name, uid)| {
            vec![OwnerReference {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
                uid: uid.to_owned(),
                controller: Some(true),
                ..OwnerReference::default()
            }]
        });
        let (name, uid) = (Some(name.to_owned()), Some(uid.to_owned()));
        ObjectMeta { name, uid, owner_references: references, ..ObjectMeta::default() }
    }

    fn climb(pod: &ObjectMeta, objects: &Objects) -> Chain {
        Chain::climb(pod, |owner| {
            let found = objects.iter().find(|((kind, name), _)| (*kind, *name) == (&owner.kind, &owner.name));
            found.map(|(_, metadata)| Found::from(metadata))
        })
    }

    fn shown(chain: &Chain) -> Vec<String> {
        chain.owners().iter().map(ToString::to_string).collect()
    }

    fn leader_worker_set() -> Objects {
        let sts = |owner| object("lws", "sts-1", Some(owner));
        Objects::from([
            (("LeaderWorkerSet", "lws"), object("lws", "lws-1", None)),
            (("StatefulSet", "lws"), sts(("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", "lws-1"))),
            (("Pod", "lws-0"), object("lws-0", "pod-0", Some(("apps/v1", "StatefulSet", "lws", "sts-1")))),
            (("StatefulSet", "lws-0"), object("lws-0", "sts-2", Some(("v1", "Pod", "lws-0", "pod-0")))),
        ])
    }

    fn worker() -> ObjectMeta {
        let labels = BTreeMap::from([(LWS_NAME.to_owned(), "lws".to_owned())]);
        let pod = object("lws-0-1", "pod-1", Some(("apps/v1", "StatefulSet", "lws-0", "sts-2")));
        ObjectMeta { labels: Some(labels), ..pod }
    }

    #[test]
    fn a_worker_belongs_to_its_leader_worker_set() {
        let chain = climb(&worker(), &leader_worker_set());
        assert_eq!(
            shown(&chain),
            ["StatefulSet/lws-0", "Pod/lws-0", "StatefulSet/lws", "LeaderWorkerSet/lws"]
        );
        assert_eq!(
            chain.root(true).map(Owner::key).as_deref(),
            Some("LeaderWorkerSet/lws@lws-1@leaderworkerset.x-k8s.io/v1")
        );
        assert_eq!(chain.root(false), chain.root(true));
        assert!(!chain.is_broken());
    }

    #[test]
    fn also_while_its_leader_is_away_or_another_one() {
        for leader in [None, Some(object("lws-0", "pod-0-again", None))] {
            let mut objects = leader_worker_set();
            objects.remove(&("Pod", "lws-0"));
            objects.extend(leader.map(|leader| (("Pod", "lws-0"), leader)));
            let chain = climb(&worker(), &objects);
            assert_eq!(shown(&chain), ["StatefulSet/lws-0", "Pod/lws-0", "LeaderWorkerSet/lws"]);
            assert_eq!(chain.root(true).map(|owner| owner.uid.as_str()), Some("lws-1"));
        }
    }

    #[test]
    fn a_label_alone_moves_nobody() {
        let objects = Objects::from([
            (("LeaderWorkerSet", "lws"), object("lws", "lws-1", None)),
            (("ReplicaSet", "web-1"), object("web-1", "rs", Some(("apps/v1", "Deployment", "web", "d")))),
            (("Deployment", "web"), object("web", "d", None)),
        ]);
        let pod = object("web-1-x", "p", Some(("apps/v1", "ReplicaSet", "web-1", "rs")));
        let chain = climb(&ObjectMeta { labels: worker().labels, ..pod }, &objects);
        assert_eq!(shown(&chain), ["ReplicaSet/web-1", "Deployment/web"]);
        assert_eq!(chain.root(false).map(Owner::key).as_deref(), Some("Deployment/web@d@apps/v1"));
    }

    #[test]
    fn roots_are_what_counts_units() {
        let argo = ("argoproj.io/v1alpha1", "Rollout", "r", "r");
        let rbg = ("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", "g", "g");
        let app = ("acme.io/v1", "Model", "m", "m");
        let set = ("lockstep.dev/v1alpha1", "LockstepSet", "l", "l");
        let sts = ("apps/v1", "StatefulSet", "s", "s");
        let table = [
            (vec![("apps/v1", "ReplicaSet", "rs", "rs"), argo], Some("ReplicaSet/rs"), Some("Rollout/r")),
            (vec![set, rbg], Some("LockstepSet/l"), Some("LockstepSet/l")),
            (vec![sts, app], Some("StatefulSet/s"), Some("Model/m")),
            (vec![app], Some("Model/m"), Some("Model/m")),
            (vec![("apps.kruise.io/v1alpha1", "CloneSet", "c", "c")], Some("CloneSet/c"), Some("CloneSet/c")),
            (vec![], None, None),
        ];
        for (owners, plain, grouped) in table {
            let objects: BTreeMap<&str, ObjectMeta> = owners
                .iter()
                .enumerate()
                .map(|(i, owner)| (owner.1, object(owner.2, owner.3, owners.get(i + 1).copied())))
                .collect();
            let pod = object("pod", "pod", owners.first().copied());
            let chain = Chain::climb(&pod, |owner| objects.get(owner.kind.as_str()).map(Found::from));
            let root = |grouped| chain.root(grouped).map(ToString::to_string);
            assert_eq!((root(false).as_deref(), root(true).as_deref()), (plain, grouped));
        }
    }

    #[test]
    fn circles_end() {
        let circle = object("a", "a", Some(("acme.io/v1", "A", "a", "a")));
        assert_eq!(Chain::climb(&circle, |_| Some(Found::from(&circle))).owners().len(), LONGEST);
    }
}
