//! How large each ReplicaSet is.

use serde_json::json;

use super::rollout::Rollout;
use super::set::{self, Set};
use crate::controllers::read::{self, number};
use crate::controllers::wish::Wish;

/// One of the sets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    New,
    Old(usize),
}

impl Rollout<'_> {
    /// Gives a set a size. Whether that is another one.
    pub(super) fn resize(&mut self, which: Which, replicas: i64) -> bool {
        let size = self.size;
        let set = match which {
            Which::New => self.new.as_mut(),
            Which::Old(at) => self.old.get_mut(at),
        };
        let Some(set) = set else { return false };
        let (key, before) = (set.key.clone(), set.replicas);
        set.replicas = replicas;
        let sizes = set::size_annotations(size);
        let has = &set.object["metadata"]["annotations"];
        let same = read::entries(&sizes).all(|(name, value)| has.get(name) == Some(value));
        if same && before == replicas {
            return false;
        }
        let patch = json!({"metadata": {"annotations": sizes}, "spec": {"replicas": replicas}});
        self.wishes.push(Wish::Merge { key: key.clone(), subresource: None, patch });
        if before != replicas {
            let way = if before < replicas { "up" } else { "down" };
            self.tell(format!("Scaled {way} replica set {} from {before} to {replicas}", key.name));
        }
        before != replicas
    }

    /// As `resize`, but only if the size is another one.
    pub(super) fn resize_if_needed(&mut self, which: Which, replicas: i64) -> bool {
        let set = match which {
            Which::New => self.new.as_ref(),
            Which::Old(at) => self.old.get(at),
        };
        set.is_some_and(|set| set.replicas != replicas) && self.resize(which, replicas)
    }

    /// The Deployment was given another size since its sets were last sized.
    pub(super) fn is_scaled(&self) -> bool {
        let mut active = self.sets().filter(|set| set.replicas > 0);
        active.any(|set| set.desired().is_some_and(|desired| desired != self.size.desired))
    }

    /// Spreads another size over the sets.
    pub(super) fn scale(&mut self) {
        let mut active: Vec<Which> = (0..self.old.len()).map(Which::Old).chain([Which::New]).collect();
        active.retain(|which| self.set(*which).is_some_and(|set| set.replicas > 0));
        let desired = self.size.desired;
        match active.as_slice() {
            [] => {
                let latest = if self.new.is_some() {
                    Some(Which::New)
                } else {
                    self.old.len().checked_sub(1).map(Which::Old)
                };
                if let Some(latest) = latest {
                    self.resize_if_needed(latest, desired);
                }
            }
            [only] => {
                self.resize_if_needed(*only, desired);
            }
            _ if self.is_saturated() => {
                for at in 0..self.old.len() {
                    self.resize_if_needed(Which::Old(at), 0);
                }
            }
            _ if self.size.rolling => self.scale_in_proportion(active),
            _ => {}
        }
    }

    pub(super) fn set(&self, which: Which) -> Option<&Set> {
        match which {
            Which::New => self.new.as_ref(),
            Which::Old(at) => self.old.get(at),
        }
    }

    /// The new set is all that is wanted.
    pub(super) fn is_saturated(&self) -> bool {
        let desired = self.size.desired;
        let full = |new: &Set| {
            let counts = [Some(new.replicas), new.desired(), Some(new.count("availableReplicas"))];
            counts.into_iter().all(|count| count == Some(desired))
        };
        self.new.as_ref().is_some_and(full)
    }

    /// Each set gets its share of what is added or taken away; what is left over goes to the largest.
    pub(super) fn scale_in_proportion(&mut self, mut active: Vec<Which>) {
        let allowed = if self.size.desired > 0 { self.size.most() } else { 0 };
        let to_add = allowed - self.replicas();
        let age = |rollout: &Self, which: Which| rollout.set(which).map(Set::age);
        let large = |rollout: &Self, which: Which| rollout.set(which).map(|set| -set.replicas);
        // The largest first; among equals the newest when growing, the oldest when shrinking.
        if to_add > 0 {
            active.sort_by_key(|which| (large(self, *which), std::cmp::Reverse(age(self, *which))));
        } else {
            active.sort_by_key(|which| (large(self, *which), age(self, *which)));
        }
        let mut added = 0;
        let mut sizes = Vec::new();
        for which in &active {
            let Some(set) = self.set(*which) else { continue };
            let left = to_add - added;
            let share = if left == 0 { 0 } else { self.share(set) };
            let share = if to_add > 0 { share.min(left) } else { share.max(left) };
            added += share;
            sizes.push((*which, set.replicas + share));
        }
        if let Some((_, size)) = sizes.first_mut() {
            *size = (*size + to_add - added).max(0);
        }
        for (which, size) in sizes {
            self.resize(which, size);
        }
    }

    /// By how much a set would grow if it grew as the Deployment does.
    pub(super) fn share(&self, set: &Set) -> i64 {
        if self.size.desired == 0 {
            return -set.replicas;
        }
        let before = set.most().unwrap_or_else(|| number(&self.deployment["status"]["replicas"]));
        if before == 0 {
            return 0;
        }
        let product = set.replicas * self.size.most();
        // Rounded to the nearest, a half away from zero.
        (2 * product + before) / (2 * before) - set.replicas
    }
}
