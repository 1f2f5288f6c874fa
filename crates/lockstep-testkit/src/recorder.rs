//! Watches pods and writes the trace that `simulate` writes, so that the same promises judge both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1 as k8s;
use kube::Api;
use kube::runtime::watcher::{self, Event as Watched, watcher};
use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::record;
use lockstep_core::simulate::trace::{By, End, Event, SpecEvent, Subject, What};
use lockstep_core::snapshot::Pod;
use lockstep_core::time::Time;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::workload::{Slots, Workload};

/// Writes down what happens to the pods of a workload.
#[derive(Debug)]
pub struct Recorder {
    tape: Arc<Mutex<Tape>>,
    news: watch::Receiver<u64>,
    watching: JoinHandle<()>,
}

impl Recorder {
    /// Watches the pods of a workload in a namespace, from before it is there.
    pub async fn start(client: kube::Client, namespace: &str, workload: &Workload) -> Self {
        let tape = Arc::new(Mutex::new(Tape::new(workload.clone())));
        let (changed, mut news) = watch::channel(0);
        let pods: Api<k8s::Pod> = Api::namespaced(client, namespace);
        let shared = Arc::clone(&tape);
        let watching = tokio::spawn(async move {
            let mut events = watcher(pods, watcher::Config::default()).boxed();
            loop {
                match events.try_next().await {
                    Ok(Some(event)) => lock(&shared).take(event),
                    Ok(None) => return,
                    // The watcher comes back by itself with a list; the tape compares.
                    Err(error) => lock(&shared).interruptions.push(error.to_string()),
                }
                changed.send_modify(|n| *n += 1);
            }
        });
        // Whatever is created from now on is seen.
        let _ = news.wait_for(|n| *n > 0).await;
        Self { tape, news, watching }
    }

    /// The wish changes now. Call it before the API server learns of it.
    pub fn wish(&self, workload: &Workload) {
        lock(&self.tape).wish(workload);
    }

    /// The loss of this pod is the world's doing, not the controller's. Call it before the deed.
    pub fn blame_the_world(&self, uid: &str) {
        lock(&self.tape).taken_by_world.insert(uid.to_owned());
    }

    /// The UIDs of the pods of an instance.
    pub fn pods_of(&self, of: &Subject) -> Vec<(String, String)> {
        let tape = lock(&self.tape);
        let of_it = tape.pods.iter().filter(|(_, seen)| seen.of == *of && !seen.pod.terminating);
        of_it.map(|(uid, seen)| (uid.clone(), seen.name.clone())).collect()
    }

    /// Waits until the workload has come to an end of some kind, or the time is over.
    pub async fn until_settled(&mut self, limit: Duration) -> End {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            if let Some(end) = lock(&self.tape).settled() {
                return end;
            }
            if tokio::time::timeout_at(deadline, self.news.changed()).await.is_err() {
                return End::TimedOut;
            }
        }
    }

    /// Ends the recording and gives the trace. The second value says why the watch was interrupted, if it
    /// was: what happened between is then known only by its result.
    pub fn finish(self, end: End) -> (Vec<Event>, Vec<String>) {
        self.watching.abort();
        let mut tape = lock(&self.tape);
        tape.say(What::End { outcome: end });
        (std::mem::take(&mut tape.events), std::mem::take(&mut tape.interruptions))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Seen {
    name: String,
    of: Subject,
    pod: Pod,
}

#[derive(Debug)]
struct Tape {
    started: Instant,
    workload: Workload,
    slots: Slots,
    pods: BTreeMap<String, Seen>,
    taken_by_world: BTreeSet<String>,
    instances: record::Recorder,
    stable: BTreeMap<RoleName, Revision>,
    listing: Option<BTreeSet<String>>,
    events: Vec<Event>,
    interruptions: Vec<String>,
}

impl Tape {
    fn new(workload: Workload) -> Self {
        Self {
            started: Instant::now(),
            workload,
            slots: Slots::default(),
            pods: BTreeMap::new(),
            taken_by_world: BTreeSet::new(),
            instances: record::Recorder::default(),
            stable: BTreeMap::new(),
            listing: None,
            events: Vec::new(),
            interruptions: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn say(&mut self, what: What) {
        let t = self.now().0;
        self.events.push(Event { t, what });
    }

    fn wish(&mut self, workload: &Workload) {
        let spec = workload.spec().clone();
        let targets = spec.roles.iter().map(|role| (role.name.clone(), role.revision)).collect();
        if self.settled() == Some(End::Complete) {
            self.stable = revisions(self.workload.spec());
        }
        self.workload = workload.clone();
        let stable = self.stable.clone();
        self.say(What::Spec(Box::new(SpecEvent { spec, targets, stable, lag: 0 })));
    }

    fn take(&mut self, event: Watched<k8s::Pod>) {
        match event {
            Watched::Init => self.listing = Some(BTreeSet::new()),
            Watched::InitApply(pod) => {
                if let (Some(listing), Some(uid)) = (&mut self.listing, &pod.metadata.uid) {
                    listing.insert(uid.clone());
                }
                self.see(&pod);
            }
            Watched::InitDone => {
                let listed = self.listing.take().unwrap_or_default();
                let lost: Vec<String> =
                    self.pods.keys().filter(|uid| !listed.contains(*uid)).cloned().collect();
                for uid in &lost {
                    self.gone(uid);
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
        self.pods.insert(uid.clone(), Seen { name, of: of.clone(), pod: seen });
        if was_gated.is_none() && first {
            let (revision, set_revision) = (place.revision, place.set_revision);
            self.say(What::Create { of: of.clone(), revision, set_revision, why: "Recover".to_owned() });
        }
        match was_gated {
            None if gated => self.say(What::Gate { of: of.clone(), revision: place.revision }),
            Some(true) if !gated => self.say(What::Ungate { of: of.clone(), revision: place.revision }),
            _ => {}
        }
        self.look(&of, &uid);
    }

    fn gone(&mut self, uid: &str) {
        let Some(seen) = self.pods.remove(uid) else { return };
        self.slots.free(uid);
        self.look(&seen.of, uid);
        self.taken_by_world.remove(uid);
    }

    /// What has become of an instance, after something happened to one of its pods.
    fn look(&mut self, of: &Subject, uid: &str) {
        let now = self.now();
        let spec = self.workload.spec();
        let role = spec.role(&of.role);
        let pods: Vec<&Pod> =
            self.pods.values().filter(|seen| seen.of == *of).map(|seen| &seen.pod).collect();
        let members = role.map_or(&[][..], |role| role.members.as_slice());
        let revision = pods.first().map(|pod| pod.revision);
        let cause = if self.taken_by_world.contains(uid) {
            (By::World, "eviction")
        } else {
            (By::Engine, why_deleted(spec, of, revision))
        };
        let events = &mut self.events;
        self.instances.look(of, &pods, |_| members, cause, now, &mut |mut event| {
            // A pod stops being ready by itself; a controller can only delete it.
            if let What::Unready { by, .. } = &mut event.what {
                *by = By::World;
            }
            events.push(event);
        });
    }

    /// How it has ended, if nothing is on its way.
    fn settled(&self) -> Option<End> {
        let spec = self.workload.spec();
        let wished: u32 =
            spec.roles.iter().map(|role| role.replicas * role.pods()).sum::<u32>() * spec.replicas;
        let still = self.pods.values().all(|seen| seen.pod.is_ready());
        if !still || self.pods.len() != wished as usize {
            return None;
        }
        let targets = revisions(spec);
        let at_target = |seen: &Seen| targets.get(&seen.of.role) == Some(&seen.pod.revision);
        if self.pods.values().all(at_target) {
            return Some(End::Complete);
        }
        let kept = |seen: &Seen| {
            let role = spec.role(&seen.of.role);
            role.is_some_and(|role| {
                seen.of.instance < lockstep_core::number::partition(role.strategy.partition, role.replicas)
            })
        };
        self.pods.values().all(|seen| at_target(seen) || kept(seen)).then_some(End::PartitionReached)
    }
}

fn revisions(spec: &Spec) -> BTreeMap<RoleName, Revision> {
    spec.roles.iter().map(|role| (role.name.clone(), role.revision)).collect()
}

/// A controller does not say why it deletes; what it deleted does.
fn why_deleted(spec: &Spec, of: &Subject, revision: Option<Revision>) -> &'static str {
    match spec.role(&of.role) {
        Some(role) if of.instance >= role.replicas => "Excess",
        Some(role) if revision == Some(role.revision) => "Repair",
        _ => "Update",
    }
}

/// Evicted, drained, or taken by its node: not the workload's controller.
fn disrupted(pod: &k8s::Pod) -> bool {
    condition(pod, "DisruptionTarget")
}

fn condition(pod: &k8s::Pod, name: &str) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == name && condition.status == "True")
}

/// A pod as the engine would see it. Times are those at which the recorder saw things.
fn view(pod: &k8s::Pod, before: Option<&Pod>, now: Time) -> Pod {
    let status = pod.status.as_ref();
    let spec = pod.spec.as_ref();
    let ready = condition(pod, "Ready");
    let was_ready = before.and_then(|pod| pod.ready);
    Pod {
        uid: pod.metadata.uid.as_deref().unwrap_or_default().into(),
        created: before.map_or(now, |pod| pod.created),
        bound: spec.and_then(|spec| spec.node_name.as_ref()).map(|_| now),
        ready: ready.then(|| was_ready.unwrap_or(now)),
        unready: if ready { None } else { was_ready.map(|_| now).or(before.and_then(|pod| pod.unready)) },
        failed: status
            .and_then(|status| status.phase.as_deref())
            .is_some_and(|phase| matches!(phase, "Failed" | "Succeeded")),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        gated: spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty()),
        ..Pod::default()
    }
}
