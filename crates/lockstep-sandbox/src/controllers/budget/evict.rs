//! Whether a pod may be evicted.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{BUDGETS, allowance};
use crate::controllers::read::{self, number, text};
use crate::selector::Selector;
use crate::store::{Key, Store};

/// So many evictions may wait to be seen at most.
const MOST_WAITING: usize = 2000;

/// A pod may be evicted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permit {
    /// Only as it was looked at: whoever deletes it has to make sure that its resourceVersion is still the same.
    pub as_seen: bool,
    /// What that costs: a merge patch for the status of this budget, to be written before the pod is deleted.
    pub price: Option<(Key, Value)>,
}

/// A pod may not be evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The HTTP code.
    pub code: u16,
    /// The reason, in one word; empty for none.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    /// Why exactly: the message of a cause `DisruptionBudget`.
    pub cause: Option<String>,
    /// The budget, if the details are to name it.
    pub budget: Option<String>,
    /// After how many seconds to ask again, if that is told.
    pub retry_after: Option<u32>,
}

impl Denial {
    fn new(code: u16, reason: &'static str, message: &str) -> Self {
        Self { code, reason, message: message.to_owned(), cause: None, budget: None, retry_after: None }
    }

    fn not_now(cause: String) -> Self {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        Self { cause: Some(cause), ..Self::new(429, "TooManyRequests", message) }
    }

    fn forbidden(budget: &str, why: &str, cause: &str) -> Self {
        let message = format!("poddisruptionbudget.policy {budget:?} is forbidden: {why}");
        let cause = format!("The disruption budget {budget} does not allow evicting pods currently: {cause}");
        Self { cause: Some(cause), budget: Some(budget.to_owned()), ..Self::new(403, "Forbidden", &message) }
    }
}

/// Whether a pod may be evicted now, and what that costs.
pub fn may_evict(store: &Store, pod: &Value, now: Timestamp) -> Result<Permit, Denial> {
    let phase = text(&pod["status"]["phase"]);
    if read::is_deleting(pod) || read::has_ended(pod) {
        return Ok(Permit::default());
    }
    if phase == "Pending" {
        return Ok(Permit { as_seen: true, price: None });
    }
    let selects = |budget: &Value| {
        Selector::of_object(&budget["spec"]["selector"]).is_some_and(|one| one.selects_object(pod))
    };
    let resource = Arc::from(BUDGETS);
    let mut budgets = store.list(&resource, Some(read::namespace(pod))).filter(|(_, budget)| selects(budget));
    let Some((key, budget)) = budgets.next() else {
        return Ok(Permit::default());
    };
    if budgets.next().is_some() {
        let said = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(Denial::new(500, "", said));
    }
    if read::condition_status(pod, "Ready") != "True" && may_lose_unready(budget) {
        return Ok(Permit { as_seen: true, price: None });
    }
    let price = spend(key, budget, read::name(pod), now)?;
    Ok(Permit { as_seen: false, price: Some((key.clone(), price)) })
}

/// A pod that is not ready does not count: it may go if there are enough others, or always, if the budget says so.
fn may_lose_unready(budget: &Value) -> bool {
    let status = &budget["status"];
    let desired = number(&status["desiredHealthy"]);
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (number(&status["currentHealthy"]) >= desired && desired > 0)
}

/// One disruption less, and the pod is noted until it is seen to go.
fn spend(key: &Key, budget: &Value, pod: &str, now: Timestamp) -> Result<Value, Denial> {
    let name = &key.name;
    let status = &budget["status"];
    if number(&status["observedGeneration"]) < number(&budget["metadata"]["generation"]) {
        let said = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Denial { retry_after: Some(10), ..Denial::not_now(said) });
    }
    let allowed = number(&status["disruptionsAllowed"]);
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        return Err(Denial::forbidden(name, why, why));
    }
    if read::entries(&status["disruptedPods"]).count() > MOST_WAITING {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        let cause = "too many pending evictions not confirmed by PDB controller";
        return Err(Denial::forbidden(name, why, cause));
    }
    if allowed == 0 {
        return Err(Denial::not_now(nothing_left(name, budget)));
    }
    let mut patch = json!({
        "metadata": {"resourceVersion": budget["metadata"]["resourceVersion"]},
        "status": {"disruptionsAllowed": allowed - 1, "disruptedPods": {pod: read::stamp(now)}},
    });
    if allowed == 1 {
        let generation = number(&status["observedGeneration"]);
        patch["status"]["conditions"] = json!(allowance(budget, 0, generation, now));
    }
    Ok(patch)
}

fn nothing_left(name: &str, budget: &Value) -> String {
    let status = &budget["status"];
    let (has, needs) = (number(&status["currentHealthy"]), number(&status["desiredHealthy"]));
    let said =
        read::condition(budget, "DisruptionAllowed").filter(|condition| condition["status"] == "False");
    let (reason, message) = said.map_or(("", ""), |said| (text(&said["reason"]), text(&said["message"])));
    if reason == "SyncFailed" && !message.is_empty() {
        format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        )
    } else if has <= needs {
        format!("The disruption budget {name} needs {needs} healthy pods and has {has} currently")
    } else if !message.is_empty() {
        format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {message}")
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    }
}
