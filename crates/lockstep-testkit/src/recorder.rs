//! Watches pods and writes the trace that `simulate` writes, so that the same promises judge both.

mod follow;
mod seen;
mod sights;
mod tape;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1 as k8s;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::simulate::trace::{End, Event, Subject, What};
use lockstep_core::snapshot::Pod;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) use self::follow::follow;
pub(crate) use self::seen::disrupted;
pub(crate) use self::sights::Sights;
use self::tape::Tape;
use crate::workload::{Kind, Workload};

/// How long nothing may happen for an end to be one.
const QUIET: Duration = Duration::from_millis(500);

/// Writes down what happens to the pods of a workload.
#[derive(Debug)]
pub struct Recorder {
    tape: Arc<Mutex<Tape>>,
    news: watch::Receiver<u64>,
    watching: JoinHandle<()>,
    listening: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Watches the pods of a workload in a namespace, from before it is there. How old the controller's view is
    /// nobody measures.
    pub async fn of(client: kube::Client, namespace: &str, workload: &Workload) -> Self {
        Self::start(client, namespace, workload, None).await
    }

    /// The same, and how old the controller's view is may be measured.
    pub(crate) async fn start(
        client: kube::Client,
        namespace: &str,
        workload: &Workload,
        sights: Option<Sights>,
    ) -> Self {
        let tape = Arc::new(Mutex::new(Tape::new(workload.clone(), sights)));
        let (changed, mut news) = watch::channel(0);
        let heard = changed.clone();
        let pods: Api<k8s::Pod> = Api::namespaced(client.clone(), namespace);
        let shared = Arc::clone(&tape);
        let watching = tokio::spawn(follow(pods, move |event| {
            match event {
                Ok(event) => lock(&shared).take(event),
                Err(error) => return lock(&shared).interruptions.push(error.to_string()),
            }
            changed.send_modify(|n| *n += 1);
        }));
        let listening = (workload.kind() == Kind::LockstepSet)
            .then(|| listen(client, namespace, Arc::clone(&tape), heard));
        // Whatever is created from now on is seen.
        let _ = news.wait_for(|n| *n > 0).await;
        Self { tape, news, watching, listening }
    }

    /// The wish changes now. Call it before the API server learns of it. Until [`Recorder::wish_is_known`] the
    /// controller may still act on the old one, and either will do.
    pub fn wish(&self, workload: &Workload) {
        lock(&self.tape).wish(workload);
    }

    /// The controller has seen the wish of this generation.
    pub fn wish_is_known(&self, generation: i64) {
        lock(&self.tape).wish_is_known(generation);
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

    /// Waits until the workload has come to an end of some kind and stays there for a moment, or the time is
    /// over.
    pub async fn until_settled(&mut self, limit: Duration) -> End {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let settled = lock(&self.tape).settled();
            let quiet = tokio::time::timeout(QUIET, self.news.changed()).await.is_err();
            match settled {
                Some(end) if quiet => return end,
                _ if tokio::time::Instant::now() >= deadline => return End::TimedOut,
                _ => {}
            }
        }
    }

    /// The pods of an instance, as soon as there are any; none if it takes longer.
    pub async fn until_stands(&mut self, of: &Subject, limit: Duration) -> Vec<(String, String)> {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let pods = self.pods_of(of);
            let over = tokio::time::timeout_at(deadline, self.news.changed());
            if !pods.is_empty() || over.await.is_err() {
                return pods;
            }
        }
    }

    /// Waits until what was written down so far is so. It is asked again whenever something happens, and must not become
    /// false again: several things may have happened at once.
    pub async fn until_written(&mut self, limit: Duration, so: impl Fn(&[Event]) -> bool) -> bool {
        let tape = Arc::clone(&self.tape);
        let written = self.news.wait_for(|_| so(&lock(&tape).events));
        tokio::time::timeout(limit, written).await.is_ok()
    }

    /// Waits until the loss of these pods, or of their readiness, has been seen; or that they restarted, should nobody
    /// have told of the moment between.
    pub async fn until_struck(&mut self, pods: &[(String, String)], limit: Duration) -> bool {
        let tape = Arc::clone(&self.tape);
        let struck = |_: &u64| {
            let tape = lock(&tape);
            let struck = |pod: &Pod| !pod.is_ready() || pod.restarts > 0;
            pods.iter().all(|(uid, _)| tape.pods.get(uid).is_none_or(|seen| struck(&seen.pod)))
        };
        tokio::time::timeout(limit, self.news.wait_for(struck)).await.is_ok()
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
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

/// Hears what the operator says of a set.
fn listen(
    client: kube::Client,
    namespace: &str,
    tape: Arc<Mutex<Tape>>,
    changed: watch::Sender<u64>,
) -> JoinHandle<()> {
    let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "LockstepSet");
    let resource = ApiResource::from_gvk_with_plural(&kind, "lockstepsets");
    let sets: Api<DynamicObject> = Api::namespaced_with(client, namespace, &resource);
    tokio::spawn(async move {
        let mut sets = watcher(sets, watcher::Config::default()).applied_objects().boxed();
        while let Some(set) = sets.next().await {
            let Ok(set) = set else { continue };
            let status =
                set.data.get("status").and_then(|status| LockstepSetStatus::deserialize(status).ok());
            if let (Some(generation), Some(status)) = (set.metadata.generation, status) {
                lock(&tape).hear(generation, &status);
                changed.send_modify(|n| *n += 1);
            }
        }
    })
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
