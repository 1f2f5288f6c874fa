//! The operator: observes a cluster, lets the engine plan, carries the plan out and reports.
//!
//! Nothing about a rollout is decided here: that is `lockstep_core::plan`. This crate brings it what is there and
//! does what it says.

pub mod act;
pub mod controller;
pub mod observe;
pub mod report;
pub mod set;
