//! What is true, whatever anybody sees.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_core::budget::*;
use lockstep_core::snapshot::Uid;

use super::{REQUEST, Stands, World};

/// The unit as the world sees it: a pod that is a unit by itself is the same one when it comes back, as
/// names do here.
pub(super) fn place(pod: &Pod, spec: &BudgetSpec) -> UnitKey {
    match pod.unit(spec.pod_group_policy.is_some()) {
        UnitKey::Pod { name, .. } => UnitKey::Pod { uid: Uid::new(&name), name },
        group => group,
    }
}

impl World {
    /// Pods on their way out as far as one budget is concerned: it has let them go.
    pub(super) fn leaving(&self, k: usize) -> BTreeSet<&Uid> {
        let passed = self.clients.iter().filter(|client| client.budget > k && client.instance.is_empty());
        passed
            .filter(|client| {
                let version = self.pods.get(&client.pod).map(|actual| actual.version);
                client.operation == Operation::Evict || version == Some(client.shown.version)
            })
            .map(|client| &client.pod)
            .collect()
    }

    /// The units of one budget that are up.
    pub(super) fn up(&self, k: usize) -> BTreeSet<UnitKey> {
        let leaving = self.leaving(k);
        self.units_with(k, |uid| !leaving.contains(uid))
    }

    pub(super) fn units_with(&self, k: usize, counts: impl Fn(&Uid) -> bool) -> BTreeSet<UnitKey> {
        let spec = &self.setup.specs[k];
        let mut ready: BTreeMap<UnitKey, u32> = BTreeMap::new();
        for actual in self.pods.values().filter(|actual| actual.pod.stands() && actual.pod.ready) {
            *ready.entry(place(&actual.pod, spec)).or_default() += u32::from(counts(&actual.pod.uid));
        }
        let min = spec.pod_group_policy.map_or(1, |policy| policy.min_ready_replicas);
        ready.into_iter().filter(|(_, n)| *n >= min).map(|(key, _)| key).collect()
    }

    pub(super) fn expected(&self, k: usize) -> u32 {
        match self.setup.specs[k].pod_group_policy {
            Some(_) => self.setup.groups,
            None => self.setup.groups * self.setup.size,
        }
    }

    /// Units of which an admitted removal has taken, is taking or will take a pod. One that is down without
    /// that, because the removal was dropped while a pod of it had lost readiness by itself, is nobody's debt.
    fn hit(&self, k: usize) -> BTreeSet<UnitKey> {
        let (leaving, spec) = (self.leaving(k), &self.setup.specs[k]);
        let going =
            self.pods.values().filter(|actual| !actual.pod.stands() || leaving.contains(&actual.pod.uid));
        let gone = self.absent.iter().map(|(name, group, _)| super::super::pod(name, Some(group)));
        going.map(|actual| place(&actual.pod, spec)).chain(gone.map(|pod| place(&pod, spec))).collect()
    }

    /// Units that are up again are nobody's debt any more.
    pub(super) fn settle(&mut self) {
        let now = self.now;
        for k in 0..self.ours.len() {
            if self.ours[k].is_empty() && self.excused[k].is_empty() {
                continue;
            }
            let (up, hit) = (self.up(k), self.hit(k));
            let (ours, excused) = (&mut self.ours[k], &mut self.excused[k]);
            ours.retain(|unit| !up.contains(unit) && (hit.contains(unit) || !excused.contains_key(unit)));
            for (unit, last) in excused.iter_mut() {
                if !up.contains(unit) && !ours.contains(unit) {
                    *last = now;
                }
            }
            excused.retain(|_, last| now - *last <= REQUEST);
        }
    }

    /// A budget has just let a pod go: whatever that took down is ours.
    pub(super) fn check_ours(&mut self, k: usize, before: &BTreeSet<UnitKey>) -> Result<(), String> {
        let after = self.up(k);
        let down = before.difference(&after).filter(|unit| !self.excused[k].contains_key(*unit));
        self.ours[k].extend(down.cloned());
        let expected = self.expected(k);
        let ours = self.ours[k].len() as u32;
        let allowed = expected.saturating_sub(self.setup.specs[k].desired(expected));
        self.tally.most_ours = self.tally.most_ours.max(ours);
        if ours > allowed {
            return Err(format!("budget {k}: {ours} units down by admitted removals, {allowed} allowed"));
        }
        Ok(())
    }

    /// After a payment, enough units are left that are ready and promised to nobody.
    pub(super) fn check_floor(&self, k: usize) -> Result<(), String> {
        if self.setup.blinks {
            return Ok(());
        }
        let promises = &self.budgets[k].0.state.promises;
        let left = self.units_with(k, |uid| !promises.contains_key(uid)).len();
        let desired = self.setup.specs[k].desired(self.expected(k)) as usize;
        if left < desired {
            return Err(format!("budget {k}: {left} units left after a payment, {desired} must be"));
        }
        Ok(())
    }
}
