//! The engine of Lockstep: every rollout decision as a pure function.
//!
//! No clocks, no randomness, no I/O and no floating point: equal inputs give equal plans, byte for byte.

pub mod align;
pub mod budget;
pub mod model;
pub mod names;
pub mod number;
pub mod revision;
pub mod snapshot;
pub mod time;
