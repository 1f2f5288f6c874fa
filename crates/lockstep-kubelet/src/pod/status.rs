//! A change of a pod's status, as it is written.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::{ContainerStatus, HostIP, PodCondition, PodIP};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::conditions::Facts;
use super::containers::Account;
use super::life::Life;
use super::view::StatusView;
use crate::time::stored;

/// What a kubelet says about a pod. Written as a strategic merge patch, so that the conditions of others stay.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusChange {
    /// Pending, Running, Succeeded or Failed.
    pub phase: &'static str,
    /// The kubelet's own conditions.
    #[serde(serialize_with = "conditions")]
    pub conditions: Vec<PodCondition>,
    /// One per container.
    pub container_statuses: Vec<ContainerStatus>,
    /// One per init container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// When the pod was taken up.
    pub start_time: Time,
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Addresses, for pods that have none yet.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Addresses>,
}

/// Where a pod can be found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Addresses {
    #[serde(rename = "hostIP")]
    host_ip: String,
    #[serde(rename = "hostIPs")]
    host_ips: Vec<HostIP>,
    #[serde(rename = "podIP")]
    pod_ip: String,
    #[serde(rename = "podIPs")]
    pod_ips: Vec<PodIP>,
}

impl Addresses {
    /// The address of the node and that of the pod.
    pub fn new(host: Ipv4Addr, pod: Ipv4Addr) -> Self {
        let (host, pod) = (host.to_string(), pod.to_string());
        Self {
            host_ip: host.clone(),
            host_ips: vec![HostIP { ip: host }],
            pod_ip: pod.clone(),
            pod_ips: vec![PodIP { ip: pod }],
        }
    }
}

impl StatusChange {
    /// What there is to say about a pod whose containers live so.
    pub(crate) fn describe(account: &Account<'_>) -> Self {
        let containers = account.containers();
        let init = account.init_containers();
        let phase = phase(account);
        let sidecars = init
            .iter()
            .zip(&account.pod.spec.init_containers)
            .filter(|(_, container)| container.is_sidecar())
            .map(|(status, _)| status)
            .collect();
        let facts = Facts { pod: account.pod, phase, containers: &containers, sidecars, now: account.now };
        Self {
            phase,
            conditions: facts.conditions(),
            start_time: account.pod.status.start_time.clone().unwrap_or_else(|| stored(account.now)),
            observed_generation: account.pod.metadata.generation,
            addresses: None,
            container_statuses: containers,
            init_container_statuses: init,
        }
    }

    /// Whether the pod comes up with this change: its containers run for the first time.
    pub fn is_start(&self, before: &StatusView) -> bool {
        self.phase == "Running" && before.phase.as_deref() != Some("Running")
    }

    /// Whether `status` says all this already.
    pub(crate) fn is_said_by(&self, status: &StatusView) -> bool {
        status.phase.as_deref() == Some(self.phase)
            && status.start_time.as_ref() == Some(&self.start_time)
            && status.observed_generation == self.observed_generation
            && status.container_statuses == self.container_statuses
            && status.init_container_statuses == self.init_container_statuses
            && self.conditions.iter().all(|mine| {
                status.condition(&mine.type_).is_some_and(|theirs| {
                    let theirs = PodCondition { last_probe_time: None, ..theirs.clone() };
                    theirs == *mine
                })
            })
    }
}

fn phase(account: &Account<'_>) -> &'static str {
    match account.life {
        Life::Unborn if account.last => "Failed",
        Life::Unborn => "Pending",
        Life::Ended(end) if account.is_over() && end.exit_code == 0 => "Succeeded",
        Life::Ended(_) if account.is_over() => "Failed",
        _ => "Running",
    }
}

/// A merge keeps what a patch leaves out, so a reason that no longer holds must be written as null.
struct Explicit<'a>(&'a PodCondition);

impl Serialize for Explicit<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(condition) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &condition.type_)?;
        map.serialize_entry("status", &condition.status)?;
        map.serialize_entry("reason", &condition.reason)?;
        map.serialize_entry("message", &condition.message)?;
        map.serialize_entry("lastTransitionTime", &condition.last_transition_time)?;
        if let Some(generation) = condition.observed_generation {
            map.serialize_entry("observedGeneration", &generation)?;
        }
        map.end()
    }
}

fn conditions<S: Serializer>(list: &[PodCondition], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(Explicit))
}
