//! Reporting: what the plan says, as status and events, in the same words.

mod conditions;
mod events;
mod status;

pub use events::{Note, notes};
pub use status::{Report, Trouble, invalid};
