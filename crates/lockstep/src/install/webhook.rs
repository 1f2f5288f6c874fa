//! How the API server is told to ask before it takes a set.

use serde_json::{Value, json};

use super::{Installation, NAME, VALIDATOR, WEBHOOK_SERVICE, dialects, labelled};

/// The configuration. Its `caBundle` is the operator's to fill in: it makes the certificates.
pub(super) fn configuration(installation: &Installation) -> Value {
    let mut rules = vec![json!({
        "apiGroups": ["lockstep.dev"], "apiVersions": ["v1alpha1"], "resources": ["lockstepsets"],
        "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
    })];
    rules.extend(dialects::rules(installation));
    labelled(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{
            "name": VALIDATOR,
            "clientConfig": {"service": service(installation, "/validate")},
            "rules": rules,
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "matchConditions": conditions(),
        }],
    }))
}

/// Where the operator is asked.
pub(super) fn service(installation: &Installation, path: &str) -> Value {
    json!({"name": WEBHOOK_SERVICE, "namespace": installation.namespace, "path": path, "port": 443})
}

/// What cannot be wrong is not asked about: labels and finalizers of a set can be changed, and a set can go,
/// while nobody answers.
pub(super) fn conditions() -> Value {
    json!([
        {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
        {
            "name": "spec-is-new",
            "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec",
        },
    ])
}
