//! Where each rule stands, in words.

use super::{CoordinationStatus, MOST_COORDINATION};
use crate::batch;
use crate::coordinate::{Cause, skew, steps};
use crate::draft::Draft;
use crate::model::{BatchMode, RuleKind};
use crate::time::Time;

impl Draft<'_> {
    /// Batches that are not all ready, or that only some placement holds together.
    fn batch_status(&self, found: &mut Vec<CoordinationStatus>) {
        for (rule, affinity) in batch::rules(self.spec) {
            let full = batch::full(self.spec, affinity);
            let unpinned: Vec<String> = affinity
                .ratios
                .iter()
                .filter_map(|(name, ratio)| Some((self.spec.role(name)?, full.saturating_mul(*ratio))))
                .filter(|(role, pinned)| role.replicas > *pinned)
                .map(|(role, pinned)| format!("{}-{pinned}…{}", role.name, role.replicas - 1))
                .collect();
            let beyond = if unpinned.is_empty() {
                String::new()
            } else {
                format!("; unpinned beyond the last full batch: {}", unpinned.join(", "))
            };
            for (&group, memory) in &self.memory.groups {
                let ready = memory.batches.get(&rule.name).copied().unwrap_or(0);
                let waits = affinity.batch_mode == BatchMode::Sequential && ready < full;
                if !waits && unpinned.is_empty() {
                    continue;
                }
                let current = if waits { ready + 1 } else { full };
                let text = format!("batch {current}/{full}{beyond}");
                let (rule, step, of) = (rule.name.clone(), Some(current), Some(full));
                found.push(CoordinationStatus { group, rule, step, of, text });
            }
        }
    }

    pub(super) fn coordination(&self) -> Vec<CoordinationStatus> {
        let mut found = Vec::new();
        self.batch_status(&mut found);
        for (&group, rolled) in &self.rolled {
            if !self.facts.get(&group).is_some_and(|facts| facts.under_way) {
                continue;
            }
            let progress: Vec<_> = rolled.iter().map(|r| r.progress).collect();
            for (index, rule) in self.spec.rules.iter().enumerate() {
                let status = |step: Option<usize>, of: Option<usize>, text: String| CoordinationStatus {
                    group,
                    rule: rule.name.clone(),
                    step: step.and_then(|n| u32::try_from(n).ok()),
                    of: of.and_then(|n| u32::try_from(n).ok()),
                    text,
                };
                match &rule.kind {
                    RuleKind::RollingUpdate(of) => {
                        let now = skew::distance(self.spec, of, &progress);
                        found.push(status(
                            None,
                            None,
                            format!("skew {}.{}%, allowed {}", now / 10, now % 10, of.max_skew),
                        ));
                    }
                    RuleKind::Steps(list) => {
                        let current =
                            rolled.iter().filter_map(|r| r.ceiling.as_ref()).find(|c| c.rule == index);
                        let known = current.map(|c| c.cause.clone()).or_else(|| {
                            steps::current(self.spec, index, list, &progress, &mut NoPauses).map(|c| c.cause)
                        });
                        let (step, text) = self.step_text(known, list.len());
                        found.push(status(Some(step), Some(list.len()), text));
                    }
                    RuleKind::AffinityScheduling(_) | RuleKind::Scaling(_) => {}
                }
            }
        }
        found.truncate(MOST_COORDINATION);
        found
    }

    fn step_text(&self, cause: Option<Cause>, steps: usize) -> (usize, String) {
        match cause {
            Some(Cause::Step { step, role, ready, target }) => {
                let name = &self.spec.roles[role].name;
                (step + 1, format!("step {}/{steps}: {name} {ready} of {target} updated and ready", step + 1))
            }
            Some(Cause::Pause { step, .. }) => (step + 1, format!("step {}/{steps}: pause", step + 1)),
            _ => (steps, "all steps met".to_owned()),
        }
    }
}

/// For looking only: every pause counts as over.
struct NoPauses;

impl crate::coordinate::Pauses for NoPauses {
    fn hold(&mut self, _: usize, _: usize, _: Option<crate::time::Millis>) -> Option<Option<Time>> {
        None
    }
}
