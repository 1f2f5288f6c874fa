//! A pod, as far as budgets care.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use lockstep_api::budget::{Chain, Counted};
use lockstep_core::budget::{Pod, Version};
use lockstep_core::names::Uid;
use serde::{Deserialize, Deserializer};

/// What budgets know of a pod. Its metadata has name, namespace, uid, version, labels and controller, and nothing
/// else.
#[derive(Debug, Clone)]
pub struct SeenPod {
    /// Who it is.
    pub metadata: ObjectMeta,
    /// Which pod of that name.
    pub uid: Uid,
    /// Which state of it.
    pub version: u64,
    /// Whether it is Ready.
    pub ready: bool,
    /// Whether it is on its way out.
    pub terminating: bool,
    /// Neither Succeeded nor Failed.
    pub active: bool,
    /// Whether its owner asked not to protect it.
    pub opted_out: bool,
    /// Who stands above it, once that is known. It never changes.
    pub chain: OnceLock<Chain>,
}

impl SeenPod {
    /// Its name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Whether it is the same pod, and every budget would say the same of it.
    pub fn is_alike(&self, other: &Self) -> bool {
        let state = |pod: &Self| (pod.ready, pod.terminating, pod.active, pod.opted_out);
        self.uid == other.uid
            && state(self) == state(other)
            && self.labels() == other.labels()
            && self.metadata.owner_references == other.metadata.owner_references
    }

    /// Its labels.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.metadata.labels.as_ref().unwrap_or(&NONE)
    }
}

impl Counted for SeenPod {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn version(&self) -> Version {
        Version(self.version)
    }

    fn alone(&self) -> Pod {
        Pod {
            uid: self.uid.clone(),
            name: self.name().to_owned(),
            root: None,
            group: None,
            ready: self.ready,
            terminating: self.terminating,
            active: self.active,
            controller_gone: false,
            opted_out: self.opted_out,
        }
    }
}

lockstep_feed::watched_as_pod!(SeenPod, metadata);

#[derive(Deserialize)]
struct Raw {
    metadata: RawMeta,
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
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<RawAnnotations>,
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Deserialize)]
struct RawAnnotations {
    #[serde(rename = "pub.kruise.io/no-protect")]
    no_protect: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawStatus {
    phase: Option<String>,
    conditions: Option<Vec<RawCondition>>,
}

#[derive(Deserialize)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl From<Raw> for SeenPod {
    fn from(Raw { metadata: raw, status }: Raw) -> Self {
        let conditions = status.conditions.unwrap_or_default();
        let mut owners = raw.owner_references.unwrap_or_default();
        owners.retain(|owner| owner.controller == Some(true));
        Self {
            uid: Uid::new(raw.uid.as_deref().unwrap_or_default()),
            version: raw.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default(),
            ready: conditions.iter().any(|one| one.kind == "Ready" && one.status == "True"),
            terminating: raw.deletion_timestamp.is_some(),
            active: !matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            opted_out: raw.annotations.and_then(|said| said.no_protect).as_deref() == Some("true"),
            chain: OnceLock::new(),
            metadata: ObjectMeta {
                name: raw.name,
                namespace: raw.namespace,
                uid: raw.uid,
                resource_version: raw.resource_version,
                labels: raw.labels,
                owner_references: Some(owners).filter(|owners| !owners.is_empty()),
                ..ObjectMeta::default()
            },
        }
    }
}

impl<'de> Deserialize<'de> for SeenPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Raw::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::budget::NO_PROTECT;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_counts_and_nothing_else() {
        let pod: SeenPod = serde_json::from_value(json!({
            "metadata": {
                "name": "p", "namespace": "ml", "uid": "u", "resourceVersion": "9", "labels": {"app": "llm"},
                "annotations": {NO_PROTECT: "true", "other": "x"}, "managedFields": [{}],
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"},
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true},
                ],
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap();
        assert!(pod.ready && pod.active && pod.opted_out && !pod.terminating);
        assert_eq!((pod.version, pod.labels()["app"].as_str()), (9, "llm"));
        assert_eq!(pod.metadata.owner_references.unwrap().len(), 1);
    }
}
