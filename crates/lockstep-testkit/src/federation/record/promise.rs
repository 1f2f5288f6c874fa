//! What must hold over all members together, at every instant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::seen::{Counts, Pod};
use super::tape::{Event, Scene, What};

/// Events of two members that come by watches of different processes have no order if they are no further apart than
/// this. Those of one member have theirs.
pub(super) const SKEW: Duration = Duration::from_millis(20);

/// What a workload promises over all clusters it is spread over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promise {
    /// How many pods there are to be in all.
    pub replicas: u32,
    /// How many of them may be unavailable.
    pub max_unavailable: u32,
    /// How many more there may be.
    pub max_surge: u32,
    /// How many must stay of the old template.
    pub old: u32,
    /// The image that is wished for.
    pub image: String,
    /// How long a pod must be ready to be available.
    pub min_ready: Duration,
    /// Members that have it from a registry of their own.
    pub registries: BTreeMap<usize, String>,
}

impl Promise {
    /// The image that is wished for in a member.
    pub fn image_in(&self, member: usize) -> String {
        match self.registries.get(&member) {
            Some(registry) => format!("{registry}/{}", self.image),
            None => self.image.clone(),
        }
    }

    /// So many pods are available at least.
    pub fn least_available(&self) -> u32 {
        self.replicas.saturating_sub(self.max_unavailable)
    }

    /// So many pods stand at most.
    pub fn most_standing(&self) -> u32 {
        self.replicas + self.max_surge
    }
}

/// Which promise is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Too few pods are available.
    Available,
    /// Too many pods stand.
    Standing,
    /// Too few old pods are left.
    Old,
}

/// A promise that was broken for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Breach {
    /// Which.
    pub rule: Rule,
    /// From when on.
    pub from: Duration,
    /// Until when; if it was never mended, the last instant there is.
    pub to: Duration,
    /// How many there were at the worst instant.
    pub count: u32,
    /// How many were promised, at least or at most.
    pub bound: u32,
    /// When that was.
    pub worst: Duration,
    /// What the members had then.
    pub members: Vec<(String, Counts)>,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, from, to, count, bound, worst, members } = self;
        let (what, most) = match rule {
            Rule::Available => ("pods are available", "at least"),
            Rule::Standing => ("pods stand", "at most"),
            Rule::Old => ("old pods are left", "at least"),
        };
        let [from, to, worst] = [from, to, worst].map(Duration::as_secs_f64);
        write!(f, "{from:.3} s to {to:.3} s: {count} {what} at {worst:.3} s, {most} {bound} are promised")?;
        members.iter().try_for_each(|(name, counts)| write!(f, "; {name}: {counts}"))
    }
}

/// What the members had at an instant.
#[derive(Debug, Clone)]
struct Instant {
    at: Duration,
    /// By member; the second is how many losses are not the rollout's doing.
    members: Vec<(Counts, u32)>,
    promise: Promise,
}

/// Judges what happened from the first wish on. Losses that others caused are excused until their member is whole. What
/// two members did no further apart than `skew` has no order.
pub(super) fn judge(names: &[String], events: &[Event], skew: Duration) -> Vec<Breach> {
    let instants = instants(names.len(), &in_order(names.len(), events), skew);
    let mut breaches: Vec<Breach> = Vec::new();
    for rule in [Rule::Available, Rule::Standing, Rule::Old] {
        let mut open: Option<Breach> = None;
        for (i, instant) in instants.iter().enumerate() {
            let Some((count, bound)) = rule.broken(i, &instants, skew) else {
                breaches.extend(open.take().map(|breach| Breach { to: instant.at, ..breach }));
                continue;
            };
            let named = names.iter().cloned().zip(instant.members.iter().map(|(counts, _)| *counts));
            let now = Breach {
                rule,
                from: instant.at,
                to: instant.at,
                count,
                bound,
                worst: instant.at,
                members: named.collect(),
            };
            open = Some(match open.take() {
                None => now,
                Some(before) if rule.is_worse(count, before.count) => Breach { from: before.from, ..now },
                Some(before) => Breach { to: instant.at, ..before },
            });
        }
        breaches.extend(open);
    }
    breaches.sort_by_key(|breach| breach.from);
    breaches
}

/// Events in the order of their members' own numbers: what comes by several watches of one member may overtake, and
/// what has a lower number was there when a higher one was seen.
fn in_order(members: usize, events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    for member in 0..members {
        let its = |event: &&mut Event| event.version > 0 && event.what.member() == Some(member);
        let mut numbered: Vec<&mut Event> = events.iter_mut().filter(its).collect();
        numbered.sort_by_key(|event| event.version);
        numbered.into_iter().rev().fold(Duration::MAX, |later, event| {
            event.at = event.at.min(later);
            event.at
        });
    }
    events.sort_by_key(|event| (event.at, event.version));
    events
}

impl Rule {
    fn is_worse(self, count: u32, than: u32) -> bool {
        match self {
            Self::Available | Self::Old => count < than,
            Self::Standing => count > than,
        }
    }

    /// How many there are and how many were promised, if that is broken in whatever order things happened that have
    /// none.
    fn broken(self, i: usize, instants: &[Instant], skew: Duration) -> Option<(u32, u32)> {
        let Instant { members, promise, .. } = &instants[i];
        let count = |(counts, excused): &(Counts, u32)| match self {
            Self::Available => counts.available + excused,
            // A Deployment counts what its ReplicaSets are told, wherever it stands: one that was told to shrink may
            // delete a moment after another has created.
            Self::Standing => counts.standing - counts.condemned,
            Self::Old => counts.old() + excused,
        };
        let bound = match self {
            Self::Available => promise.least_available(),
            Self::Standing => promise.most_standing(),
            Self::Old => promise.old,
        };
        let kindest = |member: usize| {
            let near = near(i, instants, skew).map(|instant| count(&instant.members[member]));
            if self == Self::Standing { near.min() } else { near.max() }
        };
        // What one member has now, and the others at about the same time.
        let seen_from = |here: usize| {
            let others = (0..members.len()).filter(|member| *member != here).filter_map(kindest);
            count(&members[here]) + others.sum::<u32>()
        };
        let plain: u32 = members.iter().map(count).sum();
        let broken = (0..members.len()).any(|here| self.is_worse(seen_from(here), bound));
        broken.then_some((plain, bound))
    }
}

/// The instants around one that may as well have come before or after it.
fn near(i: usize, instants: &[Instant], skew: Duration) -> impl Iterator<Item = &Instant> {
    let at = instants[i].at;
    // What was before the first of them lasted until then.
    let first = instants.partition_point(|instant| instant.at + skew < at).saturating_sub(1);
    instants[first..].iter().take_while(move |instant| instant.at <= at + skew)
}

/// Everything at every instant at which something changed, or a pod had been ready for long enough.
fn instants(members: usize, events: &[Event], skew: Duration) -> Vec<Instant> {
    let mut scenes = vec![Scene::default(); members];
    let mut excused = vec![0; members];
    let mut promise: Option<Promise> = None;
    let mut ripe: BTreeSet<Duration> = BTreeSet::new();
    let mut instants = Vec::new();
    let mut events = events.iter().peekable();
    loop {
        let next = events.peek().map(|event| event.at);
        let due = ripe.first().copied().filter(|due| next.is_none_or(|next| *due < next));
        let Some(now) = due.or(next) else { return instants };
        if due.is_some() {
            ripe.remove(&now);
        } else if let Some(Event { what, .. }) = events.next() {
            let min_ready = promise.as_ref().map(|promise| promise.min_ready).unwrap_or_default();
            if let What::Pod { member, uid, pod } = what {
                let before = scenes[*member].pods.get(uid);
                excused[*member] += u32::from(taken_by_others(before, pod.as_ref(), now, min_ready));
                let ready = pod.as_ref().and_then(|pod| pod.ready).map(|since| since + min_ready);
                ripe.extend(ready.filter(|at| *at > now));
            }
            if let Some(member) = what.member() {
                scenes[member].take(what);
            }
            if let What::Wish(wish) = what {
                let pods = scenes.iter().flat_map(|scene| scene.pods.values());
                let ready = pods.filter_map(|pod| pod.ready).map(|since| since + wish.min_ready);
                ripe.extend(ready.filter(|at| *at > now));
                promise = Some(wish.clone());
            }
        }
        let Some(promise) = &promise else { continue };
        let counted = scenes.iter().zip(&mut excused).enumerate().map(|(member, (scene, excused))| {
            let counts = scene.count(&promise.image_in(member), now, promise.min_ready);
            if counts.available >= counts.wanted {
                *excused = 0;
            }
            (counts, *excused)
        });
        instants.extend(lasting(instants.last(), now, skew));
        instants.push(Instant { at: now, members: counted.collect(), promise: promise.clone() });
    }
}

/// What was last known, for a moment at which nothing happened: in whatever order it came about, it was so then.
fn lasting(last: Option<&Instant>, until: Duration, skew: Duration) -> Option<Instant> {
    let last = last?;
    let moment = skew + Duration::from_millis(1);
    (last.at + 2 * moment <= until).then(|| Instant { at: last.at + moment, ..last.clone() })
}

/// A pod that was available is not any more, and no controller deleted it.
fn taken_by_others(before: Option<&Pod>, now: Option<&Pod>, at: Duration, min_ready: Duration) -> bool {
    let was = before.is_some_and(|pod| pod.is_available(at, min_ready));
    match now {
        Some(pod) => was && !pod.is_available(at, min_ready) && (pod.disrupted || !pod.terminating),
        // Deleted without a word, as an evicted pod of a node that is gone may be: somebody forced it.
        None => was,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::federation::record::seen::Workload;

    /// A pod by its short story: when it became ready, when it began to go.
    struct Story {
        member: usize,
        image: &'static str,
        created: u64,
        ready: Option<u64>,
        going: Option<(u64, bool)>,
        owner: Option<&'static str>,
    }

    fn stands(member: usize, created: u64, ready: u64) -> Story {
        Story { member, image: "old", created, ready: Some(ready), going: None, owner: None }
    }

    impl Story {
        fn goes(self, at: u64) -> Self {
            Self { going: Some((at, false)), ..self }
        }

        fn evicted(self, at: u64) -> Self {
            Self { going: Some((at, true)), ..self }
        }

        fn owned(self, owner: &'static str) -> Self {
            Self { owner: Some(owner), ..self }
        }

        fn of(self, image: &'static str) -> Self {
            Self { image, ..self }
        }

        fn events(&self, uid: usize) -> Vec<Event> {
            let pod = Pod {
                name: format!("pod-{uid}"),
                group: None,
                owner: self.owner.map(str::to_owned),
                image: self.image.to_owned(),
                ready: None,
                terminating: false,
                disrupted: false,
            };
            let at = Duration::from_millis;
            let ready = self.ready.map(|ready| (ready, Pod { ready: Some(at(ready)), ..pod.clone() }));
            let going = self.going.map(|(going, disrupted)| {
                let ready = self.ready.map(at);
                (going, Pod { ready, terminating: true, disrupted, ..pod.clone() })
            });
            let states = [Some((self.created, pod)), ready, going].into_iter().flatten();
            let event = |(millis, pod)| {
                let what = What::Pod { member: self.member, uid: uid.to_string(), pod: Some(pod) };
                Event { at: at(millis), version: millis, what }
            };
            states.map(event).collect()
        }
    }

    fn sized(member: usize) -> Event {
        let workload = Some(Workload { replicas: 2, ..Workload::default() });
        Event { at: Duration::ZERO, version: 0, what: What::Workload { member, workload } }
    }

    /// The ReplicaSet `a` of the first member was told so, by its number, and it was seen some time after that.
    fn told(version: u64, seen_after: u64, replicas: u32) -> Event {
        let what = What::ReplicaSet { member: 0, uid: "a".to_owned(), replicas: Some(replicas) };
        Event { at: Duration::from_millis(version + seen_after), version, what }
    }

    fn wish(millis: u64, promise: Promise) -> Event {
        Event { at: Duration::from_millis(millis), version: 0, what: What::Wish(promise) }
    }

    /// Two members of two pods each, one of which may be unavailable and one of which may be too much.
    fn promise() -> Promise {
        let image = "new".to_owned();
        Promise { replicas: 4, max_unavailable: 1, max_surge: 1, image, ..Promise::default() }
    }

    fn broken(promise: Promise, stories: Vec<Story>) -> Vec<(Rule, u64, u64, u32)> {
        broken_with(promise, stories, vec![])
    }

    fn broken_with(promise: Promise, stories: Vec<Story>, told: Vec<Event>) -> Vec<(Rule, u64, u64, u32)> {
        let mut events = vec![sized(0), sized(1), wish(500, promise)];
        events.extend(told);
        events.extend(stories.iter().enumerate().flat_map(|(uid, story)| story.events(uid)));
        events.sort_by_key(|event| event.at);
        let millis = |at: Duration| u64::try_from(at.as_millis()).expect("a short test");
        let names = ["a".to_owned(), "b".to_owned()];
        let breaches = judge(&names, &events, SKEW).into_iter();
        breaches.map(|it| (it.rule, millis(it.from), millis(it.to), it.count)).collect()
    }

    fn four() -> [Story; 4] {
        [stands(0, 0, 10), stands(0, 0, 10), stands(1, 0, 10), stands(1, 0, 10)]
    }

    #[test]
    fn what_one_member_may_take_two_together_may_not() {
        let [a, b, c, d] = four();
        assert_eq!(broken(promise(), vec![a.goes(1000), b, c, d]), []);
        let [a, b, c, d] = four();
        let both = broken(promise(), vec![a.goes(1000), b, c.goes(1100), d]);
        assert_eq!(both, [(Rule::Available, 1100, 1100, 2)]);
    }

    #[test]
    fn it_lasts_until_a_new_pod_is_available() {
        let [a, b, c, d] = four();
        let new = || stands(0, 1000, 1500).of("new");
        let found = broken(promise(), vec![a.goes(1000), b, c.goes(1100), d, new(), stands(1, 1200, 1900)]);
        assert_eq!(found, [(Rule::Available, 1100, 1500, 2)]);
        let [a, b, c, d] = four();
        let min_ready = Promise { min_ready: Duration::from_millis(300), ..promise() };
        let found = broken(min_ready, vec![a.goes(1000), b, c, d.goes(1600), new()]);
        assert_eq!(found, [(Rule::Available, 1600, 1800, 2)], "it is ready, but not for long enough");
        let [a, b, c, d] = four();
        let min_ready = Promise { min_ready: Duration::from_millis(300), ..promise() };
        assert_eq!(broken(min_ready, vec![a.goes(1000), b, c, d.goes(1900), new()]), []);
    }

    #[test]
    fn what_stands_is_counted_and_what_goes_is_not() {
        let more = || stands(0, 1000, 1500).of("new");
        let one = four().into_iter().chain([more()]).collect();
        assert_eq!(broken(promise(), one), []);
        let two = four().into_iter().chain([more(), stands(1, 1200, 1300)]).collect();
        assert_eq!(broken(promise(), two), [(Rule::Standing, 1200, 1500, 6)]);
        let [a, b, c, d] = four();
        let gone = vec![a.goes(1100), b, c, d, more(), stands(1, 1200, 1300)];
        assert_eq!(broken(promise(), gone), []);
    }

    #[test]
    fn what_a_replica_set_was_told_to_delete_counts_no_more() {
        let story = |surge: u64| {
            let [a, b, c, d] = four();
            let new = (0..surge).map(|_| stands(0, 1000, 1500).of("new"));
            [a.owned("a").goes(1040), b.owned("a"), c, d].into_iter().chain(new).collect()
        };
        let all_along = || told(5, 0, 2);
        let found = broken_with(promise(), story(2), vec![all_along()]);
        assert_eq!(found, [(Rule::Standing, 1000, 1040, 6)], "nobody told it");
        assert_eq!(broken_with(promise(), story(2), vec![all_along(), told(990, 0, 1)]), []);
        let overtaken = vec![all_along(), told(990, 30, 1)];
        assert_eq!(
            broken_with(promise(), story(2), overtaken),
            [],
            "it was told before, and seen afterwards"
        );
        let later = broken_with(promise(), story(2), vec![all_along(), told(1010, 0, 1)]);
        assert_eq!(later, [(Rule::Standing, 1000, 1010, 6)]);
        let three = broken_with(promise(), story(3), vec![all_along(), told(990, 0, 1)]);
        assert_eq!(three.first().map(|(rule, from, _, _)| (*rule, *from)), Some((Rule::Standing, 1000)));
    }

    #[test]
    fn old_pods_are_kept() {
        let kept = |old| Promise { old, max_unavailable: 4, ..promise() };
        let story = || {
            let [a, b, c, d] = four();
            vec![a.goes(1000), b.goes(1100), c, d, stands(0, 1150, 1200).of("new")]
        };
        assert_eq!(broken(kept(2), story()), []);
        assert_eq!(broken(kept(3), story()), [(Rule::Old, 1100, 1200, 2)]);
    }

    #[test]
    fn what_comes_at_once_from_two_members_has_no_order() {
        let story = |ready| {
            let [a, b, c, d] = four();
            vec![a.goes(1000), b, c.goes(1500), d, stands(0, 1000, ready)]
        };
        assert_eq!(broken(promise(), story(1515)), []);
        assert_eq!(broken(promise(), story(1600)), [(Rule::Available, 1500, 1600, 2)]);
    }

    #[test]
    fn what_came_at_once_and_lasts_is_so() {
        let [a, b, c, d] = four();
        let found = broken(promise(), vec![a.goes(1000), b, c.goes(1000), d, stands(0, 1000, 1400)]);
        assert_eq!(found, [(Rule::Available, 1021, 1400, 2)]);
    }

    #[test]
    fn losses_by_others_are_excused_and_nothing_more() {
        let [a, b, c, d] = four();
        assert_eq!(broken(promise(), vec![a.evicted(1000), b, c.goes(1100), d]), []);
        let [a, b, c, d] = four();
        let found = broken(promise(), vec![a.evicted(1000), b.goes(1100), c.goes(1200), d]);
        assert_eq!(found, [(Rule::Available, 1200, 1200, 2)]);
    }

    #[test]
    fn nothing_is_promised_before_the_wish() {
        let [a, b, c, d] = four();
        let found =
            broken(promise(), vec![a.goes(50), b, c.goes(50), d, stands(0, 60, 70), stands(1, 60, 70)]);
        assert_eq!(found, []);
    }
}
