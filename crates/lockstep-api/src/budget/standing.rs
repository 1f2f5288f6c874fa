//! Owners of pods as they stand: which they are, whose they are, and what they say of their scale.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lockstep_core::budget::Root;
use serde_json::Value;

use super::{Coverage, Made, Owner, seen};

/// What is known of an owner.
#[derive(Debug, Clone)]
pub enum Sight {
    /// It is there.
    Stands(Arc<Standing>),
    /// It is gone, and will not come back: another one of that name is another one.
    Gone,
    /// It cannot be read, for now: its kind is unknown, we have no right to, or nothing of that name is there.
    Opaque,
}

/// An object that is there.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Name, namespace, uid, version, generation, deletion and controller.
    pub metadata: ObjectMeta,
    /// Which it is.
    pub owner: Owner,
    /// How new this is.
    pub version: u64,
    /// What it says of its size, without templates.
    data: Value,
    /// What its pods look like.
    made: Made,
}

impl Standing {
    /// An object of a kind (its group with version, and its name), reduced to what matters. `data` is all of it but
    /// its metadata.
    pub fn of((api_version, kind): (&str, &str), given: &ObjectMeta, data: &Value) -> Self {
        let mut owners = given.owner_references.clone().unwrap_or_default();
        owners.retain(|owner| owner.controller == Some(true));
        let metadata = ObjectMeta {
            name: given.name.clone(),
            namespace: given.namespace.clone(),
            uid: given.uid.clone(),
            resource_version: given.resource_version.clone(),
            generation: given.generation,
            deletion_timestamp: given.deletion_timestamp.clone(),
            owner_references: Some(owners).filter(|owners| !owners.is_empty()),
            ..ObjectMeta::default()
        };
        let owner = Owner {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: given.name.clone().unwrap_or_default(),
            uid: given.uid.clone().unwrap_or_default(),
        };
        let made = Made::of(&owner, data);
        Self { metadata, owner, data: light(data), made, version: seen::version(given).0 }
    }

    /// What it says of its size to a budget with this group label that covers these pods.
    pub fn root(&self, group_label: Option<&str>, coverage: &Coverage) -> Root {
        self.made.counted(seen::root(&self.owner, &self.metadata, &self.data, group_label), coverage)
    }

    /// Whether it is on its way out.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// Numbers and names of `spec` and `status`. What a workload makes its pods from is most of it, and says nothing of
/// how many.
fn light(data: &Value) -> Value {
    match data {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| {
                !matches!(
                    name.as_str(),
                    "template"
                        | "leaderTemplate"
                        | "workerTemplate"
                        | "volumeClaimTemplates"
                        | "conditions"
                        | "memory"
                )
            });
            kept.map(|(name, value)| (name.clone(), light(value))).collect()
        }
        Value::Array(items) => items.iter().map(light).collect(),
        other => other.clone(),
    }
}
