//! The operator itself: where it runs, how it is reached and what it withstands.

use serde_json::{Value, json};

use super::{Installation, NAME, WEBHOOK_SERVICE, dialects, labelled, selector};

/// Where the webhook listens.
const WEBHOOK_PORT: u16 = 9443;
/// Where health and metrics are asked for.
const HEALTH_PORT: u16 = 8080;
/// A user that is nobody.
const NOBODY: u32 = 65532;

/// The namespace, in which nothing but harmless pods may run.
pub(super) fn namespace(installation: &Installation) -> Value {
    labelled(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": installation.namespace,
            "labels": {
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/warn": "restricted",
            },
        },
    }))
}

/// The service, the deployment and its disruption budget.
pub(super) fn objects(installation: &Installation) -> Vec<Value> {
    let namespace = &installation.namespace;
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": WEBHOOK_SERVICE, "namespace": namespace},
        "spec": {
            "selector": selector(),
            "ports": [{"name": "webhook", "port": 443, "targetPort": "webhook", "protocol": "TCP"}],
        },
    });
    // One at a time, however many there are: with a single one, `minAvailable: 1` would forbid every drain.
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector()}},
    });
    [service, deployment(installation), budget].map(labelled).to_vec()
}

fn deployment(installation: &Installation) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": installation.namespace},
        "spec": {
            "replicas": installation.replicas,
            "selector": {"matchLabels": selector()},
            // While nobody answers the webhook, no set can be changed.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": selector()}, "spec": pod(installation)},
        },
    })
}

fn pod(installation: &Installation) -> Value {
    json!({
        "serviceAccountName": NAME,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread("kubernetes.io/hostname"), spread("topology.kubernetes.io/zone")],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 100,
            "podAffinityTerm": {
                "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector()},
            },
        }]}},
        "containers": [container(installation)],
    })
}

/// Apart where that is possible; a cluster of one node is no reason not to run.
fn spread(over: &str) -> Value {
    json!({
        "maxSkew": 1, "topologyKey": over, "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector()},
    })
}

fn container(installation: &Installation) -> Value {
    let Installation { namespace, image, .. } = installation;
    let probe = |path| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 5});
    json!({
        "name": "operator",
        "image": image,
        "args": [
            "operator", "--leader-elect",
            format!("--lease-namespace={namespace}"),
            format!("--webhook-service={namespace}/{WEBHOOK_SERVICE}"),
            format!("--webhook-address=0.0.0.0:{WEBHOOK_PORT}"),
            format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
            format!("--dialects={}", dialects::names(installation)),
            format!("--budgets={}", installation.budgets),
            "--log-format=json",
        ],
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
    })
}
