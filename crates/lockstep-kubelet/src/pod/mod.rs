//! What a kubelet does with one pod, as a pure function: [`step`].
//!
//! Everything it needs to know stands in the pod itself, most of all in its status, so that a stand-in can be
//! stopped and another take over at any point.

mod conditions;
mod containers;
mod ending;
mod id;
mod life;
mod readiness;
mod status;
mod step;
mod view;

#[cfg(test)]
mod stage;
#[cfg(test)]
mod tests;

pub use status::{Addresses, StatusChange};
pub use step::{Next, step};
pub use view::{ContainerView, Gate, PodView, RestartPolicy, SpecView, StatusView};
