//! PodCliqueSets on our engine.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, missing_docs)]

mod changes;
mod children;
mod complaints;
mod identity;
mod lowering;
mod random;
mod rollouts;
mod seed;
mod status;
mod stuck;
mod support;
