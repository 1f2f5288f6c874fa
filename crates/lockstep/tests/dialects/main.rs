//! Objects of other projects' kinds, from the manifest to the pods and back to the status.

#![allow(clippy::expect_used)]

mod claims;
#[path = "../cluster/mod.rs"]
mod cluster;
#[path = "../common/mod.rs"]
mod common;
mod files;
#[path = "../inside/mod.rs"]
mod inside;
#[path = "../rights/installed.rs"]
#[allow(dead_code)]
mod installed;
mod nulls;
mod refused;
mod theirs;
mod toy;
mod toys;
