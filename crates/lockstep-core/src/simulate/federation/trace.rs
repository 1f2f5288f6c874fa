//! What happened in a rollout over clusters, complete enough to draw it and to judge it.

use serde::Serialize;

use super::promise::Bound;
use super::workload::{Template, Workload};
use crate::align::{Lease, LeaseId, Reason, Wish};
use crate::simulate::trace::End;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, in milliseconds since the change.
    pub t: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum What {
    /// Something else is wished for.
    Wish(Box<Wish>),
    /// A lease was put into the ledger.
    Lease {
        /// For whom.
        cluster: String,
        /// What it says.
        lease: Box<Lease>,
    },
    /// A cluster has a lease in its manifest.
    Applied {
        /// Which cluster.
        cluster: String,
        /// Which lease.
        lease: LeaseId,
    },
    /// The pods of a cluster are others, or serve that did not, or no longer do.
    Pods {
        /// Which cluster.
        cluster: String,
        /// How many there are now, by template.
        pods: Vec<Count>,
    },
    /// What the rollout waits for is something else.
    Waiting {
        /// All of it.
        reasons: Vec<Reason>,
    },
    /// A fault took a pod.
    Lost {
        /// Of which cluster.
        cluster: String,
        /// `crash`, `evict` or `blink`.
        how: &'static str,
    },
    /// A cluster can no longer be reached.
    Cut {
        /// Which.
        cluster: String,
    },
    /// It can be reached again.
    Back {
        /// Which.
        cluster: String,
    },
    /// Whoever aligns is killed.
    Killed,
    /// It is there again, with the ledger it stored.
    Restarted,
    /// A promise was broken.
    Broken {
        /// Which.
        promise: Bound,
        /// What was seen.
        detail: String,
    },
    /// The end.
    End {
        /// How.
        outcome: End,
    },
}

/// The pods of one template in one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The template.
    pub template: Template,
    /// How many there are, apart from those that terminate.
    pub pods: u32,
    /// How many of them serve.
    pub available: u32,
}

/// The pods of a workload by template, the oldest first.
pub fn counts<W: Workload>(workload: Option<&W>) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    for pod in workload.map(W::pods).unwrap_or_default() {
        let at = counts.iter().position(|it| it.template == pod.template).unwrap_or_else(|| {
            counts.push(Count { template: pod.template, pods: 0, available: 0 });
            counts.len() - 1
        });
        counts[at].pods += 1;
        counts[at].available += u32::from(pod.available);
    }
    counts.sort_by_key(|it| it.template);
    counts
}
