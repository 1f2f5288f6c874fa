//! The groups of a set as somebody counts them who adds up the sets of several clusters.

use std::collections::BTreeMap;

use crate::draft::Draft;
use crate::group::Facts;
use crate::observe::Seen;
use crate::snapshot::Pod;
use crate::unit::At;

/// Groups by what they are good for. Whatever is in doubt counts against the rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupTally {
    /// Groups of which a pod stays, surge included.
    pub standing: u32,
    /// Groups that are available and not on their way, surge included: one on its way may lose instances at any moment.
    pub reliable: u32,
    /// Wished-for groups of which something is at the revision of the spec, or will come back at it.
    pub begun: u32,
    /// Those of them that are wholly at it and reliable.
    pub done: u32,
    /// Wished-for groups on their way, none of them reliable.
    pub under_way: u32,
    /// Whatever is created now is at the revision of the spec.
    pub creates_updated: bool,
}

impl Draft<'_> {
    pub(super) fn group_tally(&self, seen: &BTreeMap<u32, Seen<'_>>) -> GroupTally {
        // On the way back to the stable revision that one is the target, and nobody who adds up wishes for it.
        let back =
            self.spec.roles.iter().zip(&self.aims.roles).any(|(it, aim)| it.revision != aim.compass.target);
        let mut tally =
            GroupTally { creates_updated: !back && !self.keeps_an_old_one(), ..Default::default() };
        for (ordinal, group) in seen {
            let Some(facts) = self.facts.get(ordinal) else { continue };
            let reliable = facts.unit.available && !facts.under_way;
            tally.standing += u32::from(group.instances().flat_map(|it| &it.pods).any(stays));
            tally.reliable += u32::from(reliable);
            if *ordinal >= self.spec.replicas {
                continue;
            }
            let begun = if back { self.is_left_over(group) } else { self.has_begun(group, facts) };
            tally.begun += u32::from(begun);
            tally.done += u32::from(begun && !back && reliable && facts.unit.updated());
            tally.under_way += u32::from(facts.under_way);
        }
        tally
    }

    /// Whether a stable revision stands beside the target, for what is lost to return to.
    fn keeps_an_old_one(&self) -> bool {
        self.aims.roles.iter().any(|aim| aim.compass.old.is_some_and(|old| old != aim.compass.target))
    }

    /// Something of it is at the target, and not only because nothing of it changes.
    fn has_begun(&self, group: &Seen<'_>, facts: &Facts) -> bool {
        let known = self.memory.groups.get(&group.ordinal);
        let changes = self.changing.iter().any(|changes| *changes);
        facts.under_way
            || known.is_some_and(|known| known.reached.values().any(|reached| reached.count > 0))
            || group.roles.iter().zip(&self.changing).any(|(role, changing)| {
                let is_new = |at: At| matches!(at, At::Target | At::Mixed);
                (*changing || !changes) && role.units.iter().any(|unit| is_new(unit.at))
            })
    }

    /// Something of it is still at a revision that is taken back.
    fn is_left_over(&self, group: &Seen<'_>) -> bool {
        group.roles.iter().flat_map(|role| &role.units).any(|unit| unit.at != At::Target)
    }
}

/// What was asked to go and has not been seen to go still stands.
fn stays(pod: &Pod) -> bool {
    !pod.terminating || pod.may_stay()
}
