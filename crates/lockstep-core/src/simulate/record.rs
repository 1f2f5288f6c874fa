//! Turns what happens to pods into what happens to instances, in the model world and on real clusters alike.

use std::collections::BTreeMap;

use super::trace::{By, Event, Subject, What};
use crate::model::Member;
use crate::revision::Revision;
use crate::snapshot::Pod;
use crate::time::Time;

/// What was last said of each instance.
#[derive(Debug, Default)]
pub struct Recorder {
    known: BTreeMap<Subject, State>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    revision: Revision,
    scheduled: bool,
    ready: bool,
    leaving: bool,
}

impl Recorder {
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
        let Some(state) = observe(pods, members) else {
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
    }
}

fn observe<'a>(pods: &[&Pod], members: impl FnOnce(Revision) -> &'a [Member]) -> Option<State> {
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
    Some(State {
        revision,
        scheduled: whole && standing.iter().all(|pod| pod.bound.is_some()),
        ready,
        leaving: standing.is_empty(),
    })
}
