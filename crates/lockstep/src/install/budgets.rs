//! What unavailable budgets need: their definition, rights, and questions before pods are taken away.

use k8s_openapi::Resource;
use lockstep_api::budget::{PodUnavailableBudget, definition};
use serde_json::{Value, json};

use super::rights::{FOLLOW, READ, and, named, rule};
use super::webhook::{conditions, service};
use super::{Installation, labelled};

/// The configurations by which pods are guarded. They are not those of the sets: whoever has to can delete them, and
/// sets are checked all the same.
pub const NAME: &str = "lockstep-budgets";
/// The webhook that checks budgets.
pub const VALIDATOR: &str = "validate.budgets.lockstep.dev";
/// On a namespace: `off` if its pods are not to be guarded.
pub const SWITCH: &str = "lockstep.dev/budgets";

/// The definition of the kind.
pub(super) fn definition() -> Value {
    labelled(definition::definition())
}

/// What the operator does for budgets: it reads them, the pods they cover and whose those are, and writes down what
/// it has promised.
pub(super) fn rights(installation: &Installation) -> Vec<Value> {
    if !installation.budgets {
        return Vec::new();
    }
    let group = PodUnavailableBudget::GROUP;
    let mut rights = vec![
        rule(group, &["podunavailablebudgets"], &READ),
        rule(group, &["podunavailablebudgets/status"], &["update"]),
        rule("apps", &["deployments", "replicasets", "statefulsets", "daemonsets"], &READ),
        rule("leaderworkerset.x-k8s.io", &["leaderworkersets"], &READ),
        rule("apps.kruise.io", &["clonesets", "statefulsets", "daemonsets"], &READ),
    ];
    for resource in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        rights.push(named("admissionregistration.k8s.io", resource, NAME, &and(&READ, &["patch"])));
    }
    // Whose the kind is. Whoever serves dialects sees all of them anyway.
    if installation.dialects.0.is_empty() {
        let definitions = "customresourcedefinitions";
        rights.push(named("apiextensions.k8s.io", definitions, definition::NAME, &FOLLOW));
    }
    rights
}

/// How the API server is told to ask before a pod is taken away, and before a budget is taken. Their `caBundle` is the
/// operator's to fill in.
pub(super) fn configurations(installation: &Installation) -> Vec<Value> {
    if !installation.budgets {
        return Vec::new();
    }
    let configuration = |kind: &str, webhooks: Vec<Value>| {
        labelled(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": NAME}, "webhooks": webhooks,
        }))
    };
    let pods = |name: &str, operation: &str, resource: &str, path: &str, conditions: Value| {
        json!({
            "name": name,
            "clientConfig": {"service": service(installation, path)},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource],
                "operations": [operation], "scope": "Namespaced",
            }],
            "namespaceSelector": namespaces(installation),
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            // Promises are written down, but for a dry run.
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 10,
            "matchConditions": conditions,
        })
    };
    let delete = pods("delete.budgets.lockstep.dev", "DELETE", "pods", "/budgets/delete", of_a_delete());
    let update = pods("update.budgets.lockstep.dev", "UPDATE", "pods", "/budgets/update", of_an_update());
    let mut evict =
        pods("evict.budgets.lockstep.dev", "CREATE", "pods/eviction", "/budgets/evict", json!([]));
    evict["reinvocationPolicy"] = json!("Never");
    vec![
        configuration("MutatingWebhookConfiguration", vec![evict]),
        configuration("ValidatingWebhookConfiguration", vec![validator(installation), delete, update]),
    ]
}

fn validator(installation: &Installation) -> Value {
    json!({
        "name": VALIDATOR,
        "clientConfig": {"service": service(installation, "/validate")},
        "rules": [{
            "apiGroups": [PodUnavailableBudget::GROUP], "apiVersions": [PodUnavailableBudget::VERSION],
            "resources": [PodUnavailableBudget::URL_PATH_SEGMENT],
            "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
        }],
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "matchConditions": conditions(),
    })
}

/// All namespaces but those a cluster cannot do without, our own, and those that want no part in it: while nobody
/// answers, no pod in the others can be deleted.
fn namespaces(installation: &Installation) -> Value {
    let never = ["kube-system", "kube-node-lease", &installation.namespace];
    json!({"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": never},
        {"key": SWITCH, "operator": "NotIn", "values": ["off"]},
    ]})
}

/// Pods that no budget could hold, and requests that none may: a namespace that is deleted goes with all of its pods,
/// and so does an owner. The garbage collector takes only pods whose owner is gone or going, which is free, and must
/// be able to while nobody answers.
fn of_a_delete() -> Value {
    json!([
        {"name": "not-terminating", "expression": "!has(oldObject.metadata.deletionTimestamp)"},
        {
            "name": "not-finished",
            "expression": "!has(oldObject.status) || !has(oldObject.status.phase) || \
                           !(oldObject.status.phase in ['Succeeded', 'Failed'])",
        },
        {
            "name": "not-a-static-pod",
            "expression": "!has(oldObject.metadata.annotations) || \
                           !('kubernetes.io/config.mirror' in oldObject.metadata.annotations)",
        },
        {
            "name": "not-with-its-namespace-or-owner",
            "expression": "!(request.userInfo.username in [\
                           'system:serviceaccount:kube-system:namespace-controller', \
                           'system:serviceaccount:kube-system:generic-garbage-collector'])",
        },
    ])
}

/// Only what restarts a container: another image.
fn of_an_update() -> Value {
    let another_image = |list: &str| {
        format!(
            "object.spec.{list}.exists(new, oldObject.spec.{list}.exists(old, old.name == new.name && old.image != new.image))"
        )
    };
    let (own, before) = (another_image("containers"), another_image("initContainers"));
    json!([
        {"name": "not-terminating", "expression": "!has(object.metadata.deletionTimestamp)"},
        {
            "name": "another-image",
            "expression": format!(
                "{own} || has(object.spec.initContainers) && has(oldObject.spec.initContainers) && {before}"
            ),
        },
    ])
}
