//! How long pauses last: when each could begin at the earliest, and who let it pass.

use std::collections::{BTreeMap, BTreeSet};

use super::Promise;
use super::judge::Judge;
use crate::model::{Role, RuleKind, Spec, Step};
use crate::names::{RoleName, RuleName};
use crate::revision::Revision;
use crate::simulate::trace::SpecEvent;
use crate::snapshot::Promotion;

/// Two clocks that both count whole milliseconds may differ by one.
const ROUNDED: u64 = 1;

/// A recorder beside a cluster may hear this much later than the engine that a pause could begin.
const HEARD_LATE: u64 = 500;

/// What is known of the pauses. Targets that come back have their number again: an engine that has not heard of what
/// was between them goes on where it was.
#[derive(Debug, Clone, Default)]
pub(super) struct Pauses {
    targets: Vec<BTreeMap<RoleName, Revision>>,
    /// All of these stood once.
    completed: BTreeSet<usize>,
    present: usize,
    /// When all steps before a pause were met for the first time.
    met: BTreeMap<(usize, u32, RuleName, usize), u64>,
    promoted: BTreeSet<(usize, RuleName, u32, Option<u32>)>,
}

impl Pauses {
    fn number(&mut self, targets: &BTreeMap<RoleName, Revision>) -> usize {
        let known = self.targets.iter().position(|known| known == targets);
        known.unwrap_or_else(|| {
            self.targets.push(targets.clone());
            self.targets.len() - 1
        })
    }

    /// Whoever goes back to what stood once does not wait. Roles may have come or gone since.
    fn goes_back(&self) -> bool {
        let Some(present) = self.targets.get(self.present) else { return false };
        let mut completed = self.completed.iter().filter_map(|number| self.targets.get(*number));
        completed.any(|stood| {
            let mut common = stood.iter().filter(|(role, _)| present.contains_key(*role)).peekable();
            common.peek().is_some() && common.all(|(role, revision)| present.get(role) == Some(revision))
        })
    }

    fn is_promoted(&self, rule: &RuleName, step: usize, group: u32) -> bool {
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        [None, Some(group)]
            .into_iter()
            .any(|group| self.promoted.contains(&(self.present, rule.clone(), step, group)))
    }
}

impl Judge {
    /// The next wish begins, before it is taken.
    pub(super) fn turn_pauses(&mut self, t: u64, wish: &SpecEvent) {
        self.history.learn_all(t);
        if self.has_wish() && self.all_is_stable() {
            self.pauses.completed.insert(self.pauses.present);
        }
        if !self.has_wish() {
            let first = self.pauses.number(&wish.stable);
            self.pauses.completed.insert(first);
        }
        self.pauses.present = self.pauses.number(&wish.targets);
    }

    fn all_is_stable(&self) -> bool {
        self.history.spec().is_some_and(|spec| {
            let mut roles = spec.roles.iter().filter(|role| role.replicas > 0);
            roles
                .all(|role| !self.history.changes(&role.name) && self.history.stable.contains_key(&role.name))
        })
    }

    /// Somebody lets a pause pass.
    pub(super) fn promote(&mut self, promotion: &Promotion) {
        let Promotion { rule, step, group, .. } = promotion;
        self.pauses.promoted.insert((self.pauses.present, rule.clone(), *step, *group));
    }

    /// Notes the pauses of a group that may begin now.
    pub(super) fn note_pauses(&mut self, t: u64, group: u32) {
        let Some(spec) = self.history.spec() else { return };
        let mut begin = Vec::new();
        for rule in &spec.rules {
            let RuleKind::Steps(steps) = &rule.kind else { continue };
            if !steps.iter().any(|step| matches!(step, Step::Pause { .. })) {
                continue;
            }
            let met = steps.iter().take_while(|step| self.is_met(t, group, spec, step)).count();
            let pauses = (0..steps.len().min(met + 1)).filter(|at| matches!(steps[*at], Step::Pause { .. }));
            begin.extend(pauses.map(|at| (self.pauses.present, group, rule.name.clone(), at)));
        }
        for pause in begin {
            self.pauses.met.entry(pause).or_insert(t);
        }
    }

    /// A pause that cannot be over lets no role come further than what is named before it.
    pub(super) fn pauses_last(&mut self, t: u64, group: u32, spec: &Spec, role: &Role, updated: u32) {
        self.note_pauses(t, group);
        if self.pauses.goes_back() {
            return;
        }
        for rule in &spec.rules {
            let RuleKind::Steps(steps) = &rule.kind else { continue };
            let names = |step: &Step| matches!(step, Step::Update { role: named, .. } if *named == role.name);
            let Some((at, until)) = self.holds(t, group, &rule.name, steps) else { continue };
            let before = steps[..at].iter().filter(|step| names(step)).filter_map(|step| match step {
                Step::Update { to, .. } => Some(self.asked(group, role, *to)),
                Step::Pause { .. } => None,
            });
            let allowed = before.max().unwrap_or(0);
            if updated > allowed && steps.iter().any(names) {
                let detail = format!(
                    "group {group}: {} at {updated}, the pause of {}.steps[{at}] allows {allowed} until {until}",
                    role.name, rule.name
                );
                self.fail(t, Promise::PauseLength, detail);
            }
        }
    }

    /// The first pause that cannot be over, and until when: one that does not say how long it lasts ends when it is
    /// promoted.
    fn holds(&self, t: u64, group: u32, rule: &RuleName, steps: &[Step]) -> Option<(usize, String)> {
        let late = self.history.wish.as_ref().map_or(0, |wish| wish.lag).min(HEARD_LATE) + ROUNDED;
        let mut over = 0;
        for (at, step) in steps.iter().enumerate() {
            let Step::Pause { duration } = step else { continue };
            // Not met yet: what may move then is a matter of the steps.
            let met = *self.pauses.met.get(&(self.pauses.present, group, rule.clone(), at))?;
            if self.pauses.is_promoted(rule, at, group) {
                continue;
            }
            let Some(duration) = duration else { return Some((at, "it is promoted".to_owned())) };
            over = met.max(over) + duration.0;
            if t + late < over {
                return Some((at, over.to_string()));
            }
        }
        None
    }
}
