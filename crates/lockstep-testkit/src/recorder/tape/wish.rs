//! What is wished for, and what the controller says of it.

use std::collections::BTreeMap;

use lockstep_api::status::LockstepSetStatus;
use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::observe::Aims;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{End, SpecEvent, What};
use lockstep_core::snapshot::Memory;
use serde::Deserialize;
use tokio::time::Instant;

use super::{Said, Tape};
use crate::workload::Workload;

/// How far a controller's view may be behind, in milliseconds: what the world took less long ago, it could not know.
const LAG: u64 = 500;

/// The same where it is seen how old it is: the moment for which news are gathered.
const MOMENT: u64 = 20;

impl Tape {
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

    /// What is stable the judge finds out for itself, but not what the controller had stored of it.
    fn say_wish(&mut self) {
        let (spec, targets) = (self.workload.spec().clone(), self.targets.clone());
        let lag = if self.sights.is_some() { MOMENT } else { LAG };
        let stored = self.stored.roles.iter();
        let stable = stored.filter_map(|(name, role)| Some((name.clone(), role.stable?))).collect();
        let anew = self.sights.as_ref().is_none_or(|sights| sights.may_begin_anew(self.stored_at));
        let unheard = self.unheard;
        self.say(What::Spec(Box::new(SpecEvent { spec, targets, stable, lag, own: lag, unheard, anew })));
    }

    /// The controller says where it stands.
    pub fn hear(&mut self, generation: i64, status: &LockstepSetStatus) {
        let memory = Memory::deserialize(&status.memory).unwrap_or_default();
        if self.stored != memory {
            self.stored.clone_from(&memory);
            self.stored_at = Instant::now();
        }
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
}

fn revisions(spec: &Spec) -> BTreeMap<RoleName, Revision> {
    spec.roles.iter().map(|role| (role.name.clone(), role.revision)).collect()
}
