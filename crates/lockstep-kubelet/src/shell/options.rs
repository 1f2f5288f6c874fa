//! How a stand-in is set up.

use std::sync::Arc;
use std::time::Duration;

pub use lockstep_feed::InitialList;

use crate::clock::{Clock, WallClock};
use crate::profile::Profile;

/// How a stand-in is set up. The default suits a test against a real API server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which nodes are played: those whose label [`STAND_IN`](crate::annotations::STAND_IN) has this value.
    pub stand_in: String,
    /// How pods behave that say nothing themselves.
    pub profile: Profile,
    /// Where timestamps come from.
    pub clock: Arc<dyn Clock>,
    /// How many writes are under way at a time.
    pub concurrency: usize,
    /// How often node leases are renewed; not at all if `None`.
    pub lease_period: Option<Duration>,
    /// How a watch begins.
    pub initial_list: InitialList,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stand_in: "true".to_owned(),
            profile: Profile::default(),
            clock: Arc::new(WallClock),
            concurrency: 64,
            lease_period: Some(Duration::from_secs(10)),
            initial_list: InitialList::Paged,
        }
    }
}
