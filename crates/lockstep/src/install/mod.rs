//! What stands in a cluster when Lockstep is installed, as plain objects.
//!
//! Nothing here talks to anybody: the same options give the same objects.

pub mod budgets;
mod dialects;
pub mod federation;
pub mod federation_host;
mod rights;
mod webhook;
mod workload;

use lockstep_api::crd;
use lockstep_operator::dialects::Dialects;
use serde_json::{Value, json};

/// The field manager of everything that is installed.
pub const FIELD_MANAGER: &str = "lockstep-install";
/// The name of nearly everything that is installed.
pub const NAME: &str = "lockstep";
/// The service the API server reaches the webhook by.
pub const WEBHOOK_SERVICE: &str = "lockstep-webhook";
/// The webhook that checks sets.
pub const VALIDATOR: &str = "validate.lockstep.dev";
/// The secret in which the operator keeps the webhook's certificate.
pub const CERTIFICATE: &str = "lockstep-webhook-cert";

/// What may differ from one installation to the next.
#[derive(Debug, Clone)]
pub struct Installation {
    /// Where the operator runs.
    pub namespace: String,
    /// The image it runs from.
    pub image: String,
    /// How many of it.
    pub replicas: u32,
    /// The dialects whose kinds it serves.
    pub dialects: Dialects,
    /// Whether it looks after unavailable budgets.
    pub budgets: bool,
}

impl Installation {
    /// Everything, in the order in which it is created.
    pub fn objects(&self) -> Vec<Value> {
        let mut objects = self.all_definitions();
        objects.push(workload::namespace(&self.namespace));
        objects.extend(self.operator());
        objects
    }

    /// The definitions of our kinds, and of those of others that are served.
    pub fn all_definitions(&self) -> Vec<Value> {
        let mut objects = Self::definitions();
        objects.extend(dialects::definitions(self));
        objects.extend(self.budgets.then(budgets::definition));
        objects
    }

    /// The definitions of our kinds.
    pub fn definitions() -> Vec<Value> {
        crd::all().map(|(_, definition)| labelled(definition)).to_vec()
    }

    /// The operator and all it needs, but for the namespace. The webhook is last: from then on sets are
    /// refused while nobody checks them.
    pub fn operator(&self) -> Vec<Value> {
        let mut objects = rights::objects(self);
        objects.extend(workload::operator(self).objects());
        objects.extend(self.admission());
        objects
    }

    /// How the API server is told to ask before it takes a set, or lets a pod go.
    pub fn admission(&self) -> Vec<Value> {
        let mut configurations = vec![webhook::configuration(self)];
        configurations.extend(budgets::configurations(self));
        configurations
    }

    /// What of it guards pods, whether or not it is to be installed.
    pub fn guards(&self) -> Vec<Value> {
        budgets::configurations(&Self { budgets: true, ..self.clone() })
    }

    /// What the operator itself makes in its namespace.
    pub fn made_by_the_operator(&self) -> Vec<Value> {
        let made = |version, kind, name| {
            let metadata = json!({"name": name, "namespace": self.namespace});
            json!({"apiVersion": version, "kind": kind, "metadata": metadata})
        };
        vec![made("coordination.k8s.io/v1", "Lease", NAME), made("v1", "Secret", CERTIFICATE)]
    }
}

/// An object with the usual labels besides its own.
fn labelled(mut object: Value) -> Value {
    let labels = &mut object["metadata"]["labels"];
    if labels.is_null() {
        *labels = json!({});
    }
    labels["app.kubernetes.io/name"] = json!(NAME);
    labels["app.kubernetes.io/part-of"] = json!(NAME);
    labels["app.kubernetes.io/version"] = json!(env!("CARGO_PKG_VERSION"));
    object
}

/// How an object is called on the screen: `deployment/lockstep`.
pub fn title(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", word(&object["kind"]).to_lowercase(), word(&object["metadata"]["name"]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn installation() -> Installation {
        let dialects = Dialects(lockstep_dialects::ALL.to_vec());
        let (namespace, image) = ("here".to_owned(), "lockstep:1".to_owned());
        Installation { namespace, image, replicas: 3, dialects, budgets: true }
    }

    fn find(kind: &str, name: &str) -> Value {
        let named = |object: &Value| object["kind"] == kind && object["metadata"]["name"] == name;
        installation().objects().into_iter().find(named).unwrap_or_else(|| panic!("{kind} {name}"))
    }

    #[test]
    fn nothing_is_there_twice_and_everything_is_labelled() {
        let objects = installation().objects();
        let titles: BTreeSet<String> = objects.iter().map(title).collect();
        assert_eq!(titles.len(), objects.len());
        for object in &objects {
            assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/name"], NAME, "{}", title(object));
        }
    }

    #[test]
    fn options_arrive_where_they_matter() {
        let deployment = find("Deployment", NAME);
        assert_eq!(deployment["spec"]["replicas"], 3);
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "lockstep:1");
        let args: Vec<&str> =
            container["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert!(args.contains(&"--lease-namespace=here"), "{args:?}");
        assert!(args.contains(&"--webhook-service=here/lockstep-webhook"), "{args:?}");
        assert!(args.contains(&"--dialects=rbg,kthena,grove"), "{args:?}");
        let webhook = find("ValidatingWebhookConfiguration", NAME);
        assert_eq!(webhook["webhooks"][0]["clientConfig"]["service"]["namespace"], "here");
        assert_eq!(find("ClusterRoleBinding", NAME)["subjects"][0]["namespace"], "here");
    }

    #[test]
    fn without_dialects_and_budgets_nothing_speaks_of_them() {
        let alone = Installation { dialects: Dialects::default(), budgets: false, ..installation() };
        let text = json!(alone.objects()).to_string();
        for group in [
            "workloads.x-k8s.io\"",
            "workload.serving.volcano.sh",
            "\"grove.io",
            "customresourcedefinitions\"",
            "kruise",
            "budgets.lockstep.dev",
            "MutatingWebhook",
        ] {
            assert!(!text.contains(group), "{group}");
        }
        assert!(text.contains("--dialects=none") && text.contains("--budgets=false"));
    }

    #[test]
    fn kinds_with_several_versions_are_converted_by_us_and_all_that_become_sets_are_checked() {
        let definition = find("CustomResourceDefinition", "rolebasedgroups.workloads.x-k8s.io");
        let client = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(client["service"]["path"], "/convert");
        let single = find("CustomResourceDefinition", "coordinatedpolicies.workloads.x-k8s.io");
        assert!(single["spec"]["conversion"].is_null());
        let webhook = find("ValidatingWebhookConfiguration", NAME);
        let rules = webhook["webhooks"][0]["rules"].as_array().map(Vec::len);
        let becoming = lockstep_dialects::ALL.iter().flat_map(|dialect| dialect.kinds());
        assert_eq!(rules, Some(1 + becoming.filter(|kind| kind.becomes_set).count()));
    }

    #[test]
    fn pods_are_guarded_everywhere_but_where_nobody_could_help() {
        let mut guarded = Vec::new();
        for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
            let configuration = find(kind, budgets::NAME);
            for webhook in configuration["webhooks"].as_array().into_iter().flatten() {
                assert_eq!(webhook["failurePolicy"], "Fail");
                if webhook["name"] == budgets::VALIDATOR {
                    assert_eq!(webhook["sideEffects"], "None");
                    continue;
                }
                assert_eq!(webhook["sideEffects"], "NoneOnDryRun");
                let names = &webhook["namespaceSelector"]["matchExpressions"][0]["values"];
                assert_eq!(names, &json!(["kube-system", "kube-node-lease", "here"]));
                let rule = &webhook["rules"][0];
                let path = &webhook["clientConfig"]["service"]["path"];
                guarded.push(json!([rule["operations"][0], rule["resources"][0], path]));
            }
        }
        let expected = [
            json!(["DELETE", "pods", "/budgets/delete"]),
            json!(["UPDATE", "pods", "/budgets/update"]),
            json!(["CREATE", "pods/eviction", "/budgets/evict"]),
        ];
        assert_eq!(guarded, expected);
        for (name, _) in lockstep_operator::budgets::WEBHOOKS {
            assert!(json!(installation().admission()).to_string().contains(name), "{name}");
        }
    }

    #[test]
    fn no_right_is_a_wildcard() {
        for kind in ["ClusterRole", "Role"] {
            let text = find(kind, NAME).to_string();
            assert!(!text.contains("\"*\""), "{text}");
        }
        // Secrets are read by name only, and only where the operator lives.
        assert!(!find("ClusterRole", NAME).to_string().contains("secrets"));
        for rule in find("Role", NAME)["rules"].as_array().into_iter().flatten() {
            let creates = rule["verbs"] == json!(["create"]);
            assert!(creates || rule["resourceNames"].is_array(), "{rule}");
        }
    }
}
