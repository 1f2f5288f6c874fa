//! Taking over pods that another operator made: which of them can stay as they are, which are of an older template,
//! and what has to be written on each so that it is the set's own. Pure: nothing here talks to anybody.
//!
//! An instance takes minutes to load, so that a restart nobody needs is an outage. A pod stays if it is what the set
//! would have built for its place, whatever it is called: the operator knows pods by their labels. What defaulting,
//! admission or the other operator put in besides does not matter.

mod compare;
mod environment;
mod former;
mod judge;
mod patch;
mod seat;
mod whose;

pub use compare::{Comparison, Difference, compare};
pub use judge::{Adoption, Fate, Judged, judge};
pub use patch::patch;
pub use seat::Seat;
pub use whose::Estate;
