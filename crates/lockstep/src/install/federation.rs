//! What stands on Karmada's API server when rollouts over several clusters are looked after.

use lockstep_api::federation::definition;
use lockstep_federation::interpret::Kinds;
use lockstep_operator::federation::{resource_of, webhook};
use lockstep_operator::operator::FEDERATION;
use serde_json::{Value, json};

use super::rights::{FOLLOW, READ, and, named, rule};
use super::{CERTIFICATE, labelled};

/// An installation on Karmada's API server. What runs there is somebody else's: a process that reaches it.
#[derive(Debug, Clone)]
pub struct Federation {
    /// Where its lease and its certificates lie.
    pub namespace: String,
    /// Where Karmada's API server reaches it: `https://host:port`.
    pub url: String,
    /// The kinds that are looked after.
    pub kinds: Kinds,
}

/// The Secret with the token of its account.
pub const TOKEN: &str = "lockstep-federation-token";
/// The role by which Karmada is let to speak in the name of its groups.
const SPEAK_FOR: &str = "lockstep-federation-groups";
/// Whose role lets it look at ReplicaSets in the members, where Karmada brings it.
pub const IN_MEMBERS: &str = "lockstep-federation-member";

const RBAC: &str = "rbac.authorization.k8s.io";

impl Federation {
    /// Everything, in the order in which it is created. The webhook is last: from then on Works are refused while nobody
    /// stamps them.
    pub fn objects(&self) -> Vec<Value> {
        let own = json!({"name": FEDERATION, "namespace": self.namespace});
        let subjects = json!([{"kind": "ServiceAccount", "name": FEDERATION, "namespace": self.namespace}]);
        let version = format!("{RBAC}/v1");
        let role = |kind| json!({"apiGroup": RBAC, "kind": kind, "name": FEDERATION});
        let mut objects: Vec<Value> = definition::all().into();
        objects.extend([
            // Karmada would make it in all members.
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {
                    "name": self.namespace,
                    "labels": {"namespace.karmada.io/skip-auto-propagation": "true"},
                },
            }),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own}),
            json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": FEDERATION}, "rules": everywhere(&self.kinds)}),
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": FEDERATION},
                "roleRef": role("ClusterRole"), "subjects": subjects,
            }),
            json!({"apiVersion": version, "kind": "Role", "metadata": own, "rules": at_home()}),
            json!({
                "apiVersion": version, "kind": "RoleBinding", "metadata": own,
                "roleRef": role("Role"), "subjects": subjects,
            }),
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                "metadata": {
                    "name": TOKEN, "namespace": self.namespace,
                    "annotations": {"kubernetes.io/service-account.name": FEDERATION},
                },
            }),
        ]);
        objects.extend(self.for_members());
        objects.push(self.admission());
        objects.into_iter().map(labelled).collect()
    }

    /// What lets it look at ReplicaSets: Karmada passes its requests on in its name, so the members must know what it
    /// may, and Karmada must be let to speak in the name of the groups it is in. For the latter Karmada looks whose
    /// role names `clusters/proxy`, with whatever verb: this one allows those groups nothing.
    fn for_members(&self) -> Vec<Value> {
        let version = format!("{RBAC}/v1");
        let account = json!([{"kind": "ServiceAccount", "name": FEDERATION, "namespace": self.namespace}]);
        let groups =
            ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{}", self.namespace)];
        let groups = groups.map(|name| json!({"apiGroup": RBAC, "kind": "Group", "name": name}));
        let mut objects = Vec::new();
        let granted = [
            (IN_MEMBERS, in_members(), account),
            (SPEAK_FOR, vec![rule("cluster.karmada.io", &["clusters/proxy"], &["none"])], json!(groups)),
        ];
        for (name, rules, subjects) in granted {
            objects.push(json!({
                "apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
            }));
            objects.push(json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}, "subjects": subjects,
            }));
        }
        let brought = |kind| json!({"apiVersion": version, "kind": kind, "name": IN_MEMBERS});
        objects.push(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
            "metadata": {"name": IN_MEMBERS},
            "spec": {
                "resourceSelectors": [brought("ClusterRole"), brought("ClusterRoleBinding")],
                "placement": {"clusterAffinity": {}},
            },
        }));
        objects
    }

    /// Who stamps Works. Its `caBundle` is the process's to fill in: it makes the certificates.
    pub fn admission(&self) -> Value {
        let url = format!("{}{}", self.url.trim_end_matches('/'), lockstep_operator::admission::WORKS);
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": FEDERATION}, "webhooks": [webhook(&json!({"url": url}), &self.kinds)],
        })
    }
}

/// In all namespaces.
fn everywhere(kinds: &Kinds) -> Vec<Value> {
    let templates = kinds.iter().map(resource_of);
    let templates = templates.map(|it| rule(&it.group, &[it.plural.as_str()], &READ));
    let ours = [
        rule("work.karmada.io", &["resourcebindings"], &FOLLOW),
        rule("work.karmada.io", &["works"], &and(&READ, &["update"])),
        rule("cluster.karmada.io", &["clusters"], &FOLLOW),
        // To look at ReplicaSets in the members, where it may do what `in_members` says.
        rule("cluster.karmada.io", &["clusters/proxy"], &["get"]),
        rule(
            "config.karmada.io",
            &["resourceinterpretercustomizations"],
            &and(&FOLLOW, &["create", "patch"]),
        ),
        rule("lockstep.dev", &["federatedrollouts"], &and(&READ, &["create", "delete"])),
        rule("lockstep.dev", &["federatedrollouts/status"], &["update"]),
        rule("lockstep.dev", &["federationpolicies"], &FOLLOW),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        named(
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            FEDERATION,
            &and(&READ, &["patch"]),
        ),
    ];
    ours.into_iter().chain(templates).collect()
}

/// In the members, through Karmada.
fn in_members() -> Vec<Value> {
    vec![rule("apps", &["deployments"], &["get"]), rule("apps", &["replicasets"], &FOLLOW)]
}

/// In its own namespace.
fn at_home() -> Vec<Value> {
    vec![
        named("coordination.k8s.io", "leases", FEDERATION, &["get", "watch", "update"]),
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named("", "secrets", CERTIFICATE, &and(&READ, &["update"])),
        rule("", &["secrets"], &["create"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_webhook_comes_last_sorts_before_karmadas_and_sees_no_deletion() {
        let url = "https://lockstep:9443/".to_owned();
        let objects = Federation { namespace: "here".to_owned(), url, kinds: Kinds::default() }.objects();
        let last = &objects[objects.len() - 1];
        assert_eq!(last["kind"], "MutatingWebhookConfiguration");
        assert!(last["metadata"]["name"].as_str() < Some("mutating-config"));
        let hook = &last["webhooks"][0];
        assert_eq!(hook["clientConfig"]["url"], "https://lockstep:9443/federation/works");
        assert_eq!(hook["rules"][0]["operations"], json!(["CREATE", "UPDATE"]));
        assert_eq!((&hook["sideEffects"], &hook["failurePolicy"]), (&json!("None"), &json!("Fail")));
    }
}
