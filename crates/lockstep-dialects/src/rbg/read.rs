//! From JSON to a group that can be worked with, wherever in the object it stands.

use std::collections::BTreeMap;

use lockstep_api::Problem;
use lockstep_core::number::IntOrPercent;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::kinds;
use super::names::Names;
use super::spec::GroupSpec;
use super::spec::others::{GroupRollout, GroupSetSpec};
use crate::{Findings, shape};

/// A group as its user wrote it, and where.
pub(crate) struct Group {
    /// Its name, or that of the set of groups.
    pub name: String,
    /// Its namespace, if the object says so.
    pub namespace: Option<String>,
    /// How many there are.
    pub replicas: u32,
    /// What it is made of.
    pub spec: GroupSpec,
    /// Where that stands: `spec`, or deeper in the object of a set.
    pub at: String,
    /// Annotations that say something about it.
    pub annotations: BTreeMap<String, String>,
    /// Labels and annotations of every group of a set.
    pub template_metadata: (BTreeMap<String, String>, BTreeMap<String, String>),
    /// How groups of a set move, and where that stands.
    pub rollout: Option<(GroupRollout, String)>,
    /// How it is called.
    pub names: Names,
}

/// Reads a RoleBasedGroup or a RoleBasedGroupSet that fits its schema.
pub(crate) fn group(object: &Value, found: &mut Findings<'_>) -> Option<Group> {
    let of_set = kinds::GROUP_SET.is_of(object);
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
    let annotations: BTreeMap<String, String> = strings(&object["metadata"]["annotations"]);
    let plain = Group {
        name,
        namespace,
        replicas: 1,
        spec: GroupSpec::default(),
        at: "spec".to_owned(),
        annotations,
        template_metadata: (BTreeMap::new(), BTreeMap::new()),
        rollout: None,
        names: Names { of_set },
    };
    if of_set {
        return set(plain, typed::<GroupSetSpec>(&object["spec"], found)?, found);
    }
    Some(Group { spec: typed(&object["spec"], found)?, ..plain })
}

fn set(plain: Group, read: GroupSetSpec, found: &mut Findings<'_>) -> Option<Group> {
    let mut annotations = plain.annotations.clone();
    let mut template_metadata = (BTreeMap::new(), BTreeMap::new());
    let (spec, at) = match (read.group_template, read.template) {
        (Some(template), None) => {
            let metadata = template.metadata.unwrap_or_default();
            for labels in [metadata.labels, template.labels] {
                template_metadata.0.extend(labels.unwrap_or_default());
            }
            for given in [metadata.annotations, template.annotations] {
                template_metadata.1.extend(given.unwrap_or_default());
            }
            annotations.extend(template_metadata.1.clone());
            (template.spec, "spec.groupTemplate.spec")
        }
        (None, Some(spec)) => (spec, "spec.template"),
        (Some(_), Some(_)) => {
            found.error("spec.template", "groupTemplate is given too; keep one of them");
            return None;
        }
        (None, None) => {
            found.error("spec.groupTemplate", "required");
            return None;
        }
    };
    let rollout = match (read.rollout_strategy, read.update_strategy) {
        (Some(rollout), None) => Some((rollout, "spec.rolloutStrategy".to_owned())),
        (None, Some(rollout)) => Some((rollout, "spec.updateStrategy".to_owned())),
        (Some(_), Some(_)) => {
            found.error("spec.updateStrategy", "another spelling of rolloutStrategy, which is given too");
            None
        }
        (None, None) => None,
    };
    let replicas = read.replicas.unwrap_or(1);
    Some(Group { replicas, spec, at: at.to_owned(), annotations, template_metadata, rollout, ..plain })
}

/// The schema of a RoleBasedGroup or a RoleBasedGroupSet.
pub(crate) fn schema(object: &Value) -> Value {
    around(&if kinds::GROUP_SET.is_of(object) { kinds::group_set_spec() } else { kinds::group_spec() })
}

/// An object against the schema of its spec.
pub(crate) fn whole(spec: &Value, object: &Value) -> Vec<Problem> {
    shape::check(&around(spec), object)
}

fn around(spec: &Value) -> Value {
    let open = serde_json::json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    serde_json::json!({
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "metadata": open, "spec": spec, "status": open,
        },
    })
}

/// The rest of what cannot be read: numbers beyond all bounds and the like.
fn typed<T: DeserializeOwned>(spec: &Value, found: &mut Findings<'_>) -> Option<T> {
    match T::deserialize(&without_nulls(spec)) {
        Ok(read) => Some(read),
        Err(error) => {
            found.error("spec", format!("cannot be read: {error}"));
            None
        }
    }
}

/// Patches of templates: a field that is null in one of them is taken away from the template.
const PATCHES: [&str; 6] = [
    "patch",
    "templatePatch",
    "leaderTemplatePatch",
    "workerTemplatePatch",
    "patchLeaderTemplate",
    "patchWorkerTemplate",
];

/// A field that is null is a field that is missing.
pub(crate) fn without_nulls(value: &Value) -> Value {
    let below = |key: &str, value: &Value| match PATCHES.contains(&key) {
        true => value.clone(),
        false => without_nulls(value),
    };
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), below(key, value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

/// A map of strings.
pub(crate) fn strings(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// A number or a percentage, also one written in quotes.
pub(crate) fn number(value: Option<&Value>, at: &str, found: &mut Findings<'_>) -> Option<IntOrPercent> {
    let value = value?;
    let read = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => IntOrPercent::deserialize(other).ok(),
    };
    if read.is_none() {
        found.error(at, "must be a whole number from 0 up, or a percentage such as 25%");
    }
    read
}
