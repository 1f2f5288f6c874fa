//! The promises over several roles: how far they drift apart, and in which order they go.

use super::Promise;
use super::judge::Judge;
use crate::model::{Role, Skew, Spec, Step};
use crate::number::{IntOrPercent, Ratio, update_to};

impl Judge {
    pub(super) fn skew_bound(
        &mut self,
        t: u64,
        group: u32,
        spec: &Spec,
        skew: &Skew,
        role: &Role,
        updated: u32,
    ) {
        let roles = || skew.roles.iter().filter_map(|name| spec.role(name)).filter(|role| role.replicas > 0);
        let smallest = roles().map(|role| role.replicas).min().unwrap_or(1);
        let bound = Ratio::of_skew(skew.max_skew, smallest).max(Ratio::new(1, u64::from(smallest)));
        let share = Ratio::new(u64::from(updated), u64::from(role.replicas));
        for other in roles().filter(|other| other.name != role.name) {
            if !self.history.changes(&other.name) {
                continue;
            }
            let eligible = other.replicas.saturating_sub(self.history.limits(other, group).1);
            if self.history.updated_ready(group, other, t) >= eligible {
                continue;
            }
            let behind = self.history.updated(group, other, t, true);
            if !share.within(Ratio::new(u64::from(behind), u64::from(other.replicas)), bound) {
                let detail = format!(
                    "group {group}: {} {updated}/{} while {} is at {behind}/{}, maxSkew {}",
                    role.name, role.replicas, other.name, other.replicas, skew.max_skew
                );
                self.fail(t, Promise::SkewBound, detail);
            }
        }
    }

    pub(super) fn step_order(
        &mut self,
        t: u64,
        group: u32,
        spec: &Spec,
        steps: &[Step],
        role: &Role,
        updated: u32,
    ) {
        let mut allowed = 0;
        let mut named = false;
        let asks = steps.iter().filter_map(|step| match step {
            Step::Update { role, to } => Some((step, spec.role(role)?, *to)),
            Step::Pause { .. } => None,
        });
        for (step, of, to) in asks {
            if of.name == role.name {
                allowed = self.asked(group, of, to).max(allowed);
                named = true;
            }
            if !self.is_met(t, group, spec, step) {
                let later =
                    steps.iter().any(|s| matches!(s, Step::Update { role: r, .. } if *r == role.name));
                if updated > allowed && (named || later) {
                    let detail =
                        format!("group {group}: {} at {updated}, the steps allow {allowed}", role.name);
                    self.fail(t, Promise::StepOrder, detail);
                }
                return;
            }
        }
    }

    /// Whether the engine could hold a step to be met. Who waits in a pause is not asked here.
    pub(super) fn is_met(&self, t: u64, group: u32, spec: &Spec, step: &Step) -> bool {
        let Step::Update { role, to } = step else { return true };
        let Some(role) = spec.role(role) else { return true };
        !self.history.changes(&role.name)
            || self.history.updated_ready(group, role, t) >= self.asked(group, role, *to)
    }

    /// How many updated instances of a role a step asks for.
    pub(super) fn asked(&self, group: u32, role: &Role, to: IntOrPercent) -> u32 {
        let eligible = role.replicas.saturating_sub(self.history.limits(role, group).1);
        update_to(to, role.replicas, eligible)
    }
}
