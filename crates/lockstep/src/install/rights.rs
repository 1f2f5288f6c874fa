//! Who the operator is, and what it may do: no more than it does, as `tests/rights` sees to.

use serde_json::{Value, json};

use super::{CERTIFICATE, Installation, NAME, budgets, dialects, labelled};

pub(super) const READ: [&str; 3] = ["get", "list", "watch"];
pub(super) const FOLLOW: [&str; 2] = ["list", "watch"];
const RBAC: &str = "rbac.authorization.k8s.io";

/// The service account, its roles and what binds them to it.
pub(super) fn objects(installation: &Installation) -> Vec<Value> {
    let Installation { namespace, .. } = installation;
    let own = json!({"name": NAME, "namespace": namespace});
    let subject = json!([{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}]);
    let version = format!("{RBAC}/v1");
    let role = |kind| json!({"apiGroup": RBAC, "kind": kind, "name": NAME});
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own}),
        json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": everywhere(installation)}),
        json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": NAME},
            "roleRef": role("ClusterRole"), "subjects": subject,
        }),
        json!({"apiVersion": version, "kind": "Role", "metadata": own, "rules": at_home()}),
        json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": own,
            "roleRef": role("Role"), "subjects": subject,
        }),
    ]
    .into_iter()
    .map(labelled)
    .collect()
}

/// In all namespaces.
fn everywhere(installation: &Installation) -> Vec<Value> {
    let mut rules = vec![
        rule("lockstep.dev", &["lockstepsets"], &READ),
        rule("lockstep.dev", &["lockstepsets/status"], &["patch"]),
        // To own pods in a way that holds back the set's end until they are gone.
        rule("lockstep.dev", &["lockstepsets/finalizers"], &["update"]),
        rule("lockstep.dev", &["rolescales"], &and(&FOLLOW, &["create", "patch", "delete"])),
        rule("lockstep.dev", &["rolescales/status"], &["patch"]),
        rule("", &["pods"], &and(&READ, &["create", "patch", "delete"])),
        rule("", &["services"], &and(&FOLLOW, &["create"])),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("apps", &["controllerrevisions"], &and(&READ, &["create", "patch", "delete"])),
        rule("scheduling.k8s.io", &["podgroups"], &and(&FOLLOW, &["create", "patch", "delete"])),
        rule("scheduling.volcano.sh", &["podgroups"], &and(&FOLLOW, &["create", "patch", "delete"])),
        rule("scheduler.grove.io", &["podgangs"], &and(&FOLLOW, &["create", "patch", "delete"])),
        named(
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations",
            NAME,
            &and(&READ, &["patch"]),
        ),
    ];
    rules.extend(dialects::rights(installation));
    rules.extend(budgets::rights(installation));
    rules
}

/// In the operator's own namespace. What is to be created has no name yet that a rule could name.
fn at_home() -> Vec<Value> {
    vec![
        named("coordination.k8s.io", "leases", NAME, &["get", "watch", "update"]),
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named("", "secrets", CERTIFICATE, &and(&READ, &["update"])),
        rule("", &["secrets"], &["create"]),
    ]
}

/// These, and more.
pub(super) fn and(some: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    some.iter().chain(more).copied().collect()
}

pub(super) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

pub(super) fn named(group: &str, resource: &str, name: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": verbs})
}
