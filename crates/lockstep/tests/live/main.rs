//! The commands on a set that runs in a cluster, on a real API server.

#![allow(clippy::expect_used)]

mod budgets;
mod played;
mod rollout;
mod stage;
