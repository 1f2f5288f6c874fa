//! Which revision of a role is stable, and whether the engine can know it.

use super::history::{History, number};
use super::instance::Instance;
use crate::names::RoleName;

impl History {
    /// The role is on its way from a stable revision to another, and the engine must know it.
    pub fn changes(&self, role: &RoleName) -> bool {
        let target = self.target(role);
        self.stable.get(role).is_some_and(|stable| Some(*stable) != target)
            && self.doubted.get(role).is_none_or(|before| Some(*before) != target)
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
        if role.replicas == 0 || replicas == 0 || !whole_at(t) {
            return;
        }
        let noticed = t.checked_sub(self.lag()).is_some_and(whole_at);
        let before = self.stable.insert(name.clone(), target).filter(|before| *before != target);
        if noticed {
            self.doubted.remove(name);
        } else if let Some(before) = before {
            self.doubted.insert(name.clone(), before);
        }
    }
}
