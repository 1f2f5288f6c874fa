//! What is said of unavailable budgets.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lockstep_core::budget::Figures;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::Metrics;
use super::labels::{ByVerdict, OfBudget};

/// How a review of a removal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetVerdict {
    /// No budget has a say.
    NotCovered,
    /// Every covering budget lets it go.
    Admitted,
    /// One of them does not.
    Refused,
    /// Nobody could say, so it was not let go.
    Unknown,
}

impl BudgetVerdict {
    fn label(self) -> &'static str {
        match self {
            Self::NotCovered => "not_covered",
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// The gauges and counters of all budgets.
pub(super) struct Budgets {
    total: Family<OfBudget, Gauge>,
    available: Family<OfBudget, Gauge>,
    desired: Family<OfBudget, Gauge>,
    allowed: Family<OfBudget, Gauge>,
    refusals: Family<OfBudget, Counter>,
    decisions: Family<ByVerdict, Counter>,
    duration: Histogram,
    shown: Mutex<BTreeSet<OfBudget>>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            total: Family::default(),
            available: Family::default(),
            desired: Family::default(),
            allowed: Family::default(),
            refusals: Family::default(),
            decisions: Family::default(),
            duration: super::quick(),
            shown: Mutex::default(),
        }
    }
}

impl Budgets {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("budget_units", "Units a budget expects", self.total.clone());
        registry.register("budget_available", "Units of a budget that are available", self.available.clone());
        registry.register(
            "budget_desired",
            "Units of a budget that must stay available",
            self.desired.clone(),
        );
        registry.register(
            "budget_allowed",
            "Units of a budget that may be taken away now",
            self.allowed.clone(),
        );
        registry.register("budget_refusals", "Removals a budget refused", self.refusals.clone());
        registry.register("budget_decisions", "Reviews of removals", self.decisions.clone());
        registry.register_with_unit(
            "budget_decision_duration",
            "How long it took to answer the review of a removal",
            Unit::Seconds,
            self.duration.clone(),
        );
    }

    fn gauges(&self) -> [&Family<OfBudget, Gauge>; 4] {
        [&self.total, &self.available, &self.desired, &self.allowed]
    }

    fn forget(&self, labels: &OfBudget) {
        for gauge in self.gauges() {
            gauge.remove(labels);
        }
    }
}

fn labels(namespace: &str, budget: &str) -> OfBudget {
    OfBudget { namespace: namespace.to_owned(), budget: budget.to_owned() }
}

impl Metrics {
    /// What a budget counts.
    pub fn budget(&self, namespace: &str, budget: &str, figures: Figures) {
        let (all, labels) = (&self.0.budgets, labels(namespace, budget));
        let values = [
            figures.total_replicas,
            figures.current_available,
            figures.desired_available,
            figures.unavailable_allowed,
        ];
        for (gauge, value) in all.gauges().into_iter().zip(values) {
            gauge.get_or_create(&labels).set(i64::from(value));
        }
        all.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(labels);
    }

    /// A budget is gone.
    pub fn forget_budget(&self, namespace: &str, budget: &str) {
        let labels = labels(namespace, budget);
        self.0.budgets.forget(&labels);
        self.0.budgets.shown.lock().unwrap_or_else(PoisonError::into_inner).remove(&labels);
    }

    /// No budget is ours to speak of: somebody else leads.
    pub(super) fn forget_all_budgets(&self) {
        let all = &self.0.budgets;
        for labels in std::mem::take(&mut *all.shown.lock().unwrap_or_else(PoisonError::into_inner)) {
            all.forget(&labels);
        }
    }

    /// A budget, named `namespace/name`, refused a removal.
    pub fn budget_refused(&self, budget: &str) {
        let (namespace, name) = budget.split_once('/').unwrap_or(("", budget));
        self.0.budgets.refusals.get_or_create(&labels(namespace, name)).inc();
    }

    /// The review of a removal was answered.
    pub fn budget_decision(&self, verdict: BudgetVerdict) {
        self.0.budgets.decisions.get_or_create(&ByVerdict { verdict: verdict.label() }).inc();
    }

    /// So long it took.
    pub fn budget_decision_took(&self, took: Duration) {
        self.0.budgets.duration.observe(took.as_secs_f64());
    }
}
