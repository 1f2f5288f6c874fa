//! A set as its user wishes it, and as we last described it.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use lockstep_api::status::LockstepSetStatus;
use lockstep_api::{API_VERSION, KIND, Parsed, Problem, label};
use lockstep_core::model::Spec;
use lockstep_core::snapshot::Memory;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::act::{Maker, SetRef, Volcano};

/// One state of a set's object.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Which set.
    pub set: SetRef,
    /// Which wish: it rises with every change of the spec.
    pub generation: i64,
    /// Which state of the object.
    pub version: u64,
    /// It is being deleted.
    pub deleting: bool,
    /// The spec, checked; or everything that is wrong with it.
    pub parsed: Result<Arc<Checked>, Vec<Problem>>,
    /// What was last said of it.
    pub status: LockstepSetStatus,
    /// Whether its pods come from another operator.
    pub migration: Migration,
}

/// Whether the pods of a set are taken over from another operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Migration {
    /// They never were.
    #[default]
    None,
    /// It is under way: what is missing may stand under another owner.
    Held,
    /// It is done. Pods may have names that the set would not give them: two of them could stand in one place if
    /// somebody planned before having seen them.
    Adopted,
}

/// A spec without errors, and what the engine is to do with it.
#[derive(Debug)]
pub struct Checked {
    /// As read.
    pub parsed: Parsed,
    /// As the engine reads it.
    pub spec: Spec,
}

/// The resource of sets.
pub fn resource() -> ApiResource {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, KIND), "lockstepsets")
}

impl Wish {
    /// Reads an object as the API server sends it.
    pub fn read(object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let manifest = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": name, "namespace": namespace},
            "spec": object.data.get("spec").cloned().unwrap_or_default(),
        });
        let parsed = lockstep_api::parse_json(&manifest)
            .map(|parsed| Arc::new(Checked { spec: lockstep_api::lower(&parsed.set), parsed }));
        let uid = metadata.uid.clone().unwrap_or_default();
        let mut owners = metadata.owner_references.iter().flatten();
        let maker = owners.find(|owner| owner.controller == Some(true)).map(|owner| Maker {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
        });
        let status = object.data.get("status").map(LockstepSetStatus::deserialize);
        let annotations = metadata.annotations.as_ref();
        let migration = match annotations.and_then(|all| all.get(label::MIGRATION)).map(String::as_str) {
            None => Migration::None,
            Some(label::ADOPTED) => Migration::Adopted,
            Some(_) => Migration::Held,
        };
        Self {
            set: SetRef { namespace, name, uid, maker, volcano: Volcano::read(object.annotations()) },
            generation: metadata.generation.unwrap_or_default(),
            version: metadata.resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            parsed,
            status: status.and_then(Result::ok).unwrap_or_default(),
            migration,
        }
    }

    /// What was to be remembered. What cannot be read counts as lost, which may delay and never breaks a promise.
    pub fn memory(&self) -> Memory {
        match &self.status.memory {
            Value::Null => Memory::default(),
            memory => Memory::deserialize(memory).unwrap_or_else(|error| {
                tracing::warn!(set = %self.set.name, %error, "the memory in status cannot be read");
                Memory::default()
            }),
        }
    }
}
