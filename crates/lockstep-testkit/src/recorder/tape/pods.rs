//! What happens to pods, and to the instances that they make up.

use k8s_openapi::api::core::v1 as k8s;
use kube::runtime::watcher::Event as Watched;
use lockstep_core::model::{RestartKind, StrategyKind};
use lockstep_core::plan::DeleteWhy;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{By, Event, Subject, What};
use lockstep_core::snapshot::Pod;
use lockstep_sandbox::cluster::faults::Deed;

use super::super::seen::{Shown, disrupted, view, why_deleted};
use super::{Seen, Tape};

impl Tape {
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
        } else if self.sights.as_ref().is_some_and(|sights| sights.was_overtaken(Deed::Delete, name)) {
            (By::World, "overtaken".to_owned())
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
}
