//! What one plan needs to know of a unit: an instance inside a role, or a group inside a set.

use serde::Serialize;

use crate::model::Member;
use crate::revision::Revision;
use crate::snapshot::{Instance, Pod};
use crate::time::{Millis, Time};

/// How long a unit must be broken before it may be moved without paying: a pod that blinked is not broken.
pub const STABLY: Millis = Millis::seconds(10);

/// Whether a unit stands. A unit without pods is not listed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Standing {
    /// Every pod it still has is on its way out.
    Terminating,
    /// It has a pod that stays.
    Present,
}

/// Where a unit stands between the revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum At {
    /// At the target.
    Target,
    /// At the stable revision.
    Old,
    /// At some other revision.
    Other,
    /// Its pods do not agree.
    Mixed,
}

/// The facts of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Its ordinal.
    pub ordinal: u32,
    /// Whether it stands.
    pub standing: Standing,
    /// Its revision, as far as it matters.
    pub at: At,
    /// Every member has its minimum ready.
    pub ready: bool,
    /// Ready for long enough.
    pub available: bool,
    /// Not available, and not for a moment only.
    pub stably_broken: bool,
    /// Held by a gate of ours: it never started.
    pub held: bool,
    /// Some of its pods wait for others of its own, behind a gate of ours.
    pub staged: bool,
    /// A pod of it has no node, and not because it waits for others of its own.
    pub unscheduled: bool,
    /// A group that still answers, though it may be short of instances.
    pub serves: bool,
    /// When its youngest pod was created.
    pub created: Time,
}

impl Unit {
    /// Exists and is not at the target.
    pub fn outdated(&self) -> bool {
        self.standing == Standing::Present && self.at != At::Target
    }

    /// Exists and is at the target, whatever its health.
    pub fn updated(&self) -> bool {
        self.standing == Standing::Present && self.at == At::Target
    }
}

/// The next moment at which a fact changes by the mere passing of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wake(pub Option<Time>);

impl Wake {
    /// Asks to be woken at `time`, if that lies ahead of `now`.
    pub fn at(&mut self, time: Time, now: Time) {
        if time > now && self.0.is_none_or(|earliest| time < earliest) {
            self.0 = Some(time);
        }
    }
}

/// The revisions a unit is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compass {
    /// The revision wished for.
    pub target: Revision,
    /// The stable revision, once there is one.
    pub old: Option<Revision>,
}

impl Compass {
    /// Where a single revision stands.
    pub fn place(&self, revision: Revision) -> At {
        if revision == self.target {
            At::Target
        } else if Some(revision) == self.old {
            At::Old
        } else {
            At::Other
        }
    }
}

/// What an instance of a revision is made of.
pub type Layout<'a> = Option<&'a [Member]>;

/// Judges instances of one role at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Judge {
    /// The revisions to compare with.
    pub compass: Compass,
    /// How long ready makes available.
    pub min_ready: Millis,
    /// The time.
    pub now: Time,
}

impl Judge {
    /// The facts of an instance; nothing if it has no pod.
    pub fn unit(&self, instance: &Instance, layout: Layout<'_>, wake: &mut Wake) -> Option<Unit> {
        instance.pods.first()?;
        let mut standing = instance.pods.iter().filter(|pod| !pod.terminating);
        let first = standing.next();
        let created = instance.pods.iter().map(|pod| pod.created).max().unwrap_or_default();
        let Some(first) = first else {
            return Some(Unit {
                ordinal: instance.instance,
                standing: Standing::Terminating,
                at: self.compass.place(instance.pods[0].revision),
                ready: false,
                available: false,
                stably_broken: false,
                held: false,
                staged: false,
                unscheduled: false,
                serves: false,
                created,
            });
        };
        let mixed = standing.any(|pod| pod.revision != first.revision);
        let at = if mixed { At::Mixed } else { self.compass.place(first.revision) };
        let ready_since = if mixed { None } else { ready_since(&instance.pods, layout) };
        let available = ready_since.is_some_and(|since| {
            wake.at(since + self.min_ready, self.now);
            self.now.since(since) >= self.min_ready
        });
        let mut unit = Unit {
            ordinal: instance.instance,
            standing: Standing::Present,
            at,
            ready: ready_since.is_some(),
            available,
            stably_broken: false,
            held: false,
            staged: false,
            unscheduled: false,
            serves: false,
            created,
        };
        if !unit.ready {
            self.judge_broken(instance, &mut unit, wake);
        }
        Some(unit)
    }

    fn judge_broken(&self, instance: &Instance, unit: &mut Unit, wake: &mut Wake) {
        let mut standing = instance.pods.iter().filter(|pod| !pod.terminating);
        unit.held = standing.clone().all(|pod| pod.gated);
        unit.staged = !unit.held && standing.clone().any(|pod| pod.gated);
        unit.unscheduled = standing.clone().any(|pod| pod.bound.is_none() && (unit.held || !pod.gated));
        unit.stably_broken = standing.any(|pod| {
            let Some(since) = broken_since(pod) else { return false };
            if unit.at != At::Target {
                wake.at(since + STABLY, self.now);
            }
            self.now.since(since) >= STABLY
        });
        if unit.at != At::Target {
            // Old pods that flap for ever may be moved at this age.
            wake.at(unit.created + self.min_ready + STABLY, self.now);
        }
    }
}

/// Since when a pod does not do its work; nothing if it does, or if we hold it ourselves.
fn broken_since(pod: &Pod) -> Option<Time> {
    match (pod.bound, pod.is_ready()) {
        (_, true) => None,
        (None, _) if pod.gated || pod.in_flight => None,
        (None, _) => Some(pod.created),
        (Some(bound), _) => Some(pod.unready.map_or(bound, |unready| unready.max(bound))),
    }
}

/// Since when every member has its minimum of ready pods.
fn ready_since(pods: &[Pod], layout: Layout<'_>) -> Option<Time> {
    let Some(members) = layout else {
        // Nobody knows what it should consist of: all that stands must be ready.
        return pods.iter().filter(|pod| !pod.terminating).try_fold(Time(0), |latest, pod| {
            pod.is_ready().then(|| pod.ready.unwrap_or_default().max(latest))
        });
    };
    if let ([pod], [member]) = (pods, members)
        && member.min_available <= 1
    {
        return if pod.is_ready() { pod.ready } else { None };
    }
    members.iter().try_fold(Time(0), |latest, member| {
        let mut since: Vec<Time> = pods
            .iter()
            .filter(|pod| pod.is_ready() && (members.len() == 1 || pod.member == member.name))
            .filter_map(|pod| pod.ready)
            .collect();
        let needed = member.min_available as usize;
        if since.len() < needed {
            return None;
        }
        since.sort_unstable();
        let reached = needed.checked_sub(1).and_then(|i| since.get(i)).copied().unwrap_or_default();
        Some(latest.max(reached))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::MemberName;

    const NOW: Time = Time(100_000);

    fn judge() -> Judge {
        Judge {
            compass: Compass { target: rev("B"), old: Some(rev("A")) },
            min_ready: Millis::seconds(5),
            now: NOW,
        }
    }

    fn rev(text: &str) -> Revision {
        text.parse().unwrap()
    }

    fn member(name: &str, count: u32, min_available: u32) -> Member {
        Member { name: MemberName::new(name), count, min_available }
    }

    fn pod(revision: &str, ready: Option<u64>) -> Pod {
        Pod {
            revision: rev(revision),
            bound: Some(Time(50_000)),
            ready: ready.map(Time),
            member: MemberName::new("m"),
            ..Pod::default()
        }
    }

    fn facts(pods: Vec<Pod>, members: &[Member]) -> Unit {
        let instance = Instance { instance: 3, pods };
        judge().unit(&instance, Some(members), &mut Wake::default()).unwrap()
    }

    #[test]
    fn available_is_ready_for_long_enough() {
        let one = [member("m", 1, 1)];
        assert!(facts(vec![pod("A", Some(95_000))], &one).available);
        let fresh = facts(vec![pod("A", Some(95_001))], &one);
        assert!(fresh.ready && !fresh.available && !fresh.stably_broken);
    }

    #[test]
    fn grove_697_ready_wins_over_an_old_crash() {
        let mut crashed = pod("A", Some(10_000));
        crashed.restarts = 17;
        crashed.unready = Some(Time(9_000));
        let unit = facts(vec![crashed], &[member("m", 1, 1)]);
        assert!(unit.available && !unit.stably_broken);
    }

    #[test]
    fn every_member_needs_its_minimum() {
        let members = [member("leader", 1, 1), member("worker", 3, 2)];
        let mut leader = pod("A", Some(1));
        leader.member = MemberName::new("leader");
        let mut workers = [pod("A", Some(2)), pod("A", Some(96_000)), pod("A", None)];
        workers.iter_mut().for_each(|w| w.member = MemberName::new("worker"));
        let all = |w: &[Pod]| [std::slice::from_ref(&leader), w].concat();
        let unit = facts(all(&workers), &members);
        assert!(unit.ready && !unit.available, "the second worker became ready four seconds ago");
        workers[1].ready = None;
        assert!(!facts(all(&workers), &members).ready);
    }

    #[test]
    fn mixed_revisions_are_neither_updated_nor_available() {
        let unit = facts(vec![pod("A", Some(1)), pod("B", Some(1))], &[member("m", 2, 2)]);
        assert_eq!(unit.at, At::Mixed);
        assert!(!unit.available && !unit.updated() && unit.outdated());
    }

    #[test]
    fn a_blink_or_a_gate_is_not_stably_broken() {
        let one = [member("m", 1, 1)];
        let mut blinked = pod("A", None);
        blinked.unready = Some(Time(95_000));
        assert!(!facts(vec![blinked.clone()], &one).stably_broken);
        blinked.unready = Some(Time(90_000));
        assert!(facts(vec![blinked], &one).stably_broken);
        let gated = Pod { bound: None, gated: true, ..pod("A", None) };
        let unit = facts(vec![gated.clone()], &one);
        assert!(!unit.stably_broken && unit.held);
        let unplaced = facts(vec![Pod { gated: false, ..gated }], &one);
        assert!(unplaced.stably_broken && unplaced.unscheduled);
    }

    #[test]
    fn an_instance_of_another_layout_is_judged_by_its_own() {
        let old = Instance { instance: 0, pods: vec![pod("A", Some(1)), pod("A", Some(1))] };
        let unit = judge().unit(&old, None, &mut Wake::default()).unwrap();
        assert!(unit.available, "two of two pods are ready, whatever the new revision counts");
    }

    #[test]
    fn the_next_moment_is_asked_for() {
        let mut wake = Wake::default();
        let instance = Instance { instance: 0, pods: vec![pod("A", Some(98_000))] };
        judge().unit(&instance, Some(&[member("m", 1, 1)]), &mut wake);
        assert_eq!(wake.0, Some(Time(103_000)));
    }
}
