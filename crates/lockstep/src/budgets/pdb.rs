//! PodDisruptionBudgets, as far as a drain meets them beside ours.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::core::{Selector, SelectorExt};
use kube::{Api, Client, ResourceExt};

use crate::input::objects::plainly;

/// One PodDisruptionBudget.
#[derive(Debug, Clone)]
pub struct Guard {
    /// What it is called.
    pub name: String,
    selector: Selector,
    /// How many more it lets go now.
    pub allowed: u32,
    /// How many it lets go when everything stands.
    pub at_best: u32,
    /// Whether pods that are not ready may go for nothing.
    pub frees_unready: bool,
}

impl Guard {
    /// Those of a namespace.
    pub async fn all(client: &Client, namespace: &str) -> Result<Vec<Self>> {
        let api: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), namespace);
        let listed = api.list(&ListParams::default()).await.map_err(plainly);
        let listed = listed.context("cannot list the PodDisruptionBudgets")?;
        Ok(listed.items.iter().filter_map(Self::of).collect())
    }

    /// What a drain meets of one; nothing if it selects nothing.
    pub fn of(budget: &PodDisruptionBudget) -> Option<Self> {
        let spec = budget.spec.as_ref()?;
        let number = |n: Option<i32>| n.and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
        let status = budget.status.as_ref();
        let [allowed, expected, desired, healthy] = status.map_or([0; 4], |status| {
            [status.disruptions_allowed, status.expected_pods, status.desired_healthy, status.current_healthy]
                .map(number)
        });
        let always = spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow");
        Some(Self {
            name: budget.name_any(),
            selector: Selector::try_from(spec.selector.clone()?).ok()?,
            allowed,
            at_best: expected.saturating_sub(desired),
            frees_unready: always || (desired > 0 && healthy >= desired),
        })
    }

    /// Whether it covers a pod with these labels.
    pub fn covers(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.matches(labels)
    }

    /// The same, when everything stands again.
    pub fn restored(&self) -> Self {
        Self { allowed: self.at_best, ..self.clone() }
    }
}
