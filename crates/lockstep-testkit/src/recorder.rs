//! Watches pods and writes the trace that `simulate` writes, so that the same promises judge both.

mod tape;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1 as k8s;
use kube::Api;
use kube::runtime::watcher::{self, watcher};
use lockstep_core::simulate::trace::{End, Event, Subject, What};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::tape::Tape;
use crate::workload::Workload;

/// How long nothing may happen for an end to be one.
const QUIET: Duration = Duration::from_millis(500);

/// How long to wait before a watch that broke is begun again.
const BREATH: Duration = Duration::from_millis(100);

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
            loop {
                let mut events = watcher(pods.clone(), watcher::Config::default()).boxed();
                while let Ok(Some(event)) = events.try_next().await.map_err(|error| {
                    lock(&shared).interruptions.push(error.to_string());
                }) {
                    lock(&shared).take(event);
                    changed.send_modify(|n| *n += 1);
                }
                // A new watch begins with a list, whatever ended the old one; the tape compares.
                tokio::time::sleep(BREATH).await;
            }
        });
        // Whatever is created from now on is seen.
        let _ = news.wait_for(|n| *n > 0).await;
        Self { tape, news, watching }
    }

    /// The wish changes now. Call it before the API server learns of it. Until [`Recorder::wish_is_known`] the
    /// controller may still act on the old one, and the looser of both is what it is held to.
    pub fn wish(&self, workload: &Workload) {
        lock(&self.tape).wish(workload);
    }

    /// The controller has seen the wish.
    pub fn wish_is_known(&self) {
        lock(&self.tape).wish_is_known();
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

    /// Waits until the loss of these pods, or of their readiness, has been seen.
    pub async fn until_struck(&mut self, pods: &[(String, String)], limit: Duration) -> bool {
        let tape = Arc::clone(&self.tape);
        let struck = |_: &u64| {
            let tape = lock(&tape);
            pods.iter().all(|(uid, _)| tape.pods.get(uid).is_none_or(|seen| !seen.pod.is_ready()))
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
    }
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
