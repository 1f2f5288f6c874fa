//! The pods that are known, by UID and never by name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::Timestamp;
use kube::runtime::watcher::Event;

use super::addresses::AddressPool;
use crate::annotations::{self, BadAnnotation};
use crate::behaviour::Behaviour;
use crate::pod::{PodView, StatusChange};
use crate::profile::Profile;

/// A pod, and what is being done about it.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub view: PodView,
    pub behaviour: Behaviour,
    /// Annotations that could not be read and have not been complained about yet.
    pub bad: Vec<BadAnnotation>,
    /// A write is under way; the next decision waits for its outcome.
    pub is_writing: bool,
    /// It stands in the queue.
    pub is_queued: bool,
    /// Its deletion is finished; there is nothing more to do unless finalizers hold it.
    pub is_finished: bool,
    /// What was written last. A server that does not keep it is not told again and again.
    pub written: Option<Box<StatusChange>>,
    /// Writes that failed in a row.
    pub failures: u32,
    /// It is to be woken then; timers set before do no harm.
    pub wakes_at: Option<Timestamp>,
    /// No write before then.
    pub not_before: Option<Timestamp>,
    address: Option<Ipv4Addr>,
}

/// All pods that are bound to nodes.
#[derive(Debug)]
pub(crate) struct Pods {
    known: BTreeMap<String, Tracked>,
    by_node: BTreeMap<String, BTreeSet<String>>,
    pool: AddressPool,
    listed: Option<BTreeSet<String>>,
    is_listed: bool,
}

impl Pods {
    pub(crate) fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            by_node: BTreeMap::new(),
            pool: AddressPool::for_pods(),
            listed: None,
            is_listed: false,
        }
    }

    /// Whether all pods have been seen once. Before that nobody knows which addresses are free.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Takes note of an event; answers with the UID of the pod to look at.
    pub(crate) fn apply(&mut self, event: Event<PodView>, profile: &Profile) -> Option<String> {
        match event {
            Event::Init => self.listed = Some(BTreeSet::new()),
            Event::InitApply(pod) => {
                self.listed.get_or_insert_default().insert(pod.uid().to_owned());
                return self.put(pod, profile);
            }
            Event::InitDone => self.keep_listed(),
            Event::Apply(pod) => return self.put(pod, profile),
            Event::Delete(pod) => self.remove(pod.uid()),
        }
        None
    }

    fn keep_listed(&mut self) {
        self.is_listed = true;
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<_> = self.known.keys().filter(|uid| !listed.contains(*uid)).cloned().collect();
        for uid in gone {
            self.remove(&uid);
        }
    }

    /// Takes a view from the watch; older ones than ours are nothing new.
    fn put(&mut self, view: PodView, profile: &Profile) -> Option<String> {
        let uid = view.uid().to_owned();
        if let Some(tracked) = self.known.get_mut(&uid) {
            if view.is_older_than(&tracked.view) {
                return None;
            }
            tracked.renew(view, profile);
        } else {
            self.by_node.entry(view.node().to_owned()).or_default().insert(uid.clone());
            self.known.insert(uid.clone(), Tracked::new(view, profile));
        }
        let tracked = self.known.get_mut(&uid)?;
        tracked.note_address(&mut self.pool);
        Some(uid)
    }

    /// Takes the answer to a write. A pod that has been deleted meanwhile stays so.
    pub(crate) fn answered(&mut self, view: PodView, profile: &Profile) {
        if let Some(tracked) = self.known.get_mut(view.uid())
            && !view.is_older_than(&tracked.view)
        {
            tracked.renew(view, profile);
        }
    }

    fn remove(&mut self, uid: &str) {
        let Some(tracked) = self.known.remove(uid) else { return };
        if let Some(address) = tracked.address {
            self.pool.release(address, uid);
        }
        let node = tracked.view.node();
        if let Some(uids) = self.by_node.get_mut(node) {
            uids.remove(uid);
            if uids.is_empty() {
                self.by_node.remove(node);
            }
        }
    }

    pub(crate) fn get_mut(&mut self, uid: &str) -> Option<&mut Tracked> {
        self.known.get_mut(uid)
    }

    /// The pod's own address, for as long as it is known.
    pub(crate) fn address(&mut self, uid: &str) -> Option<Ipv4Addr> {
        let tracked = self.known.get_mut(uid)?;
        let address = tracked.address.unwrap_or_else(|| self.pool.claim(uid));
        tracked.address = Some(address);
        Some(address)
    }

    /// The pods of a node.
    pub(crate) fn on_node(&self, node: &str) -> Vec<String> {
        self.by_node.get(node).into_iter().flatten().cloned().collect()
    }

    /// Tells all pods how to behave from now on; answers with their UIDs.
    pub(crate) fn set_profile(&mut self, profile: &Profile) -> Vec<String> {
        for tracked in self.known.values_mut() {
            tracked.read(profile);
        }
        self.known.keys().cloned().collect()
    }
}

impl Tracked {
    fn new(view: PodView, profile: &Profile) -> Self {
        let mut tracked = Self {
            view,
            behaviour: Behaviour::default(),
            bad: Vec::new(),
            is_writing: false,
            is_queued: false,
            is_finished: false,
            written: None,
            failures: 0,
            wakes_at: None,
            not_before: None,
            address: None,
        };
        tracked.bad = tracked.read(profile);
        tracked
    }

    fn renew(&mut self, view: PodView, profile: &Profile) {
        let is_newer = self.view.is_older_than(&view);
        let is_annotated_anew = self.view.metadata.annotations != view.metadata.annotations;
        self.view = view;
        if is_newer {
            self.written = None;
        }
        let bad = self.read(profile);
        if is_annotated_anew {
            self.bad = bad;
        }
    }

    fn read(&mut self, profile: &Profile) -> Vec<BadAnnotation> {
        let meta = &self.view.metadata;
        let (own, bad) = meta.annotations.as_ref().map(annotations::read).unwrap_or_default();
        let none = BTreeMap::new();
        let labels = meta.labels.as_ref().unwrap_or(&none);
        self.behaviour = profile.behaviour(labels, self.view.node(), own);
        bad
    }

    fn note_address(&mut self, pool: &mut AddressPool) {
        let written = self.view.status.pod_ip.as_deref().and_then(|address| address.parse().ok());
        // A pod on its node's network has the node's address, which is not ours to give.
        if let Some(address) = written.filter(|_| !self.view.spec.host_network) {
            pool.note(address, self.view.uid());
            self.address = Some(address);
        }
    }
}
