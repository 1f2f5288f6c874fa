//! What pods and workloads of a member show of themselves.

use std::time::Duration;

use k8s_openapi::api::core::v1 as k8s;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::pods::is_ready;
use crate::recorder::disrupted;

/// A pod as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// The image of its first container: the template it was made from.
    pub image: String,
    /// Since when it is ready, by the recorder's clock.
    pub ready: Option<Duration>,
    /// It is on its way out: no controller counts it.
    pub terminating: bool,
    /// It was evicted, drained, or taken by its node.
    pub disrupted: bool,
}

impl Pod {
    /// A pod as it is now, and as it was `before`.
    pub(super) fn new(pod: &k8s::Pod, before: Option<&Self>, now: Duration) -> Self {
        let container = pod.spec.as_ref().and_then(|spec| spec.containers.first());
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let over = matches!(phase, Some("Failed" | "Succeeded"));
        let ready = is_ready(pod) && !over;
        Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            image: container.and_then(|it| it.image.clone()).unwrap_or_default(),
            ready: ready.then(|| before.and_then(|before| before.ready).unwrap_or(now)),
            // One that has failed or completed counts no more than one that goes.
            terminating: pod.metadata.deletion_timestamp.is_some() || over,
            disrupted: disrupted(pod) || over,
        }
    }

    /// Whether it stands and has been ready for so long.
    pub fn is_available(&self, now: Duration, min_ready: Duration) -> bool {
        !self.terminating && self.ready.is_some_and(|since| since + min_ready <= now)
    }
}

/// A Deployment or CloneSet of a member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// How many pods it is to have.
    pub replicas: u32,
    /// Whether its controller has seen what it is to be like.
    pub observed: bool,
    /// How it is rolled, as it stands there.
    pub strategy: Value,
    /// Whether its rollout is held.
    pub paused: bool,
    /// The image of its template.
    pub image: String,
}

impl Workload {
    pub(super) fn new(object: &DynamicObject) -> Self {
        let spec = &object.data["spec"];
        let update = &spec["updateStrategy"];
        let strategy = if update.is_null() { &spec["strategy"]["rollingUpdate"] } else { update };
        let image = &spec["template"]["spec"]["containers"][0]["image"];
        let observed = object.data["status"]["observedGeneration"].as_i64();
        Self {
            replicas: spec["replicas"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
            observed: observed.is_some() && observed == object.metadata.generation,
            strategy: strategy.clone(),
            paused: spec["paused"] == true || update["paused"] == true,
            image: image.as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// What is counted in one member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many pods its workload is to have.
    pub wanted: u32,
    /// Pods that stand; those that go are not among them.
    pub standing: u32,
    /// Pods that stand and are available.
    pub available: u32,
    /// Pods that stand and are of the template that is wished for.
    pub new: u32,
    /// Pods that go.
    pub going: u32,
}

impl Counts {
    /// Pods that stand and are of another template.
    pub fn old(&self) -> u32 {
        self.standing - self.new
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wanted: self.wanted + other.wanted,
            standing: self.standing + other.standing,
            available: self.available + other.available,
            new: self.new + other.new,
            going: self.going + other.going,
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), std::ops::Add::add)
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { wanted, standing, available, new, going } = self;
        let old = self.old();
        write!(f, "{available} of {wanted} available, {standing} stand ({old} old, {new} new), {going} go")
    }
}
