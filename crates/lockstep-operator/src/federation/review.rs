//! Reviews of Works: what Karmada writes is stamped before it is stored.

use std::time::Instant;

use kube::Client;
use kube::api::{DynamicObject, ListParams};
use lockstep_api::federation::{FederatedRollout, FederationPolicy};
use lockstep_core::align;
use lockstep_federation::interpret::{Interpretation, Kinds};
use lockstep_federation::policy;
use lockstep_federation::stamp::{Next, Stamped, Stored, stamp};
use lockstep_federation::work::Work;
use lockstep_federation::{NEXT, OVERRIDDEN, lease_of, work};
use serde::Deserialize;
use serde_json::{Value, json};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{namespaced, policies, rollouts};
use crate::metrics::{Metrics, WorkOutcome};

/// The webhook that asks, by name. It is asked before Karmada's own.
pub const WEBHOOK: &str = "works.federation.lockstep.dev";

#[derive(Deserialize)]
struct Review {
    request: Option<Asked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    uid: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

/// Stamps Works.
#[derive(Clone)]
pub struct Stamper {
    client: Client,
    metrics: Metrics,
    kinds: Kinds,
}

impl Stamper {
    /// One who reads ledgers through this client.
    pub fn new(client: Client, metrics: Metrics, kinds: Kinds) -> Self {
        Self { client, metrics, kinds }
    }

    /// Answers a review in JSON, or says what is wrong with it.
    pub async fn review(&self, body: &[u8]) -> Result<Value, String> {
        let review: Review =
            serde_json::from_slice(body).map_err(|error| format!("not an AdmissionReview: {error}"))?;
        let asked = review.request.ok_or("an AdmissionReview without a request")?;
        let begun = Instant::now();
        let stamped = self.stamped(&asked).await;
        let outcome = match &stamped {
            Ok(None) => WorkOutcome::NotOurs,
            Ok(Some(_)) => WorkOutcome::Stamped,
            Err(_) => WorkOutcome::Unknown,
        };
        self.metrics.work_review(outcome, begun.elapsed());
        let response = match stamped {
            Ok(None) => json!({"uid": asked.uid, "allowed": true}),
            Ok(Some((kind, stamped))) => {
                let patch = STANDARD.encode(patch(&asked.object, kind, &stamped).to_string());
                json!({"uid": asked.uid, "allowed": true, "patchType": "JSONPatch", "patch": patch})
            }
            Err(why) => {
                let message = format!("what this Work may carry is not known, so it is not stored: {why}");
                let status = json!({"status": "Failure", "code": 503, "reason": "ServiceUnavailable", "message": message});
                json!({"uid": asked.uid, "allowed": false, "status": status})
            }
        };
        Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
    }

    /// What the Work may carry; nothing if we have no say in it.
    async fn stamped(&self, asked: &Asked) -> Result<Option<(&Interpretation, Stamped)>, String> {
        let (work, old) = (Work(&asked.object), Work(&asked.old_object));
        let (Some(manifest), Some(cluster), Some((namespace, name))) =
            (work.manifest(), work.cluster(), work.binding())
        else {
            return Ok(None);
        };
        let Some(kind) = self.kinds.of(manifest).filter(|_| !work.is_going()) else { return Ok(None) };
        // The ledger is read anew each time: what was granted since must not be taken back.
        let rollout = namespaced(&self.client, namespace, &rollouts()).get_opt(name).await;
        let rollout =
            rollout.map_err(|error| format!("the rollout {namespace}/{name} cannot be read: {error}"))?;
        if rollout.is_none() && !self.is_asked_for(namespace, kind, manifest).await? {
            return Ok(None);
        }
        let rollout = rollout.map(serde_json::to_value).transpose().map_err(|error| error.to_string())?;
        let rollout: Option<FederatedRollout> =
            rollout.map(serde_json::from_value).transpose().map_err(|error| error.to_string())?;
        let status = rollout.and_then(|it| it.status).unwrap_or_default();
        let ledger = status.ledger().map_err(|error| format!("the ledger cannot be read: {error}"))?;
        let lease = ledger.members.get(cluster).and_then(align::Entry::latest);
        let next = next(old);
        let stored = Stored { manifest: old.manifest(), next: next.as_ref() };
        Ok(Some((kind, stamp(kind, manifest, stored, lease))))
    }
}

impl Stamper {
    /// Whether a workload without a rollout is to have one.
    async fn is_asked_for(
        &self,
        namespace: &str,
        kind: &Interpretation,
        manifest: &Value,
    ) -> Result<bool, String> {
        if !kind.rolls(manifest) {
            return Ok(false);
        }
        let known = namespaced(&self.client, namespace, &policies()).list(&ListParams::default()).await;
        let known = known.map_err(|error| format!("the policies of {namespace} cannot be read: {error}"))?;
        let read = |it: DynamicObject| serde_json::to_value(it).and_then(serde_json::from_value).ok();
        let known: Vec<FederationPolicy> = known.items.into_iter().filter_map(read).collect();
        Ok(policy::of(manifest, kind, &known).is_some())
    }
}

/// The template that waits beside a Work.
pub(super) fn next(work: Work<'_>) -> Option<Next> {
    let next: Next = serde_json::from_str(work.annotation(NEXT)?).ok()?;
    // One that names no part would take the pods' template away.
    next.template.is_object().then_some(next)
}

/// What is noted beside the manifest of a Work: what waits, and what override policies made of its strategy.
fn notes(work: Work<'_>, kind: &Interpretation, stamped: &Stamped) -> [(&'static str, Option<String>); 2] {
    let next = stamped.next.as_ref().map(|next| json!(next).to_string());
    let leased = lease_of(&stamped.manifest).is_some();
    let overridden = work.overridden(kind).filter(|_| leased).map(|set| json!(set).to_string());
    [(NEXT, next), (OVERRIDDEN, overridden)]
}

/// A Work with what it may carry.
pub(super) fn restamped(work: &Value, kind: &Interpretation, stamped: &Stamped) -> Value {
    let notes = notes(Work(work), kind, stamped);
    let mut work = work.clone();
    work["spec"]["workload"]["manifests"][0] = stamped.manifest.clone();
    for (name, note) in notes {
        let annotations = &mut work["metadata"]["annotations"];
        match note {
            Some(note) => annotations[name] = json!(note),
            None => drop(annotations.as_object_mut().and_then(|it| it.remove(name))),
        }
    }
    work
}

/// From what is to be stored to what may be.
fn patch(work: &Value, kind: &Interpretation, stamped: &Stamped) -> Value {
    let mut patch =
        vec![json!({"op": "replace", "path": "/spec/workload/manifests/0", "value": stamped.manifest})];
    for (name, note) in notes(Work(work), kind, stamped) {
        let path = format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"));
        match note {
            Some(note) => patch.push(json!({"op": "add", "path": path, "value": note})),
            None if work["metadata"]["annotations"].get(name).is_some() => {
                patch.push(json!({"op": "remove", "path": path}));
            }
            None => {}
        }
    }
    json!(patch)
}

/// The webhook's configuration on Karmada's API server. It sorts before Karmada's own, sees only Works of the kinds in
/// question, and no deletions.
pub fn webhook(client_config: &Value, kinds: &Kinds) -> Value {
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("'{}'", kind.kind)).collect();
    let condition = format!(
        "!has(object.metadata.deletionTimestamp) && object.spec.workload.manifests.size() == 1 && \
         object.spec.workload.manifests[0].kind in [{}]",
        kinds.join(", ")
    );
    let ours = "object.metadata.namespace.startsWith('karmada-es-')";
    json!({
        "name": WEBHOOK,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
        "clientConfig": client_config,
        "rules": [{
            "apiGroups": ["work.karmada.io"], "apiVersions": ["v1alpha1"], "resources": ["works"],
            "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
        }],
        "matchConditions": [
            {"name": "execution-space", "expression": ours},
            {"name": "workload", "expression": condition},
            {"name": "of-a-binding", "expression": format!("has(object.metadata.labels) && '{}' in object.metadata.labels", work::PERMANENT_ID)},
        ],
    })
}
