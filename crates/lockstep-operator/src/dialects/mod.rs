//! The controllers of other projects' kinds: each object becomes a set of its own, and its status is that set's in
//! its own words.
//!
//! Nothing about a rollout is decided here, and nothing is remembered that is not in the API server: what is read is
//! lowered, compared with what stands, applied where it differs, and what the set says is raised. Whoever is killed
//! in between leaves nothing half done that the next does not see.

mod book;
mod defined;
mod desk;
mod id;
mod keep;
pub mod served;
mod wanted;
mod watches;
pub mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use lockstep_dialects::{Dialect, Kind};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::book::Book;
use self::defined::Defined;
use self::desk::Desk;
use self::id::Id;
use self::keep::Keeper;
use crate::act::ActError;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::report::{Herald, Note};

pub use self::wanted::set as made_set;

/// News that arrive together are looked at together.
const GATHER: Duration = Duration::from_millis(2);
/// The first pause after a write that failed; it doubles.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The dialects an operator serves, where their definitions are ours.
#[derive(Clone, Default)]
pub struct Dialects(pub Vec<&'static dyn Dialect>);

impl Dialects {
    /// The dialect of an object that becomes a set.
    pub fn of(&self, object: &Value) -> Option<&'static dyn Dialect> {
        let is_of = |dialect: &&&'static dyn Dialect| {
            dialect.kinds().iter().any(|kind| kind.becomes_set && kind.is_of(object))
        };
        self.0.iter().find(is_of).copied()
    }
}

impl fmt::Debug for Dialects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|dialect| dialect.name())).finish()
    }
}

/// What the controllers share.
#[derive(Clone)]
pub struct Setting {
    /// The way to the API server.
    pub client: Client,
    /// Look after objects of this namespace only.
    pub namespace: Option<String>,
    /// Who writes events.
    pub instance: Option<String>,
    /// What is measured.
    pub metrics: Metrics,
    /// Whether we still may write.
    pub sure: Arc<dyn Fn() -> bool + Send + Sync>,
    /// What time it is.
    pub clock: Clock,
}

impl Setting {
    fn herald(&self) -> Herald {
        Herald::new(self.client.clone(), self.instance.clone(), self.clock.clone())
    }
}

/// Looks after the objects of these dialects for as long as we may write. Dropping the future stops everything.
pub async fn run(setting: Setting, dialects: Dialects) {
    if dialects.0.is_empty() {
        return std::future::pending().await;
    }
    let known = Arc::new(watch::Sender::new(None));
    let mut all = JoinSet::new();
    all.spawn(defined::follow(setting.client.clone(), Arc::clone(&known)));
    for dialect in dialects.0 {
        all.spawn(serve(setting.clone(), dialect, known.subscribe()));
    }
    while let Some(ended) = all.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "the controller of a dialect broke down");
        }
    }
}

/// Serves a dialect while its definitions are ours, and anew whenever they change.
async fn serve(setting: Setting, dialect: &'static dyn Dialect, mut known: watch::Receiver<Option<Defined>>) {
    let mut warned = Vec::new();
    loop {
        let Some(defined) = known.borrow_and_update().clone() else {
            if known.changed().await.is_err() {
                return;
            }
            continue;
        };
        warned = warn_of_foreign(&setting, dialect, &defined, warned).await;
        let kinds = defined.kinds(dialect);
        setting.metrics.dialect(dialect.name(), !kinds.is_empty());
        let others = |defined: &Option<Defined>| {
            let news =
                |defined: &Defined| defined.kinds(dialect) != kinds || defined.foreign(dialect) != warned;
            defined.as_ref().is_some_and(news)
        };
        let served = known.clone();
        tokio::select! {
            biased;
            changed = known.wait_for(others) => if changed.is_err() { return },
            () = look_after(&setting, dialect, &kinds, served) => {
                tracing::error!(dialect = dialect.name(), "a watch broke down");
            }
        }
    }
}

/// Says whose definitions are in the way, once.
async fn warn_of_foreign(
    setting: &Setting,
    dialect: &'static dyn Dialect,
    defined: &Defined,
    warned: Vec<k8s_openapi::api::core::v1::ObjectReference>,
) -> Vec<k8s_openapi::api::core::v1::ObjectReference> {
    let foreign = defined.foreign(dialect);
    setting.metrics.foreign_definitions(dialect.name(), foreign.len());
    for definition in foreign.iter().filter(|definition| !warned.contains(definition)) {
        let name = definition.name.as_deref().unwrap_or_default();
        let message = "defined by somebody else, whose controller looks after it: Lockstep leaves it alone. \
                       To hand it over: uninstall that controller, then `lockstep install --dialects`";
        tracing::warn!(dialect = dialect.name(), definition = name, "{message}");
        let note = Note { warning: false, reason: "NotServed".to_owned(), message: message.to_owned() };
        if let Err(error) = setting.herald().tell(definition, &note).await {
            tracing::warn!(%error, "cannot send an event");
        }
    }
    foreign
}

/// Looks after the objects of these kinds until a watch breaks down.
async fn look_after(
    setting: &Setting,
    dialect: &'static dyn Dialect,
    kinds: &[&'static Kind],
    known: watch::Receiver<Option<Defined>>,
) {
    if kinds.is_empty() {
        return std::future::pending().await;
    }
    let book = Arc::new(Book::new(dialect));
    let watched = watches::all(&setting.client, kinds).await;
    let mut running = JoinSet::new();
    watches::start(&setting.client, setting.namespace.as_deref(), &watched, &book, &mut running).await;
    tracing::info!(dialect = dialect.name(), "serves");
    let keeper = Arc::new(Keeper {
        dialect,
        book: Arc::clone(&book),
        desk: Desk::new(setting.client.clone(), book, watched, Arc::clone(&setting.sure)),
        herald: setting.herald(),
        served: Box::new(move || known.borrow().as_ref().map(Defined::served).unwrap_or_default()),
        clock: setting.clock.clone(),
    });
    let mut turns = Turns { keeper, metrics: &setting.metrics, jobs: JoinSet::new(), files: BTreeMap::new() };
    tokio::select! {
        () = turns.take() => {}
        _ = running.join_next() => {}
    }
}

/// Gives every object its turn, one at a time for each.
struct Turns<'a> {
    keeper: Arc<Keeper>,
    metrics: &'a Metrics,
    jobs: JoinSet<(Id, Option<String>, Result<(), ActError>)>,
    files: BTreeMap<Id, File>,
}

/// What is remembered of an object from one turn to the next.
#[derive(Default)]
struct File {
    busy: bool,
    /// How often in a row its writes failed.
    failures: u32,
    /// What was last told to be wrong with it.
    told: Option<String>,
}

impl Turns<'_> {
    async fn take(&mut self) {
        loop {
            let busy = |id: &Id| self.files.get(id).is_some_and(|file| file.busy);
            let (ready, next) = self.keeper.book.turns(Instant::now(), busy);
            for id in ready {
                self.begin(id);
            }
            tokio::select! {
                biased;
                Some(done) = self.jobs.join_next() => match done {
                    Ok((id, told, result)) => self.ended(id, told, result),
                    // Which one is not known: all may try again.
                    Err(error) => {
                        tracing::error!(%error, "a turn broke down");
                        tokio::time::sleep(PAUSE).await;
                        let all: Vec<Id> = self.files.keys().cloned().collect();
                        self.files.values_mut().for_each(|file| file.busy = false);
                        self.keeper.book.ring(all, Instant::now());
                    }
                },
                () = self.keeper.book.rung() => tokio::time::sleep(GATHER).await,
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    fn begin(&mut self, id: Id) {
        let file = self.files.entry(id.clone()).or_default();
        file.busy = true;
        let (keeper, mut told) = (Arc::clone(&self.keeper), file.told.clone());
        self.jobs.spawn(async move {
            let result = keeper.keep(&id, &mut told).await;
            (id, told, result)
        });
    }

    fn ended(&mut self, id: Id, told: Option<String>, result: Result<(), ActError>) {
        let file = self.files.entry(id.clone()).or_default();
        file.busy = false;
        file.told = told;
        match result {
            Ok(()) => {
                file.failures = 0;
                if self.keeper.book.get(&id).is_none() {
                    self.files.remove(&id);
                }
            }
            Err(error) => {
                let pause = PAUSE.saturating_mul(1 << file.failures.min(16)).min(LONGEST_PAUSE);
                file.failures = file.failures.saturating_add(1);
                tracing::warn!(kind = id.kind, namespace = id.namespace, name = id.name, %error, "a write failed");
                self.metrics.action_failed("DialectFailed", error.word());
                self.keeper.book.ring([id], Instant::now() + pause);
            }
        }
    }
}
