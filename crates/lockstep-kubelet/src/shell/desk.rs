//! The one place where everything comes together: events in, decisions made, writes out.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::core::Status;
use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::complaint;
use super::counters::{Tally, count};
use super::nodes::{Alive, Nodes};
use super::pods::Pods;
use super::timers::{Key, Timers};
use super::writes::{self, Outcome, Target};
use crate::annotations::BadAnnotation;
use crate::clock::Clock;
use crate::pod::{Addresses, Next, PodView, StatusChange, step};
use crate::profile::Profile;
use crate::time::{between, later};

/// The pause after a write that failed, doubling.
const AFTER_FAILURE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// The pause after a write that met another pod or none. The watch will tell; this is for the case that it has
/// nothing to tell, because the server gave up on a contended object.
const AFTER_CONFLICT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long a stand-in that is told to stop waits for the writes that are under way.
const FAREWELL: Duration = Duration::from_secs(5);

/// A write that came back.
enum Done {
    Patched { uid: String, is_start: bool, outcome: Outcome<Box<PodView>> },
    Finished { uid: String, outcome: Outcome<()> },
    Node { name: String, outcome: Outcome<()> },
    Complained { uid: String, bad: BadAnnotation, result: kube::Result<()> },
}

/// What the stand-in needs from outside.
pub(crate) struct Inlets<P, N> {
    pub pods: P,
    pub nodes: N,
    pub profile: watch::Receiver<Profile>,
    pub stop: watch::Receiver<bool>,
}

/// All that a stand-in knows and does.
pub(crate) struct Desk {
    client: Client,
    clock: Arc<dyn Clock>,
    concurrency: usize,
    tally: Arc<Tally>,
    alive: watch::Sender<Alive>,
    profile: Profile,
    pods: Pods,
    nodes: Nodes,
    timers: Timers,
    /// Pods to look at. The decision is made when a write can be sent, on what is known by then.
    queue: VecDeque<String>,
    writes: FuturesUnordered<BoxFuture<'static, Done>>,
}

impl Desk {
    pub(crate) fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        concurrency: usize,
        tally: Arc<Tally>,
        alive: watch::Sender<Alive>,
    ) -> Self {
        Self {
            client,
            clock,
            concurrency: concurrency.max(1),
            tally,
            alive,
            profile: Profile::default(),
            pods: Pods::new(),
            nodes: Nodes::new(),
            timers: Timers::default(),
            queue: VecDeque::new(),
            writes: FuturesUnordered::new(),
        }
    }

    /// Works until told to stop, then lets the writes that are under way come to an end.
    pub(crate) async fn run<P, N>(mut self, inlets: Inlets<P, N>)
    where
        P: Stream<Item = Event<PodView>>,
        N: Stream<Item = Event<Node>>,
    {
        let Inlets { pods, nodes, mut profile, mut stop } = inlets;
        let (mut pods, mut nodes) = (pin!(pods), pin!(nodes));
        self.profile = profile.borrow_and_update().clone();
        loop {
            self.work_off();
            let alarm = self.alarm();
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                Ok(()) = profile.changed() => {
                    let profile = profile.borrow_and_update().clone();
                    self.set_profile(profile);
                }
                Some(done) = self.writes.next(), if !self.writes.is_empty() => self.done(done),
                Some(event) = nodes.next() => self.node_event(event),
                Some(event) = pods.next() => self.pod_event(event),
                () = tokio::time::sleep(alarm.unwrap_or_default()), if alarm.is_some() => self.ring(),
            }
        }
        let rest = self.writes.for_each(|_| std::future::ready(()));
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            tracing::debug!("stopped with writes under way");
        }
    }

    /// How long until something is due.
    fn alarm(&self) -> Option<Duration> {
        self.timers.next().map(|at| between(self.clock.now(), at))
    }

    fn ring(&mut self) {
        let now = self.clock.now();
        while let Some(key) = self.timers.pop(now) {
            match key {
                Key::Pod(uid) => {
                    if let Some(tracked) = self.pods.get_mut(&uid) {
                        tracked.wakes_at = None;
                    }
                    self.enqueue(uid);
                }
                Key::Node(name) => self.look_at_node(&name),
            }
        }
    }

    fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
        for uid in self.pods.set_profile(&self.profile) {
            self.enqueue(uid);
        }
    }

    fn pod_event(&mut self, event: Event<PodView>) {
        if let Some(uid) = self.pods.apply(event, &self.profile) {
            self.enqueue(uid);
        }
    }

    fn node_event(&mut self, event: Event<Node>) {
        let name = self.nodes.apply(event);
        let alive = self.nodes.alive();
        let risen: Vec<_> = {
            let before = self.alive.borrow();
            alive.keys().filter(|name| !before.contains_key(*name)).cloned().collect()
        };
        self.alive.send_if_modified(|current| {
            let is_new = *current != alive;
            *current = alive;
            is_new
        });
        for node in risen {
            for uid in self.pods.on_node(&node) {
                self.enqueue(uid);
            }
        }
        if let Some(name) = name {
            self.look_at_node(&name);
        }
    }

    fn enqueue(&mut self, uid: String) {
        if let Some(tracked) = self.pods.get_mut(&uid)
            && !tracked.is_queued
        {
            tracked.is_queued = true;
            self.queue.push_back(uid);
        }
    }

    /// Looks at the pod again at `at`.
    fn wake(&mut self, uid: String, at: Timestamp) {
        if let Some(tracked) = self.pods.get_mut(&uid)
            && tracked.wakes_at != Some(at)
        {
            tracked.wakes_at = Some(at);
            self.timers.set(at, Key::Pod(uid));
        }
    }

    /// Looks at pods for as long as writes can be sent.
    fn work_off(&mut self) {
        while self.pods.is_listed() && self.writes.len() < self.concurrency {
            let Some(uid) = self.queue.pop_front() else { return };
            self.look_at_pod(uid);
        }
    }

    fn look_at_node(&mut self, name: &str) {
        let Some(body) = self.nodes.refresh(name, self.clock.now()) else { return };
        let (client, name) = (self.client.clone(), name.to_owned());
        self.writes.push(Box::pin(async move {
            let outcome = writes::patch_node(client, name.clone(), body).await;
            Done::Node { name, outcome }
        }));
    }

    fn look_at_pod(&mut self, uid: String) {
        let now = self.clock.now();
        let Some(tracked) = self.pods.get_mut(&uid) else { return };
        tracked.is_queued = false;
        let is_done_with = tracked.is_finished && !tracked.view.is_held();
        if tracked.is_writing || is_done_with || self.nodes.address(tracked.view.node()).is_none() {
            return;
        }
        if let Some(at) = tracked.not_before.filter(|at| *at > now) {
            return self.wake(uid, at);
        }
        match step(&tracked.view, &tracked.behaviour, now) {
            Next::Patch(change) if tracked.written.as_ref() == Some(&change) => {
                tracing::warn!(uid, "the server does not keep the pod's status as it was written");
            }
            Next::Patch(change) => self.send_patch(&uid, change),
            Next::Finish => self.send_finish(uid.clone()),
            Next::WaitUntil(at) => self.wake(uid.clone(), at),
            Next::Nothing => {}
        }
        self.complain(&uid, now);
    }

    fn send_patch(&mut self, uid: &str, mut change: Box<StatusChange>) {
        let (own, Some(tracked)) = (self.pods.address(uid), self.pods.get_mut(uid)) else { return };
        tracked.is_writing = true;
        tracked.written = Some(change.clone());
        let is_start = change.is_start(&tracked.view.status);
        let host = self.nodes.address(tracked.view.node());
        if let (None, Some(host), Some(own)) = (&tracked.view.status.pod_ip, host, own) {
            let own = if tracked.view.spec.host_network { host } else { own };
            change.addresses = Some(Addresses::new(host, own));
        }
        let (client, target) = (self.client.clone(), Target::of(&tracked.view));
        self.writes.push(Box::pin(async move {
            let uid = target.uid.clone();
            let outcome = writes::patch(client, target, change).await;
            Done::Patched { uid, is_start, outcome }
        }));
    }

    fn send_finish(&mut self, uid: String) {
        let Some(tracked) = self.pods.get_mut(&uid) else { return };
        tracked.is_writing = true;
        let (client, target) = (self.client.clone(), Target::of(&tracked.view));
        self.writes.push(Box::pin(async move {
            let outcome = writes::finish(client, target).await;
            Done::Finished { uid, outcome }
        }));
    }

    fn complain(&mut self, uid: &str, now: Timestamp) {
        let Some(tracked) = self.pods.get_mut(uid) else { return };
        for bad in std::mem::take(&mut tracked.bad) {
            let (client, event) = (self.client.clone(), complaint::event(&tracked.view, &bad, now));
            let uid = uid.to_owned();
            self.writes.push(Box::pin(async move {
                let result = complaint::say(client, event).await;
                Done::Complained { uid, bad, result }
            }));
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Patched { uid, is_start, outcome } => self.patched(uid, is_start, outcome),
            Done::Finished { uid, outcome } => self.finished(uid, outcome),
            Done::Node { outcome: Outcome::Done(()), .. } => {}
            Done::Node { name, outcome } => {
                tracing::debug!(name, ?outcome, "the node's status was not written");
                self.timers.set(later(self.clock.now(), AFTER_CONFLICT.0), Key::Node(name));
            }
            Done::Complained { result: Ok(()), .. } => count(&self.tally.complaints),
            Done::Complained { uid, bad, result: Err(error) } => {
                tracing::debug!(%error, "the event was not written");
                let at = later(self.clock.now(), AFTER_FAILURE.1);
                if let Some(tracked) = self.pods.get_mut(&uid) {
                    tracked.bad.push(bad);
                    self.wake(uid, at);
                }
            }
        }
    }

    fn patched(&mut self, uid: String, is_start: bool, outcome: Outcome<Box<PodView>>) {
        match outcome {
            Outcome::Done(view) => {
                count(&self.tally.patches);
                if is_start {
                    count(&self.tally.started);
                }
                self.pods.answered(*view, &self.profile);
                self.succeeded(uid);
            }
            Outcome::Stale(status) => self.put_aside(uid, &status),
            Outcome::Failed(error) => self.put_off(uid, &error),
        }
    }

    fn finished(&mut self, uid: String, outcome: Outcome<()>) {
        match outcome {
            Outcome::Done(()) => {
                count(&self.tally.finished);
                if let Some(tracked) = self.pods.get_mut(&uid) {
                    tracked.is_finished = true;
                }
                self.succeeded(uid);
            }
            Outcome::Stale(status) => self.put_aside(uid, &status),
            Outcome::Failed(error) => self.put_off(uid, &error),
        }
    }

    fn succeeded(&mut self, uid: String) {
        if let Some(tracked) = self.pods.get_mut(&uid) {
            tracked.is_writing = false;
            tracked.failures = 0;
            tracked.not_before = None;
        }
        self.enqueue(uid);
    }

    /// What we knew was old. The watch will tell; we look again in any case, later.
    fn put_aside(&mut self, uid: String, status: &Status) {
        count(&self.tally.conflicts);
        tracing::debug!(uid, message = status.message, "a write came too late");
        if let Some(at) = self.give_up(&uid, AFTER_CONFLICT) {
            self.wake(uid, at);
        }
    }

    /// The server has trouble, so news of the pod are no reason to press it.
    fn put_off(&mut self, uid: String, error: &kube::Error) {
        count(&self.tally.retries);
        tracing::debug!(uid, %error, "a write failed");
        if let Some(at) = self.give_up(&uid, AFTER_FAILURE) {
            if let Some(tracked) = self.pods.get_mut(&uid) {
                tracked.not_before = Some(at);
            }
            self.wake(uid, at);
        }
    }

    /// Takes back a write that came to nothing; answers with when to look again.
    fn give_up(&mut self, uid: &str, (first, longest): (Duration, Duration)) -> Option<Timestamp> {
        let now = self.clock.now();
        let tracked = self.pods.get_mut(uid)?;
        let factor = 1u32.checked_shl(tracked.failures).unwrap_or(u32::MAX);
        tracked.is_writing = false;
        tracked.written = None;
        tracked.failures = tracked.failures.saturating_add(1);
        Some(later(now, first.saturating_mul(factor).min(longest)))
    }
}
