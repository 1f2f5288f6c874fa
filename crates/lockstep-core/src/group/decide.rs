//! What is done with each group: opened, torn down, added, taken away.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Fixed, Groups, Level, Mode};
use crate::model::{Order, StrategyKind};
use crate::observe::Seen;
use crate::roll::{Assigned, Held, Hold, Moves, Pace, Roll, Rolling, roll};
use crate::time::Millis;
use crate::unit::{At, Standing, Unit};

impl Level<'_> {
    /// What is done with each group.
    pub fn decide(
        &self,
        seen: &BTreeMap<u32, Seen<'_>>,
        facts: &BTreeMap<u32, Facts>,
        permit: &mut dyn FnMut(u32) -> bool,
    ) -> Groups {
        match self.spec.strategy.kind {
            StrategyKind::GroupRecreate => self.recreate(seen, facts, permit),
            StrategyKind::RollingUpdate | StrategyKind::OnDelete => self.open(seen, facts, permit),
        }
    }

    fn ask(&self) -> Roll {
        let pace = match (self.spec.strategy.kind, self.spec.paused) {
            (StrategyKind::OnDelete, _) => Pace::OnDelete,
            (_, true) => Pace::Paused,
            (_, false) => Pace::Go,
        };
        let reached = self.memory.reached.filter(|known| known.target == self.aims.set_target);
        Roll {
            desired: self.spec.replicas,
            limits: self.limits(),
            partition: self.kept(),
            order: self.spec.strategy.order,
            ceiling: None,
            reached: reached.map_or(0, |known| known.count),
            pace,
            has_old: self.aims.roles.iter().any(|aim| aim.compass.old.is_some()),
            unproven: self.aims.set_old != self.aims.set_target,
            min_ready: Millis(0),
            now: self.now,
        }
    }

    /// GroupRecreate: groups are rolled as units.
    fn recreate(
        &self,
        seen: &BTreeMap<u32, Seen<'_>>,
        facts: &BTreeMap<u32, Facts>,
        permit: &mut dyn FnMut(u32) -> bool,
    ) -> Groups {
        // A group of which nothing is wished for is whole again once it is gone.
        let empty = self.spec.roles.iter().all(|role| role.replicas == 0);
        let standing = |facts: &Facts| match facts.exists {
            true => Some(facts.unit),
            false if empty && facts.unit.ordinal < self.spec.replicas => Some(Unit {
                standing: Standing::Present,
                at: At::Target,
                available: true,
                held: false,
                ..facts.unit
            }),
            false => None,
        };
        let units: Vec<Unit> = facts.values().filter_map(standing).collect();
        let Moves { recover, surge, remove, held, tally } = roll(&self.ask(), &units, permit);
        let mut groups = Groups { held, surge: surge.into_iter().collect(), ..Groups::default() };
        groups.updated = tally.updated;
        for (&ordinal, facts) in facts {
            let mode = match (facts.unit.standing, facts.unit.at) {
                (Standing::Terminating, _) => Mode::Leaving,
                (_, At::Target) => Mode::Fixed(Fixed::Target),
                (_, At::Old) => Mode::Fixed(Fixed::Old),
                _ => Mode::Fixed(Fixed::Own),
            };
            if seen.contains_key(&ordinal) && facts.exists {
                groups.modes.insert(ordinal, mode);
            }
        }
        for (ordinal, assigned) in recover {
            let fixed = if assigned == Assigned::Target { Fixed::Target } else { Fixed::Old };
            groups.modes.insert(ordinal, Mode::Fixed(fixed));
        }
        for removal in remove {
            groups.modes.insert(removal.ordinal, Mode::Remove { why: removal.why, paid: removal.paid });
        }
        groups.modes.extend(groups.surge.iter().map(|g| (*g, Mode::Fixed(Fixed::Target))));
        groups
    }

    /// RollingUpdate: moving a group means opening it.
    fn open(
        &self,
        seen: &BTreeMap<u32, Seen<'_>>,
        facts: &BTreeMap<u32, Facts>,
        permit: &mut dyn FnMut(u32) -> bool,
    ) -> Groups {
        let ask = self.ask();
        // A group in update may lose instances at any moment, so it is not counted on.
        let counted_on = |facts: &Facts| Unit {
            available: facts.unit.available && !facts.under_way,
            serves: false,
            ..facts.unit
        };
        let units: Vec<Unit> = facts.values().filter(|facts| facts.exists).map(counted_on).collect();
        let tally = ask.tally(&units);
        let mut rolling = Rolling::new(&ask, &units, tally, permit);
        rolling.remove_excess();
        let mut groups = Groups::default();
        let open = self.opened(facts, &mut rolling.account, &mut groups.held);
        rolling.surge();
        let Moves { surge, remove, held, .. } = rolling.moves;
        groups.held.extend(held);
        groups.surge = surge.into_iter().collect();
        for &ordinal in seen.keys() {
            let leaving =
                facts.get(&ordinal).is_some_and(|facts| facts.unit.standing == Standing::Terminating);
            let mode = if ordinal >= self.spec.replicas {
                if leaving { Mode::Leaving } else { Mode::Fixed(Fixed::Target) }
            } else {
                Mode::Rolling { open: open.contains(&ordinal), kept: ordinal < self.kept() && ask.has_old }
            };
            groups.modes.insert(ordinal, mode);
        }
        for removal in remove {
            groups.modes.insert(removal.ordinal, Mode::Remove { why: removal.why, paid: removal.paid });
        }
        groups.modes.extend(groups.surge.iter().map(|g| (*g, Mode::Fixed(Fixed::Target))));
        groups
    }

    /// The groups that may move: those under way, and as many more as the limits allow.
    fn opened(&self, facts: &BTreeMap<u32, Facts>, account: &mut i64, held: &mut Vec<Held>) -> BTreeSet<u32> {
        let eligible = || facts.range(self.kept()..self.spec.replicas.max(self.kept()));
        let mut open: BTreeSet<u32> = eligible().filter(|(_, f)| f.under_way).map(|(g, _)| *g).collect();
        let most = self.limits().unavailable.max(1);
        // One below the partition may still have surge to give back.
        let under_way = facts.range(0..self.spec.replicas).filter(|(_, facts)| facts.under_way).count();
        let mut in_update = u32::try_from(under_way).unwrap_or(u32::MAX);
        let mut waiting: Vec<(&u32, &Facts)> =
            eligible().filter(|(_, f)| f.needs_work && !f.under_way).collect();
        waiting.sort_by_key(|(_, facts)| self.rank(facts));
        for (&ordinal, facts) in waiting {
            let may = if facts.available { *account > 0 } else { in_update < most };
            if !may || self.spec.paused {
                if held.is_empty() {
                    let waits_for = open.last().copied();
                    held.push(Held { ordinal, by: Hold::Budget, waits_for });
                }
                continue;
            }
            *account -= i64::from(facts.available);
            in_update += 1;
            open.insert(ordinal);
        }
        open
    }

    /// Unscheduled first, then below the minimum, then by ordinal.
    fn rank(&self, facts: &Facts) -> (bool, bool, u64, i64) {
        let unit = facts.unit;
        let (age, ordinal) = match self.spec.strategy.order {
            Order::Descending => (0, -i64::from(unit.ordinal)),
            Order::Ascending => (0, i64::from(unit.ordinal)),
            Order::OldestFirst => (unit.created.0, i64::from(unit.ordinal)),
        };
        (!unit.unscheduled, facts.available, age, ordinal)
    }
}
