//! Real control planes, scenarios and a recorder for the end-to-end tests.

pub mod audit;
pub mod build;
pub mod cluster;
pub mod embedded;
pub mod federation;
pub mod figures;
pub mod floor;
pub mod groups;
pub mod neighbours;
pub mod operator;
pub mod pki;
pub mod pods;
pub mod process;
pub mod proxy;
pub mod recorder;
pub mod scenario;
pub mod seeds;
pub mod serve;
pub mod ways;
pub mod webhook;
pub mod workload;

use std::io::Write;

pub use cluster::{Cluster, ClusterError, Component};
pub use federation::Federation;

/// Tells a person who waits. Goes to standard error past the capturing of the test harness, which would
/// keep it until the test is over.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "lockstep-testkit: {line}");
}
