//! The promise inside an instance: members that start after others.

use std::collections::BTreeSet;

use super::Promise;
use super::judge::Judge;
use crate::names::MemberName;
use crate::simulate::trace::Subject;

/// The members of an instance that had their minimum ready once.
#[derive(Debug, Clone, Default)]
pub(super) struct Started {
    now: BTreeSet<MemberName>,
    /// Those of the instance that stood there before, and when that ended: a view that lags may still show it.
    former: Option<(u64, BTreeSet<MemberName>)>,
}

impl Judge {
    pub(super) fn member_ready(&mut self, of: &Subject, member: &MemberName) {
        self.started.entry(of.clone()).or_default().now.insert(member.clone());
    }

    /// The instance is another from now on.
    pub(super) fn instance_ends(&mut self, t: u64, of: &Subject) {
        if let Some(started) = self.started.get_mut(of).filter(|started| !started.now.is_empty()) {
            started.former = Some((t, std::mem::take(&mut started.now)));
        }
    }

    pub(super) fn member_order(&mut self, t: u64, of: &Subject, member: &MemberName) {
        let Some(role) = self.history.spec().and_then(|spec| spec.role(&of.role)) else { return };
        let started = self.started.get(of);
        let had = |other: &MemberName| {
            started.is_some_and(|started| {
                let seen = |(until, all): &(u64, BTreeSet<MemberName>)| {
                    until + self.history.lag() >= t && all.contains(other)
                };
                started.now.contains(other) || started.former.as_ref().is_some_and(seen)
            })
        };
        let named = role.member_order.get(member).into_iter().flatten();
        let mut known = named.filter(|other| role.members.iter().any(|it| it.name == **other));
        if let Some(other) = known.find(|other| *other != member && !had(other)) {
            let detail = format!("{of}: {member} starts, and {other} was not ready");
            self.fail(t, Promise::MemberOrder, detail);
        }
    }
}
