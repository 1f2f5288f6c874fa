//! What stands in a budget's status, whoever writes it: the ledger, the figures, and what a person should know.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use lockstep_api::budget::{PodUnavailableBudget, PodUnavailableBudgetStatus};
use lockstep_core::budget::{Account, Budget, Condition as Said};

use crate::clock::Clock;
use crate::report::conditions::condition;

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
    status.conditions = conditions(account, status, budget.observed_generation, clock);
    Ok(object)
}

/// What the engine says, as conditions: those that hold are there, the others are not.
fn conditions(
    account: &Account,
    status: &PodUnavailableBudgetStatus,
    generation: i64,
    clock: &Clock,
) -> Vec<Condition> {
    let said = account.conditions().iter().map(words).map(|(kind, message)| (kind, kind, message));
    let all = std::iter::once(("Ready", "Counted", summary(account))).chain(said);
    let condition = |(kind, reason, message): (&'static str, &str, String)| {
        condition((kind, true, reason.to_owned(), message), &status.conditions, generation, clock.time())
    };
    all.map(condition).collect()
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
