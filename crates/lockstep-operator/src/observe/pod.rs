//! A pod, decoded into the little that a rollout needs: some hundred bytes, not thirty kilobytes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lockstep_api::label;
use lockstep_core::names::{GangKey, MemberName, RoleName, Uid};
use lockstep_core::snapshot::Pod;
use lockstep_core::time::{Millis, Time};
use serde::{Deserialize, Deserializer};

/// API times are whole seconds: something that happened in this second may have happened at its end.
const REST_OF_SECOND: Millis = Millis(999);

/// A pod that turned unready this long after its start had been ready before; one that never was carries the time
/// of its start.
const START: Millis = Millis::seconds(2);

/// A pod as far as a rollout cares.
#[derive(Debug, Clone)]
pub struct SlimPod {
    meta: ObjectMeta,
    /// The UID of the object that controls it.
    pub owner: Option<Uid>,
    /// The set it says it belongs to.
    pub set: String,
    /// Where in the set; nothing if its labels do not say.
    pub place: Option<Place>,
    /// What the engine sees of it.
    pub pod: Pod,
    /// The node it is bound to.
    pub node: Option<String>,
}

/// Where a pod stands in its set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The group.
    pub group: u32,
    /// The role.
    pub role: RoleName,
    /// The instance.
    pub instance: u32,
}

impl SlimPod {
    /// Its name.
    pub fn name(&self) -> &str {
        self.meta.name.as_deref().unwrap_or_default()
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.meta.namespace.as_deref().unwrap_or_default()
    }

    /// Which state of it this is. Kubernetes promises that later states have larger numbers.
    pub fn version(&self) -> u64 {
        self.meta.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

lockstep_feed::watched_as_pod!(SlimPod, meta);

#[derive(Deserialize)]
struct Raw {
    metadata: RawMeta,
    #[serde(default)]
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    #[serde(default)]
    owner_references: Vec<RawOwner>,
}

#[derive(Deserialize)]
struct RawOwner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    node_name: Option<String>,
    scheduling_gates: Vec<RawGate>,
}

#[derive(Deserialize)]
struct RawGate {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus {
    phase: Option<String>,
    start_time: Option<Timestamp>,
    conditions: Vec<RawCondition>,
    container_statuses: Vec<RawContainer>,
    init_container_statuses: Vec<RawContainer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    last_transition_time: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawContainer {
    #[serde(default)]
    restart_count: u32,
}

impl<'de> Deserialize<'de> for SlimPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Raw::deserialize(deserializer).map(Self::from)
    }
}

impl From<Raw> for SlimPod {
    fn from(raw: Raw) -> Self {
        let Raw { metadata, spec, status } = raw;
        let pod = view(&metadata, &spec, &status);
        let owner = metadata.owner_references.iter().find(|owner| owner.controller);
        let meta = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        Self {
            meta,
            owner: owner.map(|owner| Uid::new(&owner.uid)),
            set: metadata.labels.get(label::SET).cloned().unwrap_or_default(),
            place: place(&metadata.labels),
            pod,
            node: spec.node_name,
        }
    }
}

fn place(labels: &BTreeMap<String, String>) -> Option<Place> {
    let number = |key| labels.get(key)?.parse().ok();
    let role = RoleName::new(labels.get(label::ROLE)?);
    Some(Place { group: number(label::GROUP)?, role, instance: number(label::INSTANCE)? })
}

fn view(metadata: &RawMeta, spec: &RawSpec, status: &RawStatus) -> Pod {
    let text = |key| metadata.labels.get(key).map(String::as_str);
    let number = |key| text(key).and_then(|text| text.parse().ok()).unwrap_or_default();
    let revision = |key| text(key).and_then(|text| text.parse().ok()).unwrap_or_default();
    let condition = |kind| status.conditions.iter().find(|condition| condition.kind == kind);
    let since = |condition: &RawCondition| time(condition.last_transition_time);
    let ready = condition("Ready");
    let is_ready = ready.is_some_and(|ready| ready.status == "True");
    let scheduled = condition("PodScheduled").filter(|scheduled| scheduled.status == "True");
    let created = time(metadata.creation_timestamp) + REST_OF_SECOND;
    let turned = ready.map(since).filter(|_| !is_ready);
    let containers = status.container_statuses.iter().chain(&status.init_container_statuses);
    Pod {
        member: MemberName::new(text(label::MEMBER).unwrap_or_default()),
        index: number(label::POD),
        uid: Uid::new(metadata.uid.as_deref().unwrap_or_default()),
        revision: revision(label::REVISION),
        set_revision: revision(label::SET_REVISION),
        incarnation: number(label::INCARNATION),
        created,
        bound: spec.node_name.as_ref().map(|_| scheduled.map_or(created, since)),
        ready: ready.filter(|_| is_ready).map(|ready| since(ready) + REST_OF_SECOND),
        unready: turned.filter(|at| status.start_time.is_some() && *at > time(status.start_time) + START),
        failed: matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")),
        terminating: metadata.deletion_timestamp.is_some(),
        gated: spec.scheduling_gates.iter().any(|gate| gate.name == label::GATE),
        gang: text(label::GANG).map(GangKey::new),
        in_flight: false,
        restarts: containers.map(|container| container.restart_count).fold(0, u32::saturating_add),
    }
}

fn time(stamp: Option<Timestamp>) -> Time {
    let millis = stamp.map_or(0, Timestamp::as_millisecond);
    Time(u64::try_from(millis).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: serde_json::Value) -> SlimPod {
        let labels = json!({
            "lockstep.dev/set": "llama", "lockstep.dev/group": "1", "lockstep.dev/role": "prefill",
            "lockstep.dev/instance": "2", "lockstep.dev/member": "worker", "lockstep.dev/pod": "3",
            "lockstep.dev/revision": "b1", "lockstep.dev/set-revision": "s1", "lockstep.dev/incarnation": "4",
        });
        let value = json!({
            "metadata": {
                "name": "llama-1-prefill-2-worker-3", "namespace": "ml", "uid": "u", "resourceVersion": "17",
                "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels,
                "managedFields": [{"manager": "somebody"}],
                "ownerReferences": [{"uid": "other"}, {"uid": "owner", "controller": true}],
            },
            "spec": {"nodeName": "n", "schedulingGates": [{"name": "lockstep.dev/hold"}], "containers": []},
            "status": status,
        });
        serde_json::from_value(value).unwrap()
    }

    const START_OF_DAY: u64 = 1_767_225_600_000;

    #[test]
    fn everything_a_rollout_needs_and_nothing_else() {
        let slim = pod(json!({"phase": "Running", "containerStatuses": [{"restartCount": 2}]}));
        assert_eq!((slim.name(), slim.namespace(), slim.version()), ("llama-1-prefill-2-worker-3", "ml", 17));
        assert_eq!(slim.owner, Some(Uid::new("owner")));
        assert_eq!(slim.place, Some(Place { group: 1, role: "prefill".into(), instance: 2 }));
        let pod = slim.pod;
        assert_eq!((pod.member.as_str(), pod.index, pod.incarnation, pod.restarts), ("worker", 3, 4, 2));
        assert_eq!(pod.created, Time(START_OF_DAY + 999));
        assert!(pod.gated && !pod.failed && !pod.terminating && pod.ready.is_none());
        assert!(slim.meta.managed_fields.is_none());
    }

    #[test]
    fn ready_since_the_end_of_its_second() {
        let since = "2026-01-01T00:01:00Z";
        let ready =
            pod(json!({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]}));
        assert_eq!(ready.pod.ready, Some(Time(START_OF_DAY + 60_999)));
    }

    #[test]
    fn a_pod_that_never_was_ready_did_not_turn_unready() {
        let status = |at: &str| {
            json!({"startTime": "2026-01-01T00:00:10Z",
                   "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at}]})
        };
        assert_eq!(pod(status("2026-01-01T00:00:10Z")).pod.unready, None);
        assert_eq!(pod(status("2026-01-01T00:00:40Z")).pod.unready, Some(Time(START_OF_DAY + 40_000)));
    }
}
