//! Start order inside an instance: pods of a member wait until the members it starts after have their minimum ready.
//!
//! Nothing is remembered of it. A pod that runs without a gate tells that those before it had started, so that what
//! is refilled into a standing instance waits only where nobody is left to tell.

use std::collections::BTreeMap;

use crate::model::{Member, Role};
use crate::names::MemberName;
use crate::snapshot::Pod;

/// The stages in which the members of an instance start: what waits for each other is never in one gang.
#[derive(Debug, Default)]
pub struct Stages<'a>(BTreeMap<&'a MemberName, u32>);

impl<'a> Stages<'a> {
    /// How many members stand before each. Circles are refused at admission; what is in one all the same is counted as
    /// far as it can be.
    pub fn of(role: &'a Role) -> Self {
        if role.member_order.is_empty() {
            return Self::default();
        }
        let mut levels: BTreeMap<&MemberName, u32> =
            role.members.iter().map(|member| (&member.name, 0)).collect();
        let mut left: BTreeMap<&MemberName, usize> = BTreeMap::new();
        let mut after: BTreeMap<&MemberName, Vec<&MemberName>> = BTreeMap::new();
        for &name in levels.keys() {
            let named = role.member_order.get(name).into_iter().flatten();
            for other in named.filter(|other| *other != name && levels.contains_key(other)) {
                *left.entry(name).or_default() += 1;
                after.entry(other).or_default().push(name);
            }
        }
        let mut open: Vec<&MemberName> =
            levels.keys().copied().filter(|name| !left.contains_key(name)).collect();
        while let Some(name) = open.pop() {
            let level = levels.get(name).map_or(0, |level| level + 1);
            for &next in after.get(name).into_iter().flatten() {
                let known = levels.entry(next).or_default();
                *known = (*known).max(level);
                let left = left.entry(next).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    open.push(next);
                }
            }
        }
        Self(levels)
    }

    /// The stage of a member.
    pub fn stage(&self, member: &MemberName) -> u32 {
        self.0.get(member).copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.0.values().max().map_or(1, |last| last + 1)
    }

    /// How many pods of a stage must be ready before the next, and so find a place together, of an instance that is made
    /// of these.
    pub fn minimum(&self, members: &[Member], stage: u32) -> u32 {
        let in_stage = members.iter().filter(|member| self.stage(&member.name) == stage);
        in_stage.map(|member| member.min_available).fold(0, u32::saturating_add)
    }
}

/// The member that pods of this one still wait for, among the pods of one instance.
pub fn waits<'a>(
    role: &'a Role,
    layout: &[Member],
    pods: &[Pod],
    member: &MemberName,
) -> Option<&'a MemberName> {
    let named = role.member_order.get(member)?;
    named
        .iter()
        .filter(|other| *other != member)
        .find(|other| layout.iter().any(|it| it.name == **other && !has_started(role, it, pods)))
}

/// Its minimum is ready, or something runs that waited for it.
fn has_started(role: &Role, member: &Member, pods: &[Pod]) -> bool {
    let ready = pods.iter().filter(|pod| pod.member == member.name && pod.is_ready()).count();
    ready >= member.min_available as usize
        || pods
            .iter()
            .any(|pod| !pod.terminating && !pod.gated && comes_after(role, &pod.member, &member.name))
}

/// Whether a member waits for another, directly or not.
fn comes_after(role: &Role, member: &MemberName, other: &MemberName) -> bool {
    let mut open: Vec<&MemberName> = role.member_order.get(member).into_iter().flatten().collect();
    let mut seen: Vec<&MemberName> = Vec::new();
    while let Some(name) = open.pop() {
        if name == other {
            return name != member;
        }
        if !seen.contains(&name) {
            seen.push(name);
            open.extend(role.member_order.get(name).into_iter().flatten());
        }
    }
    false
}
