//! Node leases, renewed again and again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::nodes::Alive;
use crate::clock::Clock;
use crate::node::renew;

/// How many leases are renewed at a time.
const AT_A_TIME: usize = 16;

/// Renews the leases of all nodes that live, once in a period, and that of a new one at once.
pub(crate) struct Heartbeat {
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    pub period: Duration,
    pub alive: watch::Receiver<Alive>,
}

impl Heartbeat {
    /// Goes on until the stand-in ends.
    pub(crate) async fn run(mut self) {
        let mut ticks = interval(self.period.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut renewed: BTreeMap<String, Instant> = BTreeMap::new();
        loop {
            tokio::select! {
                biased;
                changed = self.alive.changed() => if changed.is_err() { return },
                _ = ticks.tick() => renewed.clear(),
            }
            let alive = self.alive.borrow_and_update().clone();
            renewed.retain(|node, _| alive.contains_key(node));
            let due: Vec<_> = alive.into_iter().filter(|(node, _)| !renewed.contains_key(node)).collect();
            renewed.extend(due.iter().map(|(node, _)| (node.clone(), Instant::now())));
            stream::iter(due).for_each_concurrent(AT_A_TIME, |(node, uid)| self.renew(node, uid)).await;
        }
    }

    async fn renew(&self, node: String, uid: String) {
        // It may have gone while others were renewed.
        if !self.alive.borrow().contains_key(&node) {
            return;
        }
        if let Err(error) = renew(&self.client, &node, &uid, self.period, self.clock.now()).await {
            tracing::debug!(%node, %error, "the lease was not renewed; next time, then");
        }
    }
}
