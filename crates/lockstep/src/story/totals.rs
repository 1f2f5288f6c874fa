//! What a whole rollout comes to.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_core::model::{Role, RuleKind, Skew, Spec, StrategyKind};
use lockstep_core::names::RoleName;
use lockstep_core::number::Ratio;
use lockstep_core::simulate::trace::{By, Event, Subject, What};
use serde::Serialize;

use super::stage::{Stage, number};

/// What a rollout comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Instances that are replaced.
    pub replacements: u32,
    /// Instances that are started where none was, surge not counted.
    pub started: u32,
    /// Instances that go for good, surge not counted.
    pub removed: u32,
    /// The most groups on their way between revisions at one time.
    pub groups_in_update: u32,
    /// Per role: the most instances beyond those wished for, at one time, over all groups.
    pub extra: BTreeMap<RoleName, u32>,
    /// The most groups beyond those wished for at one time.
    pub extra_groups: u32,
    /// The largest distance between the updated shares of roles that change (those of the strictest skew rule,
    /// if there is one), in tenths of a percent.
    #[serde(rename = "worstSkewPermille", skip_serializing_if = "Option::is_none")]
    pub worst_skew: Option<u32>,
    /// Per role: the lowest number available in one group, of how many.
    pub least: BTreeMap<RoleName, (u32, u32)>,
}

/// Adds a rollout up. `from` is the spec that stood at the beginning.
pub fn add_up(events: &[Event], from: Option<&Spec>) -> Totals {
    let mut adder = Adder::default();
    let (mut wishes, first) = (0, if from.is_some() { 2 } else { 1 });
    for event in events {
        wishes += u32::from(matches!(event.what, What::Spec(_)));
        if wishes >= first {
            adder.count(event);
        } else if let What::Create { of, .. } = &event.what {
            adder.known.insert(of.clone());
            if adder.stage.is_beyond(of) {
                adder.surge.insert(of.clone());
            }
        }
        adder.stage.see(event);
        if wishes >= first {
            adder.look(event, from.is_some());
        }
    }
    adder.totals
}

#[derive(Default)]
struct Adder {
    stage: Stage,
    known: BTreeSet<Subject>,
    surge: BTreeSet<Subject>,
    updating: BTreeSet<u32>,
    totals: Totals,
}

impl Adder {
    fn count(&mut self, event: &Event) {
        match &event.what {
            What::Create { of, why, .. } => {
                let wished = !self.stage.is_beyond(of);
                let fresh = self.known.insert(of.clone());
                self.totals.started += u32::from(fresh && wished);
                if !wished || why == "Surge" {
                    self.surge.insert(of.clone());
                    self.count_extra();
                }
            }
            What::Delete { of, by, why, .. } => {
                let surge = self.surge.remove(of);
                match why.as_str() {
                    _ if *by == By::World => {}
                    "Update" | "Repair" | "Mixed" | "Recreate" => self.totals.replacements += 1,
                    "Excess" | "RoleRemoved" | "GroupRemoved" | "SurgeDone" | "SurgeOutdated" if !surge => {
                        self.totals.removed += 1
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn count_extra(&mut self) {
        let Some(groups) = self.stage.spec().map(|spec| spec.replicas) else { return };
        let mut extra: BTreeMap<&RoleName, u32> = BTreeMap::new();
        for of in self.surge.iter().filter(|of| of.group < groups) {
            *extra.entry(&of.role).or_default() += 1;
        }
        for (role, count) in extra {
            let most = self.totals.extra.entry(role.clone()).or_default();
            *most = (*most).max(count);
        }
        let beyond: BTreeSet<u32> = self.surge.iter().map(|of| of.group).filter(|g| *g >= groups).collect();
        self.totals.extra_groups = self.totals.extra_groups.max(number(beyond.len()));
    }

    fn look(&mut self, event: &Event, begun: bool) {
        let Some(spec) = self.stage.spec() else { return };
        let group = match &event.what {
            What::Create { of, .. }
            | What::Ready { of, .. }
            | What::Unready { of, .. }
            | What::Delete { of, .. } => of.group,
            _ => return,
        };
        if group >= spec.replicas || !begun {
            return;
        }
        if self.stage.in_update(group) {
            self.updating.insert(group);
        } else {
            self.updating.remove(&group);
        }
        let totals = &mut self.totals;
        totals.groups_in_update = totals.groups_in_update.max(number(self.updating.len()));
        for role in &spec.roles {
            let now = self.stage.available(group, role);
            let least = totals.least.entry(role.name.clone()).or_insert((now, role.replicas));
            *least = (least.0.min(now), role.replicas);
        }
        totals.worst_skew = totals.worst_skew.max(skew(&self.stage, spec, group));
    }
}

/// The distance between the most and the least updated of the roles that change and are not done: those of
/// the strictest skew rule, or all where there is none.
fn skew(stage: &Stage, spec: &Spec, group: u32) -> Option<u32> {
    let progress = stage.progress(group);
    let held = strictest(spec);
    let spans = |role: &Role| held.is_none_or(|skew| skew.roles.contains(&role.name));
    let counts = |role: &Role| stage.changes(&role.name) && role.replicas > 0 && spans(role);
    let roles = spec.roles.iter().zip(&progress).filter(|(role, _)| counts(role));
    let shares: Vec<(Ratio, bool)> = roles
        .map(|(role, progress)| {
            let share = Ratio::new(u64::from(stage.updated(group, role)), u64::from(role.replicas));
            (share, progress.finished())
        })
        .collect();
    let together = spec.strategy.kind == StrategyKind::GroupRecreate;
    if shares.len() < 2 || together {
        return None;
    }
    let most = shares.iter().map(|(share, _)| *share).max()?;
    let least = shares.iter().filter(|(_, done)| !done).map(|(share, _)| *share).min();
    Some(least.map_or(0, |least| most.permille_above(least)))
}

/// The rule with the smallest `maxSkew`.
fn strictest(spec: &Spec) -> Option<&Skew> {
    let skews = spec.rules.iter().filter_map(|rule| match &rule.kind {
        RuleKind::RollingUpdate(skew) => Some(skew),
        _ => None,
    });
    skews.min_by_key(|skew| skew.max_skew)
}

/// The smallest `maxSkew` of the rules, as written.
pub fn allowed_skew(spec: &Spec) -> Option<String> {
    strictest(spec).map(|skew| skew.max_skew.to_string())
}
