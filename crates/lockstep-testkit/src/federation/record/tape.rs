//! What happened in all members, in one order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1 as k8s;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event as Watched;
use tokio::time::Instant;

use super::promise::Promise;
use super::seen::{Counts, Pod, Workload, told};

/// Something that was seen, and when, by the recorder's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: Duration,
    /// The version its member gave it: what has a lower one in the same member was before. 0 where nobody knows.
    pub version: u64,
    /// What.
    pub what: What,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A pod of a member has changed; without a pod, it is gone.
    Pod {
        /// The number of the member.
        member: usize,
        /// The pod's UID.
        uid: String,
        /// What it is now.
        pod: Option<Pod>,
    },
    /// The workload of a member has changed; without one, it is gone.
    Workload {
        /// The number of the member.
        member: usize,
        /// What it is now.
        workload: Option<Workload>,
    },
    /// A ReplicaSet of a member was told something else.
    ReplicaSet {
        /// The number of the member.
        member: usize,
        /// The ReplicaSet's UID.
        uid: String,
        /// How many pods it is to have; without a number, it is gone.
        replicas: Option<u32>,
    },
    /// The wish has changed: this is promised from now on.
    Wish(Promise),
    /// The test did something.
    Deed(String),
}

/// What stands in a member.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Its pods, by UID.
    pub pods: BTreeMap<String, Pod>,
    /// Its workload.
    pub workload: Option<Workload>,
    /// How many pods its ReplicaSets are to have, by UID.
    pub replica_sets: BTreeMap<String, u32>,
}

/// The pods of one group.
#[derive(Debug, Default)]
struct Group {
    size: u32,
    standing: u32,
    available: u32,
    new: u32,
}

impl Scene {
    /// Counts what is wished for and what is not.
    pub fn count(&self, image: &str, now: Duration, min_ready: Duration) -> Counts {
        let wanted = self.workload.as_ref().map_or(0, |workload| workload.replicas);
        let size = self.workload.as_ref().map_or(1, |workload| workload.group_size.max(1));
        let mut counts = Counts { wanted, condemned: self.condemned(), ..Counts::default() };
        let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
        for (uid, pod) in &self.pods {
            let alone = pod.group.is_none();
            let group = groups.entry(pod.group.as_deref().unwrap_or(uid)).or_default();
            let standing = u32::from(!pod.terminating);
            group.size = if alone { 1 } else { size };
            group.standing += standing;
            group.available += u32::from(pod.is_available(now, min_ready));
            group.new += if pod.image == image { standing } else { 0 };
            counts.going += 1 - standing;
        }
        for Group { size, standing, available, new } in groups.into_values() {
            counts.standing += u32::from(standing > 0);
            counts.available += u32::from(available >= size);
            counts.new += u32::from(new > 0);
            counts.mixed += u32::from(0 < new && new < standing);
        }
        counts
    }

    /// Pods that stand though their ReplicaSet was told to have fewer: it deletes them as soon as it gets to it.
    fn condemned(&self) -> u32 {
        let of = |uid: &str| {
            let its = |pod: &&Pod| !pod.terminating && pod.owner.as_deref() == Some(uid);
            u32::try_from(self.pods.values().filter(its).count()).unwrap_or(u32::MAX)
        };
        self.replica_sets.iter().map(|(uid, replicas)| of(uid).saturating_sub(*replicas)).sum()
    }

    pub(super) fn take(&mut self, what: &What) {
        match what {
            What::Pod { uid, pod: Some(pod), .. } => drop(self.pods.insert(uid.clone(), pod.clone())),
            What::Pod { uid, pod: None, .. } => drop(self.pods.remove(uid)),
            What::Workload { workload, .. } => self.workload.clone_from(workload),
            What::ReplicaSet { uid, replicas: Some(replicas), .. } => {
                self.replica_sets.insert(uid.clone(), *replicas);
            }
            What::ReplicaSet { uid, replicas: None, .. } => drop(self.replica_sets.remove(uid)),
            What::Wish(_) | What::Deed(_) => {}
        }
    }
}

impl What {
    /// The number of the member it happened in.
    pub fn member(&self) -> Option<usize> {
        match self {
            Self::Pod { member, .. } | Self::Workload { member, .. } | Self::ReplicaSet { member, .. } => {
                Some(*member)
            }
            Self::Wish(_) | Self::Deed(_) => None,
        }
    }
}

/// What was seen so far.
#[derive(Debug)]
pub(super) struct Tape {
    started: Instant,
    pub scenes: Vec<Scene>,
    /// While the pods of a member are listed: those that were not named yet.
    listing: Vec<BTreeSet<String>>,
    pub events: Vec<Event>,
    /// Why watches were interrupted, by member.
    pub interruptions: Vec<(usize, String)>,
    /// How many watches have begun.
    pub watching: usize,
}

impl Tape {
    pub fn new(members: usize) -> Self {
        Self {
            started: Instant::now(),
            scenes: vec![Scene::default(); members],
            listing: vec![BTreeSet::new(); members],
            events: Vec::new(),
            interruptions: Vec::new(),
            watching: 0,
        }
    }

    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The promise that is in force.
    pub fn promise(&self) -> Option<&Promise> {
        self.events.iter().rev().find_map(|event| match &event.what {
            What::Wish(promise) => Some(promise),
            _ => None,
        })
    }

    /// Writes down what nobody gave a version.
    pub fn write(&mut self, what: What) {
        self.write_at(0, what);
    }

    fn write_at(&mut self, version: u64, what: What) {
        if let Some(member) = what.member() {
            self.scenes[member].take(&what);
        }
        self.events.push(Event { at: self.now(), version, what });
    }

    pub fn take_pod(&mut self, member: usize, event: Watched<k8s::Pod>) {
        match event {
            Watched::Init => self.listing[member] = self.scenes[member].pods.keys().cloned().collect(),
            Watched::InitApply(pod) | Watched::Apply(pod) => self.see_pod(member, &pod),
            Watched::Delete(pod) => {
                self.lose_pod(member, version(&pod), pod.metadata.uid.unwrap_or_default());
            }
            Watched::InitDone => {
                // What a list lacks went while nobody looked.
                for uid in std::mem::take(&mut self.listing[member]) {
                    self.lose_pod(member, 0, uid);
                }
                self.watching += 1;
            }
        }
    }

    fn see_pod(&mut self, member: usize, pod: &k8s::Pod) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.listing[member].remove(&uid);
        let before = self.scenes[member].pods.get(&uid);
        let seen = Pod::new(pod, before, self.now());
        if before != Some(&seen) {
            self.write_at(version(pod), What::Pod { member, uid, pod: Some(seen) });
        }
    }

    fn lose_pod(&mut self, member: usize, version: u64, uid: String) {
        if self.scenes[member].pods.contains_key(&uid) {
            self.write_at(version, What::Pod { member, uid, pod: None });
        }
    }

    pub fn take_replica_set(&mut self, member: usize, event: Watched<ReplicaSet>) {
        let (set, gone) = match event {
            Watched::Init => return,
            Watched::InitDone => return self.watching += 1,
            Watched::InitApply(set) | Watched::Apply(set) => (set, false),
            Watched::Delete(set) => (set, true),
        };
        let uid = set.metadata.uid.clone().unwrap_or_default();
        let replicas = (!gone).then(|| told(&set));
        if self.scenes[member].replica_sets.get(&uid) != replicas.as_ref() {
            self.write_at(version(&set), What::ReplicaSet { member, uid, replicas });
        }
    }

    pub fn take_workload(&mut self, member: usize, event: Watched<DynamicObject>) {
        let (version, workload) = match event {
            Watched::Init => return,
            Watched::InitDone => return self.watching += 1,
            Watched::InitApply(object) | Watched::Apply(object) => {
                (version(&object), Some(Workload::new(&object)))
            }
            Watched::Delete(object) => (version(&object), None),
        };
        if self.scenes[member].workload != workload {
            self.write_at(version, What::Workload { member, workload });
        }
    }
}

/// What its API server numbered the change with.
fn version(object: &impl kube::Resource) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap_or(0)
}
