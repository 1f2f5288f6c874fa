//! Watches the pods and the workloads of all members, and judges what happened over their sum.

mod promise;
mod seen;
mod tape;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1 as k8s;
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use tokio::sync::{oneshot, watch};

use self::promise::SKEW;
pub use self::promise::{Breach, Promise, Rule};
pub use self::seen::{Counts, Pod, Workload};
use self::tape::Tape;
pub use self::tape::{Event, Scene, What};

use super::Federation;
use crate::cluster::{Access, ClusterError};
use crate::recorder::follow;

/// How long nothing may happen for an end to be one.
const QUIET: Duration = Duration::from_secs(1);

/// Writes down what happens to the pods of a namespace in all members. Of real clusters it does so on a thread of its
/// own, so that what the test does meanwhile does not make it late.
#[derive(Debug)]
pub struct Recorder {
    names: Vec<String>,
    tape: Arc<Mutex<Tape>>,
    news: watch::Receiver<()>,
    /// What happened no further apart than this in two members has no order.
    skew: Duration,
    /// Dropped, it ends the watches.
    _life: oneshot::Sender<()>,
}

/// What stands in all members at this moment.
#[derive(Debug, Clone)]
pub struct View {
    /// By member: its name, what is counted, and its workload.
    pub members: Vec<(String, Counts, Option<Workload>)>,
}

impl View {
    /// Over all members.
    pub fn sum(&self) -> Counts {
        self.members.iter().map(|(_, counts, _)| *counts).sum()
    }

    /// Nothing is on its way: all that is wanted stands, is available, and every controller has seen its workload.
    pub fn rests(&self) -> bool {
        self.members.iter().all(|(_, counts, workload)| {
            let Counts { wanted, standing, available, going, .. } = *counts;
            let observed = workload.as_ref().is_none_or(|workload| workload.observed);
            observed && going == 0 && available == wanted && standing == wanted
        })
    }
}

impl std::fmt::Display for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "together {}", self.sum())?;
        for (name, counts, workload) in &self.members {
            write!(f, "; {name}: {counts}")?;
            if let Some(Workload { strategy, paused, image, .. }) = workload {
                write!(f, ", {image} by {strategy}{}", if *paused { ", paused" } else { "" })?;
            }
        }
        Ok(())
    }
}

impl Federation {
    /// Records what happens in a namespace to all pods, and to the workload of this kind, from now on.
    pub async fn record(&self, namespace: &str, kind: &ApiResource) -> Result<Recorder, ClusterError> {
        let access = |member: &super::Member| member.cluster().access().cloned();
        let ways: Vec<Access> = self.members().iter().filter_map(access).collect();
        let names = self.members().iter().map(|member| member.name().to_owned()).collect();
        let (recorder, desk) = Recorder::at_rest(names, SKEW);
        let (namespace, kind) = (namespace.to_owned(), kind.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ClusterError::access(WHAT))?;
        std::thread::spawn(move || {
            let watching = async {
                let clients = ways.iter().map(|way| way.client("lockstep-recorder"));
                match futures::future::try_join_all(clients).await {
                    Ok(clients) => desk.watch(clients, &namespace, &kind).await,
                    Err(error) => tracing::warn!(%error, "nothing is recorded"),
                }
            };
            runtime.block_on(watching);
        });
        recorder.begun().await
    }
}

/// What recording is, where it fails.
const WHAT: &str = "record what happens in the members";

/// Where a recorder writes.
struct Desk {
    tape: Arc<Mutex<Tape>>,
    changed: watch::Sender<()>,
    over: oneshot::Receiver<()>,
}

impl Desk {
    /// Watches until nobody wants to know any more.
    async fn watch(self, clients: Vec<kube::Client>, namespace: &str, kind: &ApiResource) {
        let Self { tape, changed, over } = self;
        let follow_one = |(member, client): (usize, kube::Client)| {
            let (tape, changed) = (&tape, &changed);
            let pods: Api<k8s::Pod> = Api::namespaced(client.clone(), namespace);
            let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), namespace);
            let workloads: Api<DynamicObject> = Api::namespaced_with(client, namespace, kind);
            let pods = follow(pods, move |event| {
                match event {
                    Ok(event) => lock(tape).take_pod(member, event),
                    Err(error) => lock(tape).interruptions.push((member, error.to_string())),
                }
                changed.send_replace(());
            });
            let sets = follow(sets, move |event| {
                match event {
                    Ok(event) => lock(tape).take_replica_set(member, event),
                    Err(error) => lock(tape).interruptions.push((member, error.to_string())),
                }
                changed.send_replace(());
            });
            let workloads = follow(workloads, move |event| {
                match event {
                    Ok(event) => lock(tape).take_workload(member, event),
                    Err(error) => lock(tape).interruptions.push((member, error.to_string())),
                }
                changed.send_replace(());
            });
            futures::future::join3(pods, sets, workloads)
        };
        let watches = futures::future::join_all(clients.into_iter().enumerate().map(follow_one));
        tokio::select! {
            _ = watches => {}
            _ = over => {}
        }
    }
}

impl Recorder {
    /// Records what happens in clusters of this process, in the time of this runtime, which is the same for all of
    /// them.
    pub async fn here(
        members: Vec<(String, kube::Client)>,
        namespace: &str,
        kind: &ApiResource,
    ) -> Result<Self, ClusterError> {
        let (names, clients) = members.into_iter().unzip();
        let (recorder, desk) = Self::at_rest(names, Duration::ZERO);
        let (namespace, kind) = (namespace.to_owned(), kind.clone());
        tokio::spawn(async move { desk.watch(clients, &namespace, &kind).await });
        recorder.begun().await
    }

    fn at_rest(names: Vec<String>, skew: Duration) -> (Self, Desk) {
        let tape = Arc::new(Mutex::new(Tape::new(names.len())));
        let (changed, news) = watch::channel(());
        let (life, over) = oneshot::channel();
        let desk = Desk { tape: Arc::clone(&tape), changed, over };
        (Self { names, tape, news, skew, _life: life }, desk)
    }

    /// Waits until everything is watched.
    async fn begun(mut self) -> Result<Self, ClusterError> {
        let (all, tape) = (3 * self.names.len(), Arc::clone(&self.tape));
        let begun = self.news.wait_for(|()| lock(&tape).watching >= all).await.map(drop);
        begun.map_err(ClusterError::access(WHAT))?;
        Ok(self)
    }

    /// The wish changes now, and this is promised from now on. Call it before Karmada learns of it.
    pub fn wish(&self, promise: &Promise) {
        lock(&self.tape).write(What::Wish(promise.clone()));
    }

    /// Writes down what the test does.
    pub fn note(&self, deed: &str) {
        lock(&self.tape).write(What::Deed(deed.to_owned()));
    }

    /// What stands now, counted by the wish that is in force.
    pub fn view(&self) -> View {
        let tape = lock(&self.tape);
        let promise = tape.promise().cloned().unwrap_or_default();
        let now = tape.now();
        let count =
            |member: usize, scene: &Scene| scene.count(&promise.image_in(member), now, promise.min_ready);
        let members = self.names.iter().zip(&tape.scenes).enumerate();
        let members =
            members.map(|(i, (name, scene))| (name.clone(), count(i, scene), scene.workload.clone()));
        View { members: members.collect() }
    }

    /// Waits until what stands is so; false if it takes longer than the limit.
    pub async fn until(&mut self, limit: Duration, is_so: impl Fn(&View) -> bool) -> bool {
        let deadline = tokio::time::Instant::now() + limit;
        while !is_so(&self.view()) {
            let now = tokio::time::Instant::now();
            if now >= deadline {
                return false;
            }
            // A pod may become available by time alone, without any news.
            let _ = tokio::time::timeout_at(deadline.min(now + QUIET), self.news.changed()).await;
        }
        true
    }

    /// Waits until what stands is so and nothing happens for a moment; false if it takes longer than the limit.
    pub async fn until_stays(&mut self, limit: Duration, is_so: impl Fn(&View) -> bool) -> bool {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            self.news.mark_unchanged();
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            if !self.until(left, &is_so).await {
                return false;
            }
            self.news.mark_unchanged();
            let quiet = tokio::time::timeout(QUIET, self.news.changed()).await.is_err();
            if quiet && is_so(&self.view()) {
                return true;
            }
        }
    }

    /// How long nothing has happened.
    pub fn idle(&self) -> Duration {
        let tape = lock(&self.tape);
        tape.now() - tape.events.last().map(|event| event.at).unwrap_or_default()
    }

    /// Waits until nothing happens for so long; false if it takes longer than the limit.
    pub async fn until_quiet(&mut self, quiet: Duration, limit: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + limit;
        while tokio::time::Instant::now() < deadline {
            self.news.mark_unchanged();
            if tokio::time::timeout(quiet, self.news.changed()).await.is_err() {
                return true;
            }
        }
        false
    }

    /// Judges what was recorded so far.
    pub fn verdict(&self) -> Verdict {
        let tape = lock(&self.tape);
        let named = |(member, reason): &(usize, String)| format!("{}: {reason}", self.names[*member]);
        let breaches = promise::judge(&self.names, &tape.events, self.skew);
        let interruptions = tape.interruptions.iter().map(named).collect();
        let (members, events, skew) = (self.names.clone(), tape.events.clone(), self.skew);
        Verdict { members, events, breaches, interruptions, skew }
    }
}

/// What was recorded, and which promises were broken.
#[derive(Debug)]
pub struct Verdict {
    /// The members by name; events have their numbers.
    pub members: Vec<String>,
    /// Everything that was seen, in order.
    pub events: Vec<Event>,
    /// What was broken, from when to when.
    pub breaches: Vec<Breach>,
    /// Why a watch was interrupted: what happened meanwhile is known only by its result.
    pub interruptions: Vec<String>,
    skew: Duration,
}

impl Verdict {
    /// The worst that happened by a rule.
    pub fn worst(&self, rule: Rule) -> Option<&Breach> {
        let broken = self.breaches.iter().filter(|breach| breach.rule == rule);
        broken.max_by_key(|breach| breach.count.abs_diff(breach.bound))
    }

    /// What would be broken for somebody who sees pods and not what their ReplicaSets were told.
    pub fn by_pods_alone(&self) -> Vec<Breach> {
        let seen = |event: &&Event| !matches!(event.what, What::ReplicaSet { .. });
        let seen: Vec<Event> = self.events.iter().filter(seen).cloned().collect();
        promise::judge(&self.members, &seen, self.skew)
    }

    /// When the test took a step.
    pub fn noted(&self, step: &super::case::Step<'_>) -> Option<Duration> {
        let deed = format!("{step:?}");
        let noted = |what: &What| matches!(what, What::Deed(its) if *its == deed);
        self.events.iter().find(|event| noted(&event.what)).map(|event| event.at)
    }

    /// When the first pod of an image came to stand in a member, and when the last of them became ready.
    pub fn rolled(&self, member: usize, image: &str) -> Option<(Duration, Duration)> {
        let of_image = self.events.iter().filter_map(|event| match &event.what {
            What::Pod { member: its, pod: Some(pod), .. } if *its == member && pod.image == image => {
                Some((event.at, pod.ready))
            }
            _ => None,
        });
        let first = of_image.clone().map(|(at, _)| at).min()?;
        Some((first, of_image.filter_map(|(_, ready)| ready).max()?))
    }

    /// Nothing was broken, and everything was seen.
    ///
    /// # Panics
    /// If not.
    pub fn assert_kept(&self) {
        assert!(self.interruptions.is_empty(), "not everything was seen: {:?}", self.interruptions);
        let breaches: Vec<String> = self.breaches.iter().map(ToString::to_string).collect();
        assert!(breaches.is_empty(), "promises were broken:\n{}", breaches.join("\n"));
    }
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
