//! Acting: what the plan says, as writes to the API server.

mod build;
mod gang;
mod hand;
mod resources;

pub use build::{Blueprint, Maker, SetRef, pod_name};
pub use gang::{Volcano, gang_name, gang_object, gang_resource};
pub use hand::{ActError, Answer, Hand};
pub use resources::least_resources;
