//! From watch events to the trace.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1 as k8s;
use kube::runtime::watcher::Event as Watched;
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::coordinate;
use lockstep_core::model::{Member, RestartKind, Spec, StrategyKind};
use lockstep_core::names::RoleName;
use lockstep_core::observe::Aims;
use lockstep_core::plan::DeleteWhy;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::record;
use lockstep_core::simulate::trace::{By, End, Event, SpecEvent, Subject, What};
use lockstep_core::snapshot::{Memory, Pod, Promotion};
use lockstep_core::time::Time;
use lockstep_sandbox::cluster::faults::Deed;
use serde::Deserialize;
use tokio::time::Instant;

use super::Sights;
use super::seen::{Shown, disrupted, view, why_deleted};
use crate::workload::{Kind, Slots, Workload};

/// How far a controller's view may be behind, in milliseconds: what the world took less long ago, it could not know.
const LAG: u64 = 500;

/// The same where it is seen how old it is: the moment for which news are gathered.
const MOMENT: u64 = 20;

/// A pod that stands.
#[derive(Debug)]
pub(super) struct Seen {
    pub name: String,
    pub of: Subject,
    pub pod: Pod,
}

/// What a controller that says where it stands said last.
#[derive(Debug)]
struct Said {
    generation: i64,
    end: Option<End>,
    /// Where it goes.
    targets: BTreeMap<RoleName, Revision>,
    /// What it remembers, or was told to: somebody may have aborted, and it has not noticed yet.
    memory: Memory,
}

/// What was seen so far, and what of it was written down.
#[derive(Debug)]
pub(super) struct Tape {
    started: Instant,
    workload: Workload,
    slots: Slots,
    /// What an instance of each revision that was ever wished for is made of.
    layouts: BTreeMap<Revision, Vec<Member>>,
    targets: BTreeMap<RoleName, Revision>,
    said: Option<Said>,
    /// Pauses that somebody let pass.
    promoted: BTreeSet<Promotion>,
    known_generation: i64,
    /// The controller has not said yet that it knows the wish, or that it was redirected.
    unheard: bool,
    redirected: bool,
    sights: Option<Sights>,
    pub pods: BTreeMap<String, Seen>,
    pub taken_by_world: BTreeSet<String>,
    /// Why pods that go were deleted, where the controller's requests can be seen.
    heard: BTreeMap<String, DeleteWhy>,
    /// The instances that were ready until a pod that they could not spare was deleted, and why it was.
    taken: BTreeMap<Subject, DeleteWhy>,
    /// Instances of which a pod failed or restarted: what is left of them may not show it any more.
    broken: BTreeSet<Subject>,
    /// Groups that the controller takes down as a whole.
    torn_down: BTreeSet<u32>,
    /// Instances of which the first pod went with their group: so do the others, whatever becomes of the group.
    going_with_it: BTreeSet<Subject>,
    instances: record::Recorder,
    listing: Vec<k8s::Pod>,
    pub events: Vec<Event>,
    pub interruptions: Vec<String>,
}

impl Tape {
    pub fn new(workload: Workload, sights: Option<Sights>) -> Self {
        Self {
            started: Instant::now(),
            workload,
            slots: Slots::default(),
            layouts: BTreeMap::new(),
            targets: BTreeMap::new(),
            said: None,
            promoted: BTreeSet::new(),
            known_generation: 0,
            unheard: false,
            redirected: false,
            sights,
            pods: BTreeMap::new(),
            taken_by_world: BTreeSet::new(),
            heard: BTreeMap::new(),
            taken: BTreeMap::new(),
            broken: BTreeSet::new(),
            torn_down: BTreeSet::new(),
            going_with_it: BTreeSet::new(),
            instances: record::Recorder::default(),
            listing: Vec::new(),
            events: Vec::new(),
            interruptions: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub fn say(&mut self, what: What) {
        self.push(self.age(), what);
    }

    fn push(&mut self, late: u64, what: What) {
        let t = self.now().0;
        self.events.push(Event { t, late, what });
    }

    /// How old is what the controller knows, beyond what it always may be.
    fn age(&self) -> u64 {
        self.sights.as_ref().map_or(0, Sights::age)
    }

    /// How old was what it knew when it did this to a pod.
    fn age_of(&self, deed: Deed, pod: &str) -> u64 {
        self.sights.as_ref().map_or(0, |sights| sights.age_of(deed, pod))
    }

    pub fn wish(&mut self, workload: &Workload) {
        self.workload = workload.clone();
        for role in &self.workload.spec().roles {
            self.layouts.insert(role.revision, role.members.clone());
        }
        self.instances.follow(workload.spec());
        self.targets = revisions(workload.spec());
        (self.unheard, self.redirected) = (true, false);
        self.say_wish();
    }

    pub fn wish_is_known(&mut self, generation: i64) {
        self.known_generation = generation;
        self.unheard = false;
        self.say_wish();
        self.retarget();
    }

    /// What is stable the judge finds out for itself.
    fn say_wish(&mut self) {
        let (spec, targets) = (self.workload.spec().clone(), self.targets.clone());
        let lag = if self.sights.is_some() { MOMENT } else { LAG };
        let stable = BTreeMap::new();
        self.say(What::Spec(Box::new(SpecEvent { spec, targets, stable, lag, unheard: self.unheard })));
    }

    /// The controller says where it stands.
    pub fn hear(&mut self, generation: i64, status: &LockstepSetStatus) {
        let memory = Memory::deserialize(&status.memory).unwrap_or_default();
        for promotion in memory.promoted.clone() {
            if self.promoted.insert(promotion.clone()) {
                self.say(What::Promoted(promotion));
            }
        }
        if status.observed_generation < generation || generation < self.known_generation {
            return;
        }
        let rollout = &status.rollout;
        let waits = rollout
            .blocked
            .iter()
            .any(|block| block.reason == "PauseStep" && !block.message.contains("time is over"));
        let end = match rollout.phase.as_str() {
            "Complete" => Some(End::Complete),
            "PartitionReached" => Some(End::PartitionReached),
            "RolledBack" => Some(End::RolledBack),
            "Stalled" => Some(End::Stuck),
            "Paused" => Some(End::Paused),
            _ if waits => Some(End::Paused),
            _ => None,
        };
        let targets = status
            .roles
            .iter()
            .filter_map(|role| Some((RoleName::new(&role.name), role.revision.update.parse().ok()?)))
            .collect();
        self.said = Some(Said { generation, end, targets, memory });
        self.retarget();
    }

    /// A rollback has other targets than the wish. Until the controller says that it goes there, it need not know.
    fn retarget(&mut self) {
        let known = |said: &&Said| said.generation == self.known_generation && !said.targets.is_empty();
        let Some(said) = self.said.as_ref().filter(known) else { return };
        if self.unheard && !self.redirected {
            return;
        }
        let spec = self.workload.spec();
        let aims = Aims::of(spec, &said.memory);
        let names = spec.roles.iter().map(|role| role.name.clone());
        let targets: BTreeMap<_, _> = names.zip(aims.roles.iter().map(|aim| aim.compass.target)).collect();
        let unheard = targets != said.targets;
        if targets != self.targets || unheard != self.unheard {
            (self.targets, self.unheard, self.redirected) = (targets, unheard, unheard);
            self.say_wish();
        }
    }

    pub fn take(&mut self, event: Watched<k8s::Pod>) {
        match event {
            Watched::Init => self.listing.clear(),
            Watched::InitApply(pod) => self.listing.push(pod),
            Watched::InitDone => {
                // What is gone goes first: a namesake may stand in its place.
                let listed = std::mem::take(&mut self.listing);
                let is_listed =
                    |uid: &String| listed.iter().any(|pod| pod.metadata.uid.as_ref() == Some(uid));
                let lost: Vec<String> = self.pods.keys().filter(|uid| !is_listed(uid)).cloned().collect();
                for uid in &lost {
                    self.gone(uid);
                }
                for pod in &listed {
                    self.see(pod);
                }
            }
            Watched::Apply(pod) => self.see(&pod),
            Watched::Delete(pod) => {
                self.see(&pod);
                self.gone(pod.metadata.uid.as_deref().unwrap_or_default());
            }
        }
    }

    fn see(&mut self, pod: &k8s::Pod) {
        let Some(place) = self.workload.place(pod, &mut self.slots) else { return };
        let Some(uid) = pod.metadata.uid.clone() else { return };
        let name = pod.metadata.name.clone().unwrap_or_default();
        let before = self.pods.get(&uid).map(|seen| &seen.pod);
        let now = self.now();
        let seen = view(pod, before, now);
        let seen =
            Pod { member: place.member, revision: place.revision, set_revision: place.set_revision, ..seen };
        if disrupted(pod) {
            self.taken_by_world.insert(uid.clone());
        }
        let (gated, was_gated) = (seen.gated, before.map(|pod| pod.gated));
        let first = !self.pods.values().any(|seen| seen.of == place.of);
        let of = place.of;
        if first {
            self.broken.remove(&of);
        }
        // Whoever is told to go ends, too.
        if !seen.terminating && (seen.failed || (seen.restarts > 0 && self.replaces(&of))) {
            self.broken.insert(of.clone());
        }
        self.pods.insert(uid.clone(), Seen { name: name.clone(), of: of.clone(), pod: seen });
        if was_gated.is_none() {
            self.going_with_it.remove(&of);
        }
        // What comes back as it was only says that not all of it went at once.
        if was_gated.is_none() && self.targets.get(&of.role) == Some(&place.revision) {
            self.torn_down.remove(&of.group);
        }
        if was_gated.is_none() && first {
            let (revision, set_revision) = (place.revision, place.set_revision);
            let why = "Recover".to_owned();
            let late = self.age_of(Deed::Create, &name);
            self.push(late, What::Create { of: of.clone(), revision, set_revision, why });
        }
        match was_gated {
            None if gated => self.say(What::Gate { of: of.clone(), revision: place.revision }),
            Some(true) if !gated => self.say(What::Ungate { of: of.clone(), revision: place.revision }),
            _ => {}
        }
        self.look(&of, &uid, &name);
    }

    fn gone(&mut self, uid: &str) {
        let Some(seen) = self.pods.remove(uid) else { return };
        self.slots.free(uid);
        self.look(&seen.of, uid, &seen.name);
        self.taken_by_world.remove(uid);
        self.heard.remove(uid);
    }

    /// An instance that restarts is replaced, and not left to its kubelet.
    fn replaces(&self, of: &Subject) -> bool {
        let role = self.workload.spec().role(&of.role);
        role.is_some_and(|role| role.restart.kind != RestartKind::None)
    }

    /// Remembers a group that is being torn down: where groups are recreated, and in one that only stood in for
    /// others, nothing that is wished for goes alone, unless it broke.
    fn notice_teardown(&mut self, of: &Subject, uid: &str) {
        let spec = self.workload.spec();
        let wished = spec.role(&of.role).is_some_and(|role| of.instance < role.replicas);
        let as_a_whole = spec.strategy.kind == StrategyKind::GroupRecreate || of.group >= spec.replicas;
        let goes = self.pods.get(uid).is_some_and(|seen| seen.pod.terminating) && !self.broken.contains(of);
        if as_a_whole && wished && goes && !self.taken_by_world.contains(uid) {
            self.torn_down.insert(of.group);
        }
    }

    /// All that is wished for of a group stands: a teardown that was given up, and what is too much goes by itself.
    fn stands_whole(&self, group: u32) -> bool {
        let stands = |of: &Subject| self.pods.values().any(|seen| seen.of == *of && !seen.pod.terminating);
        self.workload.spec().roles.iter().all(|role| {
            let mut all =
                (0..role.replicas).map(|instance| Subject { group, role: role.name.clone(), instance });
            all.all(|of| stands(&of))
        })
    }

    /// Why the controller deletes an instance, if that was heard: the reason for the first pod that it could not spare,
    /// whatever becomes of the others; if it was of no use before, that for the present one.
    fn hear_why(&mut self, of: &Subject, uid: &str, name: &str) -> Option<DeleteWhy> {
        if !self.heard.contains_key(uid) {
            let why = self.sights.as_ref()?.why_deleted(name)?;
            self.heard.insert(uid.to_owned(), why);
        }
        let why = self.heard.get(uid).copied()?;
        if self.instances.is_ready(of) {
            self.taken.insert(of.clone(), why);
        }
        Some(self.taken.get(of).copied().unwrap_or(why))
    }

    /// What has become of an instance, after something happened to one of its pods.
    fn look(&mut self, of: &Subject, uid: &str, name: &str) {
        self.notice_teardown(of, uid);
        let now = self.now();
        let stays = self.pods.get(uid).is_some_and(|seen| !seen.pod.terminating);
        let by_world = self.taken_by_world.contains(uid);
        let heard = if stays || by_world { None } else { self.hear_why(of, uid, name) };
        let spec = self.workload.spec();
        let pods: Vec<&Pod> =
            self.pods.values().filter(|seen| seen.of == *of).map(|seen| &seen.pod).collect();
        let cause = if by_world {
            (By::World, "eviction".to_owned())
        } else if stays {
            // A pod stops being ready by itself; a controller can only delete it.
            (By::World, "unready".to_owned())
        } else if let Some(why) = heard {
            (By::Engine, format!("{why:?}"))
        } else {
            let updated = pods.first().is_some_and(|pod| self.targets.get(&of.role) == Some(&pod.revision));
            if self.torn_down.contains(&of.group) && !self.stands_whole(of.group) {
                self.going_with_it.insert(of.clone());
            }
            let torn_down = self.going_with_it.contains(of);
            let shown = Shown { updated, broke: self.broken.contains(of), torn_down };
            (By::Engine, why_deleted(spec, of, shown).to_owned())
        };
        if pods.is_empty() {
            self.going_with_it.remove(of);
        }
        let late = match cause.0 {
            By::Engine => self.age_of(Deed::Delete, name),
            By::World => self.age(),
        };
        let events = &mut self.events;
        let layouts = &self.layouts;
        let members = |revision: Revision| layouts.get(&revision).map_or(&[][..], Vec::as_slice);
        let cause = (cause.0, cause.1.as_str());
        self.instances.look(of, &pods, members, cause, now, &mut |event| {
            events.push(Event { late, ..event });
        });
        if pods.is_empty() || self.instances.is_ready(of) {
            self.taken.remove(of);
        }
    }

    /// How it has ended, if nothing is on its way: by what the pods show, and by what the controller says if it
    /// says anything.
    pub fn settled(&self) -> Option<End> {
        if self.workload.kind() != Kind::LockstepSet {
            return self.shown();
        }
        let said = self.said.as_ref().filter(|said| said.generation >= self.known_generation)?.end?;
        let moving = self.pods.values().any(|seen| seen.pod.terminating);
        // What the controller said last may be over, and nobody there to say so.
        let shown = match said {
            End::Complete => self.shown() == Some(End::Complete),
            End::PartitionReached | End::RolledBack => self.shown().is_some(),
            End::Paused | End::Stuck | End::TimedOut => true,
        };
        (!moving && shown).then_some(said)
    }

    fn shown(&self) -> Option<End> {
        let spec = self.workload.spec();
        let wished: u32 =
            spec.roles.iter().map(|role| role.replicas * role.pods()).sum::<u32>() * spec.replicas;
        let now = self.now();
        let available = |seen: &Seen| {
            let min_ready = spec.role(&seen.of.role).map(|role| role.min_ready).unwrap_or_default();
            seen.pod.is_ready() && seen.pod.ready.is_some_and(|since| since + min_ready <= now)
        };
        let still = self.pods.values().all(available);
        if !still || self.pods.len() != wished as usize {
            return None;
        }
        let at_target = |seen: &Seen| self.targets.get(&seen.of.role) == Some(&seen.pod.revision);
        if self.pods.values().all(at_target) {
            return Some(End::Complete);
        }
        let kept = |seen: &Seen| {
            let role = spec.role(&seen.of.role);
            seen.of.group < spec.strategy.kept(spec.replicas)
                || role.is_some_and(|role| seen.of.instance < coordinate::limits(spec, role).1)
        };
        self.pods.values().all(|seen| at_target(seen) || kept(seen)).then_some(End::PartitionReached)
    }
}

fn revisions(spec: &Spec) -> BTreeMap<RoleName, Revision> {
    spec.roles.iter().map(|role| (role.name.clone(), role.revision)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workload::REVISION;

    const WEB: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web}]}}
";

    /// The tape of a StatefulSet of one, and the pod it wants.
    fn web() -> (Tape, k8s::Pod) {
        let workload = Workload::read(WEB).expect("a workload");
        let revision = workload.spec().roles[0].revision;
        let pod = serde_json::from_value(json!({
            "metadata": {
                "name": "web-0",
                "uid": "first",
                "annotations": {REVISION: revision.as_str()},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "w", "controller": true}
                ],
            },
            "spec": {"nodeName": "node-0", "containers": []},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }));
        let mut tape = Tape::new(workload.clone(), None);
        tape.wish(&workload);
        (tape, pod.expect("a pod"))
    }

    fn words(tape: &Tape) -> Vec<String> {
        let word = |event: &Event| serde_json::to_value(event).expect("JSON")["event"].to_string();
        tape.events.iter().map(word).map(|word| word.replace('"', "")).collect()
    }

    fn listed(tape: &mut Tape, pods: impl IntoIterator<Item = k8s::Pod>) {
        tape.take(Watched::Init);
        for pod in pods {
            tape.take(Watched::InitApply(pod));
        }
        tape.take(Watched::InitDone);
    }

    #[test]
    fn a_pod_is_created_scheduled_and_ready_in_this_order_even_if_seen_at_once() {
        let (mut tape, pod) = web();
        tape.take(Watched::Apply(pod));
        assert_eq!(words(&tape), ["spec", "create", "scheduled", "ready"]);
        assert_eq!(tape.settled(), Some(End::Complete));
    }

    #[test]
    fn what_a_list_after_an_interruption_lacks_is_gone() {
        let (mut tape, pod) = web();
        tape.take(Watched::Apply(pod));
        listed(&mut tape, []);
        assert_eq!(words(&tape)[4..], ["delete", "gone"]);
        assert_eq!(tape.settled(), None);
    }

    #[test]
    fn a_namesake_that_came_while_nobody_looked_is_another_pod() {
        let (mut tape, pod) = web();
        tape.take(Watched::Apply(pod.clone()));
        let mut namesake = pod;
        namesake.metadata.uid = Some("second".to_owned());
        listed(&mut tape, [namesake]);
        assert_eq!(words(&tape)[4..], ["delete", "gone", "create", "scheduled", "ready"]);
    }

    #[test]
    fn an_evicted_pod_says_so_itself() {
        let (mut tape, mut pod) = web();
        tape.take(Watched::Apply(pod.clone()));
        pod.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
        let mut evicted = pod.clone();
        let status = json!({"conditions": [{"type": "DisruptionTarget", "status": "True"}]});
        evicted.status = serde_json::from_value(status).expect("a status");
        tape.take(Watched::Apply(evicted));
        assert!(matches!(tape.events.last(), Some(Event { what: What::Delete { by: By::World, .. }, .. })));

        let (mut tape, first) = web();
        tape.take(Watched::Apply(first));
        tape.take(Watched::Apply(pod));
        assert!(matches!(tape.events.last(), Some(Event { what: What::Delete { by: By::Engine, .. }, .. })));
    }
}
