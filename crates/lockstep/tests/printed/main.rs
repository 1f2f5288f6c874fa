//! The examples that the proposals print, from the manifest to the last pod: each is applied as an object of its own
//! kind, to the embedded cluster in virtual time and to a real one, and what its pods did is held against what its text
//! promises.

#![allow(clippy::expect_used)]

#[path = "../cluster/mod.rs"]
mod cluster;
#[path = "../common/mod.rs"]
mod common;
#[path = "../inside/mod.rs"]
mod inside;
#[path = "../rights/installed.rs"]
#[allow(dead_code)]
mod installed;

mod embedded;
mod grove;
mod kthena;
mod manifest;
mod play;
mod pods;
mod rbg;
mod real;
mod row;
mod story;
mod stuck;
mod watched;
