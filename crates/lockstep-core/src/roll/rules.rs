//! The five rules, one method each, over one account.

use super::{Assigned, Held, Hold, Moves, Pace, Removal, Roll, Tally, Why};
use crate::model::Order;
use crate::unit::{At, STABLY, Standing, Unit};

/// A level on its way through the rules.
pub(crate) struct Rolling<'a> {
    ask: &'a Roll,
    units: &'a [Unit],
    tally: Tally,
    permit: &'a mut dyn FnMut(u32) -> bool,
    /// What may still be taken from the available units.
    pub(crate) account: i64,
    /// What may still begin to move.
    grant: u32,
    /// What might at first: what rules 3 and 4 took of it is in motion now.
    grant_at_first: u32,
    /// What an unproven target may still take.
    room: u32,
    /// How many units may still stop serving.
    may_stop_serving: i64,
    pub(crate) moves: Moves,
}

impl<'a> Rolling<'a> {
    pub(crate) fn new(
        ask: &'a Roll,
        units: &'a [Unit],
        tally: Tally,
        permit: &'a mut dyn FnMut(u32) -> bool,
    ) -> Self {
        let floor = i64::from(ask.desired) - i64::from(ask.limits.unavailable);
        let grant = match ask.pace {
            Pace::Go => ask.allowed().saturating_sub(tally.updated).saturating_sub(tally.leaving),
            Pace::Paused | Pace::OnDelete | Pace::Fixed => 0,
        };
        let contained = ask.has_old && ask.unproven && !tally.proven && ask.pace != Pace::OnDelete;
        let room =
            if contained { ask.limits.unavailable.max(1).saturating_sub(tally.on_the_way) } else { u32::MAX };
        Self {
            ask,
            units,
            tally,
            permit,
            account: i64::from(tally.available) - floor,
            grant,
            grant_at_first: grant,
            room,
            may_stop_serving: i64::from(tally.serving) - floor,
            moves: Moves { tally, ..Moves::default() },
        }
    }

    /// Rule 1: what is gone returns, new if it has a slot, else as it was.
    pub(super) fn recover(&mut self) {
        let ask = self.ask;
        let ever = ask.allowed().max(ask.eligible().min(ask.reached));
        let mut slots = match ask.pace {
            Pace::OnDelete => ask.eligible(),
            _ => ever.saturating_sub(self.tally.updated),
        };
        let gone_or_leaving = self.gone_or_leaving();
        let descending = ask.order == Order::Descending;
        let count = gone_or_leaving.len();
        for i in 0..count {
            let (ordinal, gone) = gone_or_leaving[if descending { count - 1 - i } else { i }];
            let assigned = if !ask.has_old {
                Assigned::Target
            } else if ordinal < ask.kept() || slots == 0 {
                Assigned::Old
            } else {
                slots -= 1;
                match (gone, self.room) {
                    (true, 0) => Assigned::Old,
                    (true, _) => {
                        self.room -= 1;
                        Assigned::Target
                    }
                    (false, _) => Assigned::Target,
                }
            };
            if gone {
                self.moves.recover.push((ordinal, assigned));
            }
        }
        self.moves.recover.sort_unstable();
    }

    /// Wished-for ordinals without a unit that stays, ascending; whether each is gone altogether.
    fn gone_or_leaving(&self) -> Vec<(u32, bool)> {
        let mut found = Vec::new();
        let mut next = 0;
        for unit in self.units.iter().take_while(|unit| self.ask.wished(unit)) {
            found.extend((next..unit.ordinal).map(|ordinal| (ordinal, true)));
            if unit.standing == Standing::Terminating || unit.at == At::Mixed {
                found.push((unit.ordinal, false));
            }
            next = unit.ordinal.saturating_add(1);
        }
        found.extend((next..self.ask.desired).map(|ordinal| (ordinal, true)));
        found
    }

    /// A unit whose pods do not agree is of no use to anybody.
    pub(super) fn remove_mixed(&mut self) {
        for unit in self.units {
            let below_end = u64::from(unit.ordinal) < self.ask.end();
            if below_end && unit.standing == Standing::Present && unit.at == At::Mixed {
                self.remove(unit, Why::Mixed, false);
            }
        }
    }

    /// Rule 2: excess goes; what is available only on the account.
    pub(crate) fn remove_excess(&mut self) {
        let end = self.ask.end();
        for unit in self.units.iter().rev().take_while(|unit| u64::from(unit.ordinal) >= end) {
            self.remove_surplus(unit, Why::Excess);
        }
    }

    fn remove_surplus(&mut self, unit: &Unit, why: Why) -> bool {
        if unit.standing != Standing::Present {
            return false;
        }
        if unit.available {
            if self.account <= 0 {
                self.hold(unit.ordinal, Hold::Budget);
                return false;
            }
            return self.remove(unit, why, true);
        }
        // A group that lacks its minimum and still serves stands in for one that is short itself.
        self.may_leave_service(unit) && self.remove(unit, why, false)
    }

    /// Rule 3: what does not work is moved without paying.
    pub(super) fn free_moves(&mut self) {
        let ask = self.ask;
        let mut broken: Vec<&Unit> = self
            .units
            .iter()
            .filter(|unit| ask.wished(unit) && unit.outdated() && unit.at != At::Mixed)
            .filter(|unit| unit.stably_broken || unit.held)
            .collect();
        self.sort(&mut broken);
        let mut applied = false;
        for unit in broken {
            if ask.is_eligible(unit) {
                applied = true;
                self.move_free(unit);
            } else if unit.at == At::Other && unit.stably_broken && ask.repairs() {
                // It goes back to what is stable, which is no progress and needs no grant.
                let _ = self.may_leave_service(unit) && self.remove(unit, Why::Repair, false);
            }
        }
        if !applied {
            self.move_one_that_flaps();
        }
    }

    fn move_free(&mut self, unit: &Unit) -> bool {
        if self.grant == 0 {
            self.hold(unit.ordinal, Hold::Ceiling);
            return false;
        }
        if self.room == 0 {
            self.hold(unit.ordinal, Hold::Containment);
            return false;
        }
        if !self.may_leave_service(unit) || !self.remove(unit, Why::Repair, false) {
            return false;
        }
        self.grant -= 1;
        self.room = self.room.saturating_sub(1);
        true
    }

    /// Old pods that come and go are never available and never broken for long; one of them may be moved
    /// when nothing else is under way.
    fn move_one_that_flaps(&mut self) {
        let ask = self.ask;
        let in_motion = self.in_motion() > 0;
        let floor = i64::from(ask.desired) - i64::from(ask.limits.unavailable);
        let available = i64::from(self.tally.available);
        if in_motion || self.grant == 0 || !(available >= floor || available == 0) {
            return;
        }
        let age = ask.min_ready + STABLY;
        let mut old_enough: Vec<&Unit> = self
            .units
            .iter()
            // One that is ready may have been so for longer than its pods tell, which come and go by turns.
            .filter(|unit| ask.is_eligible(unit) && unit.outdated() && !unit.ready)
            .filter(|unit| ask.now.since(unit.created) > age)
            .collect();
        self.sort(&mut old_enough);
        if let Some(unit) = old_enough.first() {
            self.move_free(unit);
        }
    }

    /// Eligible ordinals that are gone, terminating, or updated and not available.
    fn in_motion(&self) -> u32 {
        self.tally.leaving + self.tally.updated - self.tally.updated_available
    }

    /// Eligible ordinals that are not (updated and available).
    fn unfinished(&self) -> u32 {
        self.ask.eligible().saturating_sub(self.tally.updated_available)
    }

    /// Rule 4: available outdated units, in order, while grant and account last.
    pub(super) fn budgeted_moves(&mut self) {
        let ask = self.ask;
        let eligible = |unit: &&Unit| ask.is_eligible(unit) && unit.outdated() && unit.available;
        match ask.order {
            Order::Descending => self.move_paid(self.units.iter().rev().filter(eligible)),
            Order::Ascending => self.move_paid(self.units.iter().filter(eligible)),
            Order::OldestFirst => {
                let mut oldest: Vec<&Unit> = self.units.iter().filter(eligible).collect();
                oldest.sort_by_key(|unit| (unit.created, unit.ordinal));
                self.move_paid(oldest.into_iter());
            }
        }
    }

    fn move_paid(&mut self, units: impl Iterator<Item = &'a Unit>) {
        if self.ask.pace == Pace::Fixed {
            return;
        }
        for unit in units {
            if self.grant == 0 || self.account <= 0 || self.room == 0 {
                let by = match (self.grant, self.account) {
                    (0, _) => Hold::Ceiling,
                    (_, 1..) => Hold::Containment,
                    _ => self.budget_hold(),
                };
                self.hold(unit.ordinal, by);
                return;
            }
            if self.may_leave_service(unit) && self.remove(unit, Why::Update, true) {
                self.grant -= 1;
                // Beyond this it would only return as it was.
                self.room = self.room.saturating_sub(1);
            }
        }
    }

    /// What a person should look at when the account is empty.
    fn budget_hold(&self) -> Hold {
        let surge = |unit: &&Unit| self.ask.in_surge_room(unit) && unit.updated() && !unit.available;
        match self.units.iter().rev().find(surge) {
            Some(unit) if unit.unscheduled => Hold::SurgeUnscheduled,
            Some(_) if self.tally.leaving + self.tally.on_the_way == 0 => Hold::SurgeNotReady,
            _ => Hold::Budget,
        }
    }

    /// Rule 5: surge stands in for what is in motion, and goes when it is no longer needed.
    pub(crate) fn surge(&mut self) {
        if self.ask.pace == Pace::Fixed {
            return;
        }
        let (surge, unavailable) = (self.ask.limits.surge, self.ask.limits.unavailable);
        let unfinished = self.unfinished();
        let kept = self.ask.pace == Pace::Paused && unfinished > 0;
        if !kept {
            self.remove_outdated_surge();
            let wanted = unfinished.saturating_sub(unavailable).min(surge);
            self.reclaim(self.tally.surge.saturating_sub(wanted));
        }
        let started = self.grant_at_first > 0 || self.tally.surge > 0;
        if self.tally.outdated == 0 || !started || self.ask.pace == Pace::OnDelete {
            return;
        }
        let needed = unfinished.min(self.in_motion().saturating_add(self.grant_at_first));
        let up_to = needed.saturating_sub(unavailable).min(surge);
        self.create_surge(up_to.saturating_sub(self.tally.surge));
    }

    fn remove_outdated_surge(&mut self) {
        for unit in self.units.iter().rev().take_while(|unit| !self.ask.wished(unit)) {
            if self.ask.in_surge_room(unit) && unit.outdated() && unit.at != At::Mixed {
                self.remove_surplus(unit, Why::SurgeOutdated);
            }
        }
    }

    fn reclaim(&mut self, mut surplus: u32) {
        for unit in self.units.iter().rev().take_while(|unit| !self.ask.wished(unit)) {
            if surplus == 0 {
                return;
            }
            if self.ask.in_surge_room(unit) && unit.updated() {
                self.remove_surplus(unit, Why::SurgeDone);
                surplus -= 1;
            }
        }
    }

    fn create_surge(&mut self, mut missing: u32) {
        let mut taken = self.units.iter().skip_while(|unit| self.ask.wished(unit)).peekable();
        let mut ordinal = self.ask.desired;
        while missing > 0 && u64::from(ordinal) < self.ask.end() {
            if taken.peek().is_some_and(|unit| unit.ordinal == ordinal) {
                taken.next();
            } else {
                self.moves.surge.push(ordinal);
                missing -= 1;
            }
            ordinal += 1;
        }
    }

    fn may_leave_service(&mut self, unit: &Unit) -> bool {
        if !unit.serves {
            return true;
        }
        if self.may_stop_serving <= 0 {
            self.hold(unit.ordinal, Hold::Serving);
            return false;
        }
        true
    }

    /// Removes a unit if the outside budgets allow it.
    fn remove(&mut self, unit: &Unit, why: Why, paid: bool) -> bool {
        if !(self.permit)(unit.ordinal) {
            self.hold(unit.ordinal, Hold::OutsideBudget);
            return false;
        }
        self.account -= i64::from(paid);
        self.may_stop_serving -= i64::from(unit.serves);
        self.moves.remove.push(Removal { ordinal: unit.ordinal, why, paid });
        true
    }

    fn hold(&mut self, ordinal: u32, by: Hold) {
        let of_its_kind = |held: &Held| match by {
            Hold::Budget => matches!(held.by, Hold::Budget | Hold::NotReadyYet | Hold::Termination),
            _ => held.by == by,
        };
        if self.moves.held.iter().any(of_its_kind) {
            return;
        }
        let waits_for = match by {
            Hold::SurgeUnscheduled | Hold::SurgeNotReady => {
                self.units.iter().rev().find(|u| self.ask.in_surge_room(u) && !u.available).map(|u| u.ordinal)
            }
            _ => self.waits_for(),
        };
        let by = match by {
            Hold::Budget if self.tally.on_the_way > 0 => self.motion_hold(),
            other => other,
        };
        self.moves.held.push(Held { ordinal, by, waits_for });
    }

    /// The unit in motion that everything else waits for.
    fn waits_for(&self) -> Option<u32> {
        let waiting = |unit: &&Unit| {
            self.ask.is_eligible(unit)
                && (unit.standing == Standing::Terminating || (unit.updated() && !unit.available))
        };
        self.units.iter().find(waiting).map(|unit| unit.ordinal)
    }

    fn motion_hold(&self) -> Hold {
        let starting = |unit: &Unit| self.ask.is_eligible(unit) && unit.updated() && !unit.available;
        if self.units.iter().any(starting) { Hold::NotReadyYet } else { Hold::Termination }
    }

    /// Unscheduled first, then not ready, then by ordinal.
    fn sort(&self, units: &mut [&Unit]) {
        match self.ask.order {
            Order::Descending => {
                units.sort_by_key(|u| (!u.unscheduled, u.ready, std::cmp::Reverse(u.ordinal)));
            }
            Order::Ascending => units.sort_by_key(|u| (!u.unscheduled, u.ready, u.ordinal)),
            Order::OldestFirst => units.sort_by_key(|u| (!u.unscheduled, u.ready, u.created, u.ordinal)),
        }
    }
}
