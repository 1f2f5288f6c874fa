//! How old is what the operators of an embedded cluster know, and why they delete: seen on their way to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockstep_core::plan::DeleteWhy;
use lockstep_sandbox::cluster::faults::{Deed, Done, Link};
use tokio::time::Instant;

/// The ways of all operators that ever were, the latest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sights(Arc<Mutex<Vec<Link>>>);

impl Sights {
    fn lock(&self) -> MutexGuard<'_, Vec<Link>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub fn add(&self, link: Link) {
        self.lock().push(link);
    }

    /// Since when operators may know nothing: of those that live, the one that knows least; of those that are dead,
    /// the last.
    pub fn rest_on(&self) -> Instant {
        let links = self.lock();
        let living = links.iter().filter(|link| !link.is_dead()).map(Link::rests_on).min();
        living.or_else(|| links.last().map(Link::rests_on)).unwrap_or_else(Instant::now)
    }

    /// How old it all may be, in milliseconds.
    pub fn age(&self) -> u64 {
        millis_since(self.rest_on())
    }

    /// How old was what somebody knew who did this to a pod just now, in milliseconds; if nobody did, how old is what
    /// they know.
    pub fn age_of(&self, deed: Deed, pod: &str) -> u64 {
        self.last(deed, pod).map_or_else(|| self.age(), |done| millis_since(done.decided.rests_on))
    }

    /// Why somebody deleted a pod just now, if they gave the reason along with the request.
    pub fn why_deleted(&self, pod: &str) -> Option<DeleteWhy> {
        self.last(Deed::Delete, pod)?.along.get().copied()
    }

    /// Whether who sent this was cut off, or died, while it was on its way, and another operator has acted in its place
    /// meanwhile, and not before: nobody can call it back.
    pub fn was_overtaken(&self, deed: Deed, pod: &str) -> bool {
        let links = self.lock();
        let deeds = links.iter().enumerate().filter_map(|(i, link)| Some((i, link.deed(deed, pod)?)));
        let Some((sender, done)) = deeds.max_by_key(|(_, done)| done.arrived) else { return false };
        let Some(silent) = links[sender].silent_after(done.decided.sent) else { return false };
        let others = || links.iter().enumerate().filter(|(i, _)| *i != sender).map(|(_, link)| link);
        others().any(|other| other.acted_between(done.decided.sent, done.arrived))
            && !others().any(|other| other.acted_between(silent, done.decided.sent))
    }

    /// Whether somebody may decide who knows no more than what was stored then: one that came after it, or another of
    /// several that take turns.
    pub fn may_begin_anew(&self, stored: Instant) -> bool {
        let links = self.lock();
        links.iter().filter(|link| !link.is_dead()).count() != 1
            || links.iter().any(|link| link.began() > stored || link.silent_after(stored).is_some())
    }

    fn last(&self, deed: Deed, pod: &str) -> Option<Done> {
        self.lock().iter().filter_map(|link| link.deed(deed, pod)).max_by_key(|done| done.arrived)
    }
}

fn millis_since(then: Instant) -> u64 {
    u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX)
}
