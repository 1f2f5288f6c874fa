//! How much was written, by whom, and how long it took: all from the audit log.

use jiff::Timestamp;
use serde::Serialize;

use crate::audit::{Audit, Entry};
use crate::proxy::{Verb, Which};

/// How the kubelet stand-in appears in the audit log.
pub(super) const KUBELET: &str = "lockstep-kubelet";

/// What somebody wrote in one namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Writes {
    /// Pods created.
    pub creates: usize,
    /// Pods deleted.
    pub deletes: usize,
    /// Everything else but events: statuses, revisions, other objects, other writes to pods.
    pub beside: usize,
    /// Events.
    pub events: usize,
    /// How many of all these were refused.
    pub refused: usize,
}

impl Writes {
    /// Counts the writes of these agents (a part of the user agent each) in a namespace.
    pub fn count(audit: &Audit, namespace: &str, agents: &[&str]) -> Self {
        let mut counted = Self::default();
        for entry in audit.writes() {
            let request = &entry.request;
            if request.namespace != namespace || !agents.iter().any(|it| request.user_agent.contains(it)) {
                continue;
            }
            counted.refused += usize::from(!entry.succeeded());
            match (request.target().as_str(), request.verb) {
                ("events", _) => counted.events += 1,
                ("pods", Verb::Create) => counted.creates += 1,
                ("pods", Verb::Delete) => counted.deletes += 1,
                _ => counted.beside += 1,
            }
        }
        counted
    }

    /// Writes per replaced pod, without events.
    pub fn per_pod(&self, pods: u32) -> f64 {
        (self.creates + self.deletes + self.beside) as f64 / f64::from(pods.max(1))
    }
}

/// How long a piece of work took, in seconds from the moment it was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Took {
    /// Until the last create was answered.
    pub creates: f64,
    /// Until the last pod was ready.
    pub ready: f64,
}

impl Took {
    /// What was done in a namespace since a moment.
    pub fn since(mark: Timestamp, audit: &Audit, namespace: &str) -> Self {
        let last = |which: &Which| {
            let entries = audit.entries().iter();
            let answers = entries
                .filter(|entry| entry.time >= mark && entry.succeeded() && which.fits(&entry.request))
                .map(|entry| seconds(mark, entry.answered));
            answers.fold(0.0, f64::max)
        };
        let creates = Which::verbs([Verb::Create]).of("pods").namespace(namespace);
        let ready = Which::verbs([Verb::Patch]).of("pods/status").namespace(namespace).user_agent(KUBELET);
        Self { creates: last(&creates), ready: last(&ready) }
    }
}

/// From one moment to another.
pub(super) fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// Successful requests of this kind in a namespace, in the order of their arrival.
pub(super) fn of_kind<'a>(audit: &'a Audit, which: &Which) -> Vec<&'a Entry> {
    let entries = audit.entries().iter();
    let mut found: Vec<&Entry> =
        entries.filter(|entry| entry.succeeded() && which.fits(&entry.request)).collect();
    found.sort_by_key(|entry| entry.time);
    found
}
