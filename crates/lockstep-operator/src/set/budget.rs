//! What unavailable budgets say of a set's pods: how many may go, and the leave for those that do.

use std::sync::Arc;

use lockstep_core::budget::Account;
use lockstep_core::names::Uid;

use super::actor::Actor;
use super::writes::Doomed;
use crate::act::ActError;
use crate::budgets::Answer;

impl Actor {
    /// The accounts of the budgets that cover our pods. If one rests on more than is known here, the next look will
    /// know it.
    pub(super) async fn accounts(&mut self) -> Vec<Account> {
        let namespace = &self.set.namespace;
        let Some(budgets) = self.context.budgets.as_ref().filter(|budgets| budgets.any_in(namespace)) else {
            return Vec::new();
        };
        let pods: Vec<Uid> = {
            let desk = self.handle.desk();
            desk.view.pods(&self.owner).map(|(_, known)| known.pod.uid.clone()).collect()
        };
        let accounts = budgets.accounts(namespace, &pods).await;
        if accounts.iter().any(|account| account.not_yet().is_some()) {
            let (budgets, namespace, handle) = (budgets.clone(), namespace.clone(), Arc::clone(&self.handle));
            tokio::spawn(async move {
                budgets.renew(&namespace).await;
                handle.ring();
            });
        }
        accounts
    }

    /// Has every budget that covers these pods let them go together, in writing: then no webhook refuses one of them
    /// half way.
    pub(super) fn leave(
        &self,
        doomed: &[Doomed],
    ) -> impl Future<Output = Result<(), ActError>> + Send + use<> {
        let (namespace, set) = (self.set.namespace.clone(), self.set.name.clone());
        let budgets = self.context.budgets.clone().filter(|budgets| budgets.any_in(&namespace));
        let pods: Vec<_> = doomed.iter().map(|doomed| (doomed.name.clone(), doomed.uid.clone())).collect();
        async move {
            let Some(budgets) = budgets else { return Ok(()) };
            let message = match budgets.let_go(&namespace, &pods, &format!("LockstepSet {set}")).await {
                Answer::NotCovered | Answer::Admitted => return Ok(()),
                Answer::Refused(shortage) => shortage.to_string(),
                Answer::Unknown(why) => why,
            };
            let names: Vec<&str> = pods.iter().map(|(name, _)| name.as_str()).collect();
            Err(ActError::Refused { doing: format!("delete {}", names.join(", ")), code: 429, message })
        }
    }
}
