//! Objects of other projects' kinds, from the manifest to the pods and back to the status.

#![allow(clippy::expect_used)]

#[path = "../inside/mod.rs"]
mod inside;
mod toy;
mod toys;
