//! What unavailable budgets come to in a cluster: counted as the operator counts, from what is there now.

pub mod asked;
pub mod drain;
pub mod gather;
pub mod held;
pub mod pdb;
