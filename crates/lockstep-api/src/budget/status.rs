//! What a budget counts.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use lockstep_core::budget::{BudgetState, Figures, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crd::shapes;

/// What is available, what must stay, and what has been promised. In groups where a podGroupPolicy is set, in pods
/// otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodUnavailableBudgetStatus {
    /// The generation of the spec that everything here speaks of. Nothing is let go before it is the newest.
    pub observed_generation: i64,
    /// Units that are expected.
    pub total_replicas: u32,
    /// Units that are available.
    pub current_available: u32,
    /// Units that must stay available.
    pub desired_available: u32,
    /// Units that may be taken away now.
    pub unavailable_allowed: u32,
    /// Expected units that are not available.
    pub unavailable_replicas: u32,
    /// Pods whose removal was admitted and has not been seen yet, and since when.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "shapes::times")]
    pub disrupted_pods: BTreeMap<String, String>,
    /// Pods whose update in place was admitted, and since when.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "shapes::times")]
    pub unavailable_pods: BTreeMap<String, String>,
    /// What a person should know.
    #[schemars(schema_with = "shapes::conditions")]
    pub conditions: Vec<Condition>,
    /// Who was promised what, and what all of this rests on. Not for people: ask `lockstep budget`.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "shapes::memory")]
    pub ledger: Value,
}

impl PodUnavailableBudgetStatus {
    /// What a budget keeps between decisions; nothing yet if there is nothing to read.
    pub fn state(&self) -> Result<BudgetState, serde_json::Error> {
        if self.ledger.is_null() {
            Ok(BudgetState::default())
        } else {
            BudgetState::deserialize(&self.ledger)
        }
    }

    /// Puts down figures and promises. Conditions and generation stay as they are.
    pub fn put(&mut self, figures: Figures, state: &BudgetState) -> Result<(), serde_json::Error> {
        self.total_replicas = figures.total_replicas;
        self.current_available = figures.current_available;
        self.desired_available = figures.desired_available;
        self.unavailable_allowed = figures.unavailable_allowed;
        self.unavailable_replicas = figures.unavailable_replicas;
        let (updates, removals): (Vec<_>, Vec<_>) =
            state.promises.values().partition(|promise| promise.operation == Operation::Update);
        let times = |promises: Vec<&lockstep_core::budget::Promise>| {
            promises.into_iter().map(|promise| (promise.pod.clone(), time(promise.time.0))).collect()
        };
        self.disrupted_pods = times(removals);
        self.unavailable_pods = times(updates);
        self.ledger = serde_json::to_value(state)?;
        Ok(())
    }
}

/// In Kubernetes' way, to the second.
fn time(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1000).unwrap_or_default();
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
