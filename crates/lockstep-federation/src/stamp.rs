//! What a Work may carry: a pure function of what Karmada wrote, what stands there, and the ledger.
//!
//! Karmada writes a Work whenever it likes, always with the newest template and the user's own strategy. What is stored
//! carries the lease that was written last for its cluster: its numbers, and the template it is for. A template that no
//! lease carries yet waits beside the manifest ([`NEXT`](crate::NEXT)); the one that stands stays. Closed by default:
//! where nothing is known, nothing moves.

use std::cmp::Reverse;

use lockstep_core::align::{Lease, TemplateHash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::interpret::{Interpretation, Interpreter};
use crate::work::GENERATION;
use crate::{LEASE, TEMPLATE};

/// What the ledger says of one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page<'a> {
    /// The lease written last.
    pub lease: Option<&'a Lease>,
    /// The hashes of the templates that were seen, by the generation of the resource template.
    pub templates: &'a [(i64, TemplateHash)],
}

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

/// What may be stored where `incoming` is to be.
pub fn stamp(kind: &Interpretation, incoming: &Value, stored: Stored<'_>, page: &Page<'_>) -> Stamped {
    let templates = candidates(kind, incoming, stored);
    let hash =
        |generation: i64| page.templates.iter().find(|(it, _)| *it == generation).map(|(_, hash)| hash);
    let leased = page.lease.and_then(|lease| {
        let carried = templates.iter().position(|it| hash(it.generation) == Some(&lease.template))?;
        Some((lease, carried))
    });
    let mut manifest = incoming.clone();
    match leased {
        Some((lease, carried)) => {
            put_template(kind, &mut manifest, &templates[carried]);
            put_lease(kind, &mut manifest, lease);
            let next = (carried != 0).then(|| templates[0].clone());
            Stamped { manifest, next }
        }
        None => {
            hold(kind, &mut manifest, stored.manifest);
            let stands = stored.manifest.map(generation);
            let newest = templates.into_iter().next();
            Stamped { manifest, next: newest.filter(|it| stands != Some(it.generation)) }
        }
    }
}

/// The templates a Work may carry, the newest first: what is written now, what waits, what stands. Of one generation
/// what is written now counts.
fn candidates(kind: &Interpretation, incoming: &Value, stored: Stored<'_>) -> Vec<Next> {
    let of = |manifest: &Value| Next { generation: generation(manifest), template: kind.template(manifest) };
    let mut templates: Vec<Next> =
        [Some(of(incoming)), stored.next.cloned(), stored.manifest.map(of)].into_iter().flatten().collect();
    templates.sort_by_key(|it| Reverse(it.generation));
    templates.dedup_by_key(|it| it.generation);
    templates
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
) -> Stamped {
    let mut manifest = manifest.clone();
    if let Some(next) = next {
        put_template(kind, &mut manifest, &next);
    }
    for (_, path) in kind.strategy_paths() {
        path.copy(template, &mut manifest);
    }
    kind.set_replicas(&mut manifest, replicas);
    for name in [LEASE, TEMPLATE] {
        unannotate(&mut manifest, name);
    }
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
