//! What users hand over: manifests, fault profiles, observed states; and what is wrong with them.

mod changes;
pub mod cluster;
pub mod complaint;
pub mod dialects;
pub mod fault_profile;
pub mod kinds;
pub mod live_set;
pub mod manifest;
mod memory;
pub mod mixed;
mod moment;
pub mod objects;
pub mod pace;
mod reader;
mod roles;
pub mod scales;
pub mod shown;
pub mod spread;
pub mod state_file;
mod strangers;
mod strikes;
pub mod texts;
pub mod theirs;
mod units;
pub mod way_in;
