//! Unavailable budgets: how many units of a service may be taken away on purpose, whoever asks.
//!
//! Every replica watches budgets, pods and their owners and answers reviews ([`Reviewer`]); the leader keeps every
//! budget's status ([`steward`]). Nothing is decided here: that is `lockstep_core::budget`. What the replicas share is
//! the status of each budget, written by compare-and-swap.

mod book;
mod clerk;
mod definition;
mod owner;
mod pod;
mod review;
mod sources;
mod status;
mod steward;

use std::sync::Arc;

use kube::Client;
use lockstep_api::budget::PodUnavailableBudget;
use lockstep_core::budget::Account;
use lockstep_core::names::Uid;
use tokio::sync::watch;

use self::book::Book;
use self::clerk::Clerk;
pub use self::clerk::{Answer, Removal};
pub use self::definition::Whose;
pub use self::pod::SeenPod;
pub use self::review::{Kind, Reviewer, WEBHOOKS};
use self::sources::Sources;
use self::steward::Steward;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::report::Herald;

use lockstep_core::budget::Operation;

/// Everything about budgets in one replica. Cheap to clone.
#[derive(Clone)]
pub struct Budgets {
    client: Client,
    clerk: Arc<Clerk>,
    kinds_met: Arc<tokio::sync::Mutex<tokio::sync::mpsc::UnboundedReceiver<kube::api::ApiResource>>>,
    whose: Arc<watch::Sender<Option<Whose>>>,
    metrics: Metrics,
    clock: Clock,
}

impl Budgets {
    /// Nothing is known yet: [`run`](Self::run) has to.
    pub fn new(client: Client, namespace: Option<String>, metrics: Metrics, clock: Clock) -> Self {
        let book = Arc::new(Book::default());
        let (sources, kinds_met) = Sources::new(client.clone(), namespace, Arc::clone(&book));
        let clerk = Arc::new(Clerk::new(book, Arc::new(sources), clock.clone()));
        Self {
            client,
            clerk,
            kinds_met: Arc::new(tokio::sync::Mutex::new(kinds_met)),
            whose: Arc::new(watch::Sender::new(None)),
            metrics,
            clock,
        }
    }

    /// Answers reviews about pods.
    pub fn reviewer(&self) -> Reviewer {
        Reviewer::new(Arc::clone(&self.clerk), self.metrics.clone())
    }

    /// Keeps what is known, in every replica, for ever. Does nothing while the definition is not ours.
    pub async fn run(&self) {
        let follow = definition::follow(self.client.clone(), Arc::clone(&self.whose));
        let keep = async {
            let mut whose = self.whose.subscribe();
            loop {
                // The sender lives as long as we do.
                let _ = whose.wait_for(Option::is_some).await;
                let ours = *whose.borrow_and_update() == Some(Whose::Ours);
                let watch = async {
                    if ours {
                        let mut kinds_met = self.kinds_met.lock().await;
                        Arc::clone(self.clerk.sources()).run(&mut kinds_met).await;
                    } else {
                        self.clerk.book().is_now_filled();
                        std::future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    () = watch => {}
                    _ = whose.changed() => {}
                }
                self.clerk.book().clear();
            }
        };
        tokio::join!(follow, keep);
    }

    /// Keeps the status of every budget, while we lead.
    pub async fn lead(&self, herald: Herald, sure: Arc<dyn Fn() -> bool + Send + Sync>) {
        let mut whose = self.whose.subscribe();
        let steward = Arc::new(Steward {
            clerk: Arc::clone(&self.clerk),
            herald,
            metrics: self.metrics.clone(),
            sure,
            clock: self.clock.clone(),
        });
        loop {
            let _ = whose.wait_for(Option::is_some).await;
            let now = whose.borrow_and_update().clone();
            if let Some(Whose::Foreign(definition)) = &now {
                definition::warn(&steward.herald, definition).await;
            }
            let keep = async {
                match now {
                    Some(Whose::Ours) => Arc::clone(&steward).run().await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = keep => {}
                _ = whose.changed() => {}
            }
        }
    }

    /// Namespaces in which something happened that a budget counts.
    pub fn news(&self) -> tokio::sync::broadcast::Receiver<String> {
        self.clerk.book().news()
    }

    /// Waits until budgets and pods are known.
    pub async fn ready(&self) {
        self.clerk.book().filled().await;
    }

    /// The accounts of a namespace's budgets that cover any of these pods, as the planner spends them.
    pub async fn accounts(&self, namespace: &str, pods: &[Uid]) -> Vec<Account> {
        let mut accounts = Vec::new();
        for known in self.clerk.book().budgets_in(namespace) {
            let Some(budget) = &known.budget else { continue };
            match self.clerk.count(&known, budget).await {
                Ok(account) if pods.iter().any(|pod| account.covers(pod)) => accounts.push(account),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a budget cannot be counted"),
            }
        }
        accounts
    }

    /// The budgets of a namespace, as they were last seen.
    pub fn objects(&self, namespace: &str) -> Vec<PodUnavailableBudget> {
        self.clerk.book().budgets_in(namespace).iter().map(|known| known.object.clone()).collect()
    }

    /// Whether a namespace has budgets at all.
    pub fn any_in(&self, namespace: &str) -> bool {
        !self.clerk.book().budgets_in(namespace).is_empty()
    }

    /// Sees to it that what the budgets of a namespace rest on is known here too. Whoever was told that a view is too
    /// old asks for this, and plans again.
    pub async fn renew(&self, namespace: &str) {
        for known in self.clerk.book().budgets_in(namespace) {
            if let Err(error) = self.clerk.renew(&known).await {
                tracing::warn!(%error, "a budget cannot be counted");
            }
        }
    }

    /// Asks every covering budget to let the pods of an instance go together, and writes it down.
    pub async fn let_go(&self, namespace: &str, pods: &[(String, Uid)], by: &str) -> Answer {
        let book = self.clerk.book();
        let known =
            pods.iter().filter_map(|(name, uid)| book.pod(namespace, name).filter(|pod| pod.uid == *uid));
        let known: Vec<_> = known.filter(|pod| pod.active && !pod.terminating).collect();
        let removal = Removal { pods: &known, operation: Operation::Delete, by, dry_run: false, whole: true };
        self.clerk.remove(&removal).await.0
    }
}
