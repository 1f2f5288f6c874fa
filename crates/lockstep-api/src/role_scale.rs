//! The RoleScale kind: the handle by which an autoscaler holds one role of a set.
//!
//! A set has as many numbers as roles, and `/scale` can show one. So each role has a small object of its own,
//! named `<set>-<role>`, that the operator makes and the set owns.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::MOST;
use crate::crd::shapes;

/// The number of instances of one role of a LockstepSet, for autoscalers. Made by Lockstep, one for each role.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleScale {
    /// Always `lockstep.dev/v1alpha1`.
    pub api_version: String,
    /// Always `RoleScale`.
    pub kind: String,
    /// Named `<set>-<role>`, and owned by the set.
    pub metadata: ObjectMeta,
    /// Which role, and how many.
    pub spec: RoleScaleSpec,
    /// What runs, written by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RoleScaleStatus>,
}

/// Which role, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleScaleSpec {
    /// The LockstepSet, in the same namespace.
    #[schemars(schema_with = "shapes::name")]
    pub set: String,
    /// The role of it.
    #[schemars(schema_with = "shapes::name")]
    pub role: String,
    /// How many instances of the role in each group. `kubectl scale` and autoscalers write this; the operator
    /// takes it over.
    #[schemars(range(max = MOST))]
    pub replicas: u32,
}

/// What runs of the role.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleScaleStatus {
    /// Instances of the role in each group, as they are wished for now.
    pub replicas: u32,
    /// Selects the pods that an autoscaler measures, one for each instance of group 0.
    pub selector: String,
}

impl RoleScale {
    /// The name of the object that belongs to a role.
    pub fn name_of(set: &str, role: &str) -> String {
        format!("{set}-{role}")
    }

    /// The object of a role, as the operator makes it.
    pub fn new(set: &str, role: &str, replicas: u32) -> Self {
        Self {
            api_version: Self::API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            metadata: ObjectMeta { name: Some(Self::name_of(set, role)), ..ObjectMeta::default() },
            spec: RoleScaleSpec { set: set.to_owned(), role: role.to_owned(), replicas },
            status: None,
        }
    }
}

// With these two, every client that knows Kubernetes' own kinds knows this one.
impl Resource for RoleScale {
    const API_VERSION: &'static str = "lockstep.dev/v1alpha1";
    const GROUP: &'static str = "lockstep.dev";
    const KIND: &'static str = "RoleScale";
    const VERSION: &'static str = "v1alpha1";
    const URL_PATH_SEGMENT: &'static str = "rolescales";
    type Scope = NamespaceResourceScope;
}

impl Metadata for RoleScale {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
