//! RoleBasedGroups: what is accepted, what is refused, what becomes of it, and how it rolls.

#![allow(clippy::expect_used)]

mod behaviour;
mod common;
mod complaints;
mod conversion;
mod definitions;
mod lowering;
mod properties;
mod status;
