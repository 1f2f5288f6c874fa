//! What other projects' kinds need: definitions, rights and questions before they are taken.

use lockstep_dialects::Kind;
use serde_json::{Value, json};

use super::rights::{FOLLOW, READ, and, rule};
use super::{Installation, WEBHOOK_SERVICE, labelled};

/// The definitions of the kinds. Those of several versions are converted by us.
pub(super) fn definitions(installation: &Installation) -> Vec<Value> {
    let all = installation.dialects.0.iter().flat_map(|dialect| dialect.definitions());
    let converted = |mut definition: Value| {
        if definition["spec"]["versions"].as_array().is_some_and(|versions| versions.len() > 1) {
            definition["spec"]["conversion"] = conversion(installation);
        }
        labelled(definition)
    };
    all.map(converted).collect()
}

/// Its `caBundle` is the operator's to fill in.
fn conversion(installation: &Installation) -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": {
                "name": WEBHOOK_SERVICE, "namespace": installation.namespace, "path": "/convert", "port": 443,
            }},
        },
    })
}

fn kinds(installation: &Installation) -> impl Iterator<Item = &'static Kind> {
    installation.dialects.0.iter().flat_map(|dialect| dialect.kinds())
}

/// What the operator does with them: makes sets, and what stands beside those, and says where they stand.
pub(super) fn rights(installation: &Installation) -> Vec<Value> {
    let mut rights = Vec::new();
    for kind in kinds(installation) {
        let (status, finalizers) = (format!("{}/status", kind.plural), format!("{}/finalizers", kind.plural));
        // A budget may name such an object as its target; then it is asked for by name.
        let named = if installation.budgets { &["get"][..] } else { &[] };
        let verbs = match kind.becomes_set {
            true => and(&FOLLOW, named),
            false => and(&READ, &["create", "patch", "delete"]),
        };
        rights.push(rule(kind.group, &[kind.plural], &verbs));
        rights.push(rule(kind.group, &[&status], &["patch"]));
        if kind.becomes_set {
            rights.push(rule(kind.group, &[&finalizers], &["update"]));
        }
    }
    if rights.is_empty() {
        return rights;
    }
    let make = and(&READ, &["create", "patch", "delete"]);
    rights.extend([
        rule("lockstep.dev", &["lockstepsets"], &["create", "patch"]),
        rule("", &["configmaps", "services"], &make),
        rule("autoscaling", &["horizontalpodautoscalers"], &make),
        rule("resource.k8s.io", &["resourceclaims"], &make),
        // Whose the kinds are, and which gang schedulers there are. Those of several versions trust us.
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &FOLLOW),
    ]);
    rights.push(json!({
        "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["patch"],
        "resourceNames": kinds(installation)
            .filter(|kind| kind.versions.len() > 1)
            .map(|kind| format!("{}.{}", kind.plural, kind.group))
            .collect::<Vec<_>>(),
    }));
    rights.retain(|right| right["resourceNames"] != json!([]));
    rights
}

/// The objects that are asked about before they are taken.
pub(super) fn rules(installation: &Installation) -> Vec<Value> {
    let becoming = kinds(installation).filter(|kind| kind.becomes_set);
    let rule = |kind: &Kind| {
        json!({
            "apiGroups": [kind.group], "apiVersions": kind.versions, "resources": [kind.plural],
            "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
        })
    };
    becoming.map(rule).collect()
}

/// The names of the dialects, as the operator takes them.
pub(super) fn names(installation: &Installation) -> String {
    let names: Vec<&str> = installation.dialects.0.iter().map(|dialect| dialect.name()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(",") }
}
