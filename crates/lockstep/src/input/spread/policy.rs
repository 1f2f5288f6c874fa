//! The FederationPolicy that a workload is rolled by.

use lockstep_api::Document;
use lockstep_api::federation::{FederationPolicy, FederationPolicySpec};
use lockstep_federation::{ALIGNED, ROLLOUT, policy};
use serde_json::Value;

use super::super::complaint::{BadInput, Complaint};
use super::super::reader::{Place, Reader};
use super::workload::Workload;
use super::{Found, Side};
use crate::show::words;

const FIELDS: &[&str] =
    &["kinds", "selector", "split", "clusterOrder", "bakeTime", "pauseBetweenClusters", "stopWhenDegraded"];

/// What is asked for. Of several policies the first by name counts. Who asks for nothing is told what to say.
pub fn read(
    before: &Found,
    after: &Found,
    of: &Workload,
    warnings: &mut Vec<Complaint>,
) -> Result<FederationPolicySpec, BadInput> {
    let (mut policies, mut wrong) = (Vec::new(), Vec::new());
    for (file, document, value) in before.policies.iter().chain(&after.policies) {
        match one(file, document, value) {
            Ok(policy) => policies.push(policy),
            Err(bad) => wrong.extend(bad.0),
        }
    }
    if !wrong.is_empty() {
        return Err(BadInput(wrong));
    }
    policies.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let asked = policy::of(&of.object, of.kind, &policies);
    if asked.is_none() {
        let message = format!(
            "nothing asks for {} to be aligned; shown is what happens once its annotation {ROLLOUT}: {ALIGNED} does, \
             or a FederationPolicy that selects it",
            of.called()
        );
        warnings.push(Complaint::warning_of_file(&of.file, message));
    }
    Ok(asked.unwrap_or_default())
}

fn one(file: &str, document: &Document, value: &Value) -> Result<FederationPolicy, BadInput> {
    let mut reader = Reader::new(file, document);
    let root = Place::root(value);
    if let Some(at) = root.get("apiVersion").filter(|at| at.value != "lockstep.dev/v1alpha1") {
        reader.refuse(&at, "must be lockstep.dev/v1alpha1");
    }
    let mut spec = FederationPolicySpec::default();
    if let Some(at) = root.get("spec")
        && reader.map(&at, FIELDS)
        && let Some(read) = reader.whole::<FederationPolicySpec>(&at, at.value.clone())
    {
        spec = read;
    }
    let mut policy = FederationPolicy { spec, ..FederationPolicy::default() };
    policy.metadata.name = value["metadata"]["name"].as_str().map(str::to_owned);
    reader.close(Some(policy))
}

/// Clusters that a policy puts first and that have no share.
pub fn unknown_clusters(policy: &FederationPolicySpec, to: &Side) -> Option<Complaint> {
    let known = |name: &String| to.wish.clusters.iter().any(|it| it.cluster == *name);
    let unknown: Vec<&String> = policy.cluster_order.iter().filter(|name| !known(name)).collect();
    (!unknown.is_empty()).then(|| {
        let there: Vec<&str> = to.wish.clusters.iter().map(|it| it.cluster.as_str()).collect();
        let message = format!(
            "clusterOrder of the policy names {}, to which nothing is bound; there is {}",
            words::list(&unknown),
            words::list(&there)
        );
        Complaint::warning_of_file(&to.file, message)
    })
}
