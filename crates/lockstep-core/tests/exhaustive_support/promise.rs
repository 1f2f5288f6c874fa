//! What is promised, judged act by act and state by state, from the slots alone.
//!
//! What the world took and the shell has not seen yet counts in the engine's favour: it could not know. Where
//! nothing has gone wrong and nobody changed their mind there is nothing to be lenient about, and the bounds
//! must hold for the world as it is.

use lockstep_core::coordinate;
use lockstep_core::model::{Role, RuleKind, Skew, Spec, Step as Stage, StrategyKind};
use lockstep_core::number::{Limits, Ratio, update_to};
use lockstep_core::plan::DeleteWhy;

use super::engine::Act;
use super::{Lab, Phase, Pod, Slot, State};

/// What one plan has done so far.
#[derive(Debug, Default)]
pub struct Watch {
    deleted: Vec<(u32, usize, u32)>,
    torn_down: Vec<u32>,
    opened: Vec<u32>,
}

/// Which of the two is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    World,
    View,
}

/// An instance as one side has it.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    exists: bool,
    /// Some pod of it stays.
    stands: bool,
    /// The revision all that stays has.
    revision: Option<u8>,
    ready: bool,
    available: bool,
}

impl Facts {
    fn at(&self, revision: u8) -> bool {
        self.stands && self.revision == Some(revision)
    }
}

type Verdict = Option<String>;

fn unless(holds: bool, detail: impl FnOnce() -> String) -> Verdict {
    (!holds).then(detail)
}

impl Lab {
    fn facts(&self, state: &State, side: Side, (group, role, instance): (u32, usize, u32)) -> Facts {
        let pick = |slot: &Slot| if side == Side::World { slot.world } else { slot.view };
        let pods = || self.instance(group, role, instance).filter_map(|at| pick(&state.slots[at]));
        let staying = || pods().filter(|pod| pod.phase != Phase::Terminating);
        let spec = &self.wish(state).roles[role];
        let revision = staying().next().map(|pod| pod.revision);
        let agree = staying().all(|pod| Some(pod.revision) == revision);
        let ready = |pod: &Pod| pod.phase == Phase::Ready;
        let long = |pod: &Pod| spec.min_ready.0 == 0 || pod.since > 0;
        let whole = |good: &dyn Fn(&Pod) -> bool| {
            agree && staying().filter(|pod| good(pod)).count() as u32 == spec.pods()
        };
        Facts {
            exists: pods().next().is_some(),
            stands: revision.is_some(),
            revision: revision.filter(|_| agree),
            ready: whole(&ready),
            available: whole(&|pod| ready(pod) && long(pod)),
        }
    }

    /// How many instances of a role are so, by what is and what is seen.
    fn count(&self, state: &State, group: u32, role: usize, so: impl Fn(u32, Facts, Facts) -> bool) -> u32 {
        let of = |side, i| self.facts(state, side, (group, role, i));
        let counted = |i: &u32| so(*i, of(Side::World, *i), of(Side::View, *i));
        self.ordinals(group, role).filter(counted).count() as u32
    }

    fn target(&self, state: &State, role: usize) -> u8 {
        self.revision(self.wish(state).roles[role].revision)
    }

    fn changes(&self, state: &State, role: usize) -> bool {
        state.stable[role].is_some_and(|stable| stable != self.target(state, role))
    }

    fn limits(&self, state: &State, role: usize, group: u32) -> (Limits, u32) {
        let spec = self.wish(state);
        let (mut limits, mut partition) = coordinate::limits(spec, &spec.roles[role]);
        if group < spec.strategy.kept(spec.replicas) {
            partition = spec.roles[role].replicas;
        }
        if spec.strategy.kind == StrategyKind::GroupRecreate || group >= spec.replicas {
            limits.surge = 0;
        }
        (limits, partition)
    }

    fn eligible(&self, state: &State, role: usize, group: u32) -> std::ops::Range<u32> {
        self.limits(state, role, group).1..self.wish(state).roles[role].replicas
    }

    /// An engine without memory takes the lowest outdated pod it sees for what was stable, or the only other
    /// revision that is stored; where there is no pod at all it is as at a first start.
    pub fn recall(&self, state: &mut State) {
        for role in 0..state.stable.len() {
            if state.stable[role].is_some() {
                continue;
            }
            let target = self.target(state, role);
            let seen =
                || self.places.iter().zip(&state.slots).filter_map(|(place, slot)| Some((place, slot.view?)));
            let standing =
                seen().filter(|(place, pod)| place.role == role && pod.phase != Phase::Terminating);
            let witness = standing.map(|(_, pod)| pod.revision).find(|revision| *revision != target);
            let stored = (self.revisions.len() == 2 && seen().next().is_some()).then_some(1 - target.min(1));
            state.stable[role] = Some(witness.or(stored).unwrap_or(target));
        }
    }

    /// Which roles the engine sees complete, in all groups.
    pub fn complete_in_view(&self, state: &State) -> Vec<bool> {
        let spec = self.wish(state);
        let whole = |group, role: usize, of: &Role| {
            let target = self.target(state, role);
            let done =
                self.count(state, group, role, |i, _, v| i < of.replicas && v.at(target) && v.available);
            done == of.replicas
        };
        let roles = spec.roles.iter().enumerate();
        roles.map(|(role, of)| (0..spec.replicas).all(|group| whole(group, role, of))).collect()
    }

    /// Judges one act before it is performed.
    pub fn judge(&self, state: &mut State, act: &Act, watch: &mut Watch) -> Verdict {
        match act {
            Act::Create { group, role, instance, slots, pod, refill } => {
                let taken = slots.iter().any(|at| state.slots[*at].world.is_some());
                let of = (*group, *role, *instance);
                unless(!taken, || format!("one pod per name: {of:?} is created while it stands"))
                    .or_else(|| self.surge_ceiling(state, of))
                    .or_else(|| self.barrier(state, of, pod))
                    .or_else(|| if *refill { None } else { self.progress(state, of, pod) })
            }
            Act::Delete { group, role, instance, why, paid, .. } => {
                let of = (*group, *role, *instance);
                if matches!(why, DeleteWhy::Recreate | DeleteWhy::GroupRemoved) {
                    return self.group_floor(state, *group, watch);
                }
                watch.deleted.push(of);
                self.floor(state, of, *paid, watch)
                    .or_else(|| self.partition(state, of, *why))
                    .or_else(|| self.opening(state, of, *why, watch))
            }
        }
    }

    /// It works, and the engine does not know.
    pub fn works_unseen(&self, state: &State, act: &Act) -> bool {
        let Act::Delete { group, role, instance, .. } = act else { return false };
        let of = (*group, *role, *instance);
        self.facts(state, Side::World, of).available && !self.facts(state, Side::View, of).available
    }

    /// No instance that works is taken away when too few others do.
    fn floor(&self, state: &State, of: (u32, usize, u32), paid: bool, watch: &Watch) -> Verdict {
        let (group, role, _) = of;
        let seen = self.facts(state, Side::View, of);
        if !seen.available {
            // Then it goes only as it was seen, so it cannot work.
            return unless(!paid, || format!("floor: {of:?} is paid for and does not work"));
        }
        let replicas = self.wish(state).roles[role].replicas;
        let least = replicas.saturating_sub(self.limits(state, role, group).0.unavailable);
        let left = self
            .count(state, group, role, |i, _, v| v.available && !watch.deleted.contains(&(group, role, i)));
        unless(paid && left >= least, || format!("floor: {of:?} leaves {left} available, {least} must stay"))
    }

    fn partition(&self, state: &State, of: (u32, usize, u32), why: DeleteWhy) -> Verdict {
        let kept = self.limits(state, of.1, of.0).1;
        let moved = why == DeleteWhy::Update && of.2 < kept;
        unless(!moved, || format!("partition: {of:?} is below {kept} and deleted for the update"))
    }

    fn surge_ceiling(&self, state: &State, of: (u32, usize, u32)) -> Verdict {
        let spec = self.wish(state);
        let most = spec.roles[of.1].replicas + self.limits(state, of.1, of.0).0.surge;
        let groups = spec.replicas + spec.strategy.limits(spec.replicas).surge;
        unless(of.2 < most && of.0 < groups, || format!("surge ceiling: {of:?}, {most} may stand"))
    }

    /// Two revisions never stand in one recreated group.
    fn barrier(&self, state: &State, of: (u32, usize, u32), pod: &Pod) -> Verdict {
        if self.wish(state).strategy.kind != StrategyKind::GroupRecreate {
            return None;
        }
        let in_group = self.places.iter().zip(&state.slots).filter(|(place, _)| place.group == of.0);
        let other = in_group.filter_map(|(_, slot)| slot.world).find(|other| other.set != pod.set);
        unless(other.is_none(), || format!("recreate barrier: {of:?} at {}, {other:?} stands", pod.set))
    }

    /// What is created at the target: partition, containment, and the rules over roles.
    fn progress(&self, state: &mut State, of: (u32, usize, u32), pod: &Pod) -> Verdict {
        let (group, role, instance) = of;
        let spec = self.wish(state);
        let rolls = spec.strategy.kind == StrategyKind::RollingUpdate && group < spec.replicas;
        let target = self.target(state, role);
        if pod.revision != target || !self.changes(state, role) || !rolls {
            return None;
        }
        let eligible = self.eligible(state, role, group);
        if instance < eligible.start {
            return Some(format!("partition: {of:?} is created new below {}", eligible.start));
        }
        if instance >= eligible.end {
            return None;
        }
        let updated = 1 + self
            .count(state, group, role, |i, w, _| i != instance && eligible.contains(&i) && w.at(target));
        let proven = self.count(state, group, role, |_, w, v| {
            (w.at(target) && w.available) || (v.at(target) && v.available)
        });
        let most = self.limits(state, role, group).0.unavailable.max(1);
        if proven == 0 && updated > most {
            return Some(format!("containment: {of:?} makes {updated} unproven, at most {most}"));
        }
        // What had been updated comes back as it was: that is no progress, nor is what the engine takes for it.
        let known = self.updated(state, group, role) + u32::from(!self.seems_updated(state, of));
        let best = &mut state.best[group as usize * spec.roles.len() + role];
        let before = if best.0 == target { u32::from(best.1) } else { 0 };
        *best = (target, before.max(known) as u8);
        if updated <= before {
            return None;
        }
        spec.rules.iter().find_map(|rule| match &rule.kind {
            RuleKind::RollingUpdate(skew) => self.skew(state, group, spec, skew, role, updated),
            RuleKind::Steps(stages) => self.stages(state, group, spec, stages, role, updated),
            _ => None,
        })
    }

    fn updated(&self, state: &State, group: u32, role: usize) -> u32 {
        let (target, eligible) = (self.target(state, role), self.eligible(state, role, group));
        self.count(state, group, role, |i, w, v| eligible.contains(&i) && (w.at(target) || v.at(target)))
    }

    fn seems_updated(&self, state: &State, of: (u32, usize, u32)) -> bool {
        let target = self.target(state, of.1);
        [Side::World, Side::View].iter().any(|side| self.facts(state, *side, of).at(target))
    }

    fn updated_ready(&self, state: &State, group: u32, role: usize) -> u32 {
        let (target, eligible) = (self.target(state, role), self.eligible(state, role, group));
        let good = |facts: Facts| facts.at(target) && facts.ready;
        self.count(state, group, role, |i, w, v| eligible.contains(&i) && (good(w) || good(v)))
    }

    fn skew(
        &self,
        state: &State,
        group: u32,
        spec: &Spec,
        skew: &Skew,
        role: usize,
        updated: u32,
    ) -> Verdict {
        let roles = || skew.roles.iter().filter_map(|name| spec.role_index(name));
        if !roles().any(|r| r == role) {
            return None;
        }
        let smallest = roles().map(|r| spec.roles[r].replicas).min().unwrap_or(1);
        let bound = Ratio::of_skew(skew.max_skew, smallest).max(Ratio::new(1, u64::from(smallest)));
        let share = |n: u32, r: usize| Ratio::new(u64::from(n), u64::from(spec.roles[r].replicas));
        roles().filter(|other| *other != role && self.changes(state, *other)).find_map(|other| {
            if self.updated_ready(state, group, other) as usize >= self.eligible(state, other, group).len() {
                return None;
            }
            let behind = self.updated(state, group, other);
            unless(share(updated, role).within(share(behind, other), bound), || {
                format!("skew: group {group}, role {role} at {updated}, role {other} at {behind}")
            })
        })
    }

    fn stages(
        &self,
        state: &State,
        group: u32,
        spec: &Spec,
        stages: &[Stage],
        role: usize,
        updated: u32,
    ) -> Verdict {
        let asks: Vec<(usize, u32)> = stages
            .iter()
            .filter_map(|stage| match stage {
                Stage::Update { role, to } => {
                    let role = spec.role_index(role)?;
                    let eligible = self.eligible(state, role, group).len() as u32;
                    Some((role, update_to(*to, spec.roles[role].replicas, eligible)))
                }
                Stage::Pause { .. } => None,
            })
            .collect();
        if asks.iter().all(|(of, _)| *of != role) {
            return None;
        }
        let unmet =
            |(of, to): &(usize, u32)| self.changes(state, *of) && self.updated_ready(state, group, *of) < *to;
        let current = asks.iter().position(unmet)?;
        let named = asks[..=current].iter().filter(|(of, _)| *of == role).map(|(_, to)| *to);
        let allowed = named.max().unwrap_or(0);
        unless(updated <= allowed, || {
            format!("step order: group {group}, role {role} at {updated}, step {current} allows {allowed}")
        })
    }

    fn group_available(&self, state: &State, side: Side, group: u32, needed: impl Fn(&Role) -> u32) -> bool {
        self.wish(state).roles.iter().enumerate().all(|(role, of)| {
            let good = |w: Facts, v: Facts| if side == Side::World { w.available } else { v.available };
            self.count(state, group, role, |_, w, v| good(w, v)) >= needed(of)
        })
    }

    /// A whole group goes only while enough others are available and serve.
    fn group_floor(&self, state: &State, group: u32, watch: &mut Watch) -> Verdict {
        if watch.torn_down.contains(&group) {
            return None;
        }
        watch.torn_down.push(group);
        let spec = self.wish(state);
        let least = spec.replicas.saturating_sub(spec.strategy.limits(spec.replicas).unavailable);
        let one = |role: &Role| role.replicas.min(1);
        let fine = |g: u32, needed: &dyn Fn(&Role) -> u32| self.group_available(state, Side::View, g, needed);
        let others = |needed: &dyn Fn(&Role) -> u32| {
            (0..self.groups()).filter(|g| *g != group && fine(*g, needed)).count() as u32
        };
        let costs = fine(group, &Role::needed) && others(&Role::needed) < least;
        let stops = group < spec.replicas && fine(group, &one) && others(&one) < least;
        unless(!costs && !stops, || {
            format!("group floor: group {group} goes, {} others are available", others(&Role::needed))
        })
    }

    /// A group that is opened leaves enough others that are available and not under way.
    fn opening(&self, state: &State, of: (u32, usize, u32), why: DeleteWhy, watch: &mut Watch) -> Verdict {
        let spec = self.wish(state);
        let group = of.0;
        let moves = matches!(why, DeleteWhy::Update | DeleteWhy::Repair)
            && of.2 >= self.limits(state, of.1, group).1
            && spec.strategy.kind == StrategyKind::RollingUpdate;
        let open_already = self.in_update(state, group, true) || watch.opened.contains(&group);
        if !moves || open_already {
            return None;
        }
        let most = spec.strategy.limits(spec.replicas).unavailable;
        let under_way = |g: &u32| self.in_update(state, *g, false) || watch.opened.contains(g);
        let fine = |g: &u32| self.group_available(state, Side::View, *g, Role::needed) && !under_way(g);
        let others = || (0..self.groups()).filter(|g| *g != group);
        let enough = others().filter(fine).count() as u32 >= spec.replicas.saturating_sub(most);
        let moving = others().filter(|g| *g < spec.replicas && under_way(g)).count() as u32;
        let broken = !self.group_available(state, Side::View, group, Role::needed) && moving < most.max(1);
        watch.opened.push(group);
        unless(enough || broken, || format!("group floor: group {group} is opened, {moving} others move"))
    }

    /// On its way between revisions, as far as the engine sees. One with a hole may have been opened before.
    fn in_update(&self, state: &State, group: u32, lenient: bool) -> bool {
        let spec = self.wish(state);
        let (mut begun, mut unfinished, mut surging) = (false, false, false);
        for (role, of) in spec.roles.iter().enumerate() {
            let (target, eligible) = (self.target(state, role), self.eligible(state, role, group));
            let count = |so: &dyn Fn(Facts) -> bool| {
                self.count(state, group, role, |i, _, v| eligible.contains(&i) && so(v)) as usize
            };
            surging |= self.count(state, group, role, |i, _, v| i >= of.replicas && v.stands) > 0;
            if self.changes(state, role) {
                let hole = count(&|v| v.stands) < eligible.len();
                begun |= count(&|v| v.at(target)) > 0 || (lenient && hole);
                unfinished |= count(&|v| v.at(target) && v.available) < eligible.len();
            }
        }
        surging || (begun && unfinished)
    }

    /// Nothing went wrong and nobody changed their mind: the bounds hold for the world as it is.
    pub fn undisturbed(&self, state: &State) -> Verdict {
        if state.faults < self.faults.most || state.wish > 1 {
            return None;
        }
        let spec = self.wish(state);
        if spec.strategy.kind == StrategyKind::GroupRecreate || spec.replicas > 1 {
            let fine = |g: &u32| self.group_available(state, Side::World, *g, Role::needed);
            let available = (0..self.groups()).filter(fine).count() as u32;
            let least = spec.replicas.saturating_sub(spec.strategy.limits(spec.replicas).unavailable);
            if available < least {
                return Some(format!("group floor: {available} available, {least} must be"));
            }
        }
        if spec.strategy.kind == StrategyKind::GroupRecreate {
            return None;
        }
        (0..spec.replicas).find_map(|group| {
            (0..spec.roles.len()).find_map(|role| self.undisturbed_role(state, spec, group, role))
        })
    }

    fn undisturbed_role(&self, state: &State, spec: &Spec, group: u32, role: usize) -> Verdict {
        let (limits, kept) = self.limits(state, role, group);
        let replicas = spec.roles[role].replicas;
        let old = self.revision(self.wishes[0].roles[role].revision);
        let available = self.count(state, group, role, |_, w, _| w.available);
        let extra = self.count(state, group, role, |i, w, _| i >= replicas && w.exists);
        let untouched = self.count(state, group, role, |i, w, _| i < kept && w.at(old) && w.ready);
        let at = (group, role);
        unless(available + limits.unavailable >= replicas, || format!("floor: {at:?} has {available}"))
            .or_else(|| unless(extra <= limits.surge, || format!("surge ceiling: {at:?} has {extra}")))
            .or_else(|| unless(untouched == kept, || format!("partition: {at:?} below {kept}")))
            .or_else(|| {
                let updated = self.updated(state, group, role);
                spec.rules.iter().find_map(|rule| match &rule.kind {
                    RuleKind::RollingUpdate(skew) if updated > 0 && self.changes(state, role) => {
                        self.skew(state, group, spec, skew, role, updated)
                    }
                    _ => None,
                })
            })
    }
}
