//! The same roll by others: LeaderWorkerSet and its DisaggregatedSet beside our operator, on one control plane.

mod contender;
mod settled;

use std::path::Path;

use jiff::Timestamp;
use lockstep_kubelet::span::Span;
use serde::Serialize;

pub use self::contender::Kind;

use self::contender::Contender;
use super::stage::Stage;
use super::writes::{Took, Writes};
use crate::audit::Audit;
use crate::cluster::ClusterError;
use crate::neighbours::leader_worker_set;
use crate::say;

/// How the controllers appear in the audit log on which a StatefulSet relies: the one that makes its pods, and the
/// one that removes what belonged to an object that is gone.
const STATEFUL_SETS: &str = "statefulset-controller";
const GARBAGE: &str = "generic-garbage-collector";

/// What everybody is to roll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Groups of a leader and its workers, over all roles.
    pub groups: u32,
    /// Pods of a group.
    pub group_size: u32,
    /// How long a pod takes to be ready; nothing: it is at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<Span>,
}

impl Size {
    /// All pods.
    pub fn pods(&self) -> u32 {
        self.groups * self.group_size
    }

    /// How many groups each of so many roles has.
    fn split(&self, roles: u32) -> Vec<u32> {
        (0..roles).map(|role| self.groups / roles + u32::from(role < self.groups % roles)).collect()
    }
}

/// How many groups of a role may be away at a time: a tenth, but one at least.
fn window(groups: u32) -> u32 {
    (groups / 10).max(1)
}

/// The same roll by everybody.
#[derive(Debug, Clone, Serialize)]
pub struct SideBySide {
    /// What was rolled.
    pub size: Size,
    /// By whom, in the order in which they were measured.
    pub rolls: Vec<Roll>,
}

/// Pods created and then replaced by somebody.
#[derive(Debug, Clone, Serialize)]
pub struct Roll {
    /// By what kind of object.
    pub kind: Kind,
    /// How many roles it had.
    pub roles: u32,
    /// All pods created.
    pub create: Took,
    /// All pods replaced, a tenth of each role's groups at a time.
    pub roll: Took,
    /// What was written meanwhile.
    pub writes: Share,
}

/// What was written while pods were replaced, also in vain, by the controller itself and by those it leaves the work
/// to. What others write whoever rolls is not in it: bindings, statuses of pods, endpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// By the controller whose kind it is.
    pub controller: Writes,
    /// By the StatefulSet controller.
    pub stateful_sets: Writes,
    /// By the garbage collector.
    pub garbage: Writes,
}

impl Share {
    fn count(audit: &Audit, namespace: &str, agent: &str) -> Self {
        let by = |agent| Writes::count(audit, namespace, &[agent]);
        Self { controller: by(agent), stateful_sets: by(STATEFUL_SETS), garbage: by(GARBAGE) }
    }

    /// Writes per replaced pod by all three, without events.
    pub fn per_pod(&self, pods: u32) -> f64 {
        [self.controller, self.stateful_sets, self.garbage].iter().map(|it| it.per_pod(pods)).sum()
    }

    /// Events by all three.
    pub fn events(&self) -> usize {
        self.controller.events + self.stateful_sets.events + self.garbage.events
    }

    /// Writes of all three that were refused.
    pub fn refused(&self) -> usize {
        self.controller.refused + self.stateful_sets.refused + self.garbage.refused
    }
}

/// Lets everybody roll, one after the other.
pub async fn measure(program: &Path, size: Size) -> Result<SideBySide, ClusterError> {
    // Everybody's pods stay until the end, and those that are replaced take their place until they are gone.
    let stage = Stage::set(program, size.pods() * 6).await?;
    let _neighbour = leader_worker_set::start(&stage.cluster).await?;
    // A first small one, so that everybody is awake.
    let first = Size { groups: 2, group_size: 2, ready_after: None };
    roll(&stage, &Contender { kind: Kind::DisaggregatedSet, roles: 2, size: first }).await?;
    let mut rolls = Vec::new();
    for contender in Contender::all(size) {
        let Contender { kind, roles, .. } = contender;
        say(&format!("creating and rolling {} pods by a {kind:?}, roles: {roles}", size.pods()));
        rolls.push(roll(&stage, &contender).await?);
    }
    Ok(SideBySide { size, rolls })
}

async fn roll(stage: &Stage, contender: &Contender) -> Result<Roll, ClusterError> {
    let cluster = &stage.cluster;
    let namespace = cluster.new_namespace("peer").await?;
    let began = Timestamp::now();
    contender.roll_out(cluster, &namespace, "v1").await?;
    let create = Took::since(began, &cluster.audit()?, &namespace);
    let began = Timestamp::now();
    contender.roll_out(cluster, &namespace, "v2").await?;
    let audit = cluster.audit()?.since(began);
    Ok(Roll {
        kind: contender.kind,
        roles: contender.roles,
        create,
        roll: Took::since(began, &audit, &namespace),
        writes: Share::count(&audit, &namespace, contender.kind.agent()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_split_among_roles_without_loss() {
        let size = Size { groups: 51, group_size: 4, ready_after: None };
        assert_eq!((size.pods(), size.split(1), size.split(2)), (204, vec![51], vec![26, 25]));
        assert_eq!((window(51), window(25), window(3)), (5, 2, 1));
    }

    #[test]
    fn all_three_are_counted_and_events_apart() {
        let writes = |creates, events| Writes { creates, events, refused: 1, ..Writes::default() };
        let share = Share { controller: writes(4, 1), stateful_sets: writes(2, 2), garbage: writes(1, 0) };
        assert_eq!((share.per_pod(2), share.events(), share.refused()), (3.5, 3, 3));
    }
}
