//! The kinds of rollouts over several clusters: one FederatedRollout for each that is aligned.

pub mod definition;
mod policy;
mod rollout;

pub use self::policy::{FederationPolicy, FederationPolicySpec, Split};
pub use self::rollout::{
    CompleteTemplate, FederatedRollout, FederatedRolloutSpec, FederatedRolloutStatus, MemberStatus,
    ReasonStatus, ResourceRef, TotalsStatus,
};
