//! One budget with all it covers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use lockstep_api::budget::{Coverage, Lens, PodUnavailableBudget};
use lockstep_core::budget::{
    Account, Budget, Decision, FreeReason, NotYet, Operation, Pod, Request, UnitKey, Verdict, Version, View,
    account, decide,
};
use lockstep_core::snapshot::Uid;
use lockstep_core::time::Time;
use serde::Serialize;

use super::gather::Gathered;

/// One budget with all it covers.
#[derive(Debug, Clone)]
pub struct Held {
    /// Where it is.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// What it asks for, and has promised.
    pub budget: Budget,
    /// What it covers, and the moment at which that was so.
    pub view: View,
}

impl Held {
    /// Puts a budget together with the pods of its namespace.
    pub fn of(object: &PodUnavailableBudget, gathered: &Gathered) -> Result<Self> {
        let title = object.title();
        let budget = object.lower().with_context(|| format!("the ledger of {title} cannot be read"))?;
        let coverage =
            Coverage::of(object).with_context(|| format!("the selector of {title} cannot be read"))?;
        let memory = Some(&budget.state.memory);
        let lens = Lens { coverage: &coverage, group_label: object.group_label(), memory };
        let version = Version(gathered.version);
        let view = View { since: version, version, live: true, ..lens.assemble(gathered).view };
        Ok(Self {
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            name: object.metadata.name.clone().unwrap_or_default(),
            budget,
            view,
        })
    }

    /// Counts it.
    pub fn account(&self, now: Time) -> Account {
        account(&self.budget, &self.view, now)
    }

    /// Whether its units are groups.
    pub fn grouped(&self) -> bool {
        self.budget.spec.pod_group_policy.is_some()
    }

    /// `group` or `pod`.
    pub fn unit_word(&self) -> &'static str {
        if self.grouped() { "group" } else { "pod" }
    }

    /// The same, counted by now whether or not the operator has done so.
    pub fn counted(mut self) -> Self {
        self.budget.observed_generation = self.budget.generation;
        self.budget.state.rests_on = self.budget.state.rests_on.min(self.view.version);
        self
    }
}

/// What a removal would cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Toll {
    /// `free`, `pays` or `refused`.
    pub verdict: &'static str,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Toll {
    /// What an answer says.
    pub fn of(decision: &Decision) -> Self {
        let toll = |verdict, why: String| Self { verdict, why };
        match &decision.verdict {
            Verdict::Free(reason) => toll("free", free(*reason).to_owned()),
            Verdict::Pays => toll("pays", String::new()),
            Verdict::Refused(shortage) => {
                let others = format!("needs {} others available, has {}", shortage.needs, shortage.has);
                toll("refused", others)
            }
            Verdict::ReadAgain(NotYet::GenerationLags) => {
                toll("refused", "the budget has changed and the operator has not counted it yet".to_owned())
            }
            Verdict::ReadAgain(why) => toll("refused", why.to_string()),
        }
    }
}

fn free(reason: FreeReason) -> &'static str {
    match reason {
        FreeReason::NotCovered => "not covered",
        FreeReason::OperationNotProtected => "not protected against this",
        FreeReason::OptedOut => "opted out",
        FreeReason::Terminating => "on its way out already",
        FreeReason::NotReady => "not ready",
        FreeReason::ControllerGone => "its controller is gone",
        FreeReason::AlreadyPaid => "paid for a moment ago",
        FreeReason::UnitLeaving => "its group was paid for a moment ago",
        FreeReason::UnitBroken => "unavailable as it stands",
        FreeReason::Surplus => "more are ready than are needed",
    }
}

/// What a unit is like now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitNow {
    /// Which unit.
    pub unit: String,
    /// Its pods.
    pub pods: u32,
    /// Those of them that are ready and stay.
    pub ready: u32,
    /// How many must be.
    pub needed: u32,
    /// Whether they are.
    pub available: bool,
    /// Pods of it that have been promised to somebody.
    pub promised: Vec<Promised>,
    /// What evicting one of its pods would cost.
    pub eviction: Toll,
}

/// A pod that has been promised to somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Promised {
    /// The pod.
    pub pod: String,
    /// How it is to go.
    pub operation: Operation,
    /// Whether it cost the budget a unit.
    pub paid: bool,
    /// Since when, in milliseconds of 1970.
    pub since: Time,
    /// Who asked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// Every unit of a budget, and what it would cost to take a pod of it away.
pub fn units(held: &Held, now: Time) -> Vec<UnitNow> {
    let account = held.account(now);
    let grouped = held.grouped();
    let mut pods: BTreeMap<UnitKey, Vec<&Pod>> = BTreeMap::new();
    for pod in held.view.pods.iter().filter(|pod| pod.active) {
        pods.entry(pod.unit(grouped)).or_default().push(pod);
    }
    let mut promised: BTreeMap<&UnitKey, Vec<Promised>> = BTreeMap::new();
    for promise in held.budget.state.promises.values() {
        promised.entry(&promise.unit).or_default().push(Promised {
            pod: promise.pod.clone(),
            operation: promise.operation,
            paid: promise.paid,
            since: promise.time,
            by: promise.by.clone(),
        });
    }
    let mut units: Vec<UnitNow> = account
        .units()
        .iter()
        .map(|unit| UnitNow {
            unit: unit.key.to_string(),
            pods: unit.pods,
            ready: unit.lo,
            needed: unit.min_ready,
            available: unit.is_available(),
            promised: promised.remove(&unit.key).unwrap_or_default(),
            eviction: pods
                .get(&unit.key)
                .and_then(|pods| typical(held, pods))
                .map(|uid| Toll::of(&evict(&account, uid, now)))
                .unwrap_or(Toll { verdict: "free", why: String::new() }),
        })
        .collect();
    units.sort_by_cached_key(|unit| natural(&unit.unit));
    units
}

/// The answer to an eviction.
pub fn evict(account: &Account, pod: &Uid, now: Time) -> Decision {
    decide(account, &Request { pod: pod.clone(), operation: Operation::Evict }, now)
}

/// The pod of a unit whose removal costs most: one that is ready, and that nobody was promised.
fn typical<'a>(held: &Held, pods: &[&'a Pod]) -> Option<&'a Uid> {
    let plain = |pod: &&&Pod| {
        pod.ready && !pod.terminating && !pod.opted_out && !held.budget.state.promises.contains_key(&pod.uid)
    };
    pods.iter().find(plain).or(pods.first()).map(|pod| &pod.uid)
}

/// So that group 2 stands before group 10.
fn natural(text: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let (mut word, mut number) = (String::new(), String::new());
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        if !number.is_empty() {
            parts.push((std::mem::take(&mut word), number.parse().unwrap_or(u64::MAX)));
            number.clear();
        }
        word.push(c);
    }
    parts.push((word, 0));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["group \"10\" of A", "group \"2\" of A", "group \"2\" of B", "pod a"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["group \"2\" of A", "group \"2\" of B", "group \"10\" of A", "pod a"]);
    }
}
