//! A rollout over clusters that is only played: as a table, for machines, as a picture, and many of them in a few lines.

pub mod json;
pub mod summary;
pub mod svg;
pub mod table;
pub mod title;
