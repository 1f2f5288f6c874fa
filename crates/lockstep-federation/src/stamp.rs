//! What a Work may carry: a pure function of what Karmada wrote, what stands there, and the ledger.
//!
//! Karmada writes a Work whenever it likes, always with the newest template and the user's own strategy, and with what
//! override policies make of both in this cluster. What is stored carries the lease that was written last for its
//! cluster: its numbers, and the template it is for. A template is known by the hash of what stands in the manifest, so
//! that a cluster with an image of its own has a template of its own. One that no lease carries yet waits beside the
//! manifest ([`NEXT`](crate::NEXT)); the one that stands stays. Closed by default: where nothing is known, nothing
//! moves.

use std::cmp::Reverse;

use lockstep_core::align::{Lease, RollingStrategy, TemplateHash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::interpret::{Interpretation, Interpreter};
use crate::work::GENERATION;
use crate::{GIVEN_BACK, LEASE, TEMPLATE, lease_of};

/// A template that no lease carries yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// The generation of the resource template it is from.
    pub generation: i64,
    /// What the pods are made from.
    pub template: Value,
}

/// A Work as it may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped {
    /// Its manifest.
    pub manifest: Value,
    /// What waits beside it.
    pub next: Option<Next>,
}

/// What stands in a Work before it is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stored<'a> {
    /// Its manifest.
    pub manifest: Option<&'a Value>,
    /// What waits beside it.
    pub next: Option<&'a Next>,
}

/// What may be stored where `incoming` is to be. `lease` is the one that was written last for its cluster.
pub fn stamp(kind: &Interpretation, incoming: &Value, stored: Stored<'_>, lease: Option<&Lease>) -> Stamped {
    let templates = candidates(kind, incoming, stored);
    let leased = lease.and_then(|lease| {
        let carried = templates.iter().find(|it| kind.hash(&it.template) == lease.template)?;
        Some((lease, carried.clone()))
    });
    let mut manifest = incoming.clone();
    match leased {
        Some((lease, carried)) => {
            put_template(kind, &mut manifest, &carried);
            put_lease(kind, &mut manifest, lease);
            let newest = templates.into_iter().next();
            Stamped { next: newest.filter(|it| *it != carried), manifest }
        }
        None => {
            hold(kind, &mut manifest, stored.manifest);
            let stands = stored.manifest.map(|it| carried_by(kind, it));
            let newest = templates.into_iter().next();
            Stamped { manifest, next: newest.filter(|it| stands.as_ref() != Some(it)) }
        }
    }
}

/// The newest template that Karmada has made for the cluster of a Work, if it is of this generation of the resource
/// template.
pub fn rendered(kind: &Interpretation, stored: Stored<'_>, generation: i64) -> Option<TemplateHash> {
    let newest = candidates(kind, stored.manifest?, stored).into_iter().next();
    newest.filter(|it| it.generation == generation).map(|it| kind.hash(&it.template))
}

/// The templates a Work may carry, the newest first. Of one generation what Karmada makes now counts, then what waits,
/// then what stands: an override policy may change a template without changing its generation.
fn candidates(kind: &Interpretation, incoming: &Value, stored: Stored<'_>) -> Vec<Next> {
    let of_now = Some(carried_by(kind, incoming));
    let stands = stored.manifest.map(|it| carried_by(kind, it));
    let mut templates = match is_made_now(kind, incoming, stored.manifest) {
        true => [of_now, stored.next.cloned(), stands],
        false => [stored.next.cloned(), of_now, stands],
    };
    templates.sort_by_key(|it| Reverse(it.as_ref().map(|it| it.generation)));
    templates.into_iter().flatten().collect()
}

/// Whether Karmada made a manifest just now, or somebody writes back what stands: Karmada knows nothing of leases.
fn is_made_now(kind: &Interpretation, incoming: &Value, stored: Option<&Value>) -> bool {
    let is_leased = |it: &Value| lease_of(it).is_some();
    let is_another = |stored: &Value| carried_by(kind, stored) != carried_by(kind, incoming);
    !is_leased(incoming) && stored.is_none_or(|stored| is_leased(stored) || is_another(stored))
}

fn carried_by(kind: &Interpretation, manifest: &Value) -> Next {
    Next { generation: generation(manifest), template: kind.template(manifest) }
}

/// The generation of the resource template a manifest was made from.
pub fn generation(manifest: &Value) -> i64 {
    let said = manifest["metadata"]["annotations"][GENERATION].as_str();
    said.and_then(|it| it.parse().ok()).unwrap_or_default()
}

/// The generation goes with the template: whoever looks at the sum of all clusters must not take a cluster that has
/// not begun for one that is done.
fn put_template(kind: &Interpretation, manifest: &mut Value, template: &Next) {
    kind.set_template(manifest, &template.template);
    annotate(manifest, GENERATION, &template.generation.to_string());
}

fn put_lease(kind: &Interpretation, manifest: &mut Value, lease: &Lease) {
    kind.set_replicas(manifest, lease.replicas);
    kind.revise_rolling_strategy(manifest, &lease.strategy);
    annotate(manifest, LEASE, &lease.id.0.to_string());
    annotate(manifest, TEMPLATE, &lease.template.0);
}

/// Nothing is known that would let anything move: template, strategy and size stay as they stand, and where nothing
/// stands nothing is made.
fn hold(kind: &Interpretation, manifest: &mut Value, stored: Option<&Value>) {
    let Some(stored) = stored else {
        kind.set_replicas(manifest, 0);
        return;
    };
    kind.set_template(manifest, &kind.template(stored));
    kind.replicas.copy(stored, manifest);
    for (_, path) in kind.strategy_paths() {
        path.copy(stored, manifest);
    }
    for name in [GENERATION, LEASE, TEMPLATE] {
        match stored["metadata"]["annotations"][name].as_str() {
            Some(said) => annotate(manifest, name, said),
            None => unannotate(manifest, name),
        }
    }
}

/// A Work as Karmada would have it: the newest template, the user's own strategy, the binding's share.
pub fn release(
    kind: &Interpretation,
    manifest: &Value,
    next: Option<Next>,
    template: &Value,
    replicas: u32,
    overridden: Option<&RollingStrategy>,
) -> Stamped {
    let mut manifest = manifest.clone();
    if let Some(next) = next {
        put_template(kind, &mut manifest, &next);
    }
    for (_, path) in kind.strategy_paths() {
        path.copy(template, &mut manifest);
    }
    if let Some(overridden) = overridden {
        kind.revise_rolling_strategy(&mut manifest, overridden);
    }
    kind.set_replicas(&mut manifest, replicas);
    annotate(&mut manifest, LEASE, GIVEN_BACK);
    unannotate(&mut manifest, TEMPLATE);
    Stamped { manifest, next: None }
}

fn unannotate(manifest: &mut Value, name: &str) {
    if let Some(annotations) = manifest["metadata"]["annotations"].as_object_mut() {
        annotations.remove(name);
    }
}

fn annotate(manifest: &mut Value, name: &str, value: &str) {
    if !manifest["metadata"]["annotations"].is_object() {
        manifest["metadata"]["annotations"] = json!({});
    }
    manifest["metadata"]["annotations"][name] = json!(value);
}

#[cfg(test)]
mod tests;
