//! The labels.

use prometheus_client::encoding::EncodeLabelSet;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByOutcome {
    pub outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByDialect {
    pub dialect: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByReason {
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByRequest {
    pub verb: &'static str,
    pub resource: &'static str,
    pub outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByAction {
    pub action: &'static str,
    pub reason: String,
}

/// How many instances of a role are so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfRole {
    pub namespace: String,
    pub set: String,
    pub role: String,
    pub state: &'static str,
}

/// What waits in a set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfBlocked {
    pub namespace: String,
    pub set: String,
    pub reason: String,
}

/// A rule of a set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfRule {
    pub namespace: String,
    pub set: String,
    pub rule: String,
}

/// A budget.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfBudget {
    pub namespace: String,
    pub budget: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByVerdict {
    pub verdict: &'static str,
}

/// How many pods of a rollout are so in one cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfMember {
    pub namespace: String,
    pub rollout: String,
    pub cluster: String,
    pub state: &'static str,
}

/// What waits in a rollout over several clusters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfWaiting {
    pub namespace: String,
    pub rollout: String,
    pub reason: String,
}
