//! Pauses of a group: entered once, passed by time or by promotion.

use crate::coordinate::Pauses;
use crate::model::Spec;
use crate::revision::Revision;
use crate::snapshot::{GroupMemory, Memory, Promotion};
use crate::time::{Millis, Time};
use crate::unit::Wake;

/// The pauses of one group.
pub(crate) struct PauseBook<'a> {
    pub spec: &'a Spec,
    pub promoted: &'a Memory,
    pub target: Revision,
    pub group: u32,
    pub memory: &'a mut GroupMemory,
    pub now: Time,
    pub wake: &'a mut Wake,
}

impl Pauses for PauseBook<'_> {
    fn hold(&mut self, rule: usize, step: usize, duration: Option<Millis>) -> Option<Option<Time>> {
        // Whoever goes back does not wait where they were going, be it by an abort or by their spec.
        let complete = self.promoted.complete.as_ref();
        if self.promoted.overridden.is_some() || complete.is_some_and(|set| set.revision == self.target) {
            return None;
        }
        let name = &self.spec.rules[rule].name;
        let promotion = |group| Promotion {
            target: self.target,
            rule: name.clone(),
            step: u32::try_from(step).unwrap_or(u32::MAX),
            group,
        };
        let promoted = [None, Some(self.group)].map(promotion);
        if promoted.iter().any(|promotion| self.promoted.promoted.contains(promotion)) {
            return None;
        }
        let key = format!("{}/{name}/{step}", self.target);
        let since = *self.memory.pauses.entry(key).or_insert(self.now);
        let until = duration.map(|length| since + length);
        match until {
            Some(until) if until <= self.now => None,
            Some(until) => {
                self.wake.at(until, self.now);
                Some(Some(until))
            }
            None => Some(None),
        }
    }
}
