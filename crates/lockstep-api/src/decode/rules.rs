//! Coordination rules.

use std::collections::BTreeMap;

use lockstep_core::number::IntOrPercent;

use super::reader::{Choice, Place};
use crate::bounds::MOST;
use crate::coordination::{
    AffinityScheduling, BatchMode, Coordination, Pause, PauseStep, Progression, RollingUpdate, Scaling, Step,
    UpdateStep,
};
use crate::findings::Findings;

impl Choice for BatchMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("Sequential", Self::Sequential), ("Parallel", Self::Parallel)];
}

impl Choice for Progression {
    const WORDS: &'static [(&'static str, Self)] =
        &[("OrderScheduled", Self::OrderScheduled), ("OrderReady", Self::OrderReady)];
}

/// The rules, one for each item of the list.
pub(super) fn rules(place: Option<Place>, found: &mut Findings) -> Vec<Coordination> {
    let items = place.as_ref().and_then(|place| place.list(found)).unwrap_or_default();
    items.iter().map(|item| rule(item, found)).collect()
}

fn rule(place: &Place, found: &mut Findings) -> Coordination {
    let mut rule = Coordination {
        name: String::new(),
        roles: Vec::new(),
        rolling_update: None,
        steps: None,
        affinity_scheduling: None,
        scaling: None,
    };
    let Some(mut fields) = place.object(found) else { return rule };
    rule.name = fields.need_text("name", found);
    rule.roles = fields.take("roles").map(|p| p.texts(found)).unwrap_or_default();
    rule.rolling_update =
        fields.take_either("rollingUpdate", "skew", found).and_then(|p| rolling_update(&p, found));
    let steps = fields.take("steps").and_then(|p| p.list(found));
    rule.steps = steps.map(|items| items.iter().map(|item| step(item, found)).collect());
    rule.affinity_scheduling =
        fields.take_either("affinityScheduling", "affinity", found).and_then(|p| affinity(&p, found));
    rule.scaling = fields.take("scaling").and_then(|p| scaling(&p, found));
    fields.finish(found);
    rule
}

fn rolling_update(place: &Place, found: &mut Findings) -> Option<RollingUpdate> {
    let mut fields = place.object(found)?;
    let max_skew = fields.need("maxSkew", found).and_then(|p| p.int_or_percent(found, Some(100)));
    let max_unavailable = fields.take("maxUnavailable").and_then(|p| p.int_or_percent(found, Some(100)));
    let partition = fields.take("partition").and_then(|p| p.int_or_percent(found, Some(100)));
    fields.finish(found);
    Some(RollingUpdate {
        max_skew: max_skew.unwrap_or(IntOrPercent::Percent(100)),
        max_unavailable,
        partition,
    })
}

/// A step that cannot be read becomes a pause: it keeps its place and names no role.
fn step(place: &Place, found: &mut Findings) -> Step {
    let unread = Step::Pause(PauseStep { pause: Pause::default() });
    let Some(mut fields) = place.object(found) else { return unread };
    let (role, target, pause) = (fields.take("role"), fields.take("updateTo"), fields.take("pause"));
    fields.finish(found);
    let (Some(role), Some(target), None) = (&role, &target, &pause) else {
        return match (role, target, pause) {
            (None, None, Some(pause)) => Step::Pause(PauseStep { pause: self::pause(&pause, found) }),
            (Some(_), None, None) => {
                found.error(&place.path.field("updateTo"), "required");
                unread
            }
            (None, Some(_), None) => {
                found.error(&place.path.field("role"), "required");
                unread
            }
            _ => {
                found.error(&place.path, "must have either role and updateTo, or pause: {}");
                unread
            }
        };
    };
    let role = role.text(found);
    let target = target.int_or_percent(found, Some(100));
    match (role, target) {
        (Some(role), Some(update_to)) => Step::Update(UpdateStep { role, update_to }),
        _ => unread,
    }
}

fn pause(place: &Place, found: &mut Findings) -> Pause {
    let Some(mut fields) = place.object(found) else { return Pause::default() };
    let duration = fields.take("duration").and_then(|p| p.duration(found));
    fields.finish(found);
    Pause { duration }
}

fn affinity(place: &Place, found: &mut Findings) -> Option<AffinityScheduling> {
    let mut fields = place.object(found)?;
    let topology_key = fields.need_text("topologyKey", found);
    let ratios: BTreeMap<String, u32> = fields
        .need("ratios", found)
        .map(|p| p.map(found, |ratio, found| ratio.int(found, 1..=MOST)))
        .unwrap_or_default();
    let batch_mode = fields.take("batchMode").and_then(|p| p.choice(found)).unwrap_or_default();
    fields.finish(found);
    Some(AffinityScheduling { topology_key, ratios, batch_mode })
}

fn scaling(place: &Place, found: &mut Findings) -> Option<Scaling> {
    let mut fields = place.object(found)?;
    let max_skew = fields.need("maxSkew", found).and_then(|p| p.int_or_percent(found, Some(100)));
    let progression = fields.take("progression").and_then(|p| p.choice(found)).unwrap_or_default();
    fields.finish(found);
    Some(Scaling { max_skew: max_skew.unwrap_or(IntOrPercent::Percent(100)), progression })
}
