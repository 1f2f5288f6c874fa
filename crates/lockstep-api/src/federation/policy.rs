//! Which rollouts are aligned over clusters, and how they go from one to the next.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use kube_core::{Selector, SelectorExt};
use lockstep_core::align::SplitMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::LONGEST_LIST;
use crate::crd::shapes;
use crate::duration::Duration;

/// Which workloads of a namespace roll over clusters as if they stood in one, and how they go from one cluster to the
/// next.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FederationPolicy {
    /// Always `lockstep.dev/v1alpha1`.
    pub api_version: String,
    /// Always `FederationPolicy`.
    pub kind: String,
    /// Its name.
    pub metadata: ObjectMeta,
    /// What it asks for.
    pub spec: FederationPolicySpec,
}

impl Resource for FederationPolicy {
    const API_VERSION: &'static str = "lockstep.dev/v1alpha1";
    const GROUP: &'static str = "lockstep.dev";
    const KIND: &'static str = "FederationPolicy";
    const VERSION: &'static str = "v1alpha1";
    const URL_PATH_SEGMENT: &'static str = "federationpolicies";
    type Scope = NamespaceResourceScope;
}

impl Metadata for FederationPolicy {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Which workloads, and how.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederationPolicySpec {
    /// Only workloads of these kinds. Default: all kinds that can be aligned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST))]
    pub kinds: Vec<String>,
    /// Only workloads with these labels. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shapes::label_selector")]
    pub selector: Option<LabelSelector>,
    /// How the pods that may be new are spread: one cluster after the other, or each its share. Default Sequential.
    pub split: Split,
    /// The clusters that go first, in this order. The others follow in the order of the binding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LONGEST_LIST))]
    pub cluster_order: Vec<String>,
    /// A cluster has to stand complete for so long before the next begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bake_time: Option<Duration>,
    /// So long nothing begins after a cluster has been found good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_between_clusters: Option<Duration>,
    /// While a cluster that was complete is so no longer, no other begins. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when_degraded: Option<bool>,
}

/// How new pods are spread over clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Split {
    /// One cluster after the other.
    #[default]
    Sequential,
    /// Each cluster its share.
    Proportional,
}

impl From<Split> for SplitMode {
    fn from(split: Split) -> Self {
        match split {
            Split::Sequential => Self::Sequential,
            Split::Proportional => Self::Proportional,
        }
    }
}

impl FederationPolicySpec {
    /// Whether it is about a workload of this kind with these labels. A selector that says nothing sensible, which the
    /// API server refuses, selects nothing.
    pub fn selects(&self, kind: &str, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.selector.clone().map(Selector::try_from).transpose();
        let by_labels = selector.is_ok_and(|selector| selector.is_none_or(|it| it.matches(labels)));
        by_labels && (self.kinds.is_empty() || self.kinds.iter().any(|it| it == kind))
    }

    /// Whether one cluster has to be found good before the next begins.
    pub fn goes_one_by_one(&self) -> bool {
        self.bake_time.is_some() || self.pause_between_clusters.is_some()
    }
}
