//! A model world for the aligner: member clusters whose workload controllers behave as the real ones do, and
//! a network that delays, loses and reorders what they report.
#![allow(dead_code)]

pub mod clone_set;
pub mod deployment;
pub mod promise;
pub mod world;

use lockstep_core::align::{LeaseId, Observation, RollingStrategy, TemplateHash};
use lockstep_core::number::IntOrPercent;

/// splitmix64: small, seeded, and good enough to shake a state machine.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n.max(1))) as u32
    }

    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

pub type Template = u8;

pub fn hash(template: Template) -> TemplateHash {
    TemplateHash(format!("t{template}"))
}

pub fn template(hash: &TemplateHash) -> Template {
    hash.0[1..].parse().unwrap()
}

/// What a member's manifest says, whatever its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spec {
    pub template: Template,
    pub replicas: u32,
    pub strategy: RollingStrategy,
    pub lease: Option<LeaseId>,
}

impl Spec {
    pub fn paused(&self) -> bool {
        self.strategy.paused.unwrap_or(false)
    }

    pub fn max_surge(&self) -> u32 {
        self.strategy.max_surge.unwrap_or(IntOrPercent::Int(0)).ceil_of(self.replicas)
    }
}

/// A pod that is not terminating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pod {
    pub template: Template,
    pub available: bool,
}

/// What the world can do to a workload.
pub trait Workload: Clone + Eq + std::hash::Hash + std::fmt::Debug {
    /// The workload as its manifest creates it.
    fn create(spec: Spec) -> Self;
    fn spec(&self) -> &Spec;
    fn apply(&mut self, spec: Spec);
    /// Every different step its controllers could take now; an empty answer means they are at rest.
    fn steps(&self) -> Vec<Self>;
    fn pods(&self) -> Vec<Pod>;
    /// A pod that is not available becomes available; `nth` among those.
    fn ready(&mut self, nth: u32) -> bool;
    /// A pod stops being available.
    fn crash(&mut self, nth: u32) -> bool;
    /// A pod is evicted.
    fn evict(&mut self, nth: u32) -> bool;
    /// What its status says, if the controller has seen the manifest in force.
    fn report(&self) -> Option<Observation>;
    /// Whether nothing that a fault took is missing, in its pods or in what its controllers believe.
    fn is_whole(&self) -> bool;
    fn of_template(&self, template: Template) -> u32 {
        self.pods().iter().filter(|p| p.template == template).count() as u32
    }
    fn available(&self) -> u32 {
        self.pods().iter().filter(|p| p.available).count() as u32
    }
    fn total(&self) -> u32 {
        self.pods().len() as u32
    }
}
