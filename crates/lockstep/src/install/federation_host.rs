//! The process that looks after rollouts over several clusters, in the cluster in which Karmada runs.
//!
//! All it does it does on Karmada's API server, by a kubeconfig of its own. Here it may do nothing.

use http::Uri;
use lockstep_operator::certificates::service_names;
use lockstep_operator::operator::FEDERATION;
use serde_json::{Value, json};

use super::labelled;
use super::workload::{Process, namespace, serving};

/// The Secret with the kubeconfig for Karmada's API server.
pub const KUBECONFIG: &str = "lockstep-federation-kubeconfig";
/// The ConfigMap with further kinds.
const KINDS: &str = "lockstep-federation-kinds";

/// An installation beside Karmada.
#[derive(Debug, Clone)]
pub struct FederationHost {
    /// Where it runs.
    pub namespace: String,
    /// The image it runs from.
    pub image: String,
    /// How many of it.
    pub replicas: u32,
    /// Where Karmada's API server reaches it.
    pub url: String,
    /// The kubeconfig by which it reaches Karmada's API server.
    pub kubeconfig: String,
    /// Further kinds, as their file says.
    pub kinds: Option<String>,
}

impl FederationHost {
    /// Everything, in the order in which it is created.
    pub fn objects(&self) -> Vec<Value> {
        let own = |name: &str| json!({"name": name, "namespace": self.namespace});
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": own(FEDERATION),
            "automountServiceAccountToken": false,
        });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": own(KUBECONFIG),
            "stringData": {"kubeconfig": self.kubeconfig},
        });
        let kinds = self.kinds.as_ref().map(|kinds| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": own(KINDS), "data": {"kinds.yaml": kinds}})
        });
        let mut objects = vec![namespace(&self.namespace)];
        objects.extend([Some(account), Some(kubeconfig), kinds].into_iter().flatten().map(labelled));
        objects.extend(self.process().objects());
        objects
    }

    fn process(&self) -> Process<'_> {
        let mut arguments =
            vec!["federation".to_owned(), "--kubeconfig=/etc/lockstep/karmada/kubeconfig".to_owned()];
        arguments.extend(serving(&self.namespace, FEDERATION));
        arguments.extend(self.another_name().map(|name| format!("--webhook-name={name}")));
        let mut files = vec![("/etc/lockstep/karmada", json!({"secret": {"secretName": KUBECONFIG}}))];
        if self.kinds.is_some() {
            arguments.push("--kinds=/etc/lockstep/kinds/kinds.yaml".to_owned());
            files.push(("/etc/lockstep/kinds", json!({"configMap": {"name": KINDS}})));
        }
        Process {
            name: FEDERATION,
            service: FEDERATION,
            namespace: &self.namespace,
            image: &self.image,
            replicas: self.replicas,
            container: "federation",
            arguments,
            files,
        }
    }

    /// What Karmada's API server calls it, if that is not its service.
    fn another_name(&self) -> Option<String> {
        let url: Uri = self.url.parse().ok()?;
        let name = url.host()?.trim_matches(['[', ']']).to_owned();
        (!service_names(&self.namespace, FEDERATION).contains(&name)).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::title;

    fn host(url: &str, kinds: Option<&str>) -> FederationHost {
        FederationHost {
            namespace: "here".to_owned(),
            image: "lockstep:1".to_owned(),
            replicas: 3,
            url: url.to_owned(),
            kubeconfig: "a way in".to_owned(),
            kinds: kinds.map(str::to_owned),
        }
    }

    fn arguments(host: &FederationHost) -> String {
        let deployment = host.objects().into_iter().find(|it| it["kind"] == "Deployment").unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string()
    }

    #[test]
    fn it_is_called_by_its_service_or_by_another_name() {
        for (url, name) in [
            ("https://lockstep-federation.here.svc:443", None),
            ("https://10.0.0.7:31443", Some("--webhook-name=10.0.0.7")),
            ("https://[fd00::7]:31443/", Some("--webhook-name=fd00::7")),
            (
                "https://lockstep-federation.elsewhere.svc",
                Some("--webhook-name=lockstep-federation.elsewhere.svc"),
            ),
        ] {
            let arguments = arguments(&host(url, None));
            let found = arguments.split('"').find(|it| it.starts_with("--webhook-name"));
            assert_eq!(found, name, "{url}");
        }
    }

    #[test]
    fn what_it_reads_is_mounted() {
        let with = host("https://x", Some("[]"));
        let objects = with.objects();
        let titles: Vec<String> = objects.iter().map(title).collect();
        assert_eq!(
            titles,
            [
                "namespace/here",
                "serviceaccount/lockstep-federation",
                "secret/lockstep-federation-kubeconfig",
                "configmap/lockstep-federation-kinds",
                "service/lockstep-federation",
                "deployment/lockstep-federation",
                "poddisruptionbudget/lockstep-federation",
            ]
        );
        let pod = &objects[5]["spec"]["template"]["spec"];
        let volumes = pod["volumes"].as_array().unwrap();
        assert_eq!((volumes.len(), &volumes[0]["secret"]["secretName"]), (2, &json!(KUBECONFIG)));
        let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
        let said = arguments(&with);
        for (volume, mount) in volumes.iter().zip(mounts) {
            assert_eq!(volume["name"], mount["name"]);
            assert!(said.contains(mount["mountPath"].as_str().unwrap()), "{said}");
        }
        assert!(!arguments(&host("https://x", None)).contains("--kinds"));
    }
}
