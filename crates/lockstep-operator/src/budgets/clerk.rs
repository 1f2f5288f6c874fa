//! Decides removals and writes the promises down: one linearizable answer, from any number of replicas.

mod write;

pub use self::write::Written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lockstep_core::budget::{
    Account, Budget, Decision, NotYet, Operation, Request, Shortage, Verdict, Version, View, Write, account,
    decide, decide_instance,
};
use lockstep_core::names::Uid;
use tokio::time::Instant;

use super::book::{Book, Key, Known};
use super::pod::SeenPod;
use super::sources::{Freshness, Sources};
use crate::clock::Clock;

/// An API server waits for a webhook for ten seconds; what is answered later is answered for nobody.
const PATIENCE: Duration = Duration::from_secs(6);

/// How long a watch that is behind is given to catch up before pods are listed.
const CATCH_UP: Duration = Duration::from_millis(100);

/// How often a decision is made anew before somebody has to come again.
const TRIES: u32 = 24;

/// Pods somebody wants to take away together.
pub struct Removal<'a> {
    /// The pods, as the request itself shows them or as they were just read.
    pub pods: &'a [Arc<SeenPod>],
    /// How.
    pub operation: Operation,
    /// Who asks.
    pub by: &'a str,
    /// Whether nothing is to be written.
    pub dry_run: bool,
    /// Whether they are an instance that goes as a whole: all promises at once, and none given back, since nobody else
    /// is asked afterwards.
    pub whole: bool,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No budget has a say.
    NotCovered,
    /// It may go, and every budget has it in writing.
    Admitted,
    /// Not now.
    Refused(Box<Shortage>),
    /// Nobody can say, so it may not.
    Unknown(String),
}

/// One budget's turn: decisions of one process are made one after the other.
#[derive(Default)]
struct Turn {
    lock: Arc<tokio::sync::Mutex<()>>,
    /// When the request began that last showed the budget as it stands.
    read: Mutex<Option<Instant>>,
    /// When pods were last listed for a state of the budget that had been read before, and which.
    looked: Mutex<Option<(Instant, u64)>>,
}

/// Decides and writes.
pub struct Clerk {
    book: Arc<Book>,
    sources: Arc<Sources>,
    clock: Clock,
    turns: Mutex<BTreeMap<Key, Arc<Turn>>>,
}

/// What went wrong on the way; the removal is refused.
enum Trouble {
    /// Somebody else has written: read and decide again.
    Conflict(Key),
    /// The budget is gone.
    Gone(Key),
    /// Nobody knows.
    Unknown(String),
}

impl From<kube::Error> for Trouble {
    fn from(error: kube::Error) -> Self {
        Self::Unknown(error.to_string())
    }
}

impl Clerk {
    /// A clerk who works with this book.
    pub fn new(book: Arc<Book>, sources: Arc<Sources>, clock: Clock) -> Self {
        Self { book, sources, clock, turns: Mutex::default() }
    }

    /// The book.
    pub fn book(&self) -> &Arc<Book> {
        &self.book
    }

    /// The way to what is not in the book yet.
    pub fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    fn turn(&self, key: &Key) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(key.clone()).or_default())
    }

    /// The budgets that have a say in a removal.
    async fn covering(&self, pods: &[Arc<SeenPod>]) -> Result<Vec<Key>, Trouble> {
        let mut keys = BTreeSet::new();
        for pod in pods {
            // A chain of owners is a few long; each step may have to be asked for.
            for _ in 0..8 {
                let (covering, missing) = self.book.covering(pod);
                if missing.is_empty()
                    || covering.is_empty() && self.book.budgets_in(pod.namespace()).is_empty()
                {
                    keys.extend(covering.iter().map(|known| known.key.clone()));
                    break;
                }
                self.sources.find(missing, pod.namespace()).await?;
            }
        }
        Ok(keys.into_iter().collect())
    }

    /// Answers a removal. What is admitted stands in every budget before this returns; it is shown, for whoever finds
    /// that nobody will take it up.
    pub async fn remove(&self, removal: &Removal<'_>) -> (Answer, Written) {
        let began = Instant::now();
        let mut written = Written::default();
        let answer = match self.covering(removal.pods).await {
            Ok(keys) if keys.is_empty() => Answer::NotCovered,
            Ok(keys) => {
                let settling = self.settle(removal, keys, began, &mut written);
                tokio::time::timeout(PATIENCE, settling).await.unwrap_or_else(|_| {
                    Answer::Unknown("too many removals are asked for at once; try again".to_owned())
                })
            }
            Err(Trouble::Unknown(why)) => Answer::Unknown(why),
            Err(Trouble::Conflict(_) | Trouble::Gone(_)) => Answer::NotCovered,
        };
        (answer, written)
    }

    async fn settle(
        &self,
        removal: &Removal<'_>,
        mut keys: Vec<Key>,
        began: Instant,
        written: &mut Written,
    ) -> Answer {
        let turns: Vec<Arc<Turn>> = keys.iter().map(|key| self.turn(key)).collect();
        let mut locks = Vec::with_capacity(turns.len());
        // Always in the same order, lest two wait for each other.
        for turn in &turns {
            locks.push(Arc::clone(&turn.lock).lock_owned().await);
        }
        let mut last = None;
        for _ in 0..TRIES {
            if keys.is_empty() {
                return Answer::NotCovered;
            }
            let outcome = match self.decide_all(removal, &keys, began).await {
                Ok(Ruling::Refused(shortage)) if self.all_read_since(&keys, began) => {
                    return Answer::Refused(shortage);
                }
                Ok(Ruling::Refused(shortage)) => {
                    last = Some(shortage);
                    self.read_all(&keys).await
                }
                Ok(Ruling::ReadAgain(key, why, shortage)) => {
                    last = shortage.or(last);
                    self.read_again(&key, why, removal, began).await
                }
                Ok(Ruling::Admitted(_)) if removal.dry_run => return Answer::Admitted,
                Ok(Ruling::Admitted(decided)) => match self.write_all(removal, decided).await {
                    Ok(all) => {
                        *written = all;
                        return Answer::Admitted;
                    }
                    Err(Trouble::Conflict(key)) => self.read(&key).await,
                    Err(other) => Err(other),
                },
                Err(trouble) => Err(trouble),
            };
            match outcome {
                Ok(()) => {}
                Err(Trouble::Gone(key)) => keys.retain(|other| *other != key),
                Err(Trouble::Conflict(_)) => {}
                Err(Trouble::Unknown(why)) => return Answer::Unknown(why),
            }
        }
        last.map_or_else(
            || Answer::Unknown("others keep writing to the budget; try again".to_owned()),
            Answer::Refused,
        )
    }

    /// Whether all were seen as they stand after this moment.
    fn all_read_since(&self, keys: &[Key], began: Instant) -> bool {
        keys.iter().all(|key| {
            let read = *self.turn(key).read.lock().unwrap_or_else(PoisonError::into_inner);
            read.is_some_and(|read| read >= began)
        })
    }

    fn was_read(&self, key: &Key, began: Instant) {
        *self.turn(key).read.lock().unwrap_or_else(PoisonError::into_inner) = Some(began);
    }

    async fn read_all(&self, keys: &[Key]) -> Result<(), Trouble> {
        for key in keys {
            self.read(key).await?;
        }
        Ok(())
    }

    /// Reads a budget as it stands.
    async fn read(&self, key: &Key) -> Result<(), Trouble> {
        let began = Instant::now();
        match self.sources.budgets(&key.0).get_opt(&key.1).await? {
            Some(object) => {
                self.book.put_budget(object);
                self.was_read(key, began);
                Ok(())
            }
            None => {
                self.book.remove_budget(key, u64::MAX);
                Err(Trouble::Gone(key.clone()))
            }
        }
    }

    /// Sees to it that the next look shows what this one lacked.
    async fn read_again(
        &self,
        key: &Key,
        why: NotYet,
        removal: &Removal<'_>,
        began: Instant,
    ) -> Result<(), Trouble> {
        let Some(known) = self.book.budget(key) else { return Err(Trouble::Gone(key.clone())) };
        match why {
            NotYet::GenerationLags => {
                if self.all_read_since(std::slice::from_ref(key), began) {
                    // The controller has to count first, and is woken by the same change.
                    let mut news = self.book.news();
                    let _ = tokio::time::timeout(CATCH_UP, news.recv()).await;
                }
                self.read(key).await
            }
            NotYet::ViewTooOld { need: Version(need) } => {
                Ok(self.sources.reach(&known, need, CATCH_UP).await?)
            }
            NotYet::PodUnknown => Ok(self.sources.reach(&known, newest(removal), CATCH_UP).await?),
            NotYet::NeedsLiveView => Ok(()),
        }
    }

    /// Reads a budget and then lists its pods, unless both were done since the request began: those who wait for
    /// their turn share one look.
    async fn look_now(&self, key: &Key, began: Instant) -> Result<Arc<Known>, Trouble> {
        let turn = self.turn(key);
        let gone = || Trouble::Gone(key.clone());
        let known = self.book.budget(key).ok_or_else(gone)?;
        let looked = *turn.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_some_and(|(at, version)| at >= began && version == known.version) {
            return Ok(known);
        }
        self.read(key).await?;
        let known = self.book.budget(key).ok_or_else(gone)?;
        let at = Instant::now();
        self.sources.look(&known, Freshness::Now).await?;
        *turn.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, known.version));
        Ok(known)
    }

    /// Counts every budget and decides. Whether a unit is broken is only believed of a list that was asked for after
    /// the budget was read.
    async fn decide_all(
        &self,
        removal: &Removal<'_>,
        keys: &[Key],
        began: Instant,
    ) -> Result<Ruling, Trouble> {
        let mut decided = Vec::with_capacity(keys.len());
        for key in keys {
            let mut known = self.book.budget(key).ok_or_else(|| Trouble::Gone(key.clone()))?;
            let (mut view, mut account, mut decision) = self.decide_one(removal, &known, false).await?;
            if matches!(decision.verdict, Verdict::ReadAgain(NotYet::NeedsLiveView)) {
                known = self.look_now(key, began).await?;
                (view, account, decision) = self.decide_one(removal, &known, true).await?;
            }
            match decision.verdict {
                Verdict::Free(_) | Verdict::Pays => {
                    let write = decision.write.asked_by(removal.by);
                    decided.push(Decided { known, view, account, write });
                }
                Verdict::Refused(shortage) => return Ok(Ruling::Refused(Box::new(shortage))),
                // A view that is newer than the pod and does not show it: it is gone, or covered no more.
                Verdict::ReadAgain(NotYet::PodUnknown) if self.book.seen(key) >= newest(removal) => {}
                Verdict::ReadAgain(why) => {
                    let now = self.clock.time();
                    let shortage = removal.pods.first().and_then(|pod| account.gave_up(&pod.uid, why, now));
                    return Ok(Ruling::ReadAgain(key.clone(), why, shortage.map(Box::new)));
                }
            }
        }
        Ok(Ruling::Admitted(decided))
    }

    async fn decide_one(
        &self,
        removal: &Removal<'_>,
        known: &Known,
        live: bool,
    ) -> Result<(View, Account, Decision), Trouble> {
        let now = self.clock.time();
        let budget = known.budget.as_ref().ok_or_else(|| {
            Trouble::Unknown(format!(
                "the ledger in the status of budget {} cannot be read",
                known.object.title()
            ))
        })?;
        let view = View { live, ..self.sources.view(known).await? };
        let mut account = account(budget, &view, now);
        for pod in removal.pods {
            // The request knows its pod better than any list.
            let Some(counted) = account.counted(&pod.uid) else { continue };
            let fresh = lockstep_core::budget::Pod {
                ready: pod.ready,
                terminating: pod.terminating,
                active: pod.active,
                opted_out: pod.opted_out,
                ..counted.clone()
            };
            account.refresh(&fresh, pod.version);
        }
        let decision = match (removal.pods, removal.whole) {
            ([one], false) => {
                let request = Request { pod: one.uid.clone(), operation: removal.operation };
                decide(&account, &request, now)
            }
            (pods, _) => {
                let uids: Vec<Uid> = pods.iter().map(|pod| pod.uid.clone()).collect();
                decide_instance(&account, &uids, removal.operation, now)
            }
        };
        Ok((view, account, decision))
    }

    /// Counts a budget from the book.
    pub async fn count(&self, known: &Known, budget: &Budget) -> kube::Result<Account> {
        Ok(account(budget, &self.sources.view(known).await?, self.clock.time()))
    }

    /// Sees to it that the book is as new as what a budget rests on.
    pub async fn renew(&self, known: &Known) -> Result<(), kube::Error> {
        let Some(budget) = &known.budget else { return Ok(()) };
        self.sources.reach(known, budget.state.rests_on.0, CATCH_UP).await
    }
}

/// The version of the newest of its pods.
fn newest(removal: &Removal<'_>) -> u64 {
    removal.pods.iter().map(|pod| pod.version).max().unwrap_or_default()
}

/// A budget that lets a removal pass, and what has to stand in it first.
struct Decided {
    known: Arc<Known>,
    view: View,
    account: Account,
    write: Write,
}

/// What all covering budgets say together.
enum Ruling {
    Admitted(Vec<Decided>),
    Refused(Box<Shortage>),
    ReadAgain(Key, NotYet, Option<Box<Shortage>>),
}
