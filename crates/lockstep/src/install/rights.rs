//! Who the operator is, and what it may do: no more than it does.

use serde_json::{Value, json};

use super::{CERTIFICATE, Installation, NAME, labelled};

const READ: [&str; 3] = ["get", "list", "watch"];
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
        json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": everywhere()}),
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
fn everywhere() -> Vec<Value> {
    vec![
        rule("lockstep.dev", &["lockstepsets"], &READ),
        rule("lockstep.dev", &["lockstepsets/status"], &["patch", "update"]),
        // To own pods in a way that holds back the set's end until they are gone.
        rule("lockstep.dev", &["lockstepsets/finalizers"], &["update"]),
        rule("lockstep.dev", &["rolescales"], &with(&["create", "patch", "delete"])),
        rule("lockstep.dev", &["rolescales/status"], &["patch"]),
        rule("", &["pods"], &with(&["create", "patch", "delete"])),
        rule("", &["services"], &with(&["create", "patch"])),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("apps", &["controllerrevisions"], &with(&["create", "patch", "delete"])),
        rule("scheduling.k8s.io", &["podgroups"], &with(&["create", "patch", "delete"])),
        rule("scheduling.volcano.sh", &["podgroups"], &with(&["create", "patch", "delete"])),
        rule("scheduler.grove.io", &["podgangs"], &with(&["create", "patch", "delete"])),
        named("admissionregistration.k8s.io", "validatingwebhookconfigurations", NAME, &with(&["patch"])),
    ]
}

/// In the operator's own namespace. What is to be created has no name yet that a rule could name.
fn at_home() -> Vec<Value> {
    vec![
        named("coordination.k8s.io", "leases", NAME, &with(&["update"])),
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named("", "secrets", CERTIFICATE, &with(&["update"])),
        rule("", &["secrets"], &["create"]),
    ]
}

/// Reading, and more.
fn with(more: &[&'static str]) -> Vec<&'static str> {
    READ.iter().chain(more).copied().collect()
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn named(group: &str, resource: &str, name: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": verbs})
}
