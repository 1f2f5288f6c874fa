//! The stand-in at work: it watches, asks [`crate::pod::step`], and writes.

mod addresses;
mod complaint;
mod counters;
mod desk;
mod handle;
mod heartbeat;
mod nodes;
mod options;
mod pods;
mod timers;
mod writes;

pub use counters::Counters;
pub use handle::Kubelet;
pub use options::{InitialList, Options};
