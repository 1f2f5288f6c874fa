//! Unavailable budgets as everybody meets them who deletes or evicts a pod: on the embedded cluster and on a real API
//! server, through several replicas of the webhook.

#![allow(clippy::expect_used)]

mod cases;
mod lagging;
mod race;
mod replicas;
mod world;
