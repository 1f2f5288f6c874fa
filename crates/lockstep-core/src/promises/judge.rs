//! One judge: what always holds, by one wish after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, by_hand, number};
use super::instance::Instance;
use super::members::Started;
use super::pauses::Pauses;
use super::{Broken, Promise};
use crate::model::{Role, RuleKind, Spec, StrategyKind};
use crate::revision::Revision;
use crate::simulate::trace::{By, End, Event, SpecEvent, Subject, What};

/// Judges what happens by one wish after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Judge {
    pub(super) history: History,
    torn_down: BTreeSet<(u64, u32)>,
    /// Instances that were available and went with their groups.
    went_along: Vec<(u64, Subject)>,
    /// What the first pod of an instance broke, if it goes for a reason that only the last one tells.
    owed: BTreeMap<Subject, Owed>,
    pub(super) pauses: Pauses,
    /// Which members of each instance had started.
    pub(super) started: BTreeMap<Subject, Started>,
    /// What the present event breaks.
    broken: Vec<Broken>,
}

/// What was broken when the first pod of an instance was taken.
#[derive(Debug, Clone, Default)]
struct Owed {
    /// Too few were left of its role, where whole groups come and go.
    floor: Option<Broken>,
    /// Its group was one too many, if this was a move.
    opening: Option<Broken>,
}

impl Judge {
    /// Whether anything was ever wished for.
    pub fn has_wish(&self) -> bool {
        self.history.wish.is_some()
    }

    /// How old at most may be what the engine did the last event upon.
    pub fn lag(&self) -> u64 {
        self.history.lag()
    }

    /// What another judge holds to be stable the engine may believe in, too.
    pub fn allow_beliefs(&mut self, t: u64, other: &mut Self) {
        other.history.learn_all(t);
        for (role, stable) in &other.history.stable {
            if self.history.stable.get(role) != Some(stable) {
                self.history.doubted.entry(role.clone()).or_default().insert(*stable);
            }
        }
    }

    /// Takes the next event. Returns what it breaks.
    pub fn see(&mut self, event: &Event) -> Vec<Broken> {
        self.history.late = event.late;
        self.take(event);
        std::mem::take(&mut self.broken)
    }

    fn take(&mut self, event: &Event) {
        let t = event.t;
        match &event.what {
            What::Spec(wish) => self.wish(t, wish),
            What::Create { of, revision, set_revision, .. } => {
                self.instance_ends(t, of);
                self.create(t, of, *revision, *set_revision);
            }
            What::MemberReady { of, member, .. } => self.member_ready(of, member),
            What::MemberFree { of, member, .. } => self.member_order(t, of, member),
            What::Ready { of, .. } => {
                self.owed.remove(of);
                self.history.gain(t, of);
                self.note_pauses(t, of.group);
            }
            What::Promoted(promotion) => self.promote(promotion),
            What::Unready { of, by, .. } => {
                self.history.learn_stable(&of.role, t);
                if *by == By::Engine {
                    self.engine_takes(t, of);
                }
                self.history.lose(t, of, *by, false);
            }
            What::Delete { of, by, why, .. } => {
                self.history.learn_stable(&of.role, t);
                if *by == By::Engine {
                    self.engine_deletes(t, of, why);
                }
                self.history.lose(t, of, *by, true);
            }
            What::Gone { of, .. } => {
                self.owed.remove(of);
                self.instance_ends(t, of);
                if let Some(instance) = self.history.instances.remove(of)
                    && let Some(lost) = instance.lost_at
                    && self.history.lag() > 0
                {
                    self.history.gone.push((t.max(lost), of.clone(), instance));
                }
            }
            What::End { outcome } => self.end(t, *outcome),
            What::Scheduled { of, .. } => {
                self.owed.remove(of);
                self.history.made_whole(of);
            }
            What::Gate { .. } | What::Ungate { .. } | What::Blocked { .. } => {}
        }
    }

    pub(super) fn fail(&mut self, t: u64, promise: Promise, detail: String) {
        self.broken.push(Broken { t, promise, detail });
    }

    fn wish(&mut self, t: u64, wish: &SpecEvent) {
        let recreates = wish.spec.strategy.kind == StrategyKind::GroupRecreate;
        self.history.only_recreated =
            recreates && (self.history.wish.is_none() || self.history.only_recreated);
        self.turn_pauses(t, wish);
        let before = self.history.take(t, wish);
        if before.is_none_or(|before| before.targets != wish.targets) {
            self.history.opened = self.history.between();
            let changes = |role: &&Role| self.history.changes(&role.name);
            self.history.changed =
                wish.spec.roles.iter().filter(changes).map(|role| role.name.clone()).collect();
        }
        (0..wish.spec.replicas).for_each(|group| self.note_pauses(t, group));
        // What stands at the target when the wish changes (a surge that has become an ordinal, say) was reached
        // without a move.
        for group in self.history.groups() {
            for role in &wish.spec.roles {
                self.history.reach(t, group, role);
            }
        }
    }

    fn create(&mut self, t: u64, of: &Subject, revision: Revision, set_revision: Revision) {
        self.history.learn_stable(&of.role, t);
        self.recreate_barrier(t, of, set_revision);
        self.history.instances.insert(of.clone(), Instance::fresh(t, revision, set_revision));
        let Some(spec) = self.history.spec().cloned() else { return };
        let Some(role) = spec.role(&of.role).cloned() else { return };
        self.surge_ceiling(t, of, &spec, &role);
        let opens = spec.strategy.kind == StrategyKind::RollingUpdate && of.group < spec.replicas;
        let rolls = opens && !by_hand(&spec, &role);
        let new = Some(revision) == self.history.target(&role.name) && self.history.changes(&role.name);
        let (limits, partition) = self.history.limits(&role, of.group);
        let eligible = (partition..role.replicas).contains(&of.instance);
        if new && eligible && !rolls {
            // A group that stood in for others may come to be wished for, with what it had reached.
            self.history.reach(t, of.group, &role);
        }
        if !new || !rolls {
            return;
        }
        if of.instance < partition {
            self.fail(t, Promise::PartitionUntouched, format!("{of} at {revision}, partition {partition}"));
        }
        if !eligible {
            return;
        }
        if role.pods() == 1 || !self.history.lately_stood(of, revision, t) {
            self.containment(t, of, &role, limits.unavailable.max(1));
        }
        let updated = self.history.updated(of.group, &role, t, false);
        if updated <= self.history.reach(t, of.group, &role) {
            // A unit that had been updated comes back as it was: that is no progress.
            return;
        }
        if spec.paused {
            self.fail(t, Promise::Paused, format!("{of} is created at {revision}"));
        }
        self.pauses_last(t, of.group, &spec, &role, updated);
        for rule in &spec.rules {
            match &rule.kind {
                RuleKind::RollingUpdate(skew) if skew.roles.contains(&role.name) => {
                    self.skew_bound(t, of.group, &spec, skew, &role, updated);
                }
                RuleKind::Steps(steps) => self.step_order(t, of.group, &spec, steps, &role, updated),
                _ => {}
            }
        }
    }

    fn surge_ceiling(&mut self, t: u64, of: &Subject, spec: &Spec, role: &Role) {
        let surge = self.history.limits(role, of.group).0.surge;
        let groups = spec.replicas + spec.strategy.limits(spec.replicas).surge;
        if of.instance >= role.replicas + surge || of.group >= groups {
            self.fail(
                t,
                Promise::SurgeCeiling,
                format!("{of}: {} and {surge} more may stand", role.replicas),
            );
        }
    }

    fn containment(&mut self, t: u64, of: &Subject, role: &Role, most: u32) {
        let target = self.history.target(&role.name);
        let updated = || self.history.of(of.group, &role.name).filter(|(_, x)| Some(x.revision) == target);
        let proven = updated().any(|(_, x)| self.history.seems_available(x, role, t));
        let eligible = self.history.limits(role, of.group).1..role.replicas;
        let unproven = updated().filter(|(i, x)| eligible.contains(i) && !x.leaving).count();
        if !proven && number(unproven) > most {
            self.fail(t, Promise::Containment, format!("{of} makes {unproven}, at most {most}"));
        }
    }

    fn recreate_barrier(&mut self, t: u64, of: &Subject, set_revision: Revision) {
        if !self.history.only_recreated {
            return;
        }
        let in_group = |other: &&Subject| other.group == of.group && *other != of;
        let other =
            self.history.instances.keys().filter(in_group).find(|other| {
                self.history.instances.get(other).is_some_and(|x| x.set_revision != set_revision)
            });
        if let Some(other) = other {
            let detail = format!("{of} at set revision {set_revision} while {other} has another");
            self.fail(t, Promise::RecreateBarrier, detail);
        }
    }

    /// An instance of several pods goes with the first of them that it cannot spare, whether or not the rest
    /// follow. Why it goes is only told with its last pod.
    fn engine_takes(&mut self, t: u64, of: &Subject) {
        let Some(spec) = self.history.spec().cloned() else { return };
        let Some(role) = spec.role(&of.role) else { return };
        let mut owed = Owed { floor: self.below_floor(t, of, role, "a pod of it"), opening: None };
        if self.history.rolls(of.group) {
            self.broken.extend(owed.floor.take());
            owed.opening = self.one_too_many(t, of.group, &spec);
        }
        if self.history.instances.get(of).is_some_and(|x| x.taken.is_none()) {
            self.owed.insert(of.clone(), owed);
        }
    }

    fn floor(&mut self, t: u64, of: &Subject, role: &Role, why: &str) {
        self.broken.extend(self.below_floor(t, of, role, why));
    }

    /// What the end of an instance that is available leaves of its role, if that is too little.
    fn below_floor(&self, t: u64, of: &Subject, role: &Role, why: &str) -> Option<Broken> {
        let available = |x: &Instance| self.history.is_available(&x.as_taken(), role, t);
        if !self.history.instances.get(of).is_some_and(available) {
            return None;
        }
        let floor = role.replicas.saturating_sub(self.history.limits(role, of.group).0.unavailable);
        let left = self.history.available_without(of.group, role, Some(of.instance), t);
        let left = left + self.overtaking(t, of, role);
        let detail = || format!("{of} ({why}) leaves {left} available, {floor} must stay");
        (left < floor).then(|| Broken { t, promise: Promise::Floor, detail: detail() })
    }

    /// How many of a role went with their whole group after it was decided that this one goes: their requests were
    /// faster, and what they cost was paid by the group.
    fn overtaking(&self, t: u64, of: &Subject, role: &Role) -> u32 {
        let late = self.history.late;
        let decided_after = |(at, other): &&(u64, Subject)| {
            let sibling = other.group == of.group && other.role == of.role && other.instance != of.instance;
            sibling && late > 0 && at + late >= t
        };
        let counted = |other: &Subject| {
            self.history.instances.get(other).is_some_and(|x| self.history.seems_available(x, role, t))
        };
        let overtaking = self.went_along.iter().filter(decided_after).map(|(_, other)| other);
        let overtaking: BTreeSet<&Subject> = overtaking.filter(|other| !counted(other)).collect();
        number(overtaking.len())
    }

    fn engine_deletes(&mut self, t: u64, of: &Subject, why: &str) {
        let Some(spec) = self.history.spec().cloned() else { return };
        if matches!(why, "Recreate" | "GroupRemoved") {
            let serves = why == "Recreate" && self.history.surely(of.group, t, Role::needed);
            if spec.paused && serves {
                self.fail(t, Promise::Paused, format!("group {} is recreated", of.group));
            }
            self.group_floor(t, of.group, &spec);
            let role = spec.role(&of.role);
            let available =
                |x: &Instance| role.is_some_and(|r| self.history.is_available(&x.as_taken(), r, t));
            if self.history.instances.get(of).is_some_and(available) {
                self.went_along.push((t, of.clone()));
            }
            // Where instances go one by one, each is paid for, whatever it is called.
            if let Some(role) = role.filter(|_| self.history.rolls(of.group)).cloned() {
                self.floor(t, of, &role, why);
            }
            return;
        }
        let Some(role) = spec.role(&of.role).cloned() else { return self.removed_role(t, of, &spec) };
        let Some(instance) = self.history.instances.get(of).copied() else { return };
        let wished = of.group < spec.replicas && of.instance < role.replicas;
        let outdated = wished && Some(instance.revision) != self.history.target(&role.name);
        let repairs = matches!(why, "Restart" | "FailedPod" | "Mixed" | "GangTermination" | "RoleRemoved");
        if by_hand(&spec, &role) && (matches!(why, "Update" | "Repair") || (outdated && !repairs)) {
            self.fail(t, Promise::ByHand, format!("{of} was deleted ({why})"));
        }
        let owed = self.owed.remove(of).filter(|_| instance.taken.is_some());
        match &owed {
            None => self.floor(t, of, &role, why),
            Some(owed) => self.broken.extend(owed.floor.clone()),
        }
        let available = self.history.is_available(&instance.as_taken(), &role, t);
        let kept = of.instance < self.history.limits(&role, of.group).1;
        if available && why == "Update" && kept {
            self.fail(t, Promise::PartitionUntouched, format!("{of} was deleted for the update"));
        }
        if available && why == "Update" && !kept && spec.paused {
            self.fail(t, Promise::Paused, format!("{of} was deleted for the update"));
        }
        let moves = matches!(why, "Update" | "Repair") && !kept;
        if moves && spec.strategy.kind == StrategyKind::RollingUpdate {
            if outdated && self.history.changes(&role.name) {
                let updated = self.history.updated(of.group, &role, t, false) + 1;
                self.pauses_last(t, of.group, &spec, &role, updated);
            }
            let opening = match owed {
                None => self.one_too_many(t, of.group, &spec),
                Some(owed) => owed.opening,
            };
            self.history.opened.insert(of.group);
            self.broken.extend(opening);
        }
    }

    fn removed_role(&mut self, t: u64, of: &Subject, spec: &Spec) {
        if of.group < spec.replicas && !self.history.complete(of.group, t) {
            self.fail(t, Promise::RemovedRole, format!("{of} goes while another role is not complete"));
        }
    }

    /// A group that is opened leaves enough others that are available and not under way themselves.
    fn one_too_many(&self, t: u64, group: u32, spec: &Spec) -> Option<Broken> {
        if self.history.in_update(group, t) || self.history.was_in_update(group, t) {
            return None;
        }
        let was_opened = self.history.opened.contains(&group);
        let most = spec.strategy.limits(spec.replicas).unavailable;
        // One that the world has just taken as a whole may still seem to stand.
        let all = (0..spec.replicas).chain(self.history.groups());
        let others: BTreeSet<u32> = all.filter(|other| *other != group).collect();
        let counted_on =
            others.iter().filter(|g| self.history.group_available(**g, t) && !self.history.in_update(**g, t));
        let enough = number(counted_on.count()) >= spec.replicas.saturating_sub(most);
        let under_way =
            others.iter().filter(|g| **g < spec.replicas && self.history.surely_in_update(**g, t)).count();
        let broken = !self.history.surely(group, t, Role::needed) && number(under_way) < most.max(1);
        // A group with a unit on its way out is open already, and so is one whose units have not come back.
        let open_already = self.history.leaves(group) || (was_opened && self.history.misses(group));
        let detail = || format!("group {group} is opened, {under_way} others are in update");
        let fails = !enough && !broken && !open_already;
        fails.then(|| Broken { t, promise: Promise::GroupFloor, detail: detail() })
    }

    /// A whole group is torn down only while enough others are available and serve.
    fn group_floor(&mut self, t: u64, group: u32, spec: &Spec) {
        if !self.torn_down.insert((t, group)) {
            return;
        }
        let floor = spec.replicas.saturating_sub(spec.strategy.limits(spec.replicas).unavailable);
        // A group of which nothing is wished is as it should be, though nothing of it stands.
        let all = (0..spec.replicas).chain(self.history.groups());
        let others: BTreeSet<u32> = all.filter(|other| *other != group).collect();
        let available = others.iter().filter(|g| self.history.group_available(**g, t)).count();
        let serving = others.iter().filter(|g| self.history.group_serves(**g, t)).count();
        let costs = self.history.surely(group, t, Role::needed) && number(available) < floor;
        let stops = group < spec.replicas && self.history.surely(group, t, |_| 1) && number(serving) < floor;
        if costs || stops {
            let detail =
                format!("group {group} goes, {available} others available, {serving} serve, floor {floor}");
            self.fail(t, Promise::GroupFloor, detail);
        }
    }

    fn end(&mut self, t: u64, outcome: End) {
        if !outcome.is_good() {
            match (outcome, self.history.left_behind(t, true)) {
                (End::Paused, None) => {}
                (End::Paused, Some(left)) => {
                    self.fail(t, Promise::Convergence, format!("{left} waits for nobody"));
                }
                _ => self.fail(t, Promise::Convergence, format!("ended {outcome:?}")),
            }
            return;
        }
        let Some(spec) = self.history.spec().cloned() else { return };
        let wished = spec.roles.iter().flat_map(|role| {
            (0..spec.replicas).flat_map(move |group| {
                (0..role.replicas).map(move |i| Subject { group, role: role.name.clone(), instance: i })
            })
        });
        let wished: BTreeSet<Subject> = wished.collect();
        // Groups below the partition keep what left the wish.
        let kept = spec.strategy.kept(spec.replicas);
        let stays = |of: &&Subject| of.group >= kept || spec.role(&of.role).is_some();
        let standing: BTreeSet<Subject> = self.history.instances.keys().filter(stays).cloned().collect();
        if wished != standing {
            let missing: Vec<_> = wished.difference(&standing).take(3).collect();
            let extra: Vec<_> = standing.difference(&wished).take(3).collect();
            self.fail(t, Promise::NoHoles, format!("missing {missing:?}, extra {extra:?}"));
        }
    }
}
