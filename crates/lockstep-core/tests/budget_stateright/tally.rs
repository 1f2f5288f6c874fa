//! How often what happened, over all steps that were tried: a model in which nothing lapses shows nothing
//! about lapsing. It is kept beside the states, so that it makes no difference to them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Admitted,
    Refused,
    Again,
    Conflicts,
    Landed,
    Lost,
    GivenBack,
    Kept,
    Lapsed,
}

const EVENTS: [Event; 9] = [
    Event::Admitted,
    Event::Refused,
    Event::Again,
    Event::Conflicts,
    Event::Landed,
    Event::Lost,
    Event::GivenBack,
    Event::Kept,
    Event::Lapsed,
];

#[derive(Clone, Default)]
pub struct Tally(Arc<[AtomicUsize; 9]>);

impl Tally {
    pub fn count(&self, event: Event, by: usize) {
        self.0[event as usize].fetch_add(by, Ordering::Relaxed);
    }

    pub fn of(&self, event: Event) -> usize {
        self.0[event as usize].load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(EVENTS.map(|event| (event, self.of(event)))).finish()
    }
}
