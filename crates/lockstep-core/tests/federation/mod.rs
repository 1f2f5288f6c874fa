//! What the tests of the aligner share: a wish by its numbers, dice, and rounds in which everybody acts.
#![allow(dead_code, unused_imports)]

use lockstep_core::align::{Alignment, Kind, RollingStrategy, SplitMode, Target, Wish};
use lockstep_core::number::IntOrPercent::Int;
use lockstep_core::simulate::federation::workload::hash;
pub use lockstep_core::simulate::federation::workload::{Spec, Workload};
pub use lockstep_core::simulate::federation::world::World;
use lockstep_core::simulate::rng::Rng;

/// The generator of the model world, in the sizes of small federations.
#[derive(Debug, Clone)]
pub struct Dice(Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        (self.0.next_u64() % u64::from(n.max(1))) as u32
    }

    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

pub fn wish(kind: Kind, split: &[u32], unavailable: u32, surge: u32, partition: u32) -> Wish {
    Wish {
        held: Default::default(),
        kind,
        template: hash(0),
        strategy: RollingStrategy {
            paused: None,
            partition: kind.has_partition().then_some(Int(partition)),
            max_unavailable: Some(Int(unavailable)),
            max_surge: Some(Int(surge)),
        },
        split: SplitMode::Sequential,
        clusters: split
            .iter()
            .enumerate()
            .map(|(i, n)| Target { cluster: format!("c{}", i + 1), replicas: *n })
            .collect(),
    }
}

/// What a test does with a world, and the world itself does not.
pub trait Play {
    /// A round in which everybody does what there is to do. Panics where a promise is broken.
    fn round(&mut self) -> Alignment;
    /// Panics where a promise is broken.
    fn keep(&mut self);
}

impl<W: Workload> Play for World<W> {
    fn round(&mut self) -> Alignment {
        let answer = self.align();
        let names: Vec<String> = self.sites.keys().cloned().collect();
        for name in &names {
            self.apply(name);
            if let Some(site) = self.sites.get_mut(name)
                && let Some(workload) = &mut site.workload
            {
                for _ in 0..3 {
                    for step in 0..workload.steps().len() {
                        if let Some(next) = workload.steps().get(step) {
                            *workload = next.clone();
                        }
                    }
                    while workload.ready(0) {}
                }
                site.in_flight.clear();
            }
            self.send(name);
            self.deliver(name, 0);
            self.keep();
        }
        answer
    }

    fn keep(&mut self) {
        let Self { promise, sites, ledger, wish } = self;
        if let Some(broken) = promise.judge(sites, ledger, wish) {
            panic!("{broken}");
        }
    }
}
