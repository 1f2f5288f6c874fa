//! What an instance of a role is made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shapes;

/// Instances of one pod.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Standalone {
    /// An ordinary pod template. Either this or `templateRef`.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub template: Option<Value>,
    /// One of `roleTemplates`, and what differs from it.
    #[serde(default)]
    pub template_ref: Option<TemplateRef>,
}

/// One of the group's templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateRef {
    /// Its name in `roleTemplates`.
    pub name: String,
    /// What differs from it, as a strategic merge patch.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub patch: Option<Value>,
}

/// Instances of a leader and its workers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeaderWorker {
    /// How many pods, the leader among them. Default 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub size: Option<u32>,
    /// The template of all pods. Either this or `templateRef`.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub template: Option<Value>,
    /// One of `roleTemplates`, and what differs from it.
    #[serde(default)]
    pub template_ref: Option<TemplateRef>,
    /// What differs for the leader.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub leader_template_patch: Option<Value>,
    /// What differs for the workers.
    #[serde(default)]
    #[schemars(schema_with = "shapes::template")]
    pub worker_template_patch: Option<Value>,
    /// Which pods the role's service selects: All, or LeaderOnly. Default LeaderOnly.
    #[serde(default)]
    pub shared_service_selection: Option<String>,
    /// What happens when a pod fails or restarts. Default RecreateRoleInstanceOnPodRestart.
    #[serde(default)]
    #[schemars(schema_with = "shapes::word_or_object")]
    pub restart_policy: Option<Value>,
    /// Another spelling of `restartPolicy`.
    #[serde(default)]
    pub restart_policy_config: Option<RestartConfig>,
    /// The delay before the second restart; it doubles from there. Default 30.
    #[serde(default)]
    pub base_delay_seconds: Option<u32>,
    /// The longest delay. Default 600.
    #[serde(default)]
    pub max_delay_seconds: Option<u32>,
}

/// Instances of several kinds of pods.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomComponents {
    /// The kinds of pods.
    #[serde(default)]
    pub components: Vec<Component>,
    /// What happens when a pod fails or restarts. Default RecreateRoleInstanceOnPodRestart.
    #[serde(default)]
    #[schemars(schema_with = "shapes::word_or_object")]
    pub restart_policy: Option<Value>,
    /// Another spelling of `restartPolicy`.
    #[serde(default)]
    pub restart_policy_config: Option<RestartConfig>,
    /// The delay before the second restart; it doubles from there. Default 30.
    #[serde(default)]
    pub base_delay_seconds: Option<u32>,
    /// The longest delay. Default 600.
    #[serde(default)]
    pub max_delay_seconds: Option<u32>,
}

/// One kind of pods of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Component {
    /// Its name, a part of its pods' names.
    pub name: String,
    /// How many pods. Default 1.
    #[serde(default)]
    pub size: Option<u32>,
    /// The headless service by which its pods are found. Default: the role's.
    #[serde(default)]
    pub service_name: Option<String>,
    /// Labels of its pods.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of its pods.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
    /// An ordinary pod template.
    #[schemars(schema_with = "shapes::template")]
    pub template: Value,
}

/// What happens when a pod fails or restarts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RestartConfig {
    /// None, RecreateRoleInstanceOnPodRestart or RecreateRBGOnPodRestart.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// The delay before the second restart; it doubles from there. Default 30.
    #[serde(default)]
    pub base_delay_seconds: Option<u32>,
    /// The longest delay. Default 600.
    #[serde(default)]
    pub max_delay_seconds: Option<u32>,
}
