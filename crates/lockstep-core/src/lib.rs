//! The engine of Lockstep: every rollout decision as a pure function.
//!
//! No clocks, no randomness, no I/O and no floating point: equal inputs give equal plans, byte for byte.
//! Start reading at [`plan`], or at [`roll`], which moves units within a budget at every level.

pub mod align;
pub mod batch;
pub mod blocked;
pub mod budget;
pub mod coordinate;
pub mod gang;
pub mod group;
pub mod model;
pub mod names;
pub mod number;
pub mod observe;
pub mod plan;
pub mod promises;
pub mod prove;
pub mod restart;
pub mod revision;
pub mod roll;
pub mod simulate;
pub mod snapshot;
pub mod stages;
pub mod start;
pub mod status;
pub mod time;
pub mod unit;
pub mod verbs;

mod creating;
mod draft;
mod failures;
mod inside;
mod pauses;
mod surge;
mod waiting;
