//! The turns of a policy in a rollout that is only played.

use std::collections::BTreeMap;

use lockstep_api::federation::{FederatedRolloutStatus, FederationPolicySpec};
use lockstep_core::align::{Alignment, TemplateHash, Wish};
use lockstep_core::simulate::federation::Turns;
use lockstep_core::time::Time;

use crate::pace::pace;

/// A policy, and the status that a real rollout would have by now.
#[derive(Debug, Clone)]
pub struct Paced<'a> {
    policy: &'a FederationPolicySpec,
    status: FederatedRolloutStatus,
}

impl<'a> Paced<'a> {
    /// From the beginning.
    pub fn new(policy: &'a FederationPolicySpec) -> Self {
        Self { policy, status: FederatedRolloutStatus::default() }
    }

    /// From where a rollout stands. What stood complete before counts as standing so since the beginning.
    pub fn since(
        policy: &'a FederationPolicySpec,
        mut status: FederatedRolloutStatus,
        template: &TemplateHash,
    ) -> Self {
        status.template.clone_from(&template.0);
        for member in &mut status.members {
            member.template.clone_from(&template.0);
            member.complete_since = member.complete_since.map(|_| 0);
        }
        Self { policy, status }
    }
}

impl Turns for Paced<'_> {
    fn held(&mut self, wish: &Wish, now: Time) -> (BTreeMap<String, String>, Option<Time>) {
        self.status.begin(&wish.template, &BTreeMap::new());
        let pace = pace(self.policy, &wish.clusters, &self.status.members, now);
        (pace.held, pace.wake)
    }

    fn aligned(&mut self, wish: &Wish, alignment: &Alignment, now: Time) {
        let paused = wish.strategy.paused.unwrap_or(false);
        // A ledger can always be written; what is put down here is only read for the turns.
        let _ = self.status.put(alignment, paused, now);
    }
}
