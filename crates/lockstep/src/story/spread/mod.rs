//! Reading the trace of a rollout over clusters: what moved where in which wave, and why.

pub mod lanes;
pub mod played;
pub mod rows;
pub mod verdict;
pub mod waves;
