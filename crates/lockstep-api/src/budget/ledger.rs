//! From the object to what the engine decides with, and back.

use std::collections::BTreeSet;

use lockstep_core::budget::{Budget, BudgetSpec, Figures, GroupPolicy, Operation};

use super::{PROTECT_OPERATIONS, PROTECT_TOTAL_REPLICAS, PodUnavailableBudget, Protected, TargetRef};

impl PodUnavailableBudget {
    /// What the engine decides with. A ledger that cannot be read is an error: to forget promises is to break them.
    pub fn lower(&self) -> Result<Budget, serde_json::Error> {
        let status = self.status.as_ref();
        Ok(Budget {
            name: self.title(),
            spec: self.decisive(),
            generation: self.metadata.generation.unwrap_or_default(),
            observed_generation: status.map_or(0, |status| status.observed_generation),
            state: status.map(super::PodUnavailableBudgetStatus::state).transpose()?.unwrap_or_default(),
        })
    }

    /// Puts down what was decided.
    pub fn raise(&mut self, budget: &Budget, figures: Figures) -> Result<(), serde_json::Error> {
        let status = self.status.get_or_insert_default();
        status.observed_generation = budget.observed_generation;
        status.put(figures, &budget.state)
    }

    /// Namespace and name, as messages say it.
    pub fn title(&self) -> String {
        let metadata = &self.metadata;
        let word = |word: &Option<String>| word.clone().unwrap_or_default();
        format!("{}/{}", word(&metadata.namespace), word(&metadata.name))
    }

    /// The workload it names, if it names one.
    pub fn target(&self) -> Option<&TargetRef> {
        self.spec.target_ref.as_ref().or(self.spec.target_reference.as_ref())
    }

    /// The label that tells groups apart, if units are groups.
    pub fn group_label(&self) -> Option<&str> {
        self.spec.pod_group_policy.as_ref().map(|policy| policy.group_label_key.as_str())
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    fn decisive(&self) -> BudgetSpec {
        let policy = self.spec.pod_group_policy.as_ref();
        BudgetSpec {
            max_unavailable: self.spec.max_unavailable,
            min_available: self.spec.min_available,
            pod_group_policy: policy
                .map(|policy| GroupPolicy { min_ready_replicas: policy.min_ready_replicas.unwrap_or(1) }),
            operations: self.operations(),
            protect_total_replicas: self
                .annotation(PROTECT_TOTAL_REPLICAS)
                .and_then(|text| text.trim().parse().ok()),
        }
    }

    /// What is protected against. Words of the annotation that nobody knows protect against nothing, but never turn
    /// the rest off: an annotation without any word that is known leaves the default.
    fn operations(&self) -> BTreeSet<Operation> {
        let said: BTreeSet<Operation> = match &self.spec.protect_operations {
            Some(listed) => listed.iter().copied().map(Operation::from).collect(),
            None => {
                let words = self.annotation(PROTECT_OPERATIONS).unwrap_or_default().split(',');
                words.filter_map(|word| operation(word.trim())).collect()
            }
        };
        if said.is_empty() { BudgetSpec::default().operations } else { said }
    }
}

fn operation(word: &str) -> Option<Operation> {
    match word {
        "DELETE" => Some(Operation::Delete),
        "EVICT" => Some(Operation::Evict),
        "UPDATE" => Some(Operation::Update),
        _ => None,
    }
}

impl From<Protected> for Operation {
    fn from(protected: Protected) -> Self {
        match protected {
            Protected::Delete => Self::Delete,
            Protected::Evict => Self::Evict,
            Protected::Update => Self::Update,
        }
    }
}
