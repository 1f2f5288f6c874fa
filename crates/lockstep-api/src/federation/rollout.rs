//! One rollout over several clusters: what each was granted, and what it has acknowledged.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use lockstep_core::align::{Alignment, Code, Ledger, Reason, TemplateHash};
use lockstep_core::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crd::shapes;

/// One rollout over several clusters, named as its ResourceBinding. Made and kept by Lockstep; its status is the ledger
/// of what every cluster may do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FederatedRollout {
    /// Always `lockstep.dev/v1alpha1`.
    pub api_version: String,
    /// Always `FederatedRollout`.
    pub kind: String,
    /// Its name, and the binding it belongs to.
    pub metadata: ObjectMeta,
    /// What is rolled out.
    pub spec: FederatedRolloutSpec,
    /// What every cluster was granted and has acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<FederatedRolloutStatus>,
}

impl Resource for FederatedRollout {
    const API_VERSION: &'static str = "lockstep.dev/v1alpha1";
    const GROUP: &'static str = "lockstep.dev";
    const KIND: &'static str = "FederatedRollout";
    const VERSION: &'static str = "v1alpha1";
    const URL_PATH_SEGMENT: &'static str = "federatedrollouts";
    type Scope = NamespaceResourceScope;
}

impl Metadata for FederatedRollout {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What is rolled out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FederatedRolloutSpec {
    /// The resource template.
    pub resource: ResourceRef,
}

/// A resource template, in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRef {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Where the rollout stands, cluster by cluster.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederatedRolloutStatus {
    /// The generation of this very object that was seen.
    pub observed_generation: i64,
    /// The generation of the resource template that everything here speaks of.
    pub template_generation: i64,
    /// The hash of its pod template.
    pub template: String,
    /// Rolling, Complete or Paused.
    pub phase: String,
    /// What it waits for, in a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub waiting_for: String,
    /// The numbers of the whole.
    pub totals: TotalsStatus,
    /// The clusters by name, for `kubectl get`; the columns below are in the same order.
    pub clusters: String,
    /// Replicas that each was granted.
    pub replicas: String,
    /// New pods of each, and how many are to be.
    pub updated: String,
    /// What each may have unavailable, and how many pods too many.
    pub granted: String,
    /// The lease each has acknowledged, and the one it was given last.
    pub acknowledged: String,
    /// Every cluster.
    pub members: Vec<MemberStatus>,
    /// Everything that holds the rollout or that somebody should know, the whole first, then cluster by cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonStatus>,
    /// The template that stood complete last in all clusters, nothing kept old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<CompleteTemplate>,
    /// Ready, Reconciling and Stalled, and what else has to be known.
    #[schemars(schema_with = "shapes::conditions")]
    pub conditions: Vec<Condition>,
    /// The leases that may be in force, and the counts last seen. Not for people: ask `lockstep why`.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "shapes::memory")]
    pub ledger: Value,
}

/// One reason, about one cluster or about the whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReasonStatus {
    /// What kind of reason it is, in one word.
    pub code: String,
    /// The cluster it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The sentence.
    pub message: String,
}

/// A template that stood complete, so that it can be put back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompleteTemplate {
    /// Its hash.
    pub template: String,
    /// The generation of the resource template it was.
    pub generation: i64,
    /// What its pods are made from.
    #[schemars(schema_with = "shapes::memory")]
    pub content: Value,
}

/// The numbers of the whole, resolved once against all replicas.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TotalsStatus {
    /// Replicas over all clusters.
    pub replicas: u32,
    /// How many may be unavailable.
    pub max_unavailable: u32,
    /// How many may stand beyond the replicas.
    pub max_surge: u32,
    /// How many stay old.
    pub partition: u32,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemberStatus {
    /// Its name.
    pub cluster: String,
    /// The hash of the template it is to carry: another than the rest's where an override policy says so.
    pub template: String,
    /// Replicas it was granted.
    pub replicas: u32,
    /// New pods it is to have.
    pub target: u32,
    /// New pods it has.
    pub updated: u32,
    /// Of those, the available ones.
    pub updated_available: u32,
    /// Whether it has arrived.
    pub complete: bool,
    /// Since when it has stood complete with this template, in milliseconds since 1970. Kept while it is short of pods
    /// again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete_since: Option<u64>,
    /// The lease it was given last.
    pub lease: u64,
    /// The lease it has acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<u64>,
    /// How many pods it may have unavailable.
    pub max_unavailable: u32,
    /// How many pods it may have too many.
    pub max_surge: u32,
    /// What it waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub waiting_for: String,
}

impl FederatedRolloutStatus {
    /// What is remembered. A ledger that cannot be read is an error: to forget a lease is to break a promise.
    pub fn ledger(&self) -> Result<Ledger, serde_json::Error> {
        if self.ledger.is_null() { Ok(Ledger::default()) } else { Ledger::deserialize(&self.ledger) }
    }

    /// Another template is wished for in some clusters: they have not arrived at it yet. `own` are those of clusters
    /// that have another than the rest.
    pub fn begin(&mut self, template: &TemplateHash, own: &BTreeMap<String, TemplateHash>) {
        self.template = template.0.clone();
        for member in &mut self.members {
            let template = own.get(&member.cluster).unwrap_or(template);
            if member.template != template.0 {
                member.template = template.0.clone();
                (member.complete, member.complete_since, member.updated) = (false, None, 0);
            }
        }
    }

    /// Puts down an alignment. Conditions stay as they are.
    pub fn put(&mut self, alignment: &Alignment, paused: bool, now: Time) -> Result<(), serde_json::Error> {
        self.ledger = serde_json::to_value(&alignment.ledger)?;
        let totals = &alignment.totals;
        self.totals = TotalsStatus {
            replicas: totals.replicas,
            max_unavailable: totals.max_unavailable,
            max_surge: totals.max_surge,
            partition: totals.partition,
        };
        let before = std::mem::take(&mut self.members);
        self.members = alignment.members.iter().map(|it| member(alignment, it)).collect();
        for member in &mut self.members {
            let known = before.iter().find(|it| it.cluster == member.cluster);
            let was_complete = known.is_some_and(|it| it.complete);
            let since = known.and_then(|it| it.complete_since).filter(|_| was_complete || !member.complete);
            member.complete_since = since.or(member.complete.then_some(now.0));
        }
        let phase = match (alignment.complete, paused) {
            (true, _) => "Complete",
            (false, true) => "Paused",
            (false, false) => "Rolling",
        };
        self.phase = phase.to_owned();
        self.reasons = alignment.reasons.iter().map(reason).collect();
        self.waiting_for = foremost(alignment.reasons.iter()).map(ToString::to_string).unwrap_or_default();
        let column =
            |of: fn(&MemberStatus) -> String| self.members.iter().map(of).collect::<Vec<_>>().join(",");
        (self.clusters, self.replicas) =
            (column(|it| it.cluster.clone()), column(|it| it.replicas.to_string()));
        self.updated = column(|it| format!("{}/{}", it.updated, it.target));
        self.granted = column(|it| format!("{}+{}", it.max_unavailable, it.max_surge));
        self.acknowledged = column(|it| match it.acknowledged {
            Some(id) => format!("{id}/{}", it.lease),
            None => format!("-/{}", it.lease),
        });
        Ok(())
    }
}

/// What is said where there is room for one. That a lease is on its way is said only if nothing else is.
fn foremost<'a>(reasons: impl Iterator<Item = &'a Reason> + Clone) -> Option<&'a Reason> {
    let mut lasting = reasons.clone().filter(|it| it.code != Code::WaitingForAcknowledgement);
    lasting.next().or_else(|| reasons.clone().next())
}

fn reason(reason: &Reason) -> ReasonStatus {
    ReasonStatus {
        code: format!("{:?}", reason.code),
        cluster: reason.cluster.clone(),
        message: reason.message.clone(),
    }
}

fn member(alignment: &Alignment, standing: &lockstep_core::align::Standing) -> MemberStatus {
    let entry = alignment.ledger.members.get(&standing.cluster);
    let lease = entry.and_then(|it| it.latest());
    let reasons = alignment.reasons.iter();
    let why = foremost(reasons.filter(|it| it.cluster.as_deref() == Some(&standing.cluster)));
    MemberStatus {
        cluster: standing.cluster.clone(),
        template: standing.template.0.clone(),
        replicas: standing.replicas,
        target: standing.target,
        updated: standing.updated,
        updated_available: standing.updated_available,
        complete: standing.complete,
        complete_since: None,
        lease: lease.map_or(0, |it| it.id.0),
        acknowledged: entry.and_then(|it| Some(it.seen.as_ref()?.acknowledged?.0)),
        max_unavailable: lease.map_or(0, |it| it.unavailable),
        max_surge: lease.map_or(0, |it| it.surge),
        waiting_for: why.map(|it| it.message.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_begins_anew_when_its_own_template_is_another() {
        let hash = |it: &str| TemplateHash(it.to_owned());
        let stands = |cluster: &str, template: &str| MemberStatus {
            cluster: cluster.to_owned(),
            template: template.to_owned(),
            complete: true,
            complete_since: Some(7),
            ..MemberStatus::default()
        };
        let rows = [
            ("a", BTreeMap::new(), [true, true]),
            ("a", BTreeMap::from([("c2".to_owned(), hash("a-here"))]), [true, false]),
            ("b", BTreeMap::new(), [false, false]),
            ("b", BTreeMap::from([("c2".to_owned(), hash("a"))]), [false, true]),
        ];
        for (template, own, arrived) in rows {
            let members = vec![stands("c1", "a"), stands("c2", "a")];
            let mut status = FederatedRolloutStatus { members, ..FederatedRolloutStatus::default() };
            status.begin(&hash(template), &own);
            let stand = |it: &MemberStatus| it.complete && it.complete_since.is_some();
            assert_eq!(status.members.iter().map(stand).collect::<Vec<_>>(), arrived, "{template} {own:?}");
        }
    }
}
