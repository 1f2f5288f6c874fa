//! Reporting: what the plan says, as status and events, in the same words.

pub(crate) mod conditions;
mod events;
mod herald;
mod status;

pub use events::{Note, notes};
pub use herald::Herald;
pub use status::{Report, Trouble, held, invalid};
