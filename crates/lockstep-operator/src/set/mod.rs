//! One set: what is known of it, and the actor that looks after it.

mod act;
mod actor;
mod budget;
mod desk;
mod keep;
mod migration;
mod pace;
mod say;
mod wish;
mod writes;

pub use actor::{Actor, Context};
pub use desk::{Desk, GangKnown, Handle, ScaleKnown};
pub use keep::read_scale;
pub use wish::{Migration, Wish, resource};
pub(crate) use writes::find_out;
