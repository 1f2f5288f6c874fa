//! Real control planes, scenarios and a recorder for the end-to-end tests.

pub mod audit;
pub mod pki;
pub mod proxy;
pub mod serve;
pub mod webhook;
