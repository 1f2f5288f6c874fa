//! Why something is held, in words a person can act on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of reason it is: stable names for conditions, events and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Code {
    /// More pods are new than the partition allows, and nothing can make them old again.
    PartitionExceeded,
    /// A lease was written and the cluster has not confirmed it.
    WaitingForAcknowledgement,
    /// The cluster cannot be reached; what it was leased stays reserved.
    ClusterUnreachable,
    /// The cluster has not reported at all.
    NoStatus,
    /// New pods of the cluster are not available yet.
    WaitingForPods,
    /// What may be unavailable or surged is in use elsewhere.
    WaitingForBudget,
    /// Replicas cannot move to or from the cluster yet.
    WaitingForReplicas,
    /// Pods are lost beyond what the strategy allows; nothing is granted until they are back.
    PodsLost,
    /// The user paused the rollout.
    Paused,
    /// The cluster's turn has not come.
    WaitingForTurn,
    /// The cluster left the binding and still holds pods.
    Leaving,
    /// An override policy sets the strategy in this cluster.
    StrategyOverridden,
    /// The cluster does not know the field that says how many pods it may take away at a time.
    MaxUnavailableIgnored,
    /// We may not look into the cluster.
    MayNotLook,
    /// The member decides its own replicas.
    ReplicasNotMetered,
}

/// One reason, about one cluster or about the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// What kind it is.
    pub code: Code,
    /// The cluster it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The sentence to show.
    pub message: String,
}

impl Reason {
    pub(super) fn about(code: Code, cluster: &str, message: String) -> Self {
        Self { code, cluster: Some(cluster.to_owned()), message }
    }

    pub(super) fn overall(code: Code, message: String) -> Self {
        Self { code, cluster: None, message }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cluster {
            Some(cluster) => write!(f, "{cluster}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
