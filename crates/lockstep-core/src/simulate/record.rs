//! Turns what happens to pods into what happens to instances, in the model world and on real clusters alike.

use std::collections::{BTreeMap, BTreeSet};

use super::trace::{By, Event, Subject, What};
use crate::model::{Member, Spec};
use crate::names::{MemberName, RoleName};
use crate::revision::Revision;
use crate::snapshot::Pod;
use crate::time::Time;

/// What was last said of each instance.
#[derive(Debug, Default)]
pub struct Recorder {
    known: BTreeMap<Subject, State>,
    /// The roles whose instances start in order, and of their instances the members that are ready, and those of which
    /// something stands that no gate holds.
    ordered: BTreeSet<RoleName>,
    ready: BTreeSet<(Subject, MemberName)>,
    free: BTreeSet<(Subject, MemberName)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    revision: Revision,
    scheduled: bool,
    ready: bool,
    leaving: bool,
}

impl Recorder {
    /// Another wish: from now on the members of its roles that start in order are told of.
    pub fn follow(&mut self, spec: &Spec) {
        let ordered = spec.roles.iter().filter(|role| !role.member_order.is_empty());
        self.ordered.extend(ordered.map(|role| role.name.clone()));
    }

    /// Whether an instance was ready when it was last looked at.
    pub fn is_ready(&self, of: &Subject) -> bool {
        self.known.get(of).is_some_and(|state| state.ready)
    }

    /// Says which members of an instance are ready now, and which are no longer held. What stood when nobody said why
    /// was let go by nobody.
    fn look_inside(
        &mut self,
        of: &Subject,
        pods: &[&Pod],
        (revision, members): (Revision, &[Member]),
        why: &str,
        say: &mut impl FnMut(What),
    ) {
        let standing = |member: &Member| {
            let name = member.name.clone();
            pods.iter().filter(move |pod| !pod.terminating && pod.member == name)
        };
        let mut free = Vec::new();
        for member in members {
            let key = (of.clone(), member.name.clone());
            let ready =
                standing(member).filter(|pod| pod.is_ready()).count() >= member.min_available as usize;
            if !ready {
                self.ready.remove(&key);
            } else if self.ready.insert(key.clone()) {
                say(What::MemberReady { of: of.clone(), revision, member: member.name.clone() });
            }
            if !standing(member).any(|pod| !pod.gated) {
                self.free.remove(&key);
            } else if self.free.insert(key) && !why.is_empty() {
                free.push(What::MemberFree { of: of.clone(), revision, member: member.name.clone() });
            }
        }
        free.into_iter().for_each(say);
    }

    /// Compares an instance, given by all of its pods, with what was last said of it and says what changed.
    /// `members` tells what an instance of a revision is made of.
    pub fn look<'a>(
        &mut self,
        of: &Subject,
        pods: &[&Pod],
        members: impl FnOnce(Revision) -> &'a [Member],
        (by, why): (By, &str),
        now: Time,
        sink: &mut dyn FnMut(Event),
    ) {
        let mut say = |what| sink(Event::at(now.0, what));
        let before = self.known.get(of).copied();
        let Some((state, members)) = observe(pods, members) else {
            let other = |(known, _): &(Subject, MemberName)| known != of;
            self.ready.retain(other);
            self.free.retain(other);
            if let Some(before) = self.known.remove(of) {
                let revision = before.revision;
                if !before.leaving {
                    say(What::Delete { of: of.clone(), revision, by, why: why.to_owned() });
                }
                say(What::Gone { of: of.clone(), revision });
            }
            return;
        };
        let revision = state.revision;
        let old = before.unwrap_or_default();
        if state.scheduled && !old.scheduled {
            say(What::Scheduled { of: of.clone(), revision });
        }
        if state.ready && !old.ready {
            say(What::Ready { of: of.clone(), revision });
        }
        if state.leaving && !old.leaving {
            say(What::Delete { of: of.clone(), revision, by, why: why.to_owned() });
        } else if old.ready && !state.ready {
            say(What::Unready { of: of.clone(), revision, by });
        }
        self.known.insert(of.clone(), state);
        if self.ordered.contains(&of.role) {
            self.look_inside(of, pods, (revision, members), why, &mut say);
        }
    }
}

fn observe<'a>(
    pods: &[&Pod],
    members: impl FnOnce(Revision) -> &'a [Member],
) -> Option<(State, &'a [Member])> {
    let first = pods.first()?;
    let standing: Vec<_> = pods.iter().filter(|pod| !pod.terminating).collect();
    let revision = standing.first().map_or(first.revision, |pod| pod.revision);
    let members = members(revision);
    let ready_of =
        |member: &Member| standing.iter().filter(|pod| pod.is_ready() && pod.member == member.name).count();
    let agree = standing.iter().all(|pod| pod.revision == revision);
    let ready = agree
        && !standing.is_empty()
        && members.iter().all(|member| ready_of(member) >= member.min_available as usize);
    let whole = standing.len() == members.iter().map(|member| member.count as usize).sum::<usize>();
    let state = State {
        revision,
        scheduled: whole && standing.iter().all(|pod| pod.bound.is_some()),
        ready,
        leaving: standing.is_empty(),
    };
    Some((state, members))
}
