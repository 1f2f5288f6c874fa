//! What a trace has said so far, and what of it the engine could know.

use std::collections::{BTreeMap, BTreeSet};

use super::instance::Instance;
use crate::coordinate;
use crate::model::{Role, Rule, RuleKind, Spec, Step, StrategyKind};
use crate::names::RoleName;
use crate::number::Limits;
use crate::revision::Revision;
use crate::simulate::trace::{By, Event, SpecEvent, Subject, What};

/// The state of things at one moment.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What is wished for.
    pub wish: Option<SpecEvent>,
    /// The stable revision of each role.
    pub stable: BTreeMap<RoleName, Revision>,
    /// The others the engine may believe in: what was stable before, if the present one was so too shortly to
    /// be noticed, and what seemed stable to a view that lags.
    pub doubted: BTreeMap<RoleName, BTreeSet<Revision>>,
    /// What stands, terminating ones included.
    pub instances: BTreeMap<Subject, Instance>,
    /// What the world took away for good lately.
    pub gone: Vec<(u64, Subject, Instance)>,
    /// Per group and role: the target, and how many were updated at best under it.
    pub best: BTreeMap<(u32, RoleName), (Revision, u32)>,
    /// Groups in which something was moved towards the present targets, or that were on their way when those were set.
    pub opened: BTreeSet<u32>,
    /// The roles that changed when the present target was set, stable or not by now.
    pub changed: BTreeSet<RoleName>,
    /// Every wish so far recreated groups.
    pub only_recreated: bool,
    /// By how much more than ever the engine's view is behind just now.
    pub late: u64,
}

impl History {
    /// The wish, if one was told.
    pub fn spec(&self) -> Option<&Spec> {
        self.wish.as_ref().map(|wish| &wish.spec)
    }

    /// How far the engine's view may lag behind.
    pub fn lag(&self) -> u64 {
        self.wish.as_ref().map_or(0, |wish| wish.lag.saturating_add(self.late))
    }

    /// The revision a role is to have.
    pub fn target(&self, role: &RoleName) -> Option<Revision> {
        self.wish.as_ref()?.targets.get(role).copied()
    }

    /// Limits and partition of a role in a group.
    pub fn limits(&self, role: &Role, group: u32) -> (Limits, u32) {
        let Some(spec) = self.spec() else { return (Limits { unavailable: 0, surge: 0 }, 0) };
        let (mut limits, mut partition) = coordinate::limits(spec, role);
        if group < spec.strategy.kept(spec.replicas) {
            partition = role.replicas;
        }
        if spec.strategy.kind == StrategyKind::GroupRecreate || group >= spec.replicas {
            // Role strategies have no say here, but a role that shrinks must not take its group down.
            limits = Limits { unavailable: role.replicas - role.needed(), surge: 0 };
        }
        if !self.stable.contains_key(&role.name) {
            partition = 0;
        }
        (limits, partition)
    }

    /// The instances of a group move one by one, not as a whole.
    pub fn rolls(&self, group: u32) -> bool {
        self.spec()
            .is_some_and(|spec| group < spec.replicas && spec.strategy.kind != StrategyKind::GroupRecreate)
    }

    /// The instances of a role in a group.
    pub fn of<'a>(&'a self, group: u32, role: &'a RoleName) -> impl Iterator<Item = (u32, &'a Instance)> {
        let first = Subject { group, role: role.clone(), instance: 0 };
        self.instances
            .range(first..)
            .take_while(move |(of, _)| of.group == group && of.role == *role)
            .map(|(of, instance)| (of.instance, instance))
    }

    /// Available now, as far as the engine can know: what the world took a moment ago counts for it.
    pub fn seems_available(&self, instance: &Instance, role: &Role, t: u64) -> bool {
        self.is_available(instance, role, t) || (instance.was_ready && self.lately(instance, t))
    }

    /// The world took it so lately that the engine may not know.
    fn lately(&self, instance: &Instance, t: u64) -> bool {
        self.lag() > 0 && instance.lost_at.is_some_and(|lost| lost + self.lag() >= t)
    }

    /// Available now.
    pub fn is_available(&self, instance: &Instance, role: &Role, t: u64) -> bool {
        !instance.leaving && instance.ready_since.is_some_and(|since| since + role.min_ready.0 <= t)
    }

    /// How many instances of a role seem available in a group, one left out.
    pub fn available_without(&self, group: u32, role: &Role, without: Option<u32>, t: u64) -> u32 {
        let standing = self.of(group, &role.name);
        let standing =
            standing.filter(|(i, _)| Some(*i) != without).filter(|(_, x)| self.seems_available(x, role, t));
        number(standing.count() + self.lately_gone(group, role, t, |x| x.was_ready).count())
    }

    /// What the world took and the engine may still see.
    fn lately_gone<'a>(
        &'a self,
        group: u32,
        role: &'a Role,
        t: u64,
        which: impl Fn(&Instance) -> bool + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        let recent = move |(lost, of, x): &&(u64, Subject, Instance)| {
            of.group == group
                && of.role == role.name
                && lost + self.lag() >= t
                && self.lag() > 0
                && which(x)
                && !self.knows_replaced(of, t)
        };
        self.gone.iter().filter(recent).map(|(_, of, _)| of.instance)
    }

    /// The world took all of it so lately that the engine may still see some of its pods, and only fills it up.
    pub fn lately_stood(&self, of: &Subject, revision: Revision, t: u64) -> bool {
        let lately = |(lost, gone, x): &(u64, Subject, Instance)| {
            gone == of && x.revision == revision && lost + self.lag() >= t
        };
        self.lag() > 0 && self.gone.iter().any(lately)
    }

    /// What was lost stands again, so the engine knows of the loss; unless it did this upon a view from before, and
    /// only the request was overtaken by the one that put it back.
    fn knows_replaced(&self, of: &Subject, t: u64) -> bool {
        let overtaken = |x: &Instance| x.ready_since.is_none() && x.created < t && x.created + self.late > t;
        self.instances.get(of).is_some_and(|x| !overtaken(x))
    }

    /// Eligible instances at the target that stand: `c`; with what the engine may still see, if so asked.
    pub fn updated(&self, group: u32, role: &Role, t: u64, lenient: bool) -> u32 {
        let Some(target) = self.target(&role.name) else { return 0 };
        let eligible = self.limits(role, group).1..role.replicas;
        let stands =
            |x: &Instance| !x.leaving || (lenient && x.lost_at.is_some_and(|lost| lost + self.lag() >= t));
        let standing = self.of(group, &role.name).filter(|(_, x)| x.revision == target && stands(x));
        let gone = self.lately_gone(group, role, t, |x| x.revision == target).filter(|_| lenient);
        // What stands again and may still be seen as it was is one.
        let updated: BTreeSet<u32> = standing.map(|(i, _)| i).chain(gone).collect();
        number(updated.into_iter().filter(|i| eligible.contains(i)).count())
    }

    /// Some eligible instance at the target stands, and the engine must know it.
    fn surely_updated(&self, group: u32, role: &Role, t: u64) -> bool {
        let eligible = self.limits(role, group).1..role.replicas;
        let target = self.target(&role.name);
        let own = self.late + self.wish.as_ref().map_or(0, |wish| wish.own);
        self.of(group, &role.name).any(|(i, x)| {
            eligible.contains(&i) && Some(x.revision) == target && !x.leaving && x.created + own < t
        })
    }

    /// Remembers how many instances of a role were at the target at best. Returns the best until now.
    pub fn reach(&mut self, t: u64, group: u32, role: &Role) -> u32 {
        let Some(target) = self.target(&role.name) else { return 0 };
        let seen = self.updated(group, role, t, true);
        let best = self.best.entry((group, role.name.clone())).or_insert((target, 0));
        let before = if best.0 == target { best.1 } else { 0 };
        *best = (target, before.max(seen));
        before
    }

    /// Eligible instances at the target that are ready, as far as the engine can know: `ru`.
    pub fn updated_ready(&self, group: u32, role: &Role, t: u64) -> u32 {
        let Some(target) = self.target(&role.name) else { return 0 };
        let eligible = self.limits(role, group).1..role.replicas;
        let ready =
            |x: &Instance| (!x.leaving && x.ready_since.is_some()) || (x.was_ready && self.lately(x, t));
        let standing = self
            .of(group, &role.name)
            .filter(|(i, x)| eligible.contains(i) && x.revision == target && ready(x));
        let gone = self.lately_gone(group, role, t, |x| x.revision == target && x.was_ready);
        number(standing.count() + gone.filter(|i| eligible.contains(i)).count())
    }

    /// How many instances of a role the engine must know to be available.
    fn surely_available(&self, group: u32, role: &Role, t: u64) -> u32 {
        let sure = |x: &Instance| {
            t.checked_sub(self.lag()).is_some_and(|seen| self.is_available(&x.as_taken(), role, seen))
        };
        number(self.of(group, &role.name).filter(|(_, x)| sure(x)).count())
    }

    /// The engine must know that every role has its minimum available, or at least somebody.
    pub fn surely(&self, group: u32, t: u64, needed: impl Fn(&Role) -> u32) -> bool {
        self.spec().is_some_and(|spec| {
            spec.roles
                .iter()
                .all(|role| self.surely_available(group, role, t) >= needed(role).min(role.replicas))
        })
    }

    /// Every role has its minimum available.
    pub fn group_available(&self, group: u32, t: u64) -> bool {
        self.spec().is_some_and(|spec| {
            spec.roles.iter().all(|role| self.available_without(group, role, None, t) >= role.needed())
        })
    }

    /// Every role has somebody available.
    pub fn group_serves(&self, group: u32, t: u64) -> bool {
        self.spec().is_some_and(|spec| {
            let mut roles = spec.roles.iter().filter(|role| role.replicas > 0);
            roles.all(|role| self.available_without(group, role, None, t) > 0)
        })
    }

    /// The groups that have instances.
    pub fn groups(&self) -> Vec<u32> {
        let mut groups: Vec<u32> = self.instances.keys().map(|of| of.group).collect();
        groups.dedup();
        groups
    }

    /// A group is on its way between revisions.
    pub fn in_update(&self, group: u32, t: u64) -> bool {
        self.under_way(group, t, true, |role| self.changes(&role.name))
    }

    /// A group is on its way between revisions, and the engine must know it.
    pub fn surely_in_update(&self, group: u32, t: u64) -> bool {
        self.under_way(group, t, false, |role| self.changes(&role.name))
    }

    /// A group is on its way, roles included that have become stable since.
    pub fn was_in_update(&self, group: u32, t: u64) -> bool {
        self.under_way(group, t, true, |role| self.changed.contains(&role.name))
    }

    fn under_way(&self, group: u32, t: u64, lenient: bool, changes: impl Fn(&Role) -> bool) -> bool {
        let Some(spec) = self.spec().filter(|spec| group < spec.replicas) else { return false };
        // A role that goes back to what it was, but elsewhere, is no sign that this group is on its way.
        let outdated = |role: &Role| {
            let target = self.target(&role.name);
            let here = self.surely_stable_at(&role.name, target) && !self.opened.contains(&group);
            let wished = |of: &Subject| of.role == role.name && of.instance < role.replicas;
            let wished = |of: &Subject| wished(of) && (!here || of.group == group);
            self.instances.iter().any(|(of, x)| wished(of) && Some(x.revision) != target)
        };
        let changing = || {
            let moves = |role: &&Role| !by_hand(spec, role) && (changes(role) || outdated(role));
            spec.roles.iter().filter(moves)
        };
        // What was created a moment ago may be of the very plan that is judged.
        let updated = changing().any(|role| match lenient {
            true => self.updated(group, role, t, true) > 0,
            false => self.surely_updated(group, role, t),
        });
        let finished = changing().all(|role| self.finished(group, role, t) >= self.eligible(group, role));
        let surge = changing().any(|role| {
            let target = self.target(&role.name);
            let room = role.replicas..role.replicas.saturating_add(self.limits(role, group).0.surge);
            let mut beyond = self.of(group, &role.name).filter(|(i, _)| room.contains(i));
            beyond.any(|(_, x)| !x.leaving && Some(x.revision) == target)
        });
        (updated && !finished) || surge
    }

    /// Groups that have something at the target of a role, be it on its way out, and something that is not.
    pub fn between(&self) -> BTreeSet<u32> {
        let Some(spec) = self.spec() else { return BTreeSet::new() };
        let between = |group: u32, role: &Role| {
            let target = self.target(&role.name);
            let wished = || self.of(group, &role.name).filter(|(i, _)| *i < role.replicas);
            wished().any(|(_, x)| Some(x.revision) == target)
                && wished().any(|(_, x)| Some(x.revision) != target)
        };
        (0..spec.replicas).filter(|group| spec.roles.iter().any(|role| between(*group, role))).collect()
    }

    /// How many instances of a role may be updated: `T`.
    fn eligible(&self, group: u32, role: &Role) -> u32 {
        role.replicas.saturating_sub(self.limits(role, group).1)
    }

    /// Something of a group is on its way out.
    pub fn leaves(&self, group: u32) -> bool {
        self.instances.iter().any(|(of, x)| of.group == group && x.leaving)
    }

    /// Something of a group that may be updated does not stand.
    pub fn misses(&self, group: u32) -> bool {
        self.spec().is_some_and(|spec| {
            spec.roles.iter().any(|role| {
                let eligible = self.limits(role, group).1..role.replicas;
                let stands = |(i, x): &(u32, &Instance)| eligible.contains(i) && !x.leaving;
                self.of(group, &role.name).filter(stands).count() < eligible.len()
            })
        })
    }

    /// How many of them stand at the target and seem available.
    fn finished(&self, group: u32, role: &Role, t: u64) -> u32 {
        let (partition, target) = (self.limits(role, group).1, self.target(&role.name));
        let done = self.of(group, &role.name).filter(|(i, x)| {
            (partition..role.replicas).contains(i)
                && Some(x.revision) == target
                && self.seems_available(x, role, t)
        });
        let lost = self.lately_gone(group, role, t, |x| Some(x.revision) == target && x.was_ready);
        number(done.count() + lost.filter(|i| (partition..role.replicas).contains(i)).count())
    }

    /// Every role of a group is updated and available, as far as the engine can know.
    pub fn complete(&self, group: u32, t: u64) -> bool {
        let done = |role: &Role| self.finished(group, role, t) >= self.eligible(group, role);
        self.spec().is_some_and(|spec| spec.roles.iter().all(done))
    }

    /// What is not finished though no person holds it, be it through a rule: asked at the end of a rollout
    /// that waits for somebody. A pause step holds unless whatever pauses is promoted.
    pub fn left_behind(&self, t: u64, pauses: bool) -> Option<String> {
        let spec = self.spec().filter(|spec| !spec.paused)?;
        let hand = |name: &RoleName| spec.role(name).is_some_and(|role| by_hand(spec, role));
        let holds = |rule: &Rule| match &rule.kind {
            RuleKind::RollingUpdate(skew) => skew.roles.iter().any(hand),
            RuleKind::Steps(steps) => steps.iter().any(|step| match step {
                Step::Update { role, .. } => hand(role),
                Step::Pause { .. } => pauses,
            }),
            RuleKind::AffinityScheduling(_) | RuleKind::Scaling(_) => false,
        };
        if spec.rules.iter().any(holds) || spec.strategy.kind != StrategyKind::RollingUpdate {
            return None;
        }
        let groups = spec.strategy.kept(spec.replicas)..spec.replicas;
        let mut places = groups.flat_map(|group| spec.roles.iter().map(move |role| (group, role)));
        let behind = places.find(|(group, role)| {
            !by_hand(spec, role) && self.finished(*group, role, t) < self.eligible(*group, role)
        });
        behind.map(|(group, role)| format!("{group}/{}", role.name))
    }

    /// Follows what stands, for those who ask nothing but what it comes to.
    pub fn follow(&mut self, event: &Event) {
        let t = event.t;
        match &event.what {
            What::Spec(wish) => {
                self.take(t, wish);
            }
            What::Create { of, revision, set_revision, .. } => {
                self.instances.insert(of.clone(), Instance::fresh(t, *revision, *set_revision));
            }
            What::Ready { of, .. } => self.gain(t, of),
            What::Unready { of, by, .. } => self.lose(t, of, *by, false),
            What::Delete { of, by, .. } => self.lose(t, of, *by, true),
            What::Gone { of, .. } => {
                self.instances.remove(of);
            }
            _ => {}
        }
    }

    /// What was taken of an instance is there again: whatever took it was given up, and it has yet to become ready.
    pub fn made_whole(&mut self, of: &Subject) {
        if let Some(instance) = self.instances.get_mut(of) {
            instance.taken = None;
            instance.leaving = false;
        }
    }

    /// An instance became ready.
    pub fn gain(&mut self, t: u64, of: &Subject) {
        if let Some(instance) = self.instances.get_mut(of) {
            instance.ready_since = Some(t);
            instance.taken = None;
        }
    }

    /// Takes the next wish. What was stable before the trace began is told with the first one; after that it
    /// is learned from what happens, whatever the engine believes.
    pub fn take(&mut self, t: u64, wish: &SpecEvent) -> Option<SpecEvent> {
        self.learn_all(t);
        if self.wish.is_none() {
            self.stable = wish.stable.clone();
        } else if wish.unheard {
            self.doubt(&wish.stable, wish.anew);
        }
        self.stable.retain(|name, _| wish.spec.role(name).is_some());
        self.doubted.retain(|name, _| wish.spec.role(name).is_some());
        self.wish.replace(wish.clone())
    }

    /// The engine or the world takes an instance, or its readiness.
    pub fn lose(&mut self, t: u64, of: &Subject, by: By, leaving: bool) {
        if let Some(instance) = self.instances.get_mut(of) {
            if by == By::World && (instance.ready_since.is_some() || instance.lost_at.is_none()) {
                instance.lost_at = Some(t);
                instance.was_ready = instance.ready_since.is_some();
            }
            instance.taken = match by {
                By::Engine => instance.ready_since.or(instance.taken),
                By::World => None,
            };
            instance.ready_since = None;
            instance.leaving |= leaving;
        }
    }
}

/// A count as the engine's numbers.
pub fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Nothing of the role moves until somebody deletes it. Groups that are recreated do not ask their roles.
pub fn by_hand(spec: &Spec, role: &Role) -> bool {
    match spec.strategy.kind {
        StrategyKind::OnDelete => true,
        StrategyKind::RollingUpdate => role.strategy.kind == StrategyKind::OnDelete,
        StrategyKind::GroupRecreate => false,
    }
}
