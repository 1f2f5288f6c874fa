//! The write-ahead view: what the watch has shown of a set's pods, and on top of it what we wrote ourselves and it
//! has not shown yet.
//!
//! A plan is made on this and on nothing else, so that no slot is filled twice and nothing is paid for twice.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use lockstep_core::names::{MemberName, RoleName, Uid};
use lockstep_core::snapshot::Pod;
use lockstep_core::time::Time;

use super::pod::{Place, SlimPod};

/// Pods by where they stand; the name tells apart two in one place.
pub type Key = (Place, MemberName, u32, Arc<str>);

/// The pods of one set.
#[derive(Debug, Default)]
pub struct View {
    /// What is large is held once, so that nodes and buckets that stand empty take little.
    pods: BTreeMap<Arc<Key>, Box<Known>>,
    uids: HashMap<Uid, Arc<Key>>,
    buried: Graves,
    listing: Option<Vec<SlimPod>>,
    words: Words,
}

/// Words that all pods of a set use, each held once.
#[derive(Debug, Default)]
struct Words {
    roles: BTreeSet<RoleName>,
    members: BTreeSet<MemberName>,
    owners: BTreeSet<Uid>,
}

impl Words {
    fn share(&mut self, place: &mut Place, pod: &mut Pod, owner: &mut Option<Uid>) {
        place.role = shared(&mut self.roles, &place.role);
        pod.member = shared(&mut self.members, &pod.member);
        *owner = owner.as_ref().map(|owner| shared(&mut self.owners, owner));
    }
}

fn shared<T: Ord + Clone>(known: &mut BTreeSet<T>, word: &T) -> T {
    if let Some(known) = known.get(word) {
        return known.clone();
    }
    known.insert(word.clone());
    word.clone()
}

/// Pods that are gone for good. The answer to a request may arrive after the watch has shown its pod's end, and must
/// not bring it back.
#[derive(Debug, Default)]
struct Graves {
    order: VecDeque<Uid>,
    all: HashSet<Uid>,
}

impl Graves {
    /// More than the requests of a set that can be under way.
    const MOST: usize = 512;

    fn bury(&mut self, uid: Uid) {
        if self.all.insert(uid.clone()) {
            self.order.push_back(uid);
        }
        if self.order.len() > Self::MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
        }
    }

    fn unearth(&mut self, uid: &Uid) {
        if self.all.remove(uid) {
            self.order.retain(|other| other != uid);
        }
    }
}

/// A pod, and how it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// What the engine sees of it.
    pub pod: Pod,
    /// The state of it that was seen last.
    pub version: u64,
    /// The UID of the object that controls it.
    pub owner: Option<Uid>,
    /// The watch has shown it; else we only know it from our own writes.
    shown: bool,
    /// Its version, and whether it was ready, when it was last planned on.
    planned: (u64, bool),
}

impl Known {
    /// We are about to create it, and nobody has seen it.
    fn is_only_wished(&self) -> bool {
        self.version == 0
    }
}

impl View {
    /// The pods of one owner, in order. A set that is gone may have left some of the same name.
    pub fn pods<'a>(&'a self, owner: &'a Uid) -> impl Iterator<Item = (&'a Key, &'a Known)> {
        let all = self.pods.iter().map(|(key, known)| (&**key, &**known));
        all.filter(move |(_, known)| known.owner.as_ref() == Some(owner))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// Name and last seen version of a pod.
    pub fn find(&self, uid: &Uid) -> Option<(&str, u64)> {
        let key = self.uids.get(uid)?;
        self.pods.get(key).map(|known| (&*key.3, known.version))
    }

    /// The watch, or the answer to a request, shows a pod. Returns whether it was news.
    pub fn see(&mut self, slim: &SlimPod, shown: bool, now: Time) -> bool {
        let Some(mut place) = slim.place.clone() else { return false };
        if shown {
            // The watch tells things in order: what it shows again is there again.
            self.buried.unearth(&slim.pod.uid);
        } else if self.buried.all.contains(&slim.pod.uid) {
            return false;
        }
        let (mut pod, mut owner) = (slim.pod.clone(), slim.owner.clone());
        self.words.share(&mut place, &mut pod, &mut owner);
        let key = (place, pod.member.clone(), pod.index, Arc::from(slim.name()));
        let (key, before) = match self.pods.get_key_value(&key) {
            Some((known, before)) => (Arc::clone(known), Some(before)),
            None => (Arc::new(key), None),
        };
        let same = before.filter(|known| known.pod.uid == slim.pod.uid);
        let version = slim.version();
        if let Some(known) = before
            && known.version > version
        {
            // Old news: but from now on the watch is known to have passed it.
            if same.is_some()
                && shown
                && let Some(known) = self.pods.get_mut(&key)
            {
                known.shown = true;
            }
            return false;
        }
        remember_times(&mut pod, same.map(|known| &known.pod), now);
        let deleting = same.is_some_and(|known| known.pod.may_stay()) && !pod.terminating;
        pod.terminating |= deleting;
        pod.in_flight = deleting;
        let shown = shown || same.is_some_and(|known| known.shown);
        let planned = same.map_or((0, false), |known| known.planned);
        let known = Known { pod, version, owner, shown, planned };
        let news = before.is_none_or(|before| before.pod != known.pod);
        if let Some(old) = before.map(|known| known.pod.uid.clone()) {
            self.uids.remove(&old);
        }
        self.uids.insert(known.pod.uid.clone(), Arc::clone(&key));
        self.pods.insert(key, Box::new(known));
        news
    }

    /// A pod is gone.
    pub fn gone(&mut self, uid: &Uid) -> bool {
        self.buried.bury(uid.clone());
        let Some(key) = self.uids.remove(uid) else { return false };
        self.pods.remove(&key).is_some()
    }

    /// A list begins.
    pub fn begin_list(&mut self) {
        self.listing = Some(Vec::new());
    }

    /// A pod is on the list.
    pub fn list(&mut self, slim: SlimPod) {
        self.listing.get_or_insert_default().push(slim);
    }

    /// The list is complete: what is not on it is gone, except for what we wrote ourselves and the watch has not
    /// shown yet, because the list may be older. Returns those, to be asked for.
    pub fn end_list(&mut self, now: Time) -> Vec<(String, Uid)> {
        let listed = self.listing.take().unwrap_or_default();
        let is_listed: HashSet<&Uid> = listed.iter().map(|slim| &slim.pod.uid).collect();
        let missing = |known: &Known| !is_listed.contains(&known.pod.uid);
        let lost: Vec<Uid> = self
            .pods
            .values()
            .filter(|known| known.shown && missing(known))
            .map(|known| known.pod.uid.clone())
            .collect();
        let doubtful = self
            .pods
            .iter()
            .filter(|(_, known)| !known.shown && !known.is_only_wished() && missing(known))
            .map(|(key, known)| (key.3.to_string(), known.pod.uid.clone()))
            .collect();
        for uid in &lost {
            self.gone(uid);
        }
        for slim in &listed {
            self.see(slim, true, now);
        }
        doubtful
    }

    /// We are about to create a pod. Returns whether its place is free; if not, what stands there is not ours to
    /// move.
    pub fn creating(&mut self, place: Place, name: &str, owner: &Uid, pod: Pod) -> bool {
        let key = (place, pod.member.clone(), pod.index, Arc::from(name));
        let pod = Pod { in_flight: true, ..pod };
        let owner = Some(owner.clone());
        let planned = (0, false);
        match self.pods.entry(Arc::new(key)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                let known = Known { pod, version: 0, owner, shown: false, planned };
                free.insert(Box::new(known));
                true
            }
        }
    }

    /// Whether a pod of this name is there and belongs to somebody else.
    pub fn is_foreign(
        &self,
        place: &Place,
        member: &MemberName,
        index: u32,
        name: &str,
        owner: &Uid,
    ) -> bool {
        let key = (place.clone(), member.clone(), index, Arc::from(name));
        self.pods.get(&key).is_some_and(|known| known.owner.as_ref() != Some(owner))
    }

    /// Whether this pod stands in this place.
    pub fn stands(&self, place: &Place, name: &str, uid: &Uid) -> bool {
        self.uids.get(uid).is_some_and(|key| key.0 == *place && *key.3 == *name)
    }

    /// A plan is about to be made on what is known now.
    pub fn mark(&mut self) {
        for known in self.pods.values_mut() {
            known.planned = (known.version, known.pod.is_ready());
        }
    }

    /// Name, version and readiness of a pod when it was last planned on.
    pub fn planned(&self, uid: &Uid) -> Option<(&str, u64, bool)> {
        let key = self.uids.get(uid)?;
        self.pods.get(key).map(|known| (&*key.3, known.planned.0, known.planned.1))
    }

    /// Nothing came of a create.
    pub fn not_created(&mut self, place: &Place, member: &MemberName, index: u32, name: &str) {
        let key = (place.clone(), member.clone(), index, Arc::from(name));
        if self.pods.get(&key).is_some_and(|known| known.is_only_wished()) {
            self.pods.remove(&key);
        }
    }

    /// We are about to delete a pod.
    pub fn deleting(&mut self, uid: &Uid) {
        if let Some(known) = self.known_mut(uid)
            && !known.pod.terminating
        {
            known.pod.terminating = true;
            known.pod.in_flight = true;
        }
    }

    /// We are about to lift the gate of a pod.
    pub fn ungating(&mut self, uid: &Uid) {
        if let Some(known) = self.known_mut(uid) {
            known.pod.gated = false;
        }
    }

    /// Nothing came of that.
    pub fn not_ungated(&mut self, uid: &Uid) {
        if let Some(known) = self.known_mut(uid) {
            known.pod.gated = true;
        }
    }

    /// Nothing came of a delete.
    pub fn not_deleted(&mut self, uid: &Uid) {
        if let Some(known) = self.known_mut(uid)
            && known.pod.may_stay()
        {
            known.pod.terminating = false;
            known.pod.in_flight = false;
        }
    }

    fn known_mut(&mut self, uid: &Uid) -> Option<&mut Known> {
        let key = self.uids.get(uid)?;
        self.pods.get_mut(key).map(|known| &mut **known)
    }
}

/// Keeps what the API does not say: the very moment of a change, and that a pod had been ready.
fn remember_times(pod: &mut Pod, before: Option<&Pod>, now: Time) {
    pod.created = before.map_or_else(|| pod.created.min(now), |before| before.created);
    let was_ready = before.and_then(|before| before.ready);
    match pod.ready {
        Some(since) => pod.ready = Some(was_ready.unwrap_or_else(|| since.min(now))),
        None => {
            let turned = was_ready.map(|_| pod.unready.map_or(now, |at| at.min(now)));
            let earlier = before.and_then(|before| before.unready);
            pod.unready = turned.or(earlier).or(pod.unready);
        }
    }
}

#[cfg(test)]
mod tests;
