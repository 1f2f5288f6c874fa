//! Whether a removal is free, pays, or is refused: the questions and the answers. The rules themselves are
//! those of a sequence of removals, of one pod or of many.

use serde::{Deserialize, Serialize};

use super::account::{Account, NotYet};
use super::promise::Write;
use super::remove::Shortage;
use super::sequence::{Sequence, Step};
use super::spec::Operation;
use crate::snapshot::Uid;
use crate::time::Time;

/// Why a removal costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FreeReason {
    /// The budget does not cover the pod.
    NotCovered,
    /// The budget does not protect against this operation.
    OperationNotProtected,
    /// The pod's owner asked not to protect it.
    OptedOut,
    /// It is on its way out already.
    Terminating,
    /// It is not ready: removing what is broken is free.
    NotReady,
    /// Its controller is gone; refusing would only keep the owner from rebuilding.
    ControllerGone,
    /// It was paid for a moment ago.
    AlreadyPaid,
    /// Another pod of the unit was paid for a moment ago: this is the rest of a group on its way out.
    UnitLeaving,
    /// The unit is unavailable as it stands.
    UnitBroken,
    /// The unit stays available without it.
    Surplus,
}

/// The answer to a removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It may go and costs nothing.
    Free(FreeReason),
    /// It may go, and takes one unit of the allowance.
    Pays,
    /// It may not go now: 429, to be retried.
    Refused(Shortage),
    /// Not to be answered from this view; read again, and once out of retries refuse with
    /// [`Account::gave_up`].
    ReadAgain(NotYet),
}

/// A verdict, and what has to be written before it may be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// What the budget's status must hold before the answer is given; empty unless it may go. On a dry run
    /// the caller gives the answer and drops this.
    pub write: Write,
}

impl Decision {
    /// Whether the removal may go ahead.
    pub fn is_admitted(&self) -> bool {
        matches!(self.verdict, Verdict::Free(_) | Verdict::Pays)
    }
}

/// A removal somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The pod, by the UID that will be the delete's precondition.
    pub pod: Uid,
    /// How it is to go.
    pub operation: Operation,
}

/// Decides one removal against one budget.
///
/// The account must have been [refreshed](Account::refresh) with the pod as the request's own read showed
/// it. A pod the account does not know is taken to be newer than the view: about a pod that the budget does
/// not cover, or that has completed, nobody asks.
pub fn decide(account: &Account, request: &Request, now: Time) -> Decision {
    if !account.covers(&request.pod) {
        return Decision::read_again(account.not_yet.unwrap_or(NotYet::PodUnknown));
    }
    decide_in(Sequence::new(account, request.operation, now, account.live), [&request.pod])
}

/// Decides the removal of several pods as one: all or none. What the shell asks before it deletes an
/// instance, so that all of its promises are written at once. A pod the account does not know counts as not
/// covered; should it be, the webhook still asks about it when it is deleted.
pub fn decide_instance<'a>(
    account: &Account,
    pods: impl IntoIterator<Item = &'a Uid>,
    operation: Operation,
    now: Time,
) -> Decision {
    decide_in(Sequence::of_instance(account, operation, now, account.live), pods)
}

fn decide_in<'a>(mut sequence: Sequence<'_>, pods: impl IntoIterator<Item = &'a Uid>) -> Decision {
    let mut reason = FreeReason::NotCovered;
    for pod in pods {
        match sequence.step(pod) {
            Step::Free(why) => reason = why,
            Step::Pays => {}
            Step::Short(shortage) => return Decision::refused(shortage),
            Step::ReadAgain(why) => return Decision::read_again(why),
        }
    }
    let verdict = if sequence.paid_units.is_empty() { Verdict::Free(reason) } else { Verdict::Pays };
    Decision { verdict, write: sequence.into_write() }
}

/// Decides one removal against every budget that covers the pod, before anything is written. All must let
/// it go; then the decisions are written one after the other, in this order. Should a later budget refuse
/// at that point after all, what was written to the earlier ones is
/// [given back](super::BudgetState::give_back).
pub fn decide_covering(
    accounts: &[Account],
    request: &Request,
    now: Time,
) -> Result<Vec<Decision>, Box<Decision>> {
    accounts
        .iter()
        .map(|account| decide(account, request, now))
        .map(|decision| if decision.is_admitted() { Ok(decision) } else { Err(Box::new(decision)) })
        .collect()
}

impl Decision {
    fn refused(shortage: Shortage) -> Self {
        Self { verdict: Verdict::Refused(shortage), write: Write::default() }
    }

    fn read_again(why: NotYet) -> Self {
        Self { verdict: Verdict::ReadAgain(why), write: Write::default() }
    }
}
