//! Rolling one level: instances inside a role, or groups inside a set. The heart of Lockstep.
//!
//! Five rules over one account. Whoever reads this should have the picture of ordinals before them:
//! `[0, p)` stays old, `[p, d)` is eligible, `[d, d+S)` is room for surge, and what stands above is excess.

mod rules;

pub(crate) use self::rules::Rolling;
use crate::model::Order;
use crate::number::Limits;
use crate::time::{Millis, Time};
use crate::unit::{At, Standing, Unit};

/// What is asked of one level.
#[derive(Debug, Clone, Copy)]
pub struct Roll {
    /// How many units are wished for: `d`.
    pub desired: u32,
    /// How many may be unavailable (`U`) and how many may stand beyond (`S`).
    pub limits: Limits,
    /// How many of the lowest ordinals stay old: `p`.
    pub partition: u32,
    /// Who goes first.
    pub order: Order,
    /// How many eligible units may be updated, by the rules over roles: `C`; no rule, no ceiling.
    pub ceiling: Option<u32>,
    /// How many were updated at best under this target.
    pub reached: u32,
    /// Whether moves are made at all.
    pub pace: Pace,
    /// Whether there is a stable revision to return to. Without one everything is created at the target,
    /// without partition, ceiling or containment.
    pub has_old: bool,
    /// The target never became stable, so it is contained until it proves itself.
    pub unproven: bool,
    /// How long ready makes available.
    pub min_ready: Millis,
    /// The time.
    pub now: Time,
}

/// Whether moves are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Within the limits.
    Go,
    /// Nothing moves forward; what is lost returns as it was; surge is kept.
    Paused,
    /// Nothing is moved, but what somebody deleted returns at the target.
    OnDelete,
    /// Nothing is moved: another level decides.
    Fixed,
}

/// At which revision a gone ordinal returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assigned {
    /// At the target.
    Target,
    /// At the stable revision.
    Old,
}

/// Why a unit is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It moves to the target and was available.
    Update,
    /// It moves to the target; it did not work anyway.
    Repair,
    /// Its pods do not agree.
    Mixed,
    /// It is beyond what is wished for.
    Excess,
    /// It stood in for others and is no longer needed.
    SurgeDone,
    /// It stood in for others at a revision that is no longer wished for.
    SurgeOutdated,
}

/// A unit to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// Its ordinal.
    pub ordinal: u32,
    /// Why.
    pub why: Why,
    /// It was available and is paid from the account.
    pub paid: bool,
}

/// What keeps a level from going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// A unit in motion is not available yet.
    NotReadyYet,
    /// As many as may be unavailable are.
    Budget,
    /// The ceiling of a rule over roles.
    Ceiling,
    /// A unit is on its way out.
    Termination,
    /// The target has not proved itself yet.
    Containment,
    /// Outside budgets refuse the removal.
    OutsideBudget,
    /// A group still serves, and no more groups may stop serving.
    Serving,
    /// The surge has no node.
    SurgeUnscheduled,
    /// The surge is starting.
    SurgeNotReady,
}

/// A hold on one ordinal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The unit that would go next.
    pub ordinal: u32,
    /// What holds it.
    pub by: Hold,
    /// The unit it waits for, where there is one.
    pub waits_for: Option<u32>,
}

/// What a level does now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// Gone ordinals that return.
    pub recover: Vec<(u32, Assigned)>,
    /// Surge to be created, at the target.
    pub surge: Vec<u32>,
    /// Units to be removed.
    pub remove: Vec<Removal>,
    /// What the level would do but may not.
    pub held: Vec<Held>,
    /// Its counts before any of this.
    pub tally: Tally,
}

/// The counts of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Eligible ordinals that are updated and not terminating, whatever their health: `c`.
    pub updated: u32,
    /// Those of them that are ready: `ru`.
    pub updated_ready: u32,
    /// Those of them that are available.
    pub updated_available: u32,
    /// All available units, surge and excess included: `av`.
    pub available: u32,
    /// Ready units among the wished-for ordinals.
    pub ready: u32,
    /// Eligible ordinals that are gone or terminating: `m`.
    pub leaving: u32,
    /// Eligible ordinals that are terminating, or updated and not available.
    pub on_the_way: u32,
    /// Eligible ordinals that exist and are not updated.
    pub outdated: u32,
    /// Surge at the target that stands.
    pub surge: u32,
    /// Surge at the target that is available.
    pub surge_available: u32,
    /// Some updated unit anywhere is available.
    pub proven: bool,
    /// Units that still serve.
    pub serving: u32,
    /// Wished-for ordinals below the partition that are at the target.
    pub updated_below: u32,
    /// Wished-for ordinals that have a unit, terminating ones apart.
    pub standing: u32,
}

impl Roll {
    /// The partition in force.
    pub fn kept(&self) -> u32 {
        if self.has_old { self.partition.min(self.desired) } else { 0 }
    }

    /// How many ordinals are eligible: `T`.
    pub fn eligible(&self) -> u32 {
        self.desired - self.kept()
    }

    /// How many of them may be updated now: `L`.
    fn allowed(&self) -> u32 {
        let ceiling = match self.pace {
            Pace::Paused => 0,
            _ if !self.has_old => u32::MAX,
            _ => self.ceiling.unwrap_or(u32::MAX),
        };
        self.eligible().min(ceiling)
    }

    /// Whether this level deletes what is broken below the partition.
    fn repairs(&self) -> bool {
        matches!(self.pace, Pace::Go | Pace::Paused)
    }

    fn wished(&self, unit: &Unit) -> bool {
        unit.ordinal < self.desired
    }

    fn is_eligible(&self, unit: &Unit) -> bool {
        (self.kept()..self.desired).contains(&unit.ordinal)
    }

    fn in_surge_room(&self, unit: &Unit) -> bool {
        unit.ordinal >= self.desired && u64::from(unit.ordinal) < self.end()
    }

    /// The first ordinal beyond the room for surge.
    fn end(&self) -> u64 {
        u64::from(self.desired) + u64::from(self.limits.surge)
    }

    /// The counts of these units.
    pub fn tally(&self, units: &[Unit]) -> Tally {
        let mut tally = Tally { leaving: self.eligible(), ..Tally::default() };
        for unit in units {
            tally.available += u32::from(unit.available);
            tally.serving += u32::from(unit.serves);
            tally.proven |= unit.available && unit.updated();
            if self.in_surge_room(unit) && unit.updated() {
                tally.surge += 1;
                tally.surge_available += u32::from(unit.available);
            }
            if self.wished(unit) {
                tally.ready += u32::from(unit.ready);
                tally.standing += u32::from(unit.standing == Standing::Present);
                tally.updated_below += u32::from(unit.ordinal < self.kept() && unit.updated());
            }
            if self.is_eligible(unit) {
                self.count_eligible(unit, &mut tally);
            }
        }
        tally
    }

    fn count_eligible(&self, unit: &Unit, tally: &mut Tally) {
        if unit.standing == Standing::Terminating || unit.at == At::Mixed {
            // Mixed units are removed at once, so they are on their way out already.
            tally.on_the_way += 1;
            return;
        }
        tally.leaving = tally.leaving.saturating_sub(1);
        if unit.at == At::Target {
            tally.updated += 1;
            tally.updated_ready += u32::from(unit.ready);
            tally.updated_available += u32::from(unit.available);
            tally.on_the_way += u32::from(!unit.available);
        } else {
            tally.outdated += 1;
        }
    }
}

/// Decides what one level does. `units` are sorted by ordinal, each ordinal at most once; `permit` asks the
/// outside budgets for the removal of one unit and charges them if they allow it.
pub fn roll(ask: &Roll, units: &[Unit], permit: &mut dyn FnMut(u32) -> bool) -> Moves {
    let tally = ask.tally(units);
    let mut rolling = Rolling::new(ask, units, tally, permit);
    rolling.recover();
    rolling.remove_mixed();
    rolling.remove_excess();
    rolling.free_moves();
    rolling.budgeted_moves();
    rolling.surge();
    rolling.moves
}
