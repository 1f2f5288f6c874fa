//! What is written into a member's manifest, so that zero is really zero.
//!
//! No kind accepts "nothing may move" as two zeros, and each has its own way of moving all the same.

use super::ledger::Stance;
use super::model::{Kind, RollingStrategy, Wish};
use crate::number::IntOrPercent::{self, Int, Percent};

/// The numbers of a lease before they are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub replicas: u32,
    pub updated: u32,
    pub unavailable: u32,
    pub surge: u32,
    /// Whatever is created there is new anyway, whatever the partition says.
    pub creates_new: bool,
}

/// The values to stamp for a lease.
pub(super) fn written(wish: &Wish, stance: Stance, n: Numbers, partitioned: bool) -> RollingStrategy {
    if stance == Stance::Free {
        return free(wish, n, partitioned);
    }
    match wish.kind {
        Kind::Deployment => deployment(stance, n),
        Kind::CloneSet => clone_set(stance, n),
        Kind::StatefulSet => stateful_set(stance, n),
        Kind::LeaderWorkerSet => leader_worker_set(n),
        Kind::LockstepSet => lockstep_set(stance, n),
    }
}

/// The user's own values, and the kind's own where the user said nothing: a value that is not written would
/// stay as the lease before left it. Only the partition stays this cluster's share of it, since the user's
/// number is about the whole. Nothing is left to roll, so no value moves anything.
fn free(wish: &Wish, n: Numbers, partitioned: bool) -> RollingStrategy {
    let (kind, said) = (wish.kind, &wish.strategy);
    let (unavailable, surge) = kind.defaults();
    RollingStrategy {
        paused: kind.has_pause().then(|| said.paused.unwrap_or(false)),
        partition: if partitioned { Some(partition(kind, Stance::Free, n)) } else { said.partition },
        max_unavailable: said.max_unavailable.or(Some(unavailable)),
        max_surge: said.max_surge.or_else(|| kind.has_surge().then_some(surge)),
    }
}

fn kept(n: Numbers) -> IntOrPercent {
    Int(n.replicas.saturating_sub(n.updated))
}

/// What is kept old. A StatefulSet's partition keeps the lowest ordinals: back at the template before, those are the new
/// ones, and only a partition of all keeps the others as they are. A pod that is lost comes back new there all the same.
fn partition(kind: Kind, stance: Stance, n: Numbers) -> IntOrPercent {
    let all = kind == Kind::StatefulSet && n.creates_new && stance != Stance::Open;
    if all { Int(n.replicas) } else { kept(n) }
}

/// A paused Deployment still drives its ReplicaSets to replicas + maxSurge, so what surge it has stays
/// written (and counted) while it is held. With one ReplicaSet it is inert and 1/0 moves nothing; then it is
/// left unpaused, since one created paused would never get its ReplicaSet.
fn deployment(stance: Stance, n: Numbers) -> RollingStrategy {
    let (paused, unavailable, surge) = match stance {
        Stance::Open => (false, n.unavailable, n.surge),
        Stance::Held => (true, 1, n.surge),
        Stance::Untouched | Stance::Rest | Stance::Free => (false, 1, 0),
    };
    RollingStrategy {
        paused: Some(paused),
        partition: None,
        max_unavailable: Some(Int(unavailable)),
        max_surge: Some(Int(surge)),
    }
}

/// A closed CloneSet has maxUnavailable 0. Its surge of 1 is only there because 0/0 is refused: at a
/// partition of 100%, or paused, nothing surges. In the middle of a rollout the partition keeps what is new
/// new: at 100% an evicted new pod would come back old.
fn clone_set(stance: Stance, n: Numbers) -> RollingStrategy {
    let (paused, partition, unavailable, surge) = match stance {
        Stance::Open => (false, kept(n), n.unavailable, n.surge),
        Stance::Untouched => (false, Percent(100), 0, 1),
        Stance::Held | Stance::Rest | Stance::Free => (true, kept(n), 0, 1),
    };
    RollingStrategy {
        paused: Some(paused),
        partition: Some(partition),
        max_unavailable: Some(Int(unavailable)),
        max_surge: Some(Int(surge)),
    }
}

/// A StatefulSet has neither pause nor surge, and refuses maxUnavailable 0: what is closed is closed by its
/// partition alone.
fn stateful_set(stance: Stance, n: Numbers) -> RollingStrategy {
    RollingStrategy {
        paused: None,
        partition: Some(partition(Kind::StatefulSet, stance, n)),
        max_unavailable: Some(Int(n.unavailable.max(1))),
        max_surge: None,
    }
}

/// As a StatefulSet, with surge.
fn leader_worker_set(n: Numbers) -> RollingStrategy {
    let closed = n.unavailable == 0 && n.surge == 0;
    RollingStrategy {
        paused: None,
        partition: Some(kept(n)),
        max_unavailable: Some(Int(if closed { 1 } else { n.unavailable })),
        max_surge: Some(Int(n.surge)),
    }
}

/// Our own set, closed, is paused: what is lost comes back as it was, and nothing else moves. One that has never stood
/// complete has no old revision to keep, and a partition alone would hold nothing. As with a CloneSet the surge of 1 is
/// only there because 0/0 is refused; with maxUnavailable 1 a surge that is not needed any more would be paid for by an
/// available group.
fn lockstep_set(stance: Stance, n: Numbers) -> RollingStrategy {
    let (paused, partition, unavailable, surge) = match stance {
        Stance::Open => (false, kept(n), n.unavailable, n.surge),
        Stance::Untouched => (true, Percent(100), 0, 1),
        Stance::Held | Stance::Rest | Stance::Free => (true, kept(n), 0, 1),
    };
    RollingStrategy {
        paused: Some(paused),
        partition: Some(partition),
        max_unavailable: Some(Int(unavailable)),
        max_surge: Some(Int(surge)),
    }
}
