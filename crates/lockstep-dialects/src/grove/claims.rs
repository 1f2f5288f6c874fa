//! Resource claims that pods share.
//!
//! A claim that all pods of a set share has one name and is made beside the set. One for each replica would need a
//! name that differs from pod to pod, which a pod template cannot say: those are accepted without effect.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::form::{Clique, Form, Part};
use super::identity::{COMPONENT, MANAGED_BY, PART_OF};
use super::sharing::{Scope, Sharing};
use crate::findings::Findings;

/// Names that lead nowhere, and claims without effect.
pub(super) fn check(form: &Form<'_>, found: &mut Findings<'_>) {
    let template = &form.spec.template;
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (i, claim) in template.resource_claim_templates.iter().enumerate() {
        if !names.insert(&claim.name) {
            found.error(format!("spec.template.resourceClaimTemplates[{i}].name"), "given twice");
        }
    }
    listed(form, &template.resource_sharing, "spec.template", true, found);
    for part in &form.parts {
        if let Some(group) = part.group {
            listed(form, &group.resource_sharing, &part.at, false, found);
        }
        for clique in &part.cliques {
            listed(form, &clique.template.resource_sharing, &clique.at, false, found);
        }
    }
}

fn listed(form: &Form<'_>, sharing: &[Sharing], at: &str, whole_set: bool, found: &mut Findings<'_>) {
    for (i, share) in sharing.iter().enumerate() {
        let at = format!("{at}.resourceSharing[{i}]");
        filtered(form, share, &at, found);
        if internal(form, share).is_none() {
            let message = "has no effect: only templates of resourceClaimTemplates are used";
            found.warn(format!("{at}.name"), message);
        } else if !(whole_set && share.scope == Scope::AllReplicas) {
            found.warn(at, "has no effect: only claims of the whole set, with scope AllReplicas, are made");
        }
    }
}

fn filtered(form: &Form<'_>, share: &Sharing, at: &str, found: &mut Findings<'_>) {
    let Some(filter) = &share.filter else { return };
    let cliques = form.spec.template.cliques.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
    let groups =
        form.spec.template.pod_clique_scaling_groups.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
    let lists = [
        ("childCliqueNames", &filter.child_clique_names, cliques, "clique"),
        ("childScalingGroupNames", &filter.child_scaling_group_names, groups, "scaling group"),
    ];
    for (field, names, known, what) in lists {
        for (k, name) in names.iter().enumerate().filter(|(_, name)| !known.contains(&name.as_str())) {
            found.error(format!("{at}.filter.{field}[{k}]"), format!("there is no {what} {name}"));
        }
    }
}

/// The template among the set's own.
fn internal<'a>(form: &Form<'a>, share: &Sharing) -> Option<&'a Value> {
    let own = share.namespace.as_deref().is_none_or(str::is_empty);
    let templates = &form.spec.template.resource_claim_templates;
    templates.iter().find(|it| own && it.name == share.name).map(|it| &it.template_spec)
}

/// The claims of the whole set, with their names and templates.
fn of_set<'a>(form: &Form<'a>) -> impl Iterator<Item = (String, &'a Sharing, &'a Value)> {
    let all = form.spec.template.resource_sharing.iter().filter(|share| share.scope == Scope::AllReplicas);
    all.filter_map(|share| Some((format!("{}-all-{}", form.name, share.name), share, internal(form, share)?)))
}

/// Lets every container of a clique use the claims that reach it.
pub(super) fn share(form: &Form<'_>, part: &Part<'_>, clique: &Clique<'_>, pod_spec: &mut Value) {
    let group = part.group.map(|group| group.name.as_str());
    for (name, _, _) in of_set(form).filter(|(_, share, _)| share.reaches(&clique.template.name, group)) {
        push(pod_spec, "resourceClaims", json!({"name": name, "resourceClaimName": name}));
        for list in ["containers", "initContainers"] {
            for container in pod_spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(fields) = container.as_object_mut() {
                    push(
                        fields.entry("resources").or_insert_with(|| json!({})),
                        "claims",
                        json!({"name": name}),
                    );
                }
            }
        }
    }
}

/// The claims themselves.
pub(super) fn objects(form: &Form<'_>) -> Vec<Value> {
    let claim = |(name, _, template): (String, &Sharing, &Value)| {
        let mut labels =
            template.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
        for (key, value) in [MANAGED_BY, (PART_OF, form.name), (COMPONENT, "resource-claim")] {
            labels.insert(key.to_owned(), json!(value));
        }
        json!({
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": form.metadata(&name, labels),
            "spec": template["spec"],
        })
    };
    of_set(form).map(claim).collect()
}

fn push(parent: &mut Value, field: &str, item: Value) {
    let Some(fields) = parent.as_object_mut() else { return };
    if let Some(items) = fields.entry(field).or_insert_with(|| json!([])).as_array_mut() {
        items.push(item);
    }
}
