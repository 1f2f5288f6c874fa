//! What a member's workload is to the model world, whatever its kind.

use crate::align::{LeaseId, Observation, RollingStrategy, TemplateHash};
use crate::number::IntOrPercent;

/// A pod template by its number. Models copy and compare it all the time; what it is called by the aligner is
/// its [`hash`].
pub type Template = u16;

/// What the aligner calls a template.
pub fn hash(template: Template) -> TemplateHash {
    TemplateHash(format!("t{template}"))
}

/// The template of a hash; the last number there is for a hash of no template of ours.
pub fn template(hash: &TemplateHash) -> Template {
    hash.0.strip_prefix('t').and_then(|n| n.parse().ok()).unwrap_or(Template::MAX)
}

/// What a member's manifest says, whatever its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spec {
    /// What its pods are made from.
    pub template: Template,
    /// How many.
    pub replicas: u32,
    /// How they are replaced.
    pub strategy: RollingStrategy,
    /// The lease it carries.
    pub lease: Option<LeaseId>,
}

impl Spec {
    /// Whether it is paused.
    pub fn paused(&self) -> bool {
        self.strategy.paused.unwrap_or(false)
    }

    /// How many pods may stand beyond the replicas.
    pub fn max_surge(&self) -> u32 {
        self.strategy.max_surge.unwrap_or(IntOrPercent::Int(0)).ceil_of(self.replicas)
    }
}

/// A pod that is not terminating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pod {
    /// What it was made from.
    pub template: Template,
    /// Whether it serves.
    pub available: bool,
}

/// What stands in a member that has said no more than its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// What the pods that are not new were made from.
    pub old: Template,
    /// Pods of the template in force, and how many of them serve.
    pub new_pods: (u32, u32),
    /// Other pods, and how many of them serve.
    pub old_pods: (u32, u32),
    /// Every pod it creates is of the template in force, whatever the partition says.
    pub creates_new: bool,
}

impl Standing {
    /// As many pods as are wished for, all of one template, and all of them serve.
    pub fn whole(spec: &Spec) -> Self {
        let all = (spec.replicas, spec.replicas);
        Self { old: spec.template, new_pods: all, old_pods: (0, 0), creates_new: true }
    }

    /// What a status says of it. Where it does not say which of its pods serve, the old ones do.
    pub fn seen(of: &Observation, old: Template) -> Self {
        let new = of.updated.min(of.total);
        let others = of.total - new;
        let serving = of.available.min(of.total);
        let least = serving.saturating_sub(others);
        let new_serving = of.updated_available.unwrap_or(least).clamp(least, new.min(serving).max(least));
        Self {
            old,
            new_pods: (new, new_serving),
            old_pods: (others, (serving - new_serving).min(others)),
            creates_new: of.creates_updated,
        }
    }

    /// The pods, one by one.
    pub fn pods(&self, new: Template) -> Vec<Pod> {
        let of = |template, (all, serving): (u32, u32)| {
            (0..all).map(move |i| Pod { template, available: i < serving })
        };
        of(self.old, self.old_pods).chain(of(new, self.new_pods)).collect()
    }
}

/// What the world can do to a workload.
pub trait Workload: Clone + Eq + std::hash::Hash + std::fmt::Debug {
    /// The workload as its manifest creates it.
    fn create(spec: Spec) -> Self;
    /// A workload that stands like this, its controllers at rest.
    fn standing(spec: Spec, standing: &Standing) -> Self;
    /// Its manifest.
    fn spec(&self) -> &Spec;
    /// Its manifest changes.
    fn apply(&mut self, spec: Spec);
    /// Every different step its controllers could take now; an empty answer means they are at rest.
    fn steps(&self) -> Vec<Self>;
    /// Its pods, apart from those that terminate.
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
    /// How many of its pods are of a template.
    fn of_template(&self, template: Template) -> u32 {
        count(self.pods().iter().filter(|p| p.template == template))
    }
    /// How many of its pods serve.
    fn available(&self) -> u32 {
        count(self.pods().iter().filter(|p| p.available))
    }
    /// How many pods it has.
    fn total(&self) -> u32 {
        count(self.pods().iter())
    }
    /// A workload of one template whose pods all serve, never aligned before.
    fn running(spec: Spec) -> Self {
        let standing = Standing::whole(&spec);
        Self::standing(spec, &standing)
    }
}

/// How many pods there are.
pub fn count<'a>(pods: impl Iterator<Item = &'a Pod>) -> u32 {
    u32::try_from(pods.count()).unwrap_or(u32::MAX)
}
