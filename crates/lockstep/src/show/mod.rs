//! Results in words, tables, JSON and pictures.

pub mod advice;
pub mod budget_table;
pub mod columns;
pub mod diff;
pub mod drain_table;
pub mod node_state;
pub mod now_table;
pub mod over_clusters;
pub mod plan_json;
pub mod plan_table;
pub mod pod_state;
pub mod progress;
pub mod revision_diff;
pub mod set_list;
pub mod spread;
pub mod summary;
pub mod svg;
pub mod title;
pub mod tree;
pub mod tree_table;
pub mod trouble;
pub mod why;
pub mod words;
