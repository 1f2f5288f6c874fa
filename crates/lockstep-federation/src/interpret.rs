//! How a kind is read and written: where its template, its strategy and its counts stand.
//!
//! A kind is a table of paths, and further kinds are given as such tables, not as code.

use lockstep_core::align::{Kind, RollingStrategy, TemplateHash, UnifiedRollingStatus};
use lockstep_core::number::IntOrPercent;
use lockstep_core::revision::Revision;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::Path;

mod kinds;

pub use kinds::{Kinds, built_in, of};

/// What the proposal of the rollout interpreter asks of a kind.
pub trait Interpreter {
    /// The hash of the template: two manifests with the same hash want the same pods.
    fn template_hash(&self, object: &Value) -> TemplateHash;

    /// The rolling strategy of a workload.
    fn rolling_strategy(&self, object: &Value) -> RollingStrategy;

    /// Writes a rolling strategy into a workload. What the strategy does not say stays.
    fn revise_rolling_strategy(&self, object: &mut Value, strategy: &RollingStrategy);

    /// The raw status of a workload in the words that all kinds share.
    fn rolling_status(&self, status: &Value) -> UnifiedRollingStatus;
}

/// Where everything stands in the objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Interpretation {
    /// The API version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// What its objects are called in addresses. Default: the kind in small letters, in the plural.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plural: Option<String>,
    /// The kind whose rules it follows.
    pub like: Kind,
    /// What its pods are made from.
    pub template: Vec<Path>,
    /// How many there are to be.
    pub replicas: Path,
    /// Its pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Path>,
    /// How many stay old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Path>,
    /// How many may be unavailable.
    pub max_unavailable: Path,
    /// How many may be too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<Path>,
    /// What its status calls its counts.
    #[serde(default)]
    pub counts: Counts,
    /// The type of the condition that holds while nothing is under way, where counts alone do not show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_rest: Option<String>,
}

/// The fields of a status that are counts, by their paths within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Counts {
    /// Pods that exist.
    pub replicas: String,
    /// Pods that are ready.
    pub ready: String,
    /// Pods that are available.
    pub available: String,
    /// Pods of the newest template.
    pub updated: String,
    /// Pods of the template that the partition keeps.
    pub current: String,
    /// Of those of the newest, the ready ones.
    pub updated_ready: String,
    /// Of those of the newest, the available ones.
    pub updated_available: String,
    /// Pods that are missing or do not serve.
    pub unavailable: String,
    /// Pods that only the rollout itself keeps from counting as available.
    pub under_way: String,
    /// Whether all that is created now is of the newest template.
    pub creates_updated: String,
    /// The revision that pods are made of which the partition keeps.
    pub current_revision: String,
    /// The revision of the newest template.
    pub update_revision: String,
}

impl Default for Counts {
    fn default() -> Self {
        let name = |it: &str| it.to_owned();
        Self {
            replicas: name("replicas"),
            ready: name("readyReplicas"),
            available: name("availableReplicas"),
            updated: name("updatedReplicas"),
            current: name("currentReplicas"),
            updated_ready: name("updatedReadyReplicas"),
            updated_available: name("updatedAvailableReplicas"),
            unavailable: name("unavailableReplicas"),
            under_way: name("underWayReplicas"),
            creates_updated: name("createsUpdated"),
            current_revision: name("currentRevision"),
            update_revision: name("updateRevision"),
        }
    }
}

impl Interpretation {
    /// The fields by which a kind of these rules is closed and which this one does not say. Without them nothing could
    /// be held.
    pub fn missing(&self) -> Vec<&'static str> {
        let lacks = |path: &Option<Path>, name: &'static str| path.is_none().then_some(name);
        let all = [
            lacks(&self.paused, "paused").filter(|_| self.like.has_pause()),
            lacks(&self.partition, "partition").filter(|_| self.like.has_partition()),
            lacks(&self.max_surge, "maxSurge").filter(|_| self.like.has_surge()),
        ];
        all.into_iter().flatten().collect()
    }

    /// Whether an object is of this kind.
    pub fn is_of(&self, object: &Value) -> bool {
        object["apiVersion"] == self.api_version.as_str() && object["kind"] == self.kind.as_str()
    }

    /// `spec.replicas`, or one where it is not said.
    pub fn replicas(&self, object: &Value) -> u32 {
        self.replicas.get(object).map_or(1, count)
    }

    /// Writes `spec.replicas`.
    pub fn set_replicas(&self, object: &mut Value, replicas: u32) {
        self.replicas.set(object, replicas.into());
    }

    /// What the pods are made from, by its paths.
    pub fn template(&self, object: &Value) -> Value {
        let part = |path: &Path| Some((path.to_string(), path.get(object)?.clone()));
        Value::Object(self.template.iter().filter_map(part).collect())
    }

    /// The hash of what pods are made from, as [`template`](Self::template) gives it.
    pub fn hash(&self, template: &Value) -> TemplateHash {
        TemplateHash(Revision::of(template).as_str().to_owned())
    }

    /// Puts a template back where [`template`](Self::template) took it from.
    pub fn set_template(&self, object: &mut Value, template: &Value) {
        for path in &self.template {
            match template.get(path.to_string()) {
                None => path.remove(object),
                Some(part) => path.set(object, part.clone()),
            }
        }
    }

    /// Whether a Deployment, or whatever follows its rules, replaces all of its pods at once.
    pub fn rolls(&self, object: &Value) -> bool {
        object["spec"]["strategy"]["type"] != "Recreate"
            && object["spec"]["updateStrategy"]["type"] != "OnDelete"
    }

    /// All paths of the strategy, with what they set.
    pub fn strategy_paths(&self) -> impl Iterator<Item = (Field, &Path)> {
        [
            (Field::Paused, self.paused.as_ref()),
            (Field::Partition, self.partition.as_ref()),
            (Field::MaxUnavailable, Some(&self.max_unavailable)),
            (Field::MaxSurge, self.max_surge.as_ref()),
        ]
        .into_iter()
        .filter_map(|(field, path)| Some((field, path?)))
    }
}

/// A field of a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The pause.
    Paused,
    /// How many stay old.
    Partition,
    /// How many may be unavailable.
    MaxUnavailable,
    /// How many may be too many.
    MaxSurge,
}

impl Interpreter for Interpretation {
    fn template_hash(&self, object: &Value) -> TemplateHash {
        self.hash(&self.template(object))
    }

    fn rolling_strategy(&self, object: &Value) -> RollingStrategy {
        let number = |path: Option<&Path>| path.and_then(|path| int_or_percent(path.get(object)?));
        RollingStrategy {
            paused: self.paused.as_ref().and_then(|path| path.get(object)?.as_bool()),
            partition: number(self.partition.as_ref()),
            max_unavailable: number(Some(&self.max_unavailable)),
            max_surge: number(self.max_surge.as_ref()),
        }
    }

    fn revise_rolling_strategy(&self, object: &mut Value, strategy: &RollingStrategy) {
        let number = |value: Option<IntOrPercent>| value.and_then(|value| serde_json::to_value(value).ok());
        for (field, path) in self.strategy_paths() {
            let value = match field {
                Field::Paused => strategy.paused.map(Value::from),
                Field::Partition => number(strategy.partition),
                Field::MaxUnavailable => number(strategy.max_unavailable),
                Field::MaxSurge => number(strategy.max_surge),
            };
            if let Some(value) = value {
                path.set(object, value);
            }
        }
    }

    fn rolling_status(&self, status: &Value) -> UnifiedRollingStatus {
        let counted = |name: &str| at(status, name).map(count);
        let signed = |name: &str| status.get(name).and_then(Value::as_i64);
        UnifiedRollingStatus {
            generation: signed("generation"),
            observed_generation: signed("observedGeneration"),
            resource_template_generation: signed("resourceTemplateGeneration"),
            replicas: counted(&self.counts.replicas),
            ready_replicas: counted(&self.counts.ready),
            available_replicas: counted(&self.counts.available),
            updated_replicas: counted(&self.counts.updated),
            updated_ready_replicas: counted(&self.counts.updated_ready),
        }
    }
}

/// What stands in a status at a path of names with dots between them.
pub(crate) fn at<'a>(status: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(status, |at, name| at.get(name)).filter(|it| !it.is_null())
}

/// A count as JSON has it. Lua makes whole numbers into floats; nothing below zero is a count.
pub(crate) fn count(value: &Value) -> u32 {
    let whole = value.as_u64().or_else(|| {
        let text = value.to_string();
        text.strip_suffix(".0")?.parse().ok()
    });
    whole.map_or(0, |whole| u32::try_from(whole).unwrap_or(u32::MAX))
}

pub(crate) fn int_or_percent(value: &Value) -> Option<IntOrPercent> {
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests;
