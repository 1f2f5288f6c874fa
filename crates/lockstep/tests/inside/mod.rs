//! The operator inside the test, beside an embedded cluster.

#![allow(dead_code)]

use kube::Client;
use lockstep_kubelet::NodeGroup;
use lockstep_operator::clock::Clock;
use lockstep_operator::election::ElectionOptions;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::operator::{OperatorError, OperatorOptions, run};
use lockstep_operator::serve::{Trigger, shutdown};
use lockstep_testkit::embedded::Embedded;
use tokio::task::JoinHandle;

/// The nodes of most tests.
pub fn nodes() -> NodeGroup {
    NodeGroup::new("node", 10)
}

/// An operator that runs. Dropped, it is gone at once, wherever it is.
pub struct Operator {
    task: JoinHandle<Result<(), OperatorError>>,
    _trigger: Trigger,
}

impl Operator {
    /// The only one.
    pub fn start(embedded: &Embedded, client: Client) -> Self {
        Self::with(embedded, client, OperatorOptions::default())
    }

    /// One of several, of whom one leads.
    pub fn replica(embedded: &Embedded, client: Client, name: &str, nonce: u64) -> Self {
        let election =
            ElectionOptions { nonce: Some(nonce), ..ElectionOptions::new("default", "lockstep", name) };
        let identity = name.to_owned();
        Self::with(
            embedded,
            client,
            OperatorOptions { identity, election: Some(election), ..Default::default() },
        )
    }

    /// One that is set up so.
    pub fn with(embedded: &Embedded, client: Client, options: OperatorOptions) -> Self {
        let (trigger, shutdown) = shutdown();
        let options = OperatorOptions { clock: Clock::new(embedded.clock()), ..options };
        let task = tokio::spawn(run(client, options, Metrics::new(), shutdown));
        Self { task, _trigger: trigger }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.task.abort();
    }
}
