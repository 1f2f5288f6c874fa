//! The counts of a status, put right where a kind counts what no rollout may count on.

use lockstep_core::align::Kind;

/// What a status counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pods {
    /// How many there are to be.
    pub replicas: u32,
    /// How many stand.
    pub total: u32,
    /// How many are available.
    pub available: u32,
    /// How many are of the newest template.
    pub updated: u32,
    /// How many are of the template that the partition keeps, if that is said.
    pub current: Option<u32>,
    /// How many of the newest template are available, if that is said.
    pub updated_available: Option<u32>,
    /// How many only the rollout itself keeps from counting as available.
    pub under_way: u32,
}

impl Pods {
    /// As they count. `one_revision`: the newest template is the one that the partition keeps. `may_surge`: so many of
    /// those that stand may be surge.
    pub fn put_right(self, like: Kind, one_revision: bool, may_surge: u32) -> Self {
        match like {
            Kind::StatefulSet => self.without_leaving(one_revision),
            Kind::LeaderWorkerSet => self.without_surge(may_surge),
            _ => self,
        }
    }

    /// A pod of a StatefulSet that goes counts as available for as long as it is ready, and is among those of no
    /// revision. So are pods of a template before the last, which the next step takes.
    fn without_leaving(self, one_revision: bool) -> Self {
        let staying = match self.current {
            _ if one_revision => self.updated,
            Some(current) => self.updated.saturating_add(current),
            // Nobody can say which of them go.
            None => return self,
        };
        let leaving = self.total.saturating_sub(staying);
        Self { available: self.available.saturating_sub(leaving), under_way: leaving, ..self }
    }

    /// A LeaderWorkerSet counts its surge, which is new, among the new ones; it goes again and is no progress. How many
    /// groups stand it has from its StatefulSet, which may be behind or lack one that is being replaced: what may be
    /// surge counts as that, and what is missing as old.
    fn without_surge(self, may_surge: u32) -> Self {
        let surge = self.total.saturating_sub(self.replicas).max(may_surge);
        let old = self.total.max(self.replicas).saturating_sub(self.updated);
        let done = self.available.saturating_sub(old).saturating_sub(surge);
        Self { updated: self.updated.saturating_sub(surge), updated_available: Some(done), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods([replicas, total, available, updated, current]: [u32; 5]) -> Pods {
        Pods { replicas, total, available, updated, current: Some(current), ..Pods::default() }
    }

    #[test]
    fn a_pod_of_a_stateful_set_that_goes_is_not_available() {
        for (why, counts, one, available, under_way) in [
            ("nothing happens", [4, 4, 4, 4, 4], true, 4, 0),
            ("one goes and is still ready", [4, 4, 4, 0, 3], false, 3, 1),
            ("it is back and not ready yet", [4, 4, 3, 1, 3], false, 3, 0),
            ("two are of neither template", [4, 4, 4, 0, 2], false, 2, 2),
        ] {
            let seen = pods(counts).put_right(Kind::StatefulSet, one, 0);
            assert_eq!((seen.available, seen.under_way), (available, under_way), "{why}");
        }
        let unsaid = Pods { current: None, ..pods([4, 4, 4, 0, 0]) }.put_right(Kind::StatefulSet, false, 0);
        assert_eq!(
            (unsaid.available, unsaid.under_way),
            (4, 0),
            "of a kind that does not count the old ones"
        );
    }

    #[test]
    fn the_surge_of_a_leader_worker_set_is_no_progress() {
        for (why, counts, may_surge, updated, done) in [
            ("only the surge is new", [2, 3, 3, 1, 0], 1, 0, 0),
            ("one is new beside it", [2, 3, 3, 2, 0], 1, 1, 1),
            ("the last is on its way", [2, 3, 2, 3, 0], 1, 2, 1),
            ("the last is on its way and does not stand", [2, 2, 2, 2, 0], 1, 1, 1),
            ("one is on its way and does not stand", [2, 1, 1, 1, 0], 0, 1, 0),
            ("the surge is gone, and nobody has said so", [2, 2, 2, 2, 0], 1, 1, 1),
            ("the surge is gone", [2, 2, 2, 2, 0], 0, 2, 2),
        ] {
            let seen = pods(counts).put_right(Kind::LeaderWorkerSet, false, may_surge);
            assert_eq!((seen.updated, seen.updated_available), (updated, Some(done)), "{why}");
        }
    }
}
