//! Reading a trace: who stood where, what moved in which wave and why, and what it came to.

pub mod because;
pub mod fold;
pub mod lanes;
pub mod runs;
pub mod spread;
pub mod totals;
pub mod waves;

pub use lockstep_api::proof::stage;

#[cfg(test)]
mod tests;
