//! How far each part of each replica is.
//!
//! A set counts each role over all of its groups. With one group that is the part's own count. With several, what is
//! missing is missing where the set says that something is under way, and updates go from the lowest ordinal.

use lockstep_api::LockstepSet;
use lockstep_api::status::{LockstepSetStatus, RoleStatus};

use super::form::Part;

/// The counts of one part in one replica.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Instances wished for.
    pub wished: u32,
    /// Those that have to be available.
    pub minimum: u32,
    /// Those that are ready.
    pub ready: u32,
    /// Those that are available.
    pub available: u32,
    /// Those at the revision wished for.
    pub updated: u32,
}

impl Share {
    /// Whether fewer are available than have to be.
    pub fn is_breached(&self) -> bool {
        self.available < self.minimum
    }

    /// Whether all are at the revision wished for.
    pub fn is_updated(&self) -> bool {
        self.updated == self.wished
    }
}

/// What is known of a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'a> {
    /// What is wished for.
    pub set: &'a LockstepSet,
    /// What stands.
    pub status: &'a LockstepSetStatus,
}

impl Counts<'_> {
    /// The counts of a part in one replica.
    pub fn of(&self, part: &Part<'_>, replica: u32) -> Share {
        let Some(role) = self.set.spec.roles.iter().find(|role| role.name == part.name) else {
            return Share::default();
        };
        let nothing = RoleStatus::default();
        let counted = self.status.roles.iter().find(|it| it.name == part.name).unwrap_or(&nothing);
        let d = role.replicas;
        let place = self.place(replica);
        let filled = |total: u32, place: u32| total.saturating_sub(place.saturating_mul(d)).min(d);
        Share {
            wished: d,
            minimum: part.min_available.value.min(d),
            ready: filled(counted.ready, place),
            available: filled(counted.available, place),
            updated: filled(counted.updated, replica),
        }
    }

    /// The place of a replica among all of them when those under way come last.
    fn place(&self, replica: u32) -> u32 {
        let moving = &self.status.rollout.groups_in_update;
        let before = |it: &&u32| **it < replica && **it < self.set.spec.replicas;
        let passed = u32::try_from(moving.iter().filter(before).count()).unwrap_or(u32::MAX);
        if !moving.contains(&replica) {
            return replica.saturating_sub(passed);
        }
        let known = moving.iter().filter(|it| **it < self.set.spec.replicas).count();
        let still = self.set.spec.replicas.saturating_sub(u32::try_from(known).unwrap_or(u32::MAX));
        still.saturating_add(passed)
    }
}
