//! The embedded cluster: Kubernetes' API in one process, with the few controllers a rollout needs.
//!
//! It knows nothing of Lockstep's kinds: they arrive as CustomResourceDefinitions, like anybody's.

pub mod apply;
pub mod builtin;
pub mod cel;
pub mod controllers;
pub mod decoding;
pub mod definition;
pub mod facts;
pub mod fields;
pub mod kinds;
pub mod patch;
pub mod path;
pub mod protobuf;
pub mod refusal;
pub mod schema;
pub mod shape;
pub mod store;
pub mod table;
