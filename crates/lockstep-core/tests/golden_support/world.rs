//! What happens to pods, by the hand of the test.

use lockstep_core::snapshot::Pod;
use lockstep_core::time::Millis;

use super::Desk;
use crate::support::rev;

impl Desk {
    pub(super) fn bind(&mut self) {
        let (now, homeless) = (self.now, self.homeless.clone());
        self.each(|_, role, ordinal, pod| {
            let none = homeless.iter().any(|(r, i)| *r == role.as_str() && *i == ordinal);
            if pod.bound.is_none() && !pod.gated && !pod.terminating && !none {
                pod.bound = Some(now);
            }
        });
    }

    /// What is on its way out is gone. Says whether anything was.
    pub fn reap(&mut self) -> bool {
        self.reap_role("")
    }

    /// The same for one role, the others taking longer.
    pub fn reap_role(&mut self, only: &str) -> bool {
        let mut any = false;
        for role in self.seen.groups.iter_mut().flat_map(|group| &mut group.roles) {
            if !only.is_empty() && role.role.as_str() != only {
                continue;
            }
            for instance in &mut role.instances {
                let before = instance.pods.len();
                instance.pods.retain(|pod| !pod.terminating);
                any |= instance.pods.len() < before;
            }
            role.instances.retain(|instance| !instance.pods.is_empty());
        }
        self.seen.groups.iter_mut().for_each(|g| g.roles.retain(|r| !r.instances.is_empty()));
        self.seen.groups.retain(|group| !group.roles.is_empty());
        any
    }

    /// Every pod that has a node and may start becomes ready. Says whether any did.
    pub fn start(&mut self) -> bool {
        let (now, bad) = (self.now, self.bad.clone());
        let mut any = false;
        self.each(|_, _, _, pod| {
            let fit = pod.bound.is_some() && !pod.terminating && !pod.failed && pod.unready.is_none();
            if fit && pod.ready.is_none() && !bad.contains(&pod.revision) {
                pod.ready = Some(now);
                any = true;
            }
        });
        any
    }

    /// Time passes.
    pub fn wait(&mut self, seconds: u64) -> &mut Self {
        self.now = self.now + Millis::seconds(seconds);
        self
    }

    fn pods(&mut self, group: u32, role: &str, ordinal: u32, mut how: impl FnMut(&mut Pod)) -> &mut Self {
        let mut found = false;
        self.each(|g, r, i, pod| {
            if g == group && r.as_str() == role && i == ordinal && !pod.terminating {
                how(pod);
                found = true;
            }
        });
        assert!(found, "there is no {group}/{role}-{ordinal}");
        self
    }

    /// Somebody deletes an instance, and it is gone.
    pub fn evict(&mut self, group: u32, role: &str, ordinal: u32) -> &mut Self {
        self.pods(group, role, ordinal, |pod| pod.terminating = true);
        self.reap();
        self
    }

    /// An instance is no longer ready.
    pub fn unready(&mut self, group: u32, role: &str, ordinal: u32) -> &mut Self {
        let now = self.now;
        self.pods(group, role, ordinal, |pod| {
            pod.ready = None;
            pod.unready = Some(now);
        })
    }

    /// An instance that was not ready is so again.
    pub fn back(&mut self, group: u32, role: &str, ordinal: u32) -> &mut Self {
        let now = self.now;
        self.pods(group, role, ordinal, |pod| {
            pod.ready = Some(now);
            pod.unready = None;
        })
    }

    /// The first container of an instance restarts, and the pod is unready for a while.
    pub fn crash(&mut self, group: u32, role: &str, ordinal: u32) -> &mut Self {
        let (now, mut first) = (self.now, true);
        self.pods(group, role, ordinal, |pod| {
            if std::mem::take(&mut first) {
                pod.restarts += 1;
                pod.ready = None;
                pod.unready = Some(now);
            }
        })
    }

    /// Ordinals that stand are at a revision and ready.
    pub fn place(&mut self, role: &str, ordinals: std::ops::Range<u32>, revision: &str) -> &mut Self {
        self.each(|_, r, i, pod| {
            if r.as_str() == role && ordinals.contains(&i) {
                pod.revision = rev(revision);
            }
        });
        self
    }
}
