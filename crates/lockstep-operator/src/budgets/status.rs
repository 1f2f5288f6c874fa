//! What stands in a budget's status, whoever writes it: the ledger, the figures, and what a person should know.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time as MetaTime};
use lockstep_api::budget::{PodUnavailableBudget, PodUnavailableBudgetStatus};
use lockstep_core::budget::{Account, Budget, Condition as Said};

use crate::clock::Clock;

/// A budget as it is to stand. All of it: what whoever makes a promise left out, the leader would have to write again.
pub fn put_down(
    object: &PodUnavailableBudget,
    budget: &Budget,
    account: &Account,
    clock: &Clock,
) -> Result<PodUnavailableBudget, serde_json::Error> {
    let mut object = object.clone();
    object.raise(budget, account.figures())?;
    let status = object.status.get_or_insert_default();
    status.conditions = conditions(account, status, budget.generation, clock);
    Ok(object)
}

/// What the engine says, as conditions: those that hold are there, the others are not.
fn conditions(
    account: &Account,
    status: &PodUnavailableBudgetStatus,
    generation: i64,
    clock: &Clock,
) -> Vec<Condition> {
    let mut all = vec![("Ready", "Counted", "True", summary(account))];
    for said in account.conditions() {
        let (kind, message) = words(said);
        all.push((kind, kind, "True", message));
    }
    let since = |kind: &str, value: &str| {
        let before = status.conditions.iter().find(|one| one.type_ == kind && one.status == value);
        before.map_or_else(|| MetaTime(clock.now()), |one| one.last_transition_time.clone())
    };
    all.into_iter()
        .map(|(kind, reason, value, message)| Condition {
            type_: kind.to_owned(),
            status: value.to_owned(),
            reason: reason.to_owned(),
            message,
            last_transition_time: since(kind, value),
            observed_generation: Some(generation),
        })
        .collect()
}

fn summary(account: &Account) -> String {
    let unit = if account.spec().pod_group_policy.is_some() { "groups" } else { "pods" };
    format!(
        "{} of {} {unit} available, {} must stay, {} may go now",
        account.available(),
        account.expected(),
        account.desired(),
        account.allowed(),
    )
}

fn words(said: &Said) -> (&'static str, String) {
    match said {
        Said::PodsMissingGroupLabel { pods } => (
            "PodsMissingGroupLabel",
            format!(
                "{pods} pods lack the label of podGroupPolicy.groupLabelKey; each counts as a unit by itself"
            ),
        ),
        Said::MinReadyReplicasImpossible { groups, largest } => (
            "MinReadyReplicasImpossible",
            format!(
                "{groups} groups can never be available: the largest has {largest} pods; lower \
                 podGroupPolicy.minReadyReplicas to at most that"
            ),
        ),
        Said::DrainCanNeverFinish { desired, expected } => (
            "DrainCanNeverFinish",
            format!(
                "{desired} of {expected} must stay available, so none may ever go on purpose; raise maxUnavailable \
                 or lower minAvailable"
            ),
        ),
    }
}
