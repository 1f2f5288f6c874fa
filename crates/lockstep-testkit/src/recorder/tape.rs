//! From watch events to the trace.

mod ended;
mod pods;
mod wish;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1 as k8s;
use lockstep_core::model::Member;
use lockstep_core::names::RoleName;
use lockstep_core::plan::DeleteWhy;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::record;
use lockstep_core::simulate::trace::{End, Event, Subject, What};
use lockstep_core::snapshot::{Memory, Pod, Promotion};
use lockstep_core::time::Time;
use lockstep_sandbox::cluster::faults::Deed;
use tokio::time::Instant;

use super::Sights;
use crate::workload::{Slots, Workload};

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
    /// What the controller last had stored, and since when.
    stored: Memory,
    stored_at: Instant,
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
            stored: Memory::default(),
            stored_at: Instant::now(),
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
}

#[cfg(test)]
mod tests;
