//! Writing promises down: into every budget, or into none; and taking them back.

use kube::api::PostParams;
use lockstep_core::budget::{Budget, View, Write, account};
use tokio::time::Instant;

use super::{Clerk, Decided, Removal, TRIES, Trouble};
use crate::budgets::book::{Key, Known};
use crate::budgets::status::put_down;

/// What one removal has in writing, budget by budget.
#[derive(Debug, Default)]
pub struct Written(Vec<(Key, Write)>);

impl Clerk {
    /// Writes what was decided into every budget, or into none.
    pub(super) async fn write_all(
        &self,
        removal: &Removal<'_>,
        decided: Vec<Decided>,
    ) -> Result<Written, Trouble> {
        let mut written = Written::default();
        for Decided { known, view, account, mut write } in decided {
            if removal.whole {
                // Our own deletes rely on it, each of them: none of them has to say so again.
                write.put.iter_mut().for_each(|promise| promise.shared = true);
            }
            if write.is_empty() {
                continue;
            }
            let mut budget = known.budget.clone().unwrap_or_default();
            budget.state.record(&account, &write);
            if let Err(trouble) = self.store(&known, &budget, &view).await {
                self.take_back(written).await;
                return Err(trouble);
            }
            written.0.push((known.key.clone(), write));
        }
        Ok(written)
    }

    /// Takes promises back that nobody will take up.
    pub async fn take_back(&self, written: Written) {
        for (key, write) in written.0 {
            self.give_back(&key, &write).await;
        }
    }

    /// Writes a budget's status, if it still stands as it was read.
    async fn store(&self, known: &Known, budget: &Budget, view: &View) -> Result<(), Trouble> {
        let began = Instant::now();
        let counted = account(budget, view, self.clock.time());
        let object = put_down(&known.object, budget, &counted, &self.clock)
            .map_err(|error| Trouble::Unknown(error.to_string()))?;
        let api = self.sources.budgets(&known.key.0);
        match api.replace_status(&known.key.1, &PostParams::default(), &object).await {
            Ok(stored) => {
                self.book.put_budget(stored);
                self.was_read(&known.key, began);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Err(Trouble::Conflict(known.key.clone())),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                self.book.remove_budget(&known.key, u64::MAX);
                Err(Trouble::Gone(known.key.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the promises of one budget back. One that cannot be taken back lapses.
    async fn give_back(&self, key: &Key, write: &Write) {
        for _ in 0..TRIES {
            if self.read(key).await.is_err() {
                return;
            }
            let Some(known) = self.book.budget(key) else { return };
            let Some(mut budget) = known.budget.clone() else { return };
            if budget.state.give_back(write) == 0 {
                return;
            }
            let Ok(view) = self.sources.view(&known).await else { return };
            match self.store(&known, &budget, &view).await {
                Err(Trouble::Conflict(_)) => {}
                _ => return,
            }
        }
    }
}
