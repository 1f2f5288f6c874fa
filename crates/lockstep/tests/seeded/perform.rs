//! Whatever becomes of the operators.

use std::time::Duration;

use lockstep_sandbox::cluster::faults::Link;
use lockstep_testkit::embedded::Embedded;
use tokio::time::sleep;

use super::{Plan, Troupe};
use crate::inside::Operator;

impl Plan {
    /// Plays the operators, for ever.
    pub(super) async fn perform(&self, embedded: &Embedded) {
        match &self.troupe {
            Troupe::One => {
                let (_operator, _) = self.one(embedded, 0);
                std::future::pending().await
            }
            Troupe::Mortals(lives) => self.mortals(embedded, lives).await,
            Troupe::Rivals(cuts) => self.rivals(embedded, cuts).await,
        }
    }

    fn client(&self, embedded: &Embedded, number: u64) -> (kube::Client, Link) {
        embedded.client_through(self.operator.clone(), self.seed.wrapping_mul(1000).wrapping_add(number))
    }

    fn one(&self, embedded: &Embedded, number: u64) -> (Operator, Link) {
        let (client, link) = self.client(embedded, number);
        (Operator::start(embedded, client), link)
    }

    async fn mortals(&self, embedded: &Embedded, lives: &[(u64, u64)]) {
        for (number, (writes, pause)) in (0..).zip(lives) {
            let (operator, link) = self.one(embedded, number);
            link.kill_after(*writes);
            link.dead().await;
            drop(operator);
            sleep(Duration::from_millis(*pause)).await;
        }
        let (_operator, _) = self.one(embedded, lives.len() as u64);
        std::future::pending().await
    }

    async fn rivals(&self, embedded: &Embedded, cuts: &[(u64, u64)]) {
        let rival = |name: &str, number: u64| {
            let (client, link) = self.client(embedded, number);
            (Operator::replica(embedded, client, name, number), link)
        };
        let rivals = [rival("one", 0), rival("two", 1)];
        for (turn, (after, length)) in cuts.iter().enumerate() {
            sleep(Duration::from_millis(*after)).await;
            let (_, link) = &rivals[turn % 2];
            link.cut();
            sleep(Duration::from_millis(*length)).await;
            link.mend();
        }
        std::future::pending().await
    }
}
