//! Observing: API objects in, a snapshot for the engine out.

mod pod;
mod snapshot;
mod stored;
mod view;

pub use pod::{Place, SlimPod};
pub use snapshot::{Sources, snapshot};
pub use stored::{History, Stored, revision_name};
pub use view::{Known, View};
