//! The actor of one set: looks, lets the engine plan, acts, reports, and waits for the bell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::Client;
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::budget::Account;
use lockstep_core::model::Spec;
use lockstep_core::names::Uid;
use lockstep_core::plan::{Plan, plan};
use lockstep_core::snapshot::Memory;
use lockstep_core::time::{Millis, Time};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::desk::Handle;
use super::keep::{Keeper, UNTIL_FREE, scaled};
use super::pace::{Backoff, Pace, Topic};
use super::wish::{Checked, Wish};
use super::writes::in_time;
use crate::act::{ActError, Hand, SetRef};
use crate::budgets::Budgets;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::observe::{Sources, snapshot};
use crate::report::{Herald, Report, Trouble, invalid};

/// News that arrive together are looked at together.
const GATHER: Duration = Duration::from_millis(2);

/// A set that takes long to look at is looked at less often, but not kept waiting for longer than anybody would
/// notice.
const REST: u32 = 4;
const LONGEST_GATHER: Duration = Duration::from_millis(100);

/// How long another wish waits for what is under way.
const LONGEST_HALT: Millis = Millis::seconds(30);

/// What every actor has.
pub struct Context {
    /// The way to the API server.
    pub client: Client,
    /// Whether we still may write.
    pub sure: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Where events go.
    pub events: Arc<Herald>,
    /// What is measured.
    pub metrics: Metrics,
    /// How many sets wait to be looked at.
    pub waiting: Arc<AtomicUsize>,
    /// Unavailable budgets, if they are looked after.
    pub budgets: Option<Budgets>,
    /// What time it is.
    pub clock: Clock,
}

/// The actor of one set.
pub struct Actor {
    pub(super) context: Arc<Context>,
    pub(super) handle: Arc<Handle>,
    pub(super) hand: Arc<Hand>,
    pub(super) set: SetRef,
    pub(super) owner: Uid,
    /// What the last plan asked to be remembered; newer than what is written, never older.
    memory: Memory,
    /// The memory as it stands in the API server, and as it was written there.
    pub(super) stored: Memory,
    pub(super) written: Value,
    /// The state of the object that was looked at last.
    seen: u64,
    /// The wish that what is under way was planned for.
    planned_for: Option<i64>,
    /// Since when another wish waits for what is under way.
    halted: Option<Time>,
    /// What was last said.
    pub(super) said: LockstepSetStatus,
    pub(super) said_at: Option<Instant>,
    pub(super) saying: bool,
    /// Pods that came from another operator are known.
    pub(super) taken_in: bool,
    /// What stands in the API server may be other than we believe.
    pub(super) doubt: bool,
    pub(super) pace: Pace<Done>,
    pub(super) jobs: JoinSet<Done>,
    pub(super) backoffs: BTreeMap<Topic, Backoff>,
    pub(super) troubles: BTreeMap<Topic, Trouble>,
    wake: Option<Time>,
    /// How long it took to look the last time.
    took: Duration,
}

/// What became of a write.
#[derive(Debug)]
pub struct Done {
    /// What it was about.
    pub topic: Topic,
    /// Whether it was done.
    pub result: Result<(), ActError>,
}

/// Whether an actor goes on.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Wait,
    Stop,
}

impl Actor {
    /// An actor for a set that is there.
    pub fn new(context: Arc<Context>, handle: Arc<Handle>, wish: &Wish) -> Self {
        let hand = Arc::new(Hand::new(context.client.clone(), &wish.set.namespace));
        Self {
            context,
            handle,
            hand,
            set: wish.set.clone(),
            owner: Uid::new(&wish.set.uid),
            memory: wish.memory(),
            stored: wish.memory(),
            written: wish.status.memory.clone(),
            seen: 0,
            planned_for: None,
            halted: None,
            said: wish.status.clone(),
            said_at: None,
            saying: false,
            taken_in: false,
            doubt: false,
            pace: Pace::default(),
            jobs: JoinSet::new(),
            backoffs: BTreeMap::new(),
            troubles: BTreeMap::new(),
            wake: None,
            took: Duration::ZERO,
        }
    }

    /// Looks after the set until it is gone or another has taken its name.
    pub async fn run(mut self) {
        while self.turn().await == Next::Wait {
            self.wait().await;
        }
        self.context.metrics.forget_set(&self.set.namespace, &self.set.name);
    }

    /// Waits until something happens, and a moment longer for what happens together with it.
    async fn wait(&mut self) {
        let sleep = self.wake.map(|at| Duration::from_millis(at.since(self.now()).0));
        tokio::select! {
            biased;
            () = self.handle.rung() => {}
            Some(done) = self.jobs.join_next() => self.ended(done),
            () = tokio::time::sleep(sleep.unwrap_or(Duration::MAX)), if sleep.is_some() => return,
        }
        let until = Instant::now() + (self.took * REST).clamp(GATHER, LONGEST_GATHER);
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(until) => break,
                Some(done) = self.jobs.join_next() => self.ended(done),
            }
        }
    }

    /// Looks once, and does what is to be done.
    async fn turn(&mut self) -> Next {
        self.handle.answer();
        self.context.metrics.queue_depth(self.context.waiting.load(Ordering::Relaxed));
        let Some(wish) = self.handle.desk().wish.clone() else { return Next::Stop };
        if wish.set.uid != self.owner.as_str() {
            return Next::Stop;
        }
        self.wake = None;
        if wish.deleting {
            self.pace.halt();
            return Next::Wait;
        }
        if !(self.context.sure)() {
            return Next::Wait;
        }
        self.adopt(&wish);
        if !self.has_all_pods(&wish).await {
            return Next::Wait;
        }
        if !self.is_settled_for(&wish) {
            return Next::Wait;
        }
        match &wish.parsed {
            Ok(checked) => self.look(&wish, &Arc::clone(checked)).await,
            Err(problems) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let status = invalid(&wish, lines.join("\n"), self.now());
                let words = |status: &LockstepSetStatus| status.rollout.waiting_for.clone();
                if words(&status) != words(&self.said) {
                    let (namespace, set) = (&self.set.namespace, &self.set.name);
                    tracing::warn!(%namespace, %set, problems = lines.join("; "), "the spec is refused");
                }
                self.say(&wish, status);
            }
        }
        Next::Wait
    }

    /// Whoever changes their mind, pauses or aborts gets no more of what was planned before: what has not started is
    /// dropped, and what is under way has ended before the next plan is made.
    fn is_settled_for(&mut self, wish: &Wish) -> bool {
        if self.planned_for == Some(wish.generation) {
            return true;
        }
        let now = self.now();
        let since = *self.halted.get_or_insert(now);
        // A write that nobody ever answers must not stop the set for good: the view counts with it.
        let settled = self.pace.halt() || now >= since + LONGEST_HALT;
        if settled {
            self.planned_for = Some(wish.generation);
            self.halted = None;
        } else {
            self.wake_at(since + LONGEST_HALT);
        }
        settled
    }

    /// Whether what is planned is still what is wished for, as far as is known now.
    pub(super) fn is_current(&self) -> bool {
        self.handle.desk().wish.as_ref().is_some_and(|wish| {
            let untouched = wish.version == self.seen || wish.status.memory == self.written;
            !wish.deleting && self.planned_for == Some(wish.generation) && untouched
        })
    }

    async fn look(&mut self, wish: &Arc<Wish>, checked: &Checked) {
        if let Some(until) = self.holds(&Topic::Upkeep) {
            self.wake_at(until);
        } else if let Err(error) = in_time("keep what stands beside the pods", self.keep(wish, checked)).await
        {
            // Nothing is built from a revision that is not stored.
            self.failed(Topic::Upkeep, error);
        }
        self.forget_taken_names();
        let began = Instant::now();
        let spec = Arc::new(scaled(&checked.spec, &self.handle));
        let budgets = self.accounts().await;
        let plan = self.plan(&spec, wish, budgets);
        let troubles: Vec<Trouble> = self.troubles.values().cloned().collect();
        let taken: Vec<String> = self.handle.desk().taken.keys().cloned().collect();
        let now = self.now();
        let report = Report { wish, spec: &spec, plan: &plan, troubles: &troubles, taken: &taken, now };
        let status = report.status();
        self.took = began.elapsed();
        for (rule, ratio) in report.skews() {
            self.context.metrics.set_skew(&wish.set.namespace, &wish.set.name, rule, ratio);
        }
        self.wake = plan.wake.into_iter().chain(self.wake).min();
        let urgent = is_urgent(&self.stored, &plan.memory);
        self.memory.clone_from(&plan.memory);
        if urgent {
            match self.say_first(wish, &status).await {
                Ok(true) => {}
                // The set is another by now: look again.
                Ok(false) => {
                    self.doubt = true;
                    return self.handle.ring();
                }
                Err(error) => return self.not_said(error),
            }
        } else {
            self.say(wish, status);
        }
        self.act(wish, &spec, &plan).await;
        self.mark_complete(wish, &plan).await;
        if plan.actions.is_empty() {
            self.tidy(wish, checked, &spec, &plan).await;
        }
    }

    /// A name that was taken by somebody else's pod and is ours now is no trouble any more.
    fn forget_taken_names(&mut self) {
        let taken = |topic: &Topic| matches!(topic, Topic::Name(_));
        if !self.troubles.keys().any(taken) {
            return;
        }
        let desk = self.handle.desk();
        let ours: BTreeSet<&str> = desk.view.pods(&self.owner).map(|((.., name), _)| &**name).collect();
        let over = |topic: &Topic| matches!(topic, Topic::Name(name) if ours.contains(name.as_str()));
        self.troubles.retain(|topic, _| !over(topic));
        self.backoffs.retain(|topic, _| !over(topic));
    }

    fn plan(&self, spec: &Spec, wish: &Wish, budgets: Vec<Account>) -> Plan {
        let mut snapshot = {
            let mut desk = self.handle.desk();
            desk.view.mark();
            let placed = desk.placed();
            let sources = Sources { history: &desk.history, memory: &self.memory, placed: &placed };
            let owner = Uid::new(&wish.set.uid);
            let pods = desk.view.pods(&owner).map(|((place, ..), known)| (place, &known.pod));
            snapshot(pods, sources)
        };
        snapshot.budgets = budgets;
        let began = Instant::now();
        let plan = plan(spec, &snapshot, self.now());
        self.context.metrics.plan_took(began.elapsed());
        plan
    }

    /// Takes over a memory that somebody else wrote: a person who promoted, aborted or retried.
    fn adopt(&mut self, wish: &Wish) {
        if wish.version == self.seen && !self.doubt {
            return;
        }
        self.seen = wish.version;
        if wish.status.memory != self.written || self.doubt {
            self.doubt = false;
            self.planned_for = None;
            self.memory = wish.memory();
            self.stored.clone_from(&self.memory);
            self.written = wish.status.memory.clone();
            self.said = wish.status.clone();
        }
    }

    async fn keep(&mut self, wish: &Wish, checked: &Checked) -> Result<(), ActError> {
        let keeper = Keeper { client: &self.context.client, handle: &self.handle, wish };
        keeper.revision(&checked.parsed.set).await?;
        // As many as autoscalers want are called by their names.
        keeper.services(&checked.parsed.set, &scaled(&checked.spec, &self.handle)).await?;
        keeper.scales(&checked.spec).await?;
        let next = self.handle.desk().taken.values().min().map(|seen| *seen + UNTIL_FREE);
        if let Some(next) = next {
            self.wake_at(next);
        }
        self.succeeded(&Topic::Upkeep);
        Ok(())
    }

    /// Whatever else fails: that a set stood complete is known only until it does so at another revision.
    async fn mark_complete(&mut self, wish: &Wish, plan: &Plan) {
        if self.holds(&Topic::Aside).is_some() {
            return;
        }
        let keeper = Keeper { client: &self.context.client, handle: &self.handle, wish };
        match in_time("mark a revision", keeper.mark_complete(plan)).await {
            Ok(()) => self.succeeded(&Topic::Aside),
            Err(error) => self.failed(Topic::Aside, error),
        }
    }

    /// What has time until there is nothing else to do.
    async fn tidy(&mut self, wish: &Wish, checked: &Checked, spec: &Spec, plan: &Plan) {
        if self.holds(&Topic::Upkeep).is_some() {
            return;
        }
        let keeper = Keeper { client: &self.context.client, handle: &self.handle, wish };
        let limit = checked.parsed.set.spec.revision_history_limit;
        let tidied = async {
            keeper.scale_statuses(spec).await?;
            keeper.remove_gangs(plan).await?;
            keeper.forget_revisions(limit, plan).await
        };
        if let Err(error) = in_time("tidy up", tidied).await {
            self.failed(Topic::Upkeep, error);
        }
    }

    /// Until when writes of a topic are not tried, if that lies ahead.
    pub(super) fn holds(&self, topic: &Topic) -> Option<Time> {
        self.backoffs.get(topic)?.holds(self.now())
    }

    /// A write failed: say so, and wait before the next of its kind.
    pub(super) fn failed(&mut self, topic: Topic, error: ActError) {
        let now = self.now();
        let reason = topic.failure();
        let (namespace, set) = (&self.set.namespace, &self.set.name);
        tracing::warn!(%namespace, %set, reason, %error, "a write failed");
        self.context.metrics.action_failed(reason, error.word());
        let backoff = self.backoffs.entry(topic.clone()).or_default();
        backoff.failed(now);
        let until = backoff.holds(now);
        let since = self.troubles.get(&topic).map_or(now, |known| known.since);
        self.troubles.insert(topic, Trouble { reason, message: error.to_string(), since });
        if let Some(until) = until {
            self.wake_at(until);
        }
    }

    /// Somebody else's pod has a name that is ours; it is said, and the watch tells when it is gone.
    pub(super) fn in_the_way(&mut self, name: String) {
        let error = ActError::NameTaken { name: name.clone() };
        let since = self.now();
        let trouble = || Trouble { reason: "CreateFailed", message: error.to_string(), since };
        self.troubles.entry(Topic::Name(name)).or_insert_with(trouble);
    }

    /// What time it is.
    pub(super) fn now(&self) -> Time {
        self.handle.now()
    }

    pub(super) fn wake_at(&mut self, time: Time) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }
}

/// What must be stored before anything is done that relies on it: which life of a group pods are born into, what is
/// stable, who aborted, what was restarted and when. The rest may be written later, and be lost.
fn is_urgent(written: &Memory, planned: &Memory) -> bool {
    let stable = |memory: &Memory| {
        memory.roles.iter().map(|(name, role)| (name.clone(), role.stable)).collect::<Vec<_>>()
    };
    let lives = |memory: &Memory| {
        let life = |(group, known): (&u32, &lockstep_core::snapshot::GroupMemory)| {
            (*group, known.incarnation, known.rebuilding)
        };
        memory.groups.iter().map(life).collect::<Vec<_>>()
    };
    let lost = |memory: &Memory| {
        let tried = memory.surges.values().flat_map(|surge| surge.tried.values());
        tried.filter(|tried| tried.count > 0).copied().collect::<Vec<_>>()
    };
    stable(written) != stable(planned)
        || lives(written) != lives(planned)
        || written.complete != planned.complete
        || written.overridden != planned.overridden
        || written.restarts != planned.restarts
        || lost(written) != lost(planned)
}
