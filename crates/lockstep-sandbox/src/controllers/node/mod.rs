//! Nodes: whether they are alive, what keeps pods away from them, and what becomes of the pods of those that are not.

mod evict;
mod health;
mod orphans;

pub use evict::TaintEviction;
pub use health::{GRACE, NodeLifecycle};
pub use orphans::PodCollector;

#[cfg(test)]
mod tests;
