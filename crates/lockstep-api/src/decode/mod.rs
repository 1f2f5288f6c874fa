//! From a tree of values to our types, collecting everything that does not fit on the way.
//!
//! Whatever cannot be read is reported and replaced by its default, so that the rest can be checked too.

mod budget;
mod reader;
mod role;
mod rules;
mod set;

pub(crate) use budget::budget;
pub(crate) use set::set;
