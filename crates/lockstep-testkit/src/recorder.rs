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
