//! The trace of a run: what happened to every instance, complete enough to recompute every promise.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::blocked::Reason;
use crate::model::Spec;
use crate::names::{MemberName, RoleName};
use crate::revision::Revision;
use crate::snapshot::Promotion;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// When, in milliseconds since the start.
    pub t: u64,
    /// What the engine did this upon, or knows while this happens, may be so much older than `lag` says.
    #[serde(skip_serializing_if = "is_zero")]
    pub late: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

impl Event {
    /// Something that happened while the engine's view was as it is always.
    pub fn at(t: u64, what: What) -> Self {
        Self { t, late: 0, what }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An instance in a trace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// The group.
    pub group: u32,
    /// The role.
    pub role: RoleName,
    /// The instance.
    pub instance: u32,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}-{}", self.group, self.role, self.instance)
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum What {
    /// The wish changed, or an override changed the target.
    Spec(Box<SpecEvent>),
    /// Pods of an instance were created.
    Create {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
        /// The set's revision.
        #[serde(rename = "setRevision")]
        set_revision: Revision,
        /// Why.
        why: String,
    },
    /// Every pod of the instance has a node.
    Scheduled {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
    },
    /// The instance became ready.
    Ready {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
    },
    /// The instance stopped being ready.
    Unready {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
        /// What caused it.
        by: By,
    },
    /// All standing pods of the instance are on their way out.
    Delete {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
        /// Who asked for it.
        by: By,
        /// Why.
        why: String,
    },
    /// The last pod of the instance is gone.
    Gone {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
    },
    /// The instance was created with a gate of ours.
    Gate {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
    },
    /// Our gate was lifted.
    Ungate {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
    },
    /// A member of an instance that starts in order has its minimum ready.
    MemberReady {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
        /// The member.
        member: MemberName,
    },
    /// The first pod of a member stands that no gate of ours holds, in an instance that starts in order.
    MemberFree {
        /// Which instance.
        #[serde(flatten)]
        of: Subject,
        /// The role's revision.
        revision: Revision,
        /// The member.
        member: MemberName,
    },
    /// Something began to wait.
    Blocked {
        /// What.
        what: String,
        /// Why.
        reason: Reason,
        /// The field of the spec that says so.
        rule: String,
        /// The whole sentence.
        message: String,
    },
    /// Somebody let a pause pass.
    Promoted(Promotion),
    /// The run is over.
    End {
        /// How.
        outcome: End,
    },
}

/// The wish, with every number resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecEvent {
    /// The wish as the engine reads it.
    pub spec: Spec,
    /// The revision each role is to have now: the wish's, or that of a rollback.
    pub targets: BTreeMap<RoleName, Revision>,
    /// The stable revision of each role at this moment.
    pub stable: BTreeMap<RoleName, Revision>,
    /// How far the view of the engine may lag behind, in milliseconds.
    pub lag: u64,
    /// How far it may lag behind what the engine does itself, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub own: u64,
    /// The engine need not have heard of it yet, and may still act on the one before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
    /// Who decides may have begun anew since what it knows was stored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anew: bool,
}

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Lockstep.
    Engine,
    /// Something outside: an eviction, a lost node, a crash.
    World,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// Everything is as wished for.
    Complete,
    /// What may move has moved.
    PartitionReached,
    /// It is back where it was.
    RolledBack,
    /// It waits for a person: paused, or a pause that nobody promoted.
    Paused,
    /// Nothing more would ever happen.
    Stuck,
    /// The time was over.
    TimedOut,
}

impl End {
    /// Whether the rollout came to the end it should come to.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Complete | Self::PartitionReached | Self::RolledBack)
    }
}
