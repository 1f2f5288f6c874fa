//! The operator: observes a cluster, lets the engine plan, carries the plan out and reports.
//!
//! Nothing about a rollout is decided here: that is `lockstep_core::plan`. This crate brings it what is there and
//! does what it says.

pub mod act;
pub mod admission;
pub mod adopt;
pub mod budgets;
pub mod certificates;
pub mod clock;
pub mod controller;
pub mod dialects;
pub mod election;
pub mod federation;
pub mod metrics;
pub mod observe;
pub mod operator;
mod quantity;
pub mod report;
pub mod serve;
pub mod set;
