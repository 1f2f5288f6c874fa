//! The embedded cluster: Kubernetes' API in one process, with the few controllers a rollout needs.
//!
//! It knows nothing of Lockstep's kinds: they arrive as CustomResourceDefinitions, like anybody's.

pub mod apply;
mod base64;
pub mod builtin;
pub mod cel;
pub mod cluster;
pub mod controllers;
pub mod decoding;
pub mod definition;
pub mod facts;
pub mod fields;
pub mod kinds;
pub mod patch;
pub mod path;
pub mod protobuf;
pub mod rank;
pub mod refusal;
pub mod request;
pub mod schema;
pub mod selector;
pub mod server;
pub mod shape;
pub mod store;
pub mod table;
