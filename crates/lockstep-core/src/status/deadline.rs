//! The progress deadline: what counts as progress, when waiting is on purpose, and what follows when time is over.

use crate::blocked::Reason;
use crate::draft::{Draft, Rolled};
use crate::group::{Facts, Mode};
use crate::model::{OnFailure, StrategyKind};
use crate::snapshot::{Best, Override, OverrideBy};

impl Draft<'_> {
    /// The best state so far decides about progress, not any change: readiness that comes and goes is none.
    /// Returns whether the deadline has passed.
    pub(super) fn keep_deadline(&mut self, finished: bool, whole: bool) -> bool {
        if finished {
            // A partition that was reached waits for a person, for as long as they like.
            self.memory.best = self.memory.best.filter(|_| !whole).map(|best| Best { waiting: true, ..best });
            return false;
        }
        let waiting = self.waits_on_purpose();
        let fresh = self.state_of_things();
        let now = self.now;
        let best = self.memory.best.get_or_insert(fresh);
        if best.target != fresh.target {
            *best = fresh;
        } else if best.eligible != fresh.eligible && best.eligible > 0 {
            // What can be reached has changed, and with it what is best.
            *best = Best { started: best.started, ..fresh };
        } else if (fresh.updated, fresh.surge) > (best.updated, best.surge) || fresh.pauses > best.pauses {
            *best = Best { started: best.started, pauses: fresh.pauses.max(best.pauses), ..fresh };
        }
        best.eligible = fresh.eligible;
        // Time spent waiting on purpose does not count. Only its end is noted: a set that waits for weeks has
        // nothing new to remember.
        if best.waiting && !waiting {
            best.since = now;
        }
        best.waiting = waiting;
        let deadline = best.since + self.spec.progress_deadline;
        if waiting || now < deadline {
            if !waiting {
                self.wake.at(deadline, now);
            }
            return false;
        }
        self.roll_back();
        true
    }

    fn state_of_things(&self) -> Best {
        let (updated, surge) = self.advance();
        let pauses = self.memory.groups.values().map(|group| group.pauses.len()).sum::<usize>();
        Best {
            target: self.aims.set_target,
            updated,
            surge,
            pauses: u32::try_from(pauses).unwrap_or(u32::MAX),
            eligible: self
                .rolled
                .values()
                .flatten()
                .map(|r| r.progress.eligible)
                .fold(0, u32::saturating_add),
            since: self.now,
            started: self.now,
            waiting: false,
        }
    }

    /// Waiting on purpose is not failing; but a pause of one group does not hide the trouble of another.
    fn waits_on_purpose(&self) -> bool {
        if self.spec.paused || self.spec.strategy.kind == StrategyKind::OnDelete {
            return true;
        }
        let pauses = |group: u32| {
            self.blocked.iter().any(|block| block.group == Some(group) && block.reason == Reason::PauseStep)
        };
        let by_hand = |group: u32| {
            let unfinished = |(index, rolled): &(usize, &Rolled)| {
                let by_hand = self.spec.roles[*index].strategy.kind == StrategyKind::OnDelete;
                !by_hand && rolled.tally.updated_available < rolled.progress.eligible
            };
            let rolled = self.rolled.get(&group);
            rolled.is_some_and(|roles| roles.iter().enumerate().filter(unfinished).count() == 0)
        };
        let open =
            |group: &u32| matches!(self.groups.modes.get(group), Some(Mode::Rolling { open: true, .. }));
        let under_way =
            |(group, facts): &(&u32, &Facts)| facts.under_way || (open(group) && facts.needs_work);
        let mut groups = self.facts.iter().filter(under_way).map(|(group, _)| *group).peekable();
        if groups.peek().is_none() {
            let wished = || self.facts.range(..self.spec.replicas);
            let idle = wished().all(|(group, facts)| !facts.needs_work && by_hand(*group));
            return idle && self.blocked.iter().any(|block| block.reason == Reason::OnDelete);
        }
        groups.all(|group| pauses(group) || by_hand(group))
    }

    /// Updated and available instances among the eligible ones, and surge at the target that is available.
    fn advance(&self) -> (u32, u32) {
        let tallies = self.rolled.values().flatten().map(|rolled| rolled.tally);
        tallies.fold((0, 0), |(updated, surge): (u32, u32), tally| {
            (updated.saturating_add(tally.updated_available), surge.saturating_add(tally.surge_available))
        })
    }

    /// Makes the last complete set the target, until the spec's revision changes. The spec stays as it is.
    fn roll_back(&mut self) {
        let somewhere_else =
            self.memory.complete.as_ref().is_some_and(|set| set.revision != self.aims.set_target);
        if self.spec.on_failure == OnFailure::Rollback && self.memory.overridden.is_none() && somewhere_else {
            self.memory.overridden = Some(Override { spec: self.spec.revision(), by: OverrideBy::Rollback });
            self.memory.best = None;
            self.wake.at(self.now + crate::time::Millis(1), self.now);
        }
    }
}
