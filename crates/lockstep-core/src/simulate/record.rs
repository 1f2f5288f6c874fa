//! Turns what happens to pods into what happens to instances.

use std::collections::BTreeMap;

use super::trace::{By, Event, Subject, What};
use super::world::{InstanceName, World};
use crate::model::Member;
use crate::revision::Revision;
use crate::time::Time;

/// What was last said of each instance.
#[derive(Debug, Default)]
pub struct Recorder {
    known: BTreeMap<InstanceName, State>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    revision: Revision,
    scheduled: bool,
    ready: bool,
    leaving: bool,
}

fn subject(name: &InstanceName) -> Subject {
    Subject { group: name.0, role: name.1.clone(), instance: name.2 }
}

impl Recorder {
    /// Compares an instance with what was last said of it and says what changed.
    pub fn look(
        &mut self,
        world: &World,
        name: &InstanceName,
        (by, why): (By, &str),
        now: Time,
        sink: &mut dyn FnMut(Event),
    ) {
        let mut say = |what| sink(Event { t: now.0, what });
        let before = self.known.get(name).copied();
        let Some(state) = observe(world, name) else {
            if let Some(before) = self.known.remove(name) {
                if !before.leaving {
                    say(What::Delete {
                        of: subject(name),
                        revision: before.revision,
                        by,
                        why: why.to_owned(),
                    });
                }
                say(What::Gone { of: subject(name), revision: before.revision });
            }
            return;
        };
        let revision = state.revision;
        let old = before.unwrap_or_default();
        if state.scheduled && !old.scheduled {
            say(What::Scheduled { of: subject(name), revision });
        }
        if state.ready && !old.ready {
            say(What::Ready { of: subject(name), revision });
        }
        if state.leaving && !old.leaving {
            say(What::Delete { of: subject(name), revision, by, why: why.to_owned() });
        } else if old.ready && !state.ready {
            say(What::Unready { of: subject(name), revision, by });
        }
        self.known.insert(name.clone(), state);
    }
}

fn observe(world: &World, name: &InstanceName) -> Option<State> {
    let pods: Vec<_> = world.instance(name).map(|pod| &pod.pod).collect();
    let first = pods.first()?;
    let standing: Vec<_> = pods.iter().filter(|pod| !pod.terminating).collect();
    let revision = standing.first().map_or(first.revision, |pod| pod.revision);
    let layout = world.layouts.get(&name.1).and_then(|of| of.get(&revision));
    let empty: &[Member] = &[];
    let members = layout.map_or(empty, Vec::as_slice);
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
