//! What waits, by which rule, since when: the same words in status, event, metric and on the screen.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::RoleName;
use crate::time::Time;

/// Why something waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// Two rules block each other and nothing can move.
    RulesConflict,
    /// The surge finds no node.
    SurgeUnschedulable,
    /// A batch finds no node.
    BatchUnschedulable,
    /// An instance finds no node.
    Unschedulable,
    /// An instance in motion is not available yet.
    NotReadyYet,
    /// A step has not got its number of updated and ready instances.
    StepNotReady,
    /// Another role is behind.
    SkewHeld,
    /// As many as may be unavailable are.
    BudgetExhausted,
    /// As many groups as may be in update or unavailable are.
    GroupsExhausted,
    /// An outside unavailable budget refuses.
    UnavailableBudget,
    /// A pod is on its way out.
    WaitingForTermination,
    /// The new revision has not become available anywhere yet.
    Unproven,
    /// A pause waits for its end or for somebody to promote.
    PauseStep,
    /// The set is paused.
    Paused,
    /// Nothing moves until somebody deletes it.
    OnDelete,
    /// A role grows no faster than the others.
    ScalingHeld,
    /// A role waits for another to start, or a member of an instance for another of it.
    StartOrder,
    /// A gang waits for the base of its group.
    GangNotScheduled,
    /// A batch waits for the one before.
    BatchNotReady,
    /// What failed, or a surge that somebody deleted, waits before it is tried again.
    RestartBackoff,
    /// A group below its minimum would be built anew, but instances still work.
    GangTerminationHeld,
    /// A removed role waits for the others.
    RoleRemoval,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// What is blocked, by name: `llama-1/prefill-1`, `llama-1/prefill`, `llama-1` or `llama`.
    pub what: String,
    /// Why.
    pub reason: Reason,
    /// The field of the spec that says so.
    pub rule: String,
    /// Since when.
    pub since: Time,
    /// The whole sentence.
    pub message: String,
    /// The group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// The role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
}

impl Blocked {
    /// What a block is remembered by.
    pub fn key(&self) -> String {
        let role = self.role.as_ref().map_or("", RoleName::as_str);
        match self.group {
            Some(group) => format!("{group}/{role}/{}", self.reason),
            None => format!("/{role}/{}", self.reason),
        }
    }
}
