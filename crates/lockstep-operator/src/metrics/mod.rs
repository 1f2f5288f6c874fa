//! What can be measured from outside, in Prometheus' words.
//!
//! Every name begins with `lockstep_`. Labels are bounded by what exists: sets, their roles, the reasons of the
//! engine; never pods. What is said of a set goes when the set goes.

mod budgets;
mod federation;
mod labels;
mod requests;
mod sets;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use lockstep_api::status::LockstepSetStatus;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

pub use self::budgets::BudgetVerdict;
pub use self::federation::WorkOutcome;
use self::labels::{ByAction, ByDialect, ByOutcome, ByReason, ByRequest};
pub use self::requests::CountRequests;
use self::sets::Sets;

/// How a rollout ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutOutcome {
    /// Everything is at the new revision.
    Complete,
    /// Everything but what a partition keeps is.
    PartitionReached,
    /// Nothing was achieved until its deadline.
    Stalled,
    /// It was taken back.
    RolledBack,
}

impl RolloutOutcome {
    /// The outcome a phase of the status stands for, if it is an end.
    pub fn of_phase(phase: &str) -> Option<Self> {
        match phase {
            "Complete" => Some(Self::Complete),
            "PartitionReached" => Some(Self::PartitionReached),
            "Stalled" => Some(Self::Stalled),
            "RolledBack" => Some(Self::RolledBack),
            _ => None,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::PartitionReached => "partition_reached",
            Self::Stalled => "stalled",
            Self::RolledBack => "rolled_back",
        }
    }
}

/// How a review of admission ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewOutcome {
    /// Nothing to say.
    Allowed,
    /// Allowed, with warnings.
    Warned,
    /// Something is wrong with the object, or it could not finish.
    Denied,
    /// Allowed without a proof, for want of time.
    Unproven,
    /// Not a review at all.
    Malformed,
}

impl ReviewOutcome {
    fn label(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Denied => "denied",
            Self::Unproven => "unproven",
            Self::Malformed => "malformed",
        }
    }
}

/// Everything that is measured. Cheap to clone; all clones count together.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

type Timed = fn() -> Histogram;

struct Inner {
    registry: Registry,
    sets: Sets,
    rollout_duration: Family<ByOutcome, Histogram, Timed>,
    blocked_seconds: Family<ByReason, Counter<f64, AtomicU64>>,
    requests: Family<ByRequest, Counter>,
    plan_duration: Histogram,
    queue_depth: Gauge,
    action_errors: Family<ByAction, Counter>,
    leader: Gauge,
    dialects: Family<ByDialect, Gauge>,
    foreign_definitions: Family<ByDialect, Gauge>,
    reviews: Family<ByOutcome, Counter>,
    proof_duration: Histogram,
    budgets: budgets::Budgets,
    federation: federation::Federation,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Nothing measured yet.
    pub fn new() -> Self {
        let mut inner = Inner {
            registry: Registry::with_prefix("lockstep"),
            sets: Sets::default(),
            rollout_duration: Family::new_with_constructor(rollouts as Timed),
            blocked_seconds: Family::default(),
            requests: Family::default(),
            plan_duration: quick(),
            queue_depth: Gauge::default(),
            action_errors: Family::default(),
            leader: Gauge::default(),
            dialects: Family::default(),
            foreign_definitions: Family::default(),
            reviews: Family::default(),
            proof_duration: quick(),
            budgets: budgets::Budgets::default(),
            federation: federation::Federation::default(),
        };
        inner.register();
        Self(Arc::new(inner))
    }

    /// A rollout came to an end, or stalled, so long after it began.
    pub fn rollout_ended(&self, outcome: RolloutOutcome, took: Duration) {
        let labels = ByOutcome { outcome: outcome.label() };
        self.0.rollout_duration.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// What a status says of a set's roles and of what waits. What it said before and does not say now is gone.
    pub fn set_status(&self, namespace: &str, set: &str, status: &LockstepSetStatus) {
        self.0.sets.status(namespace, set, status);
    }

    /// How far the roles under a skew rule are apart, as a part of one.
    pub fn set_skew(&self, namespace: &str, set: &str, rule: &str, ratio: f64) {
        self.0.sets.skew(namespace, set, rule, ratio);
    }

    /// A set is gone, or no longer ours to speak of.
    pub fn forget_set(&self, namespace: &str, set: &str) {
        self.0.sets.forget(namespace, set);
    }

    /// Nothing is ours to speak of: somebody else leads.
    pub fn forget_all(&self) {
        self.0.sets.forget_all();
        self.forget_all_budgets();
        self.forget_all_federated_rollouts();
        self.0.dialects.clear();
        self.0.foreign_definitions.clear();
    }

    /// Something waited for this reason, so long.
    pub fn blocked_for(&self, reason: &str, waited: Duration) {
        let labels = ByReason { reason: reason.to_owned() };
        self.0.blocked_seconds.get_or_create(&labels).inc_by(waited.as_secs_f64());
    }

    /// A request to the API server was answered: `create`, `pods`, and `ok` or why not.
    pub fn request(&self, verb: &'static str, resource: &'static str, outcome: &str) {
        let labels = ByRequest { verb, resource, outcome: outcome.to_owned() };
        self.0.requests.get_or_create(&labels).inc();
    }

    /// A plan was made.
    pub fn plan_took(&self, took: Duration) {
        self.0.plan_duration.observe(took.as_secs_f64());
    }

    /// So many sets wait to be looked at.
    pub fn queue_depth(&self, waiting: usize) {
        self.0.queue_depth.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// An action of a plan failed.
    pub fn action_failed(&self, action: &'static str, reason: &str) {
        let labels = ByAction { action, reason: reason.to_owned() };
        self.0.action_errors.get_or_create(&labels).inc();
    }

    /// Whether this replica leads.
    pub fn leader(&self, leads: bool) {
        self.0.leader.set(i64::from(leads));
    }

    /// Whether the objects of a dialect are looked after.
    pub fn dialect(&self, dialect: &'static str, served: bool) {
        self.0.dialects.get_or_create(&ByDialect { dialect }).set(i64::from(served));
    }

    /// So many definitions of a dialect are somebody else's.
    pub fn foreign_definitions(&self, dialect: &'static str, count: usize) {
        let gauge = self.0.foreign_definitions.get_or_create(&ByDialect { dialect });
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A review was answered.
    pub fn review(&self, outcome: ReviewOutcome) {
        self.0.reviews.get_or_create(&ByOutcome { outcome: outcome.label() }).inc();
    }

    /// A proof was made, or given up.
    pub fn proof_took(&self, took: Duration) {
        self.0.proof_duration.observe(took.as_secs_f64());
    }

    /// Everything, in the OpenMetrics text format ([`CONTENT_TYPE`]).
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail, and half a page is no worse than none.
        let _ = text::encode(&mut text, &self.0.registry);
        text
    }
}

/// What [`Metrics::encode`] is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Inner {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register_with_unit(
            "rollout_duration",
            "How long rollouts took until they ended or stalled",
            Unit::Seconds,
            self.rollout_duration.clone(),
        );
        self.sets.register(registry);
        registry.register_with_unit(
            "blocked",
            "How long things waited, by reason; summed over what waited",
            Unit::Seconds,
            self.blocked_seconds.clone(),
        );
        registry.register("api_requests", "Requests to the API server", self.requests.clone());
        registry.register_with_unit(
            "plan_duration",
            "How long it took to make a plan",
            Unit::Seconds,
            self.plan_duration.clone(),
        );
        registry.register(
            "reconcile_queue_depth",
            "Sets that wait to be looked at",
            self.queue_depth.clone(),
        );
        registry.register("action_errors", "Actions of plans that failed", self.action_errors.clone());
        registry.register("leader", "1 if this replica leads, else 0", self.leader.clone());
        registry.register(
            "dialect_served",
            "1 if the objects of a dialect are looked after",
            self.dialects.clone(),
        );
        registry.register(
            "dialect_foreign_definitions",
            "Definitions of a dialect's kinds that are somebody else's, and left alone",
            self.foreign_definitions.clone(),
        );
        registry.register("admission_reviews", "Reviews of admission", self.reviews.clone());
        registry.register_with_unit(
            "admission_proof_duration",
            "How long it took to prove that a rollout can finish, or to give up",
            Unit::Seconds,
            self.proof_duration.clone(),
        );
        self.budgets.register(registry);
        self.federation.register(registry);
    }
}

/// From a second to a day.
fn rollouts() -> Histogram {
    Histogram::new([1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400].map(f64::from))
}

/// From a tenth of a millisecond to some seconds.
fn quick() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 4.0, 9))
}

#[cfg(test)]
mod tests;
