//! How far each part of each replica is.
//!
//! A set counts each role over all of its groups, and once more in each of the first groups that are not as they are to
//! be. What is not listed is whole; if there are too many to be listed, what is left to count fills them from the lowest.

use lockstep_api::LockstepSet;
use lockstep_api::status::{GroupRoleStatus, LockstepSetStatus, RoleStatus};

use super::form::Part;

/// The counts of one part in one replica.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Instances wished for.
    pub wished: u32,
    /// Those that have to be available.
    pub minimum: u32,
    /// Those that have found their nodes.
    pub scheduled: u32,
    /// Those that wait for others before they are scheduled.
    pub gated: u32,
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
        let d = role.replicas;
        let minimum = part.min_available.value.min(d);
        if let Some(counted) = self.listed(part, replica) {
            let GroupRoleStatus { scheduled, ready, available, updated, gated, .. } = *counted;
            return Share { wished: d, minimum, scheduled, gated, ready, available, updated };
        }
        let nothing = RoleStatus::default();
        let total = self.status.roles.iter().find(|it| it.name == part.name).unwrap_or(&nothing);
        let groups = &self.status.groups;
        let listed = u32::try_from(groups.partition_point(|group| group.group < replica)).unwrap_or(u32::MAX);
        let before = replica.saturating_sub(listed).saturating_mul(d);
        let left = |total: u32, of: fn(&GroupRoleStatus) -> u32| {
            let listed = groups.iter().flat_map(|group| &group.roles).filter(|role| role.name == part.name);
            listed.map(of).fold(total, u32::saturating_sub).saturating_sub(before).min(d)
        };
        let ready = left(total.ready, |it| it.ready);
        Share {
            wished: d,
            minimum,
            // What is ready has been scheduled.
            scheduled: ready,
            gated: 0,
            ready,
            available: left(total.available, |it| it.available),
            updated: left(total.updated, |it| it.updated),
        }
    }

    /// The counts of a part in a replica that the set lists.
    fn listed(&self, part: &Part<'_>, replica: u32) -> Option<&GroupRoleStatus> {
        let groups = &self.status.groups;
        let group = groups.binary_search_by_key(&replica, |group| group.group).ok().map(|at| &groups[at])?;
        group.roles.iter().find(|role| role.name == part.name)
    }
}
