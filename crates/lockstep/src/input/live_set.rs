//! A set as a cluster keeps it: the object, what the operator says of it, what it remembers.

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::ResourceExt;
use kube::core::DynamicObject;
use lockstep_api::status::{INVALID_SPEC, LockstepSetStatus};
use lockstep_api::{API_VERSION, KIND, Parsed, label};
use lockstep_core::blocked::Reason;
use lockstep_core::snapshot::{Memory, Override};
use lockstep_core::time::{Millis, Time};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::complaint::{BadInput, Complaint};
use super::scales::Scales;

/// A set and what the operator says of it.
#[derive(Debug, Clone)]
pub struct LiveSet {
    /// The object as it was read.
    pub object: DynamicObject,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// What the operator says; nothing, if it has not looked at the set.
    pub status: LockstepSetStatus,
}

impl LiveSet {
    /// Takes an object apart.
    pub fn of(object: DynamicObject) -> Result<Self> {
        let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
        let status = match &object.data["status"] {
            Value::Null => LockstepSetStatus::default(),
            status => serde_json::from_value(status.clone())
                .with_context(|| format!("the status of {name} is not one this version knows"))?,
        };
        Ok(Self { object, name, namespace, status })
    }

    /// What is wished for, as it was written.
    pub fn spec(&self) -> &Value {
        &self.object.data["spec"]
    }

    /// What the set was made from, as `ModelServing llama`: whoever changes the set's spec is overruled by it.
    pub fn maker(&self) -> Option<String> {
        self.object.labels().get(label::DIALECT)?;
        let owner = self.object.owner_references().iter().find(|owner| owner.controller == Some(true))?;
        Some(format!("{} {}", owner.kind, owner.name))
    }

    /// Whether what the set was made from says itself that it is paused.
    pub fn is_paused_by_maker(&self) -> bool {
        let owns = |entry: &ManagedFieldsEntry| {
            let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
            let paused = fields.and_then(|fields| fields.pointer("/f:spec/f:paused"));
            entry.manager.as_deref() == Some(label::DIALECT_MANAGER) && paused.is_some()
        };
        self.object.managed_fields().iter().any(owns)
    }

    /// Whether the status speaks of the spec as it is now.
    pub fn is_seen(&self) -> bool {
        let said = !self.status.rollout.phase.is_empty() || self.refusal().is_some();
        self.status.observed_generation >= self.generation() && said
    }

    /// What the operator finds wrong with the spec; then nothing moves, and the rest of the status is old.
    pub fn refusal(&self) -> Option<&str> {
        let stalled = self.status.conditions.iter().find(|condition| condition.type_ == "Stalled");
        let refused = stalled.filter(|stalled| stalled.status == "True" && stalled.reason == INVALID_SPEC);
        refused.map(|refused| refused.message.as_str())
    }

    /// What it waits for, in one line. Groups that only wait for others are not what it waits for.
    pub fn waiting(&self) -> Option<String> {
        let rollout = &self.status.rollout;
        let a_group = Reason::GroupsExhausted.to_string();
        let cause = rollout.blocked.iter().find(|blocked| blocked.reason != a_group);
        let Some(blocked) = cause.or(rollout.blocked.first()) else {
            return Some(rollout.waiting_for.clone()).filter(|text| !text.is_empty());
        };
        let clause = blocked.message.split("; ").next().unwrap_or_default();
        let group = blocked.what.split('/').next().unwrap_or_default();
        let told = group == self.name || clause.contains(group);
        Some(if told { clause.to_owned() } else { format!("{group}: {clause}") })
    }

    /// Which version of the spec this is.
    pub fn generation(&self) -> i64 {
        self.object.metadata.generation.unwrap_or_default()
    }

    /// When it was created.
    pub fn created(&self) -> Option<Time> {
        self.object.metadata.creation_timestamp.as_ref().map(|time| at(time.0))
    }

    /// What the engine remembers; nothing, if it has never planned.
    pub fn memory(&self) -> Result<Option<Memory>> {
        match &self.status.memory {
            Value::Null => Ok(None),
            memory => serde_json::from_value(memory.clone())
                .with_context(|| format!("the memory of {} is not one this version knows", self.name)),
        }
    }

    /// What stands in for the target of the spec, where its rollout failed or was aborted.
    pub fn overridden(&self) -> Option<Override> {
        self.memory().ok().flatten()?.overridden
    }

    /// How long a rollout may go without progress.
    pub fn progress_deadline(&self) -> Millis {
        Millis::seconds(self.spec()["progressDeadlineSeconds"].as_u64().unwrap_or(600))
    }

    /// The manifest: the object without what the cluster adds, each role as large as it is scaled to.
    pub fn manifest(&self, scales: &Scales) -> Value {
        let mut spec = self.spec().clone();
        scales.apply(&mut spec);
        let metadata = json!({"name": self.name, "namespace": self.namespace});
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec})
    }

    /// The set, checked.
    pub fn parse(&self, scales: &Scales) -> Result<Parsed, BadInput> {
        check(&self.name, &self.manifest(scales))
    }
}

/// Checks a manifest that came from a cluster.
pub fn check(name: &str, manifest: &Value) -> Result<Parsed, BadInput> {
    let of = format!("lss/{name}");
    lockstep_api::parse_json(manifest)
        .map_err(|problems| BadInput(problems.into_iter().map(|p| Complaint::error(&of, p)).collect()))
}

/// A time of a cluster as the engine counts it.
pub fn at(time: jiff::Timestamp) -> Time {
    Time(u64::try_from(time.as_millisecond()).unwrap_or(0))
}

/// Now.
pub fn now() -> Time {
    at(jiff::Timestamp::now())
}

/// Writes a time as Kubernetes does.
pub fn stamp<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    let millis = time.and_then(|time| i64::try_from(time.0).ok());
    let stamp = millis.and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    stamp.map(|stamp| stamp.to_string()).serialize(serializer)
}

/// A time as the status writes it.
pub fn moment(text: &str) -> Option<Time> {
    text.parse().ok().map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> LiveSet {
        let object = json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": {"name": "llama", "namespace": "ml", "generation": 2, "managedFields": []},
            "spec": {"roles": [{"name": "decode", "replicas": 2}, {"name": "prefill"}]},
            "status": {"observedGeneration": 2, "rollout": {"phase": "Complete"}},
        });
        LiveSet::of(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn the_manifest_is_without_what_the_cluster_adds() {
        let manifest = set().manifest(&Scales::default());
        assert_eq!(manifest["spec"], *set().spec());
        assert_eq!(manifest["metadata"], json!({"name": "llama", "namespace": "ml"}));
        assert!(manifest.get("status").is_none());
    }

    #[test]
    fn what_it_waits_for_is_the_cause_and_says_where() {
        let mut set = set();
        let blocked = |what: &str, reason: &str, message: &str| {
            serde_json::from_value(json!({"what": what, "reason": reason, "message": message})).unwrap()
        };
        assert_eq!(set.waiting(), None);
        set.status.rollout.blocked =
            vec![blocked("llama-0", "GroupsExhausted", "llama-0 waits for llama-1; x")];
        assert_eq!(set.waiting().unwrap(), "llama-0 waits for llama-1");
        let cause = blocked("llama-1/prefill-1", "NotReadyYet", "prefill-2 is not available yet; at most 1");
        set.status.rollout.blocked.push(cause);
        assert_eq!(set.waiting().unwrap(), "llama-1: prefill-2 is not available yet");
        set.status.rollout.blocked.insert(0, blocked("llama", "CreateFailed", "quota exceeded"));
        assert_eq!(set.waiting().unwrap(), "quota exceeded");
    }

    #[test]
    fn a_status_speaks_of_one_generation() {
        let mut set = set();
        assert!(set.is_seen());
        set.object.metadata.generation = Some(3);
        assert!(!set.is_seen());
        assert_eq!(moment("1970-01-01T00:00:01.5Z"), Some(Time(1500)));
    }
}
