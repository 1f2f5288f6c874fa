//! ModelServings on our engine.

#![allow(clippy::expect_used)]

mod behaviour;
mod common;
mod complaints;
mod pods;
mod random;
mod sets;
mod status;
