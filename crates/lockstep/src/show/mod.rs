//! Results in words, tables, JSON and pictures.

pub mod diff;
pub mod now_table;
pub mod plan_json;
pub mod plan_table;
pub mod summary;
pub mod svg;
pub mod title;
pub mod words;
