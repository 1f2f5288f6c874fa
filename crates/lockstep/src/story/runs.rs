//! Plays many runs, on as many cores as there are, and checks each.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use lockstep_core::names::RoleName;
use lockstep_core::promises::{Broken, Checker};
use lockstep_core::simulate::trace::{Event, What};
use lockstep_core::simulate::{Outcome, Scenario, run};

use super::stage::Stage;

/// One run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// How it went.
    pub outcome: Outcome,
    /// Per role: the lowest number available in one group, of how many.
    pub least: BTreeMap<RoleName, (u32, u32)>,
    /// The promises that were broken.
    pub broken: Vec<Broken>,
}

/// Plays runs with the seeds `first .. first + count`, in their order. `tick` is told of each that is done.
pub fn play(scenario: &Scenario, first: u64, count: u64, tick: &(dyn Fn() + Sync)) -> Vec<Run> {
    side_by_side(first, count, tick, &|seed| play_one(scenario, seed))
}

/// Does something for the seeds `first .. first + count` on all cores; what came of it, in their order.
pub fn side_by_side<R: Send>(
    first: u64,
    count: u64,
    tick: &(dyn Fn() + Sync),
    play: &(dyn Fn(u64) -> R + Sync),
) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = usize::try_from(count).unwrap_or(cores).clamp(1, cores);
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let run = play(first.saturating_add(index));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, run));
                    tick();
                }
            });
        }
    });
    let mut runs = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    runs.sort_by_key(|(index, _)| *index);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Plays one run.
pub fn play_one(scenario: &Scenario, seed: u64) -> Run {
    let scenario = Scenario { seed, ..scenario.clone() };
    let mut checker = Checker::default();
    let mut gauge = Gauge { wishes_left: if scenario.initial.is_some() { 2 } else { 1 }, ..Gauge::default() };
    let counts = scenario.initial.is_some();
    let outcome = run(&scenario, &mut |event| {
        checker.see(&event);
        gauge.see(&event);
    });
    let least = if counts { gauge.least } else { BTreeMap::new() };
    Run { seed, outcome, least, broken: checker.broken().to_vec() }
}

/// Notes how few instances of each role were available.
#[derive(Default)]
struct Gauge {
    stage: Stage,
    wishes_left: u32,
    least: BTreeMap<RoleName, (u32, u32)>,
}

impl Gauge {
    fn see(&mut self, event: &Event) {
        self.stage.see(event);
        if matches!(event.what, What::Spec(_)) {
            self.wishes_left = self.wishes_left.saturating_sub(1);
        }
        let of = match &event.what {
            What::Unready { of, .. } | What::Delete { of, .. } => of,
            _ => return,
        };
        let Some(spec) = self.stage.spec().filter(|spec| self.wishes_left == 0 && of.group < spec.replicas)
        else {
            return;
        };
        if let Some(role) = spec.role(&of.role) {
            let now = (self.stage.available(of.group, role), role.replicas);
            let least = self.least.entry(role.name.clone()).or_insert(now);
            *least = (*least).min(now);
        }
    }
}
