//! What happened in all members, in one order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1 as k8s;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event as Watched;
use tokio::time::Instant;

use super::promise::Promise;
use super::seen::{Counts, Pod, Workload};

/// Something that was seen, and when, by the recorder's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: Duration,
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
        let mut counts = Counts { wanted, ..Counts::default() };
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

    pub(super) fn take(&mut self, what: &What) {
        match what {
            What::Pod { uid, pod: Some(pod), .. } => drop(self.pods.insert(uid.clone(), pod.clone())),
            What::Pod { uid, pod: None, .. } => drop(self.pods.remove(uid)),
            What::Workload { workload, .. } => self.workload.clone_from(workload),
            What::Wish(_) | What::Deed(_) => {}
        }
    }
}

impl What {
    /// The number of the member it happened in.
    pub fn member(&self) -> Option<usize> {
        match self {
            Self::Pod { member, .. } | Self::Workload { member, .. } => Some(*member),
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

    pub fn write(&mut self, what: What) {
        if let Some(member) = what.member() {
            self.scenes[member].take(&what);
        }
        self.events.push(Event { at: self.now(), what });
    }

    pub fn take_pod(&mut self, member: usize, event: Watched<k8s::Pod>) {
        match event {
            Watched::Init => self.listing[member] = self.scenes[member].pods.keys().cloned().collect(),
            Watched::InitApply(pod) | Watched::Apply(pod) => self.see_pod(member, &pod),
            Watched::Delete(pod) => self.lose_pod(member, pod.metadata.uid.unwrap_or_default()),
            Watched::InitDone => {
                // What a list lacks went while nobody looked.
                for uid in std::mem::take(&mut self.listing[member]) {
                    self.lose_pod(member, uid);
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
            self.write(What::Pod { member, uid, pod: Some(seen) });
        }
    }

    fn lose_pod(&mut self, member: usize, uid: String) {
        if self.scenes[member].pods.contains_key(&uid) {
            self.write(What::Pod { member, uid, pod: None });
        }
    }

    pub fn take_workload(&mut self, member: usize, event: Watched<DynamicObject>) {
        let workload = match event {
            Watched::Init => return,
            Watched::InitDone => return self.watching += 1,
            Watched::InitApply(object) | Watched::Apply(object) => Some(Workload::new(&object)),
            Watched::Delete(_) => None,
        };
        if self.scenes[member].workload != workload {
            self.write(What::Workload { member, workload });
        }
    }
}
