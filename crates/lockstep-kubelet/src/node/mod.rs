//! Nodes: creating them, and keeping them Ready.

mod group;
mod lease;
mod status;

pub use group::NodeGroup;
pub(crate) use lease::renew;
pub(crate) use status::{address, is_gone, refresh};
