//! Unavailable budgets: how many units of a service may be taken away on purpose, and who has already
//! been promised one.
//!
//! A *unit* is what a budget counts: a group of pods that serve together, or one pod. The module answers
//! three callers from one set of rules, so that a drain, an eviction, a scale-in and a rollout draw on
//! one account:
//!
//! - the admission webhook asks [`decide`] (or [`decide_covering`]) and records the answer in the budget's
//!   status by compare-and-swap;
//! - the controller counts with [`account`] and ends promises with [`Controller::prune`];
//! - the rollout planner spends a mutable [`Account`] with [`Account::try_remove`] and [`remove_all`].
//!
//! Why it holds, in short. A removal that was admitted and has not been seen yet always stands as a promise
//! in the status, and a promised pod is never counted ready (`lo`). Each write of the status is a
//! compare-and-swap and carries the [`Version`] of the view it rests on; nobody counts from an
//! older view. So whatever a decision counts as available stays available but for accidents, and a unit
//! that goes from available to unavailable has been paid for while enough others were left.

mod account;
mod decide;
mod memory;
mod observe;
mod promise;
mod remove;
mod sequence;
mod spec;

pub use account::{Account, Condition, Figures, NotYet, Unit, account};
pub use decide::{Decision, FreeReason, Request, Verdict, decide, decide_covering, decide_instance};
pub use memory::{Memory, RootMemory};
pub use observe::{Pod, Root, UnitKey, Version, View};
pub use promise::{Budget, BudgetState, Controller, LAPSE, MAX_PROMISES, Promise, Pruned, Write, YOUNG};
pub use remove::{Cost, Shortage, ShortageCause, remove_all};
pub use spec::{BudgetSpec, GroupPolicy, Operation};
