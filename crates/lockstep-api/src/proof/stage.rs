//! The state of things at one moment of a trace.

use std::collections::BTreeMap;

use lockstep_core::coordinate::{self, Progress};
use lockstep_core::model::{Role, Spec, StrategyKind};
use lockstep_core::names::RoleName;
use lockstep_core::number::Limits;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{Event, SpecEvent, Subject, What};

/// An instance that stands, or is on its way out.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Its revision.
    pub revision: Revision,
    /// Ready since.
    pub ready_since: Option<u64>,
    /// On its way out.
    pub leaving: bool,
}

/// Everything a trace has said so far.
#[derive(Debug, Default)]
pub struct Stage {
    /// The wish, and where it leads.
    pub wish: Option<SpecEvent>,
    /// What stands.
    pub units: BTreeMap<Subject, Unit>,
    /// The latest time.
    pub now: u64,
}

impl Stage {
    /// Takes the next event.
    pub fn see(&mut self, event: &Event) {
        self.now = event.t;
        match &event.what {
            What::Spec(wish) => self.wish = Some((**wish).clone()),
            What::Create { of, revision, .. } => {
                let unit = Unit { revision: *revision, ready_since: None, leaving: false };
                self.units.insert(of.clone(), unit);
            }
            What::Ready { of, .. } => {
                if let Some(unit) = self.units.get_mut(of) {
                    unit.ready_since = Some(event.t);
                }
            }
            What::Unready { of, .. } => {
                if let Some(unit) = self.units.get_mut(of) {
                    unit.ready_since = None;
                }
            }
            What::Delete { of, .. } => {
                if let Some(unit) = self.units.get_mut(of) {
                    *unit = Unit { ready_since: None, leaving: true, ..*unit };
                }
            }
            What::Gone { of, .. } => {
                self.units.remove(of);
            }
            _ => {}
        }
    }

    /// What is wished for.
    pub fn spec(&self) -> Option<&Spec> {
        self.wish.as_ref().map(|wish| &wish.spec)
    }

    /// An instance that nobody wishes for: a surge, or one of a role or group that shrank.
    pub fn is_beyond(&self, of: &Subject) -> bool {
        let size = self.spec().and_then(|spec| Some((spec.replicas, spec.role(&of.role)?.replicas)));
        !size.is_some_and(|(groups, instances)| of.group < groups && of.instance < instances)
    }

    /// The revision a role is to have.
    pub fn target(&self, role: &RoleName) -> Option<Revision> {
        self.wish.as_ref()?.targets.get(role).copied()
    }

    /// Whether a role is on its way to another revision.
    pub fn changes(&self, role: &RoleName) -> bool {
        let stable = self.wish.as_ref().and_then(|wish| wish.stable.get(role));
        stable.is_some_and(|stable| Some(*stable) != self.target(role))
    }

    /// The instances of a role in a group.
    pub fn of<'a>(&'a self, group: u32, role: &'a RoleName) -> impl Iterator<Item = (u32, &'a Unit)> {
        let first = Subject { group, role: role.clone(), instance: 0 };
        let all = self.units.range(first..);
        let here = all.take_while(move |(of, _)| of.group == group && of.role == *role);
        here.map(|(of, unit)| (of.instance, unit))
    }

    /// Ready for as long as the role asks for.
    pub fn is_available(&self, unit: &Unit, role: &Role) -> bool {
        !unit.leaving && unit.ready_since.is_some_and(|since| since + role.min_ready.0 <= self.now)
    }

    /// How many instances of a role are available in a group, surge included.
    pub fn available(&self, group: u32, role: &Role) -> u32 {
        number(self.of(group, &role.name).filter(|(_, unit)| self.is_available(unit, role)).count())
    }

    /// Every role has what the group needs.
    pub fn group_available(&self, group: u32, spec: &Spec) -> bool {
        spec.roles.iter().all(|role| self.available(group, role) >= role.needed())
    }

    /// How many groups are available, surge groups included.
    pub fn groups_available(&self, spec: &Spec) -> u32 {
        let mut groups: Vec<u32> = self.units.keys().map(|of| of.group).collect();
        groups.dedup();
        number(groups.iter().filter(|group| self.group_available(**group, spec)).count())
    }

    /// Limits and partition of a role in a group.
    pub fn limits(&self, group: u32, role: &Role) -> (Limits, u32) {
        let Some(spec) = self.spec() else { return (Limits { unavailable: 0, surge: 0 }, 0) };
        let (limits, partition) = coordinate::limits(spec, role);
        let first = self.wish.as_ref().is_none_or(|wish| !wish.stable.contains_key(&role.name));
        let kept = group < spec.strategy.kept(spec.replicas);
        match (first, kept) {
            (true, _) => (limits, 0),
            (false, true) => (limits, role.replicas),
            (false, false) => (limits, partition),
        }
    }

    fn count(&self, group: u32, role: &Role, which: impl Fn(&Unit) -> bool) -> u32 {
        let eligible = self.limits(group, role).1..role.replicas;
        let target = self.target(&role.name);
        let fits = |unit: &Unit| !unit.leaving && Some(unit.revision) == target && which(unit);
        number(self.of(group, &role.name).filter(|(i, unit)| eligible.contains(i) && fits(unit)).count())
    }

    /// Eligible instances at the target.
    pub fn updated(&self, group: u32, role: &Role) -> u32 {
        self.count(group, role, |_| true)
    }

    /// How far every role of a group has come.
    pub fn progress(&self, group: u32) -> Vec<Progress> {
        let Some(spec) = self.spec() else { return Vec::new() };
        let of = |role: &Role| Progress {
            desired: role.replicas,
            eligible: role.replicas.saturating_sub(self.limits(group, role).1),
            ready: self.count(group, role, |unit| unit.ready_since.is_some()),
            settled: !self.changes(&role.name),
        };
        spec.roles.iter().map(of).collect()
    }

    /// Everything eligible in the group is updated and available.
    pub fn group_done(&self, group: u32) -> bool {
        let Some(spec) = self.spec() else { return true };
        spec.roles.iter().filter(|role| self.changes(&role.name)).all(|role| {
            let eligible = role.replicas.saturating_sub(self.limits(group, role).1);
            self.count(group, role, |unit| self.is_available(unit, role)) >= eligible
        })
    }

    /// The group is on its way between revisions.
    pub fn in_update(&self, group: u32) -> bool {
        let Some(spec) = self.spec() else { return false };
        if group >= spec.replicas {
            return false;
        }
        let mut changing = spec.roles.iter().filter(|role| self.changes(&role.name));
        let begun = changing.any(|role| {
            self.updated(group, role) > 0 || self.of(group, &role.name).any(|(_, unit)| unit.leaving)
        });
        let recreated = spec.strategy.kind == StrategyKind::GroupRecreate;
        let surge = spec
            .roles
            .iter()
            .any(|role| self.of(group, &role.name).any(|(i, unit)| i >= role.replicas && !unit.leaving));
        (begun && !self.group_done(group)) || (surge && !recreated)
    }
}

/// A count as the engine's numbers.
pub fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
