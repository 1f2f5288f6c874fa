//! How it has ended.

use lockstep_core::coordinate;
use lockstep_core::simulate::trace::End;

use super::{Seen, Tape};
use crate::workload::Kind;

impl Tape {
    /// How it has ended, if nothing is on its way: by what the pods show, and by what the controller says if it
    /// says anything.
    pub fn settled(&self) -> Option<End> {
        if self.workload.kind() != Kind::LockstepSet {
            return self.shown();
        }
        let said = self.said.as_ref().filter(|said| said.generation >= self.known_generation)?.end?;
        let moving = self.pods.values().any(|seen| seen.pod.terminating);
        // What the controller said last may be over, and nobody there to say so.
        let shown = match said {
            End::Complete => self.shown() == Some(End::Complete),
            End::PartitionReached | End::RolledBack => self.shown().is_some(),
            End::Paused | End::Stuck | End::TimedOut => true,
        };
        (!moving && shown).then_some(said)
    }

    fn shown(&self) -> Option<End> {
        let spec = self.workload.spec();
        let wished: u32 =
            spec.roles.iter().map(|role| role.replicas * role.pods()).sum::<u32>() * spec.replicas;
        let now = self.now();
        let available = |seen: &Seen| {
            let min_ready = spec.role(&seen.of.role).map(|role| role.min_ready).unwrap_or_default();
            seen.pod.is_ready() && seen.pod.ready.is_some_and(|since| since + min_ready <= now)
        };
        let still = self.pods.values().all(available);
        if !still || self.pods.len() != wished as usize {
            return None;
        }
        let at_target = |seen: &Seen| self.targets.get(&seen.of.role) == Some(&seen.pod.revision);
        if self.pods.values().all(at_target) {
            return Some(End::Complete);
        }
        let kept = |seen: &Seen| {
            let role = spec.role(&seen.of.role);
            seen.of.group < spec.strategy.kept(spec.replicas)
                || role.is_some_and(|role| seen.of.instance < coordinate::limits(spec, role).1)
        };
        self.pods.values().all(|seen| at_target(seen) || kept(seen)).then_some(End::PartitionReached)
    }
}
