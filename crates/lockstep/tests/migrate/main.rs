//! Moving over from the original operators: pods laid out as those would lay them, and what becomes of each.

#![allow(clippy::expect_used)]

#[path = "../cluster/mod.rs"]
mod cluster;
mod grove;
mod held;
#[path = "../inside/mod.rs"]
mod inside;
mod kthena;
mod laid;
mod rbg;
mod rbg_set;
mod watched;
mod wrong;
