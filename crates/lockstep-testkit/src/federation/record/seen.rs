//! What pods and workloads of a member show of themselves.

use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1 as k8s;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::pods::is_ready;
use crate::recorder::disrupted;

/// By which labels groups are told apart.
const GROUPS: [&str; 2] = ["lockstep.dev/group", "leaderworkerset.sigs.k8s.io/group-index"];

/// A pod as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// The group it belongs to, where groups are counted; alone where there is none.
    pub group: Option<String>,
    /// The UID of whoever controls it.
    pub owner: Option<String>,
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
        let labels = pod.metadata.labels.as_ref();
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true));
        let group = labels.and_then(|labels| GROUPS.iter().find_map(|label| labels.get(*label)));
        Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            group: group.cloned(),
            owner: owner.map(|owner| owner.uid.clone()),
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

/// A workload of a member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// How many pods, or groups of pods, it is to have.
    pub replicas: u32,
    /// How many pods are one group.
    pub group_size: u32,
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
        let rolling = [
            &spec["strategy"]["rollingUpdate"],
            &update["rollingUpdate"],
            &spec["rolloutStrategy"]["rollingUpdateConfiguration"],
        ];
        let strategy = rolling.into_iter().find(|it| !it.is_null()).unwrap_or(update);
        let template = TEMPLATES.iter().find_map(|at| spec.pointer(at)).unwrap_or(&Value::Null);
        let image = &template["spec"]["containers"][0]["image"];
        let observed = object.data["status"]["observedGeneration"].as_i64();
        Self {
            replicas: number(&spec["replicas"]),
            group_size: group_size(spec),
            observed: observed.is_some() && observed == object.metadata.generation,
            strategy: strategy.clone(),
            paused: spec["paused"] == true || update["paused"] == true,
            image: image.as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// Where workloads have the template of their pods, or of the first of several.
const TEMPLATES: [&str; 3] = ["/template", "/roles/0/template", "/leaderWorkerTemplate/workerTemplate"];

fn group_size(spec: &Value) -> u32 {
    match spec["roles"].as_array() {
        Some(roles) => roles.iter().map(|role| number(&role["replicas"])).sum(),
        None => number(&spec["leaderWorkerTemplate"]["size"]),
    }
}

/// How many pods a ReplicaSet was told to have.
pub(super) fn told(set: &ReplicaSet) -> u32 {
    let replicas = set.spec.replicas.unwrap_or(1);
    u32::try_from(replicas).unwrap_or(0)
}

/// A number, or one where nothing is said.
fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
}

/// What is counted in one member: pods, or groups of pods where a workload is made of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many pods its workload is to have.
    pub wanted: u32,
    /// Pods that stand; those that go are not among them.
    pub standing: u32,
    /// Pods that stand and are available.
    pub available: u32,
    /// Pods that stand and are of the template that is wished for; groups of which any pod is.
    pub new: u32,
    /// Groups of which some pods are of that template and some are not.
    pub mixed: u32,
    /// Pods that go.
    pub going: u32,
    /// Pods that stand though their ReplicaSet was told to have fewer.
    pub condemned: u32,
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
            mixed: self.mixed + other.mixed,
            going: self.going + other.going,
            condemned: self.condemned + other.condemned,
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
        let Self { wanted, standing, available, new, going, condemned, mixed: _ } = self;
        let old = self.old();
        write!(f, "{available} of {wanted} available, {standing} stand ({old} old, {new} new), {going} go")?;
        if *condemned > 0 {
            write!(f, ", {condemned} more are to go")?;
        }
        Ok(())
    }
}
