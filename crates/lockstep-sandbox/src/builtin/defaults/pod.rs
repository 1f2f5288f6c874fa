//! What is filled in of pods and of templates of pods.

use serde_json::{Map, Value, json};

use super::image::is_latest;
use super::round_up;
use crate::builtin::access::{at, default, default_empty, flag, has, int, list, list_mut, made, put, text};

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["postStart", "preStop"];
/// Read and write for the owner, read for the others.
const MODE: i64 = 0o644;

/// A pod gets more than a template of one.
pub(super) fn pod(object: &mut Value) {
    let spec = made(object, "spec");
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|period| period < 0) {
        put(spec, "terminationGracePeriodSeconds", 1);
    }
    for container in ["initContainers", "containers"] {
        list_mut(spec, container).iter_mut().for_each(requests_from_limits);
    }
    default(spec, "enableServiceLinks", true);
    if flag(spec, "hostNetwork") {
        for container in ["initContainers", "containers"] {
            for port in
                list_mut(spec, container).iter_mut().flat_map(|container| list_mut(container, "ports"))
            {
                let number = int(port, "containerPort").unwrap_or_default();
                default_empty(port, "hostPort", number);
            }
        }
    }
    pod_spec(spec);
    ips(made(object, "status"));
}

/// Where there is a limit and no request, the limit is requested.
fn requests_from_limits(container: &mut Value) {
    let Some(limits) = at(container, &["resources", "limits"]).as_object().cloned() else { return };
    let requests = made(made(container, "resources"), "requests");
    for (resource, amount) in limits {
        default(requests, &resource, amount);
    }
}

/// The one address and the list of addresses say the same.
fn ips(status: &mut Value) {
    let one = text(status, "podIP").to_owned();
    let first = list(status, "podIPs").first().map(|first| text(first, "ip").to_owned());
    match first {
        Some(first) if one.is_empty() => put(status, "podIP", first),
        first if !one.is_empty() && first.as_deref() != Some(&one) => {
            put(status, "podIPs", json!([{"ip": one}]))
        }
        _ => {}
    }
}

/// A pod's specification, wherever it stands.
pub(super) fn pod_spec(spec: &mut Value) {
    let account = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        name => name,
    };
    if !account.is_empty() {
        let account = account.to_owned();
        put(spec, "serviceAccountName", account.clone());
        put(spec, "serviceAccount", account);
    }
    default_empty(spec, "dnsPolicy", "ClusterFirst");
    default_empty(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default_empty(spec, "schedulerName", "default-scheduler");
    list_mut(spec, "volumes").iter_mut().for_each(volume);
    for containers in CONTAINERS {
        list_mut(spec, containers).iter_mut().for_each(container);
    }
    round_up(spec, "overhead");
    if has(spec, "resources") {
        round_up(made(spec, "resources"), "limits");
        round_up(made(spec, "resources"), "requests");
    }
}

fn container(container: &mut Value) {
    let policy = if is_latest(text(container, "image")) { "Always" } else { "IfNotPresent" };
    default_empty(container, "imagePullPolicy", policy);
    default_empty(container, "terminationMessagePath", "/dev/termination-log");
    default_empty(container, "terminationMessagePolicy", "File");
    for port in list_mut(container, "ports") {
        default_empty(port, "protocol", "TCP");
    }
    for variable in list_mut(container, "env") {
        if has(at(variable, &["valueFrom"]), "fieldRef") {
            field_ref(made(variable, "valueFrom"));
        }
        if has(at(variable, &["valueFrom"]), "fileKeyRef") {
            default(made(made(variable, "valueFrom"), "fileKeyRef"), "optional", false);
        }
    }
    for resources in ["limits", "requests"] {
        round_up(made(container, "resources"), resources);
    }
    for name in PROBES {
        if has(container, name) {
            probe(made(container, name));
        }
    }
    for name in HOOKS {
        if has(at(container, &["lifecycle"]), name) {
            handler(made(made(container, "lifecycle"), name));
        }
    }
}

fn field_ref(holder: &mut Value) {
    default_empty(made(holder, "fieldRef"), "apiVersion", "v1");
}

fn probe(probe: &mut Value) {
    default_empty(probe, "timeoutSeconds", 1);
    default_empty(probe, "periodSeconds", 10);
    default_empty(probe, "successThreshold", 1);
    default_empty(probe, "failureThreshold", 3);
    handler(probe);
    if has(probe, "grpc") {
        default(made(probe, "grpc"), "service", "");
    }
}

fn handler(handler: &mut Value) {
    if has(handler, "httpGet") {
        let get = made(handler, "httpGet");
        default_empty(get, "path", "/");
        default_empty(get, "scheme", "HTTP");
    }
}

fn volume(volume: &mut Value) {
    let said = volume.as_object().is_some_and(|volume| volume.keys().any(|key| key != "name"));
    if !said {
        put(volume, "emptyDir", Map::new());
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if has(volume, source) {
            default(made(volume, source), "defaultMode", MODE);
        }
    }
    if has(volume, "hostPath") {
        default(made(volume, "hostPath"), "type", "");
    }
    if has(volume, "downwardAPI") {
        downward(made(volume, "downwardAPI"));
    }
    if has(volume, "projected") {
        for source in list_mut(made(volume, "projected"), "sources") {
            if has(source, "downwardAPI") {
                downward(made(source, "downwardAPI"));
            }
            if has(source, "serviceAccountToken") {
                default(made(source, "serviceAccountToken"), "expirationSeconds", 3600);
            }
        }
    }
    if has(at(volume, &["ephemeral"]), "volumeClaimTemplate") {
        let claim = made(made(made(volume, "ephemeral"), "volumeClaimTemplate"), "spec");
        default(claim, "volumeMode", "Filesystem");
    }
    if has(volume, "image") {
        let policy =
            if is_latest(text(at(volume, &["image"]), "reference")) { "Always" } else { "IfNotPresent" };
        default_empty(made(volume, "image"), "pullPolicy", policy);
    }
}

fn downward(source: &mut Value) {
    for item in list_mut(source, "items") {
        if has(item, "fieldRef") {
            field_ref(item);
        }
    }
}
