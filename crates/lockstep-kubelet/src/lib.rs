//! A kubelet without containers: pods come up, fail and go as their annotations say.

pub mod annotations;
pub mod behaviour;
pub mod clock;
pub mod pod;
pub mod profile;
pub mod span;

mod draw;
mod node;
mod shell;
mod time;

pub use clock::{Clock, TokioClock, WallClock};
pub use node::NodeGroup;
pub use profile::{Profile, Rule};
pub use shell::{Counters, InitialList, Kubelet, Options};
