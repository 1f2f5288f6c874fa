//! Which revision of a role is stable, and whether the engine can know it.

use std::collections::BTreeMap;

use super::history::{History, number};
use super::instance::Instance;
use crate::model::Role;
use crate::names::RoleName;
use crate::revision::Revision;

impl History {
    /// The role is on its way from a stable revision to another, and the engine must know it.
    pub fn changes(&self, role: &RoleName) -> bool {
        let target = self.target(role);
        self.stable.get(role).is_some_and(|stable| Some(*stable) != target)
            && !target.zip(self.doubted.get(role)).is_some_and(|(target, others)| others.contains(&target))
    }

    /// The revision is the stable one of the role, and the engine cannot believe otherwise.
    pub fn surely_stable_at(&self, role: &RoleName, revision: Option<Revision>) -> bool {
        let doubted = self.doubted.get(role).is_some_and(|others| !others.is_empty());
        revision.is_some() && self.stable.get(role).copied() == revision && !doubted
    }

    /// Asks of every role whether it is stable.
    pub fn learn_all(&mut self, t: u64) {
        let roles = self.spec().map(|spec| spec.roles.iter().map(|role| role.name.clone()).collect());
        let names: Vec<RoleName> = roles.unwrap_or_default();
        names.iter().for_each(|name| self.learn_stable(name, t));
    }

    /// What the engine had stored when the wish changed is known; and it is all that one knows who begins anew.
    pub fn doubt(&mut self, stored: &BTreeMap<RoleName, Revision>, anew: bool) {
        for (name, stored) in stored {
            if self.stable.get(name) == Some(stored) {
                self.doubted.remove(name);
            } else if anew {
                self.doubted.entry(name.clone()).or_default().insert(*stored);
            }
        }
    }

    /// A role is stable when all of it, in all groups, is updated and available. Asked before anything that
    /// may end that, so that no such moment is missed.
    pub fn learn_stable(&mut self, name: &RoleName, t: u64) {
        let Some(role) = self.spec().and_then(|spec| spec.role(name)) else { return };
        let replicas = self.spec().map_or(0, |spec| spec.replicas);
        let Some(target) = self.target(name) else { return };
        let whole_at = |t: u64| {
            (0..replicas).all(|group| {
                let available = |x: &Instance| x.revision == target && self.is_available(x, role, t);
                let done = self.of(group, name).filter(|(i, x)| *i < role.replicas && available(x));
                number(done.count()) == role.replicas
            })
        };
        if role.replicas == 0 || replicas == 0 {
            return;
        }
        if !whole_at(t) {
            if (0..replicas).try_fold((0, t), |span, group| self.seemed_whole(group, role, span)).is_some() {
                self.doubted.entry(name.clone()).or_default().insert(target);
            }
            return;
        }
        let noticed = t.checked_sub(self.lag()).is_some_and(whole_at);
        let before = self.stable.insert(name.clone(), target).filter(|before| *before != target);
        if noticed {
            self.doubted.remove(name);
        } else if let Some(before) = before {
            self.doubted.entry(name.clone()).or_default().insert(before);
        }
    }

    /// The part of a span of time in which all of a role in a group may have seemed updated and available.
    fn seemed_whole(&self, group: u32, role: &Role, (mut from, mut until): (u64, u64)) -> Option<(u64, u64)> {
        let lag = Some(self.lag()).filter(|lag| *lag > 0)?;
        let target = self.target(&role.name);
        let standing = self.of(group, &role.name).filter(|(i, _)| *i < role.replicas);
        let gone = self
            .gone
            .iter()
            .filter(|(_, of, _)| of.group == group && of.role == role.name && of.instance < role.replicas);
        let gone = gone.filter(|(_, of, _)| !self.instances.contains_key(of)).map(|(_, _, x)| x);
        let mut seen = 0;
        for x in standing.map(|(_, x)| x).chain(gone).filter(|x| Some(x.revision) == target) {
            match (x.ready_since, x.lost_at) {
                (Some(since), _) if !x.leaving => from = from.max(since + role.min_ready.0),
                (_, Some(lost)) if x.was_ready => until = until.min(lost + lag),
                _ => continue,
            }
            seen += 1;
        }
        (seen >= role.replicas && from <= until).then_some((from, until))
    }
}
