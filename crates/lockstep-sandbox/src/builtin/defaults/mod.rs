//! What is filled in where an object says nothing.

mod image;
mod pod;
mod workload;

use serde_json::{Value, json};

use super::access::{at, default, default_empty, drop_field, has, int, list, list_mut, made, put, text};
use super::base64;
use super::quantity::Quantity;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills in what an object of a kind does not say. Expects the object as it is written.
pub(super) fn fill(group: &str, kind: &str, object: &mut Value) {
    match (group, kind) {
        ("", "Pod") => pod::pod(object),
        ("", "Namespace") => namespace(object),
        ("", "Node") => node(object),
        ("", "Service") => service(object),
        ("", "Secret") => secret(object),
        ("apps", "Deployment") => workload::deployment(object),
        ("apps", "ReplicaSet") => workload::replica_set(object),
        ("apps", "StatefulSet") => workload::stateful_set(object),
        ("apps", "DaemonSet") => workload::daemon_set(object),
        ("batch", "Job") => workload::job(object),
        ("batch", "CronJob") => workload::cron_job(object),
        ("scheduling.k8s.io", "PriorityClass") => default(object, "preemptionPolicy", "PreemptLowerPriority"),
        ("scheduling.k8s.io", "PodGroup") => {
            default(made(object, "spec"), "disruptionMode", json!({"single": {}}));
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => webhooks(object, false),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => webhooks(object, true),
        _ => {}
    }
}

fn namespace(object: &mut Value) {
    let name = text(at(object, &["metadata"]), "name").to_owned();
    // One that gets its name later gets its label later.
    if !name.is_empty() {
        put(made(made(object, "metadata"), "labels"), "kubernetes.io/metadata.name", name);
    }
    default_empty(made(object, "status"), "phase", "Active");
}

fn node(object: &mut Value) {
    // The one range and the list of ranges say the same.
    let spec = made(object, "spec");
    let one = text(spec, "podCIDR").to_owned();
    let first = list(spec, "podCIDRs").first().and_then(Value::as_str).map(str::to_owned);
    match first {
        Some(first) if one.is_empty() => put(spec, "podCIDR", first),
        first if !one.is_empty() && first.as_deref() != Some(&one) => put(spec, "podCIDRs", json!([one])),
        _ => {}
    }
    let status = made(object, "status");
    if !has(status, "allocatable") && has(status, "capacity") {
        let capacity = at(status, &["capacity"]).clone();
        put(status, "allocatable", capacity);
    }
    round_up(status, "capacity");
    round_up(status, "allocatable");
}

/// Resources are counted in thousandths, at the finest.
fn round_up(holder: &mut Value, field: &str) {
    let Some(resources) = holder.get_mut(field).and_then(Value::as_object_mut) else { return };
    for amount in resources.values_mut() {
        if let Some(read) = amount.as_str().and_then(|text| Quantity::read(text).ok()) {
            *amount = Value::from(read.in_thousandths().to_string());
        }
    }
}

/// Texts come in as texts and go out as bytes.
fn secret(object: &mut Value) {
    default_empty(object, "type", "Opaque");
    let Some(Value::Object(texts)) = object.get_mut("stringData").map(Value::take) else { return };
    drop_field(object, "stringData");
    for (key, value) in texts {
        if let Some(text) = value.as_str() {
            put(made(object, "data"), &key, base64::encode(text.as_bytes()));
        }
    }
}

fn service(object: &mut Value) {
    let spec = made(object, "spec");
    default_empty(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => drop_field(spec, "sessionAffinityConfig"),
        "ClientIP" if at(spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"]).is_null() => {
            put(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10800}}));
        }
        _ => {}
    }
    default_empty(spec, "type", "ClusterIP");
    for port in list_mut(spec, "ports") {
        default_empty(port, "protocol", "TCP");
        let number = int(port, "port").unwrap_or_default();
        default_empty(port, "targetPort", number);
    }
    let sort = text(spec, "type").to_owned();
    let outside = matches!(sort.as_str(), "LoadBalancer" | "NodePort")
        || sort == "ClusterIP" && has(spec, "externalIPs");
    if outside {
        default_empty(spec, "externalTrafficPolicy", "Cluster");
    }
    if sort != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if sort == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
        for ingress in list_mut(made(made(object, "status"), "loadBalancer"), "ingress") {
            if !text(ingress, "ip").is_empty() {
                default(ingress, "ipMode", "VIP");
            }
        }
    }
}

fn binding(object: &mut Value) {
    default_empty(made(object, "roleRef"), "apiGroup", RBAC);
    for subject in list_mut(object, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            default_empty(subject, "apiGroup", RBAC);
        }
    }
}

fn webhooks(object: &mut Value, mutating: bool) {
    for webhook in list_mut(object, "webhooks") {
        default(webhook, "failurePolicy", "Fail");
        default(webhook, "matchPolicy", "Equivalent");
        default(webhook, "namespaceSelector", json!({}));
        default(webhook, "objectSelector", json!({}));
        default(webhook, "timeoutSeconds", 10);
        if mutating {
            default(webhook, "reinvocationPolicy", "Never");
        }
        if has(at(webhook, &["clientConfig"]), "service") {
            default(made(made(webhook, "clientConfig"), "service"), "port", 443);
        }
        for rule in list_mut(webhook, "rules") {
            default(rule, "scope", "*");
        }
    }
}
