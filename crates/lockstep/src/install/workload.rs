//! What runs in a cluster, the operator first of all.

use serde_json::{Value, json};

use super::{Installation, NAME, WEBHOOK_SERVICE, dialects, labelled};

/// Where the webhook listens.
const WEBHOOK_PORT: u16 = 9443;
/// Where health and metrics are asked for.
const HEALTH_PORT: u16 = 8080;
/// A user that is nobody.
const NOBODY: u32 = 65532;

/// A process as it runs in a cluster: where it runs, how it is reached and what it withstands.
#[derive(Debug)]
pub(super) struct Process<'a> {
    /// What it is called, in all that belongs to it.
    pub name: &'a str,
    /// The service by which it is called.
    pub service: &'a str,
    pub namespace: &'a str,
    pub image: &'a str,
    pub replicas: u32,
    /// The name of its container.
    pub container: &'a str,
    pub arguments: Vec<String>,
    /// What it reads from files, by the folder: a volume without its name.
    pub files: Vec<(&'a str, Value)>,
}

/// The namespace, in which nothing but harmless pods may run.
pub(super) fn namespace(name: &str) -> Value {
    labelled(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/warn": "restricted",
            },
        },
    }))
}

/// The operator.
pub(super) fn operator(installation: &Installation) -> Process<'_> {
    let Installation { namespace, image, replicas, .. } = installation;
    let mut arguments = vec!["operator".to_owned()];
    arguments.extend(serving(namespace, WEBHOOK_SERVICE));
    arguments.extend([
        format!("--dialects={}", dialects::names(installation)),
        format!("--budgets={}", installation.budgets),
    ]);
    Process {
        name: NAME,
        service: WEBHOOK_SERVICE,
        namespace,
        image,
        replicas: *replicas,
        container: "operator",
        arguments,
        files: Vec::new(),
    }
}

/// How a process of several replicas serves.
pub(super) fn serving(namespace: &str, service: &str) -> [String; 6] {
    [
        "--leader-elect".to_owned(),
        format!("--lease-namespace={namespace}"),
        format!("--webhook-service={namespace}/{service}"),
        format!("--webhook-address=0.0.0.0:{WEBHOOK_PORT}"),
        format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
        "--log-format=json".to_owned(),
    ]
}

impl Process<'_> {
    /// The service, the deployment and its disruption budget.
    pub(super) fn objects(&self) -> Vec<Value> {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": self.service, "namespace": self.namespace},
            "spec": {
                "selector": self.selector(),
                "ports": [{"name": "webhook", "port": 443, "targetPort": "webhook", "protocol": "TCP"}],
            },
        });
        // One at a time, however many there are: with a single one, `minAvailable: 1` would forbid every drain.
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": self.selector()}},
        });
        [service, self.deployment(), budget].map(labelled).to_vec()
    }

    /// The labels its pods are selected by.
    fn selector(&self) -> Value {
        json!({"app.kubernetes.io/name": self.name})
    }

    fn deployment(&self) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": self.selector()},
                // While nobody answers the webhook, nothing it is asked about can be changed.
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
                "template": {"metadata": {"labels": self.selector()}, "spec": self.pod()},
            },
        })
    }

    fn pod(&self) -> Value {
        let mut pod = json!({
            "serviceAccountName": self.name,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "topologySpreadConstraints": [
                self.spread("kubernetes.io/hostname"), self.spread("topology.kubernetes.io/zone"),
            ],
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                "weight": 100,
                "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": self.selector()},
                },
            }]}},
            "containers": [self.container()],
        });
        if !self.files.is_empty() {
            let named = |(i, (_, volume)): (usize, &(&str, Value))| {
                let mut volume = volume.clone();
                volume["name"] = json!(format!("files-{i}"));
                volume
            };
            pod["volumes"] = self.files.iter().enumerate().map(named).collect();
        }
        pod
    }

    /// Apart where that is possible; a cluster of one node is no reason not to run.
    fn spread(&self, over: &str) -> Value {
        json!({
            "maxSkew": 1, "topologyKey": over, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": self.selector()},
        })
    }

    fn container(&self) -> Value {
        let probe = |path| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 5});
        let mut container = json!({
            "name": self.container,
            "image": self.image,
            "args": self.arguments,
            // Its name in the Lease and on events.
            "env": [
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                // One heap for all threads, given back when it is free: a third less for many pods.
                {"name": "MALLOC_ARENA_MAX", "value": "1"},
                {"name": "MALLOC_TRIM_THRESHOLD_", "value": "131072"},
            ],
            "ports": [
                {"name": "webhook", "containerPort": WEBHOOK_PORT, "protocol": "TCP"},
                {"name": "http", "containerPort": HEALTH_PORT, "protocol": "TCP"},
            ],
            "livenessProbe": probe("/healthz"),
            "readinessProbe": probe("/readyz"),
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
        });
        if !self.files.is_empty() {
            let mount = |(i, (folder, _)): (usize, &(&str, Value))| json!({"name": format!("files-{i}"), "mountPath": folder, "readOnly": true});
            container["volumeMounts"] = self.files.iter().enumerate().map(mount).collect();
        }
        container
    }
}
