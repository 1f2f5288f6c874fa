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
mod tests {
    use super::*;
    use serde_json::json;

    const NOON: u64 = 1_767_268_800_000;

    /// A pod as the API server tells of it.
    fn told(uid: &str, version: u64, ready: bool, going: bool) -> SlimPod {
        let status = if ready { "True" } else { "False" };
        let mut pod = json!({
            "metadata": {
                "name": "llama-0-web-0", "namespace": "ml", "uid": uid, "resourceVersion": version.to_string(),
                "creationTimestamp": "2026-01-01T12:00:00Z",
                "labels": {"lockstep.dev/set": "llama", "lockstep.dev/group": "0", "lockstep.dev/role": "web",
                           "lockstep.dev/instance": "0", "lockstep.dev/member": "web", "lockstep.dev/pod": "0"},
                "ownerReferences": [{"uid": "set", "controller": true}],
            },
            "status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T12:00:05Z"}]},
        });
        if going {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:30Z");
        }
        serde_json::from_value(pod).unwrap()
    }

    fn place() -> Place {
        Place { group: 0, role: "web".into(), instance: 0 }
    }

    fn at(seconds: u64) -> Time {
        Time(NOON + seconds * 1000 + 500)
    }

    /// The pods, in words.
    fn shown(view: &View) -> Vec<String> {
        let word = |pod: &Pod| match () {
            () if pod.may_stay() => "asked to go",
            () if pod.in_flight => "in flight",
            () if pod.terminating => "going",
            () if pod.ready.is_some() => "ready",
            () => "there",
        };
        let owner = Uid::new("set");
        view.pods(&owner).map(|(_, known)| format!("{} {}", known.pod.uid, word(&known.pod))).collect()
    }

    fn creating(view: &mut View) {
        let pod = Pod { member: "web".into(), ..Pod::default() };
        assert!(view.creating(place(), "llama-0-web-0", &Uid::new("set"), pod));
    }

    #[test]
    fn what_we_write_counts_before_the_watch_shows_it() {
        let mut view = View::default();
        creating(&mut view);
        assert_eq!(shown(&view), [" in flight"]);
        view.see(&told("a", 5, false, false), false, at(1));
        assert_eq!(shown(&view), ["a there"]);
        view.deleting(&Uid::new("a"));
        assert_eq!(shown(&view), ["a asked to go"]);
        // The watch is behind: it shows the pod as it was before the delete.
        view.see(&told("a", 6, true, false), true, at(2));
        assert_eq!(shown(&view), ["a asked to go"]);
        view.not_deleted(&Uid::new("a"));
        assert_eq!(shown(&view), ["a ready"]);
        // Asked again, and answered.
        view.deleting(&Uid::new("a"));
        view.see(&told("a", 7, true, true), false, at(3));
        assert_eq!(shown(&view), ["a going"]);
        view.not_deleted(&Uid::new("a"));
        assert_eq!(shown(&view), ["a going"]);
    }

    #[test]
    fn a_create_that_is_answered_late_does_not_take_a_pod_away_that_is_asked_to_go() {
        let mut view = View::default();
        creating(&mut view);
        view.see(&told("a", 5, false, false), true, at(1));
        view.deleting(&Uid::new("a"));
        view.not_created(&place(), &"web".into(), 0, "llama-0-web-0");
        assert_eq!(shown(&view), ["a asked to go"]);
    }

    #[test]
    fn nothing_of_a_create_that_failed_stays() {
        let mut view = View::default();
        creating(&mut view);
        view.not_created(&place(), &"web".into(), 0, "llama-0-web-0");
        assert!(view.is_empty());
    }

    #[test]
    fn an_answer_that_comes_after_the_end_brings_nothing_back() {
        let mut view = View::default();
        creating(&mut view);
        view.see(&told("a", 5, false, false), true, at(1));
        view.deleting(&Uid::new("a"));
        assert!(view.gone(&Uid::new("a")));
        // The answers to the delete, and to the create before it.
        assert!(!view.see(&told("a", 6, false, true), false, at(2)));
        assert!(!view.see(&told("a", 5, false, false), false, at(2)));
        assert!(view.is_empty());
    }

    #[test]
    fn a_pod_that_lost_its_label_and_got_it_back_is_there_again() {
        let mut view = View::default();
        view.see(&told("a", 5, true, false), true, at(6));
        view.gone(&Uid::new("a"));
        assert!(view.see(&told("a", 7, true, false), true, at(8)));
        assert_eq!(shown(&view), ["a ready"]);
    }

    #[test]
    fn a_place_that_somebody_else_holds_is_not_ours_to_fill() {
        let mut view = View::default();
        view.see(&told("a", 5, true, false), true, at(6));
        let (member, other) = ("web".into(), Uid::new("another set"));
        let pod = Pod { member: "web".into(), ..Pod::default() };
        assert!(!view.creating(place(), "llama-0-web-0", &other, pod));
        assert!(view.is_foreign(&place(), &member, 0, "llama-0-web-0", &other));
        assert!(!view.is_foreign(&place(), &member, 0, "llama-0-web-0", &Uid::new("set")));
    }

    #[test]
    fn what_was_planned_on_is_remembered_though_the_pod_moves_on() {
        let mut view = View::default();
        view.see(&told("a", 5, false, false), true, at(1));
        view.mark();
        view.see(&told("a", 6, true, false), true, at(5));
        assert_eq!(view.planned(&Uid::new("a")), Some(("llama-0-web-0", 5, false)));
    }

    #[test]
    fn old_news_change_nothing() {
        let mut view = View::default();
        view.see(&told("a", 9, true, false), true, at(6));
        assert!(!view.see(&told("a", 7, false, false), true, at(7)));
        assert_eq!(shown(&view), ["a ready"]);
        // A pod that had the name before is gone for good; its end is no news about the one that has it now.
        assert!(!view.see(&told("older", 3, false, true), true, at(8)));
        assert!(!view.gone(&Uid::new("older")));
        assert_eq!(shown(&view), ["a ready"]);
    }

    #[test]
    fn a_list_that_may_be_older_than_our_own_write_leaves_it_in_doubt() {
        let mut view = View::default();
        view.see(&told("a", 9, false, false), false, at(1));
        view.begin_list();
        assert_eq!(view.end_list(at(2)), [("llama-0-web-0".to_owned(), Uid::new("a"))]);
        assert_eq!(shown(&view), ["a there"]);
        // Once the watch has shown it, a list without it means that it is gone.
        view.see(&told("a", 9, false, false), true, at(3));
        view.begin_list();
        assert!(view.end_list(at(4)).is_empty());
        assert!(view.is_empty());
    }

    #[test]
    fn times_are_those_at_which_things_were_seen_and_a_restart_of_ours_loses_little() {
        let mut view = View::default();
        view.see(&told("a", 1, false, false), true, at(0));
        view.see(&told("a", 2, true, false), true, at(5));
        view.see(&told("a", 3, false, false), true, at(20));
        let owner = Uid::new("set");
        let known = |view: &View| view.pods(&owner).next().unwrap().1.pod.clone();
        let pod = known(&view);
        assert_eq!((pod.created, pod.ready, pod.unready), (at(0), None, Some(at(20))));
        // Another operator sees it for the first time, long after.
        let mut late = View::default();
        late.see(&told("a", 2, true, false), true, at(60));
        assert_eq!(known(&late).ready, Some(Time(NOON + 5_999)));
    }

    #[test]
    fn pods_of_another_owner_are_not_ours() {
        let mut view = View::default();
        view.see(&told("a", 1, true, false), true, at(0));
        assert_eq!(view.pods(&Uid::new("other")).count(), 0);
    }
}
