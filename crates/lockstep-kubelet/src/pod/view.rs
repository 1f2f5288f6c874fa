//! The part of a pod that a kubelet without containers looks at.
//!
//! Decoding only this much of every watch event is what makes thousands of pods per second cheap.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ContainerStatus, HostIP, PodCondition, PodIP};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// A pod as the stand-in sees it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct PodView {
    /// Who it is. Only what the stand-in needs is decoded; managed fields and owners are not.
    #[serde(deserialize_with = "slim")]
    pub metadata: ObjectMeta,
    /// What it is to be.
    #[serde(default)]
    pub spec: SpecView,
    /// What it is.
    #[serde(default)]
    pub status: StatusView,
}

/// The part of a pod's spec that matters here.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpecView {
    /// The node it is bound to.
    pub node_name: Option<String>,
    /// Whether containers that end are started again.
    pub restart_policy: RestartPolicy,
    /// The containers.
    pub containers: Vec<ContainerView>,
    /// The init containers, sidecars among them.
    pub init_containers: Vec<ContainerView>,
    /// Conditions that must hold before the pod counts as ready.
    pub readiness_gates: Vec<Gate>,
    /// Whether it shares the node's address.
    pub host_network: bool,
}

/// Whether containers that end are started again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum RestartPolicy {
    /// Always.
    #[default]
    Always,
    /// If they failed.
    OnFailure,
    /// Never.
    Never,
}

impl RestartPolicy {
    /// Whether a container that ended with this exit code is started again.
    pub fn restarts(self, exit_code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => exit_code != 0,
            Self::Never => false,
        }
    }
}

/// The part of a container that matters here.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerView {
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// `Always` on an init container makes it a sidecar.
    pub restart_policy: Option<String>,
    /// Whether it has a startup probe: it then counts as started only when it is ready.
    pub startup_probe: Option<IgnoredAny>,
}

impl ContainerView {
    /// Whether this init container runs beside the others instead of before them.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

/// A condition that must hold before the pod counts as ready.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gate {
    /// The type of the condition.
    pub condition_type: String,
}

/// The part of a pod's status that a kubelet writes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusView {
    /// Pending, Running, Succeeded or Failed.
    pub phase: Option<String>,
    /// All conditions, those of others included.
    pub conditions: Vec<PodCondition>,
    /// One per container.
    pub container_statuses: Vec<ContainerStatus>,
    /// One per init container.
    pub init_container_statuses: Vec<ContainerStatus>,
    /// When a kubelet took the pod up.
    pub start_time: Option<Time>,
    /// The generation of the spec that the status is about.
    pub observed_generation: Option<i64>,
    /// The node's address.
    #[serde(rename = "hostIP")]
    pub host_ip: Option<String>,
    /// The node's addresses.
    #[serde(rename = "hostIPs")]
    pub host_ips: Vec<HostIP>,
    /// The pod's address.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<String>,
    /// The pod's addresses.
    #[serde(rename = "podIPs")]
    pub pod_ips: Vec<PodIP>,
}

impl StatusView {
    /// Whether the pod has ended for good.
    pub fn is_over(&self) -> bool {
        matches!(self.phase.as_deref(), Some("Succeeded" | "Failed"))
    }

    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| condition.type_ == kind)
    }
}

impl PodView {
    /// The UID: the only thing that tells a pod from its namesakes.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The name; other pods have had it and will have it.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The node it is bound to.
    pub fn node(&self) -> &str {
        self.spec.node_name.as_deref().unwrap_or_default()
    }

    /// Whether this is an older state of the pod than `other`. Versions that are no numbers count as newer.
    pub fn is_older_than(&self, other: &Self) -> bool {
        let version = |pod: &Self| pod.metadata.resource_version.as_deref()?.parse::<u64>().ok();
        matches!((version(self), version(other)), (Some(mine), Some(theirs)) if mine < theirs)
    }

    /// Whether finalizers keep the object after its deletion is finished.
    pub fn is_held(&self) -> bool {
        self.metadata.finalizers.as_ref().is_some_and(|list| !list.is_empty())
    }
}

lockstep_feed::watched_as_pod!(PodView, metadata);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
}

fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let meta = SlimMeta::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: meta.name,
        namespace: meta.namespace,
        uid: meta.uid,
        resource_version: meta.resource_version,
        generation: meta.generation,
        labels: meta.labels,
        annotations: meta.annotations,
        finalizers: meta.finalizers,
        deletion_timestamp: meta.deletion_timestamp,
        deletion_grace_period_seconds: meta.deletion_grace_period_seconds,
        ..ObjectMeta::default()
    })
}
