//! Resource claims that several pods share, as their users write them.

use lockstep_api::crd::shapes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A template of resource claims.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClaimTemplate {
    /// Its name, for `resourceSharing`.
    pub name: String,
    /// The spec of a ResourceClaimTemplate.
    #[schemars(schema_with = "shapes::pod_template")]
    pub template_spec: Value,
}

/// A resource claim that several pods share.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sharing {
    /// The template, one of `resourceClaimTemplates` or a ResourceClaimTemplate of the cluster.
    pub name: String,
    /// The namespace of a ResourceClaimTemplate of the cluster.
    pub namespace: Option<String>,
    /// AllReplicas: one claim for all replicas of what it stands at. PerReplica: one for each.
    pub scope: Scope,
    /// Which children get it. Default: all.
    pub filter: Option<Filter>,
}

/// How widely a claim is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) enum Scope {
    /// By all replicas.
    AllReplicas,
    /// Within each replica.
    PerReplica,
}

/// Which children get a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filter {
    /// These cliques.
    #[serde(default)]
    pub child_clique_names: Vec<String>,
    /// These scaling groups.
    #[serde(default)]
    pub child_scaling_group_names: Vec<String>,
}

impl Sharing {
    /// Whether a clique (in a scaling group, if there is one) gets the claim.
    pub fn reaches(&self, clique: &str, group: Option<&str>) -> bool {
        self.filter.as_ref().is_none_or(|filter| {
            filter.child_clique_names.iter().any(|name| name == clique)
                || filter.child_scaling_group_names.iter().any(|name| Some(name.as_str()) == group)
        })
    }
}
