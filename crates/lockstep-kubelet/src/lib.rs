//! A kubelet without containers: pods come up, fail and go as their annotations say.

pub mod annotations;
pub mod behaviour;
pub mod clock;
pub mod pod;
pub mod profile;
pub mod span;

mod draw;
mod time;
