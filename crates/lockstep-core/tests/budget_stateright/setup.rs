//! What a model consists of: pods in units, budgets over them, and how much may happen.

use std::collections::BTreeMap;

use lockstep_core::budget::*;
use lockstep_core::number::IntOrPercent::Int;
use lockstep_core::snapshot::Uid;
use lockstep_core::time::Time;

use super::state::{Phase, Seat};

/// How much time passes at once. A promise is old after it, on a clock that is [`BEHIND`] after twice of it;
/// a request lives through it once and not twice; a promise lapses after three times of it.
const TICK: u64 = 40_000;

/// How far the second replica's clock may be behind.
pub const BEHIND: u64 = 29_000;

/// A protocol with something left out, to see that the model would notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Replicas decide from whatever they have.
    OldViews,
    /// Only paid removals are written down.
    FreeUnwritten,
    /// The last write wins: no compare-and-swap.
    NoCompare,
    /// A unit is called broken from a cache.
    BrokenUnproved,
    /// Promises lapse after 20 seconds instead of 120.
    EarlyLapse,
    /// Promises lapse by a cache in which every pod stays.
    LapseUnproved,
    /// What a request has read of its pod is believed, however old it is by now.
    OldPod,
    /// Units are expected only while they are seen.
    NoMemory,
}

#[derive(Debug, Clone)]
pub struct Setup {
    /// The unit of every pod.
    pub places: Vec<usize>,
    pub units: usize,
    pub specs: Vec<BudgetSpec>,
    /// How many removals are asked for, each of any pod, by any of `operations`, through any replica.
    pub requests: u8,
    pub operations: Vec<Operation>,
    /// How often time passes.
    pub ticks: u8,
    /// How far the second replica's clock is behind.
    pub behind: u64,
    /// Pods that are not ready at first.
    pub unready: Vec<usize>,
    /// How often a ready pod loses readiness by itself.
    pub blinks: u8,
    /// How many changes of pods anybody may be behind.
    pub lag: usize,
    /// Whether a pod is away for a while before it comes back; else its successor stands when it is gone.
    pub gaps: bool,
    /// Whether replicas also decide from budgets they read earlier.
    pub cached: bool,
    /// Whether the owner's scale counts the units; else they have to be remembered.
    pub counted: bool,
    pub flaw: Option<Flaw>,
}

impl Setup {
    /// Units with so many pods each.
    pub fn new(sizes: &[usize], specs: &[BudgetSpec], requests: u8) -> Self {
        Self {
            places: sizes.iter().enumerate().flat_map(|(unit, size)| vec![unit; *size]).collect(),
            units: sizes.len(),
            specs: specs.to_vec(),
            requests,
            operations: vec![Operation::Evict],
            ticks: 0,
            behind: 0,
            unready: Vec::new(),
            blinks: 0,
            lag: usize::MAX,
            gaps: false,
            cached: false,
            counted: true,
            flaw: None,
        }
    }

    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    pub fn expected(&self, k: usize) -> u32 {
        let grouped = self.specs[k].pod_group_policy.is_some();
        let units = if grouped { self.units } else { self.places.len() };
        units as u32
    }

    /// How many units may be down on purpose.
    pub fn allowed(&self, k: usize) -> u32 {
        let expected = self.expected(k);
        expected.saturating_sub(self.specs[k].desired(expected))
    }

    pub fn clock(&self, ticks: u8, replica: usize) -> Time {
        let behind = if replica == 1 { self.behind } else { 0 };
        Time(1_000_000 + TICK * u64::from(ticks) - behind)
    }

    pub fn uid(&self, slot: usize, birth: u8) -> Uid {
        Uid::new(&format!("{slot}#{birth}"))
    }

    pub fn pod(&self, slot: usize, seat: Seat) -> Pod {
        Pod {
            uid: self.uid(slot, seat.birth),
            name: slot.to_string(),
            root: Some("lws".to_owned()),
            group: Some(self.places[slot].to_string()),
            ready: seat.phase == Phase::Ready,
            terminating: seat.phase == Phase::Leaving,
            active: true,
            controller_gone: false,
            opted_out: false,
        }
    }

    /// The pods as one budget sees them. A scale that counts groups does not count pods.
    pub fn view(&self, k: usize, seats: &[Seat], version: u8, live: bool) -> View {
        let there = seats.iter().enumerate().filter(|(_, seat)| seat.phase != Phase::Gone);
        let root = Root {
            replicas: Some(self.units as u32),
            counts_units: self.counted && self.specs[k].pod_group_policy.is_some(),
            settled: true,
            ..Root::default()
        };
        let version = Version(version.into());
        View {
            pods: there.map(|(slot, seat)| self.pod(slot, *seat)).collect(),
            roots: BTreeMap::from([("lws".to_owned(), root)]),
            since: version,
            version,
            live,
        }
    }

    pub fn budget(&self, k: usize, state: &BudgetState) -> Budget {
        let spec = self.specs[k].clone();
        let mut budget =
            Budget { name: format!("budget-{k}"), spec, state: state.clone(), ..Budget::default() };
        if self.has(Flaw::NoMemory) {
            budget.state.memory = Memory::default();
        }
        budget
    }
}

/// At most `max` groups may be down; a group needs `min_ready` pods.
pub fn grouped(max: u32, min_ready: u32) -> BudgetSpec {
    BudgetSpec {
        max_unavailable: Some(Int(max)),
        pod_group_policy: Some(GroupPolicy { min_ready_replicas: min_ready }),
        ..BudgetSpec::default()
    }
}

/// At most `max` pods may be down.
pub fn per_pod(max: u32) -> BudgetSpec {
    BudgetSpec { max_unavailable: Some(Int(max)), ..BudgetSpec::default() }
}
